//go:build linux

package bmv2

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"

	"github.com/weft-sdn/weft/dataplane/live/afpacket/afpackettest"
)

// dial opens a TCP connection to a literal address inside a namespace.
func dial(ctx context.Context, ns *afpackettest.Namespace, address string) (net.Conn, error) {
	var conn net.Conn
	err := ns.Do(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return err
	})
	return conn, err
}

// ipBatch runs commands of iproute2 in the namespace of the calling thread.
func ipBatch(commands string) error {
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(commands)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w: %s", err, out)
	}
	return nil
}
