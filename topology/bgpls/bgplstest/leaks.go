// Package bgplstest has what tests of programs with BGP-LS sessions need.
package bgplstest

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// LeftByGoBGP has a check for leaks pass over the goroutines that GoBGP leaves: GoBGP closes the
// queue of a session without waiting for the last entry, and then the queue's goroutine stays.
func LeftByGoBGP() goleak.Option {
	return goleak.IgnoreTopFunction(
		"github.com/eapache/channels.(*InfiniteChannel).infiniteBuffer")
}

// Main runs the tests of a package that also asks HTTP servers, and fails when they leave
// goroutines of ours.
func Main(m *testing.M) {
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(LeftByGoBGP()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
