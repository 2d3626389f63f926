//go:build linux

package bmv2

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace without a name: it lives as long as the thread that made it, the processes started from
// that thread and the sockets opened on it.
type namespace struct {
	calls  chan func()
	closed chan struct{}
}

func newNamespace() (*namespace, error) {
	ns := &namespace{calls: make(chan func()), closed: make(chan struct{})}
	made := make(chan error)
	go func() {
		defer close(ns.closed)
		// Never unlocked: the thread ends with the goroutine, and its namespace with it.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		made <- err
		if err != nil {
			return
		}
		for call := range ns.calls {
			call()
		}
	}()
	if err := <-made; err != nil {
		<-ns.closed
		return nil, fmt.Errorf("making a network namespace: %w", err)
	}
	return ns, nil
}

// do runs f on the thread that is in the namespace: sockets that f opens and processes it starts are in it too.
func (ns *namespace) do(f func() error) error {
	done := make(chan error)
	ns.calls <- func() { done <- f() }
	return <-done
}

func (ns *namespace) close() {
	close(ns.calls)
	<-ns.closed
}

// dial opens a TCP connection to a literal address inside the namespace.
func (ns *namespace) dial(ctx context.Context, address string) (net.Conn, error) {
	var conn net.Conn
	err := ns.do(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return err
	})
	return conn, err
}

// setUp brings loopback up and keeps IPv6 off every interface made from now on, so that nothing but the test's frames is on the wires.
func (ns *namespace) setUp() error {
	return ns.do(func() error {
		for _, which := range []string{"all", "default"} {
			path := "/proc/sys/net/ipv6/conf/" + which + "/disable_ipv6"
			if err := os.WriteFile(path, []byte("1"), 0); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
		return ipBatch("link set lo up\n")
	})
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
