package device

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/internal/netns"
)

// TestSeg6: ordinary UDP of a host leaves encapsulated, each flow by one of the paths and several
// flows by all, and by the port of the path. A later state replaces the routes, one that Linux
// cannot hold changes nothing. In a network namespace of its own.
func TestSeg6(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	ns, err := netns.New()
	if err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	t.Cleanup(ns.Close)
	var hops []Hop
	taps := make(map[uint8]int)
	for i, name := range []string{"p1", "p2"} {
		if err := ns.Veth(name, name+"x", 1500); err != nil {
			t.Fatal(err)
		}
		gateway := netip.MustParseAddr("fe80::" + []string{"a", "b"}[i])
		if err := ns.Address(name, "2001:db8:f"+name[1:]+"::1/64", gateway.AsSlice(),
			net.HardwareAddr{2, 0, 0, 0, 0, byte(i + 1)}); err != nil {
			t.Fatal(err)
		}
		hops = append(hops, Hop{name, gateway})
	}
	err = ns.Do(func() error {
		if err := os.WriteFile("/proc/sys/net/ipv6/fib_multipath_hash_policy", []byte("1"),
			0); err != nil {
			return err
		}
		for i, name := range []string{"p1x", "p2x"} {
			l, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0xdd86) // IPv6
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = unix.Close(fd) })
			taps[uint8(i+1)] = fd
			wait := unix.NsecToTimeval(int64(300 * time.Millisecond))
			if err := errors.Join(unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: 0xdd86,
				Ifindex: l.Attrs().Index}), unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO,
				&wait)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var s *Seg6
	if err := ns.Do(func() (err error) { s, err = NewSeg6(hops); return err }); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	// seen returns the paths that 64 flows to an address take, as EVs.
	seen := func(to string) map[hostapi.EV]int {
		t.Helper()
		if err := ns.Do(func() error {
			for range 64 {
				c, err := net.Dial("udp", net.JoinHostPort(to, "4791"))
				if err != nil {
					return err
				}
				_, err = c.Write([]byte("x"))
				if err := errors.Join(err, c.Close()); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return nil
		}
		out := make(map[hostapi.EV]int)
		for port, fd := range taps {
			frame := make([]byte, 2048)
			for {
				n, _, err := unix.Recvfrom(fd, frame, 0)
				if err != nil {
					break
				}
				// Ethernet, outer IPv6 with the next header IPv6, and IPv6 to the address.
				if n < 14+40+40 || frame[14+6] != 41 ||
					netip.AddrFrom16([16]byte(frame[14+40+24:])) != netip.MustParseAddr(to) {
					continue
				}
				out[ev(netip.AddrFrom16([16]byte(frame[14+24:])).String(), port)]++
			}
		}
		return out
	}
	far := netip.MustParsePrefix("2001:db8:9::/64")
	one, two, three := ev("fcbb:bbbb:1:9::", 1), ev("fcbb:bbbb:2:9::", 2), ev("fcbb:bbbb:3:9::", 1)
	check := func(what string, want ...hostapi.EV) {
		t.Helper()
		got := seen("2001:db8:9::5")
		for v, n := range got {
			if !slices.Contains(want, v) {
				t.Errorf("%s: %d packets take %v", what, n, v)
			}
		}
		for _, v := range want {
			if got[v] == 0 {
				t.Errorf("%s: nothing takes %v: %v", what, v, got)
			}
		}
	}
	if err := s.Apply([]Path{{far, []hostapi.EV{one, two, three}}}); err != nil {
		if strings.Contains(err.Error(), "not supported") {
			t.Skipf("the kernel has no seg6: %v", err)
		}
		t.Fatal(err)
	}
	check("three paths", one, two, three)
	var wrong *hostapi.FieldError
	err = s.Apply([]Path{{far, []hostapi.EV{one, ev("fcbb:bbbb:1:9::", 2)}}})
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, "the ports 1 and 2") {
		t.Errorf("an EV by two ports: %v", err)
	}
	check("what cannot be", one, two, three)
	if err := s.Apply([]Path{{far, []hostapi.EV{two}}}); err != nil {
		t.Fatal(err)
	}
	check("one path", two)
	if err := s.Apply(nil); err != nil {
		t.Fatal(err)
	}
	check("none")
	if held, err := s.held(); err != nil || len(held) != 0 {
		t.Errorf("%d routes are left, %v", len(held), err)
	}
}
