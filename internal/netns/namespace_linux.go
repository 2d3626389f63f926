package netns

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Namespace is a network namespace without a name. The namespace lives while sockets or processes
// from it live.
type Namespace struct {
	calls  chan func()
	closed chan struct{}
}

// New makes a namespace whose only interface, loopback, is up; it fails where that is not allowed
// (CAP_SYS_ADMIN, CAP_NET_ADMIN).
func New() (*Namespace, error) {
	ns := &Namespace{calls: make(chan func()), closed: make(chan struct{})}
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
	if err := ns.Do(func() error { return setUp("lo", true) }); err != nil {
		ns.Close()
		return nil, err
	}
	return ns, nil
}

// Quiet turns IPv6 off on interfaces that are made later: the kernel sends nothing of its own.
func (ns *Namespace) Quiet() error {
	return ns.Set("disable_ipv6", "1")
}

// Set sets a value of net.ipv6.conf, for all present and future interfaces. A kernel without IPv6
// has no such values.
func (ns *Namespace) Set(what, value string) error {
	return ns.Do(func() error {
		for _, which := range []string{"all", "default"} {
			path := "/proc/sys/net/ipv6/conf/" + which + "/" + what
			if err := os.WriteFile(path, []byte(value), 0); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
		return nil
	})
}

// Do runs f on a thread inside the namespace: sockets that f opens and processes that f starts are
// in the namespace too.
func (ns *Namespace) Do(f func() error) error {
	done := make(chan error)
	ns.calls <- func() { done <- f() }
	return <-done
}

// Close gives the namespace up.
func (ns *Namespace) Close() {
	close(ns.calls)
	<-ns.closed
}

// Veth makes two interfaces with a wire between them, both up. Until the kernel has noticed the
// carrier of both, the kernel silently drops frames; Veth waits for the carriers.
func (ns *Namespace) Veth(a, b string, mtu int) error {
	return ns.Do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = a, mtu
		pair := netlink.NewVeth(attrs)
		pair.PeerName, pair.PeerMTU = b, uint32(mtu)
		if err := netlink.LinkAdd(pair); err != nil {
			return fmt.Errorf("veth %s %s: %w", a, b, err)
		}
		return errors.Join(setUp(a, true), setUp(b, true), awaitCarrier(a), awaitCarrier(b))
	})
}

func awaitCarrier(name string) error {
	const patience = 10 * time.Second
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		l, err := netlink.LinkByName(name)
		switch {
		case err != nil:
			return fmt.Errorf("interface %s: %w", name, err)
		case l.Attrs().OperState == netlink.OperUp:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("interface %s: after %v its state is %v, want up", name, patience,
				l.Attrs().OperState)
		}
	}
}

// Delete removes an interface, and the other end of its wire.
func (ns *Namespace) Delete(name string) error {
	return ns.Do(func() error { return with(name, netlink.LinkDel) })
}

// SetUp brings an interface up or down.
func (ns *Namespace) SetUp(name string, up bool) error {
	return ns.Do(func() error { return setUp(name, up) })
}

// SetMTU changes the MTU of an interface.
func (ns *Namespace) SetMTU(name string, mtu int) error {
	return ns.Do(func() error {
		return with(name, func(l netlink.Link) error { return netlink.LinkSetMTU(l, mtu) })
	})
}

// Address gives the kernel an address on an interface ("10.0.0.1/24"), and a neighbor there whom it
// need not look for, where neighbor is not nil.
func (ns *Namespace) Address(name, address string, neighbor net.IP, mac net.HardwareAddr) error {
	return ns.Do(func() error {
		return with(name, func(l netlink.Link) error {
			a, err := netlink.ParseAddr(address)
			if err != nil {
				return err
			}
			if err := netlink.AddrAdd(l, a); err != nil || neighbor == nil {
				return err
			}
			return netlink.NeighAdd(&netlink.Neigh{
				LinkIndex: l.Attrs().Index, IP: neighbor, HardwareAddr: mac, State: netlink.NUD_PERMANENT,
			})
		})
	})
}

// Remove takes an address from the kernel's interface.
func (ns *Namespace) Remove(name, address string) error {
	return ns.Do(func() error {
		return with(name, func(l netlink.Link) error {
			a, err := netlink.ParseAddr(address)
			if err != nil {
				return err
			}
			return netlink.AddrDel(l, a)
		})
	})
}

func setUp(name string, up bool) error {
	return with(name, func(l netlink.Link) error {
		if up {
			return netlink.LinkSetUp(l)
		}
		return netlink.LinkSetDown(l)
	})
}

func with(name string, f func(netlink.Link) error) error {
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = f(l)
	}
	if err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	return nil
}
