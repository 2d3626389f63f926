package bmv2

import (
	"fmt"
	"net"
	"testing"
)

// TestFreePort: each switch gets a different port, below the ephemeral ports and without a
// listener.
func TestFreePort(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		n, err := freePort()
		if err != nil || seen[n] || n < 10000 || n >= 30000 {
			t.Fatalf("port %d, %v after %v", n, err, seen)
		}
		seen[n] = true
		if !seen[n+1] {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", n+1))
			if err == nil {
				defer l.Close()
				seen[n+1] = true
			}
		}
	}
}
