//go:build linux

package afpacket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/dataplane/live/afpacket/afpackettest"
)

// pair opens both ends of a wire.
func pair(t *testing.T, ns *afpackettest.Namespace, mtu int) (a, b *end) {
	t.Helper()
	if err := ns.Veth("va", "vb", mtu); err != nil {
		t.Fatal(err)
	}
	a, b = open(t, ns, "va"), open(t, ns, "vb")
	a.attach()
	b.attach()
	return a, b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func numbered(n, size int) []byte {
	f := frameOf(0x86dd, size-etherHeader)
	binary.BigEndian.PutUint32(f[etherHeader:], uint32(n))
	return f
}

// Frames of all sizes cross in order, many at a time, both ways; more than the
// ring has slots, so that it is gone round.
func TestSizes(t *testing.T) {
	ns := namespace(t)
	a, b := pair(t, ns, 10240)
	var sizes [][]byte
	for i, size := 0, 60; size <= 10240+etherHeader; i, size = i+1, size+171 {
		sizes = append(sizes, numbered(i, size))
	}
	sizes = append(sizes, numbered(1e6, 10240+etherHeader))
	for range 20 {
		a.send(t, sizes...)
		b.want(t, sizes...)
		b.send(t, sizes...)
		a.want(t, sizes...)
	}
	small := make([][]byte, 1000)
	for i := range small {
		small[i] = numbered(i, 60)
	}
	for range 10 {
		a.send(t, small[:300]...)
		b.want(t, small[:300]...)
	}
}

// TestPolled: a polled port delivers frames only while it is polled; its descriptor reports waiting
// frames.
func TestPolled(t *testing.T) {
	ns := namespace(t)
	must(t, ns.Veth("va", "vb", 1500))
	a, b := open(t, ns, "va"), openBy(t, ns, "vb", OpenPolled)
	a.attach()
	b.attach()
	want := make([][]byte, 2*readBatch+1)
	for i := range want {
		want[i] = numbered(i, 100)
	}
	if b.Poll() {
		t.Error("frames before any was sent")
	}
	if n := a.Descriptor(); n != -1 {
		t.Errorf("a port that reads by itself has the descriptor %d to be polled at", n)
	}
	a.send(t, want...)
	fd := []unix.PollFd{{Fd: int32(b.Descriptor()), Events: unix.POLLIN}}
	if n, err := unix.Poll(fd, int(patience.Milliseconds())); n != 1 || err != nil {
		t.Fatalf("poll: %d, %v", n, err)
	}
	if n := len(b.frames); n != 0 {
		t.Errorf("%d frames before Poll", n)
	}
	for len(b.frames) < len(want) && b.Poll() {
	}
	b.want(t, want...)
	if n, err := unix.Poll(fd, 0); n != 0 || err != nil || b.Poll() {
		t.Errorf("frames are left: %d, %v", n, err)
	}
}

// A VLAN tag, and one in another, cross.
func TestTags(t *testing.T) {
	ns := namespace(t)
	a, b := pair(t, ns, 1500)
	tagged := frameOf(unix.ETH_P_8021Q, 1504) // as long as may be
	tagged[14], tagged[15], tagged[16], tagged[17] = 0x60, 0x64, 0x86, 0xdd
	double := frameOf(unix.ETH_P_8021AD, 100)
	copy(double[14:], []byte{0, 9, 0x81, 0x00, 0x20, 0x0b, 0x86, 0xdd})
	a.send(t, tagged, double, tagged)
	b.want(t, tagged, double, tagged)
}

// TestLinkFlap: the port reports a link that goes away, loses frames sent meanwhile, and works
// again when the link is back.
func TestLinkFlap(t *testing.T) {
	ns := namespace(t)
	a, b := pair(t, ns, 1500)
	f := numbered(1, 100)
	for range 3 {
		for _, name := range []string{"vb", "va"} { // the far end: no carrier; the near end: down
			must(t, ns.SetUp(name, false))
			a.wantLink(t, false)
			b.wantLink(t, false)
			if n, _ := a.Send([][]byte{f, f}); n != 0 && name == "va" {
				t.Errorf("%d frames sent on an interface that is down", n)
			}
			must(t, ns.SetUp(name, true))
			a.wantLink(t, true)
			b.wantLink(t, true)
			a.send(t, f)
			b.want(t, f)
			b.send(t, f)
			a.want(t, f)
		}
	}
}

// A port finds the interface that takes the place of its own.
func TestInterfaceReplaced(t *testing.T) {
	ns := namespace(t)
	a, b := pair(t, ns, 1500)
	f := numbered(1, 100)
	for i := range 3 {
		must(t, ns.Delete("va"))
		a.wantLink(t, false)
		b.wantLink(t, false)
		if n, _ := a.Send([][]byte{f}); n != 0 {
			t.Error("a frame was sent on no interface")
		}
		must(t, ns.Veth("va", "vb", 1500+i*1000))
		a.wantLink(t, true)
		b.wantLink(t, true)
		f = numbered(1, 1500+i*1000)
		a.send(t, f)
		b.want(t, f) // to an unused address: the interface is promiscuous again
		b.send(t, f)
		a.want(t, f)
		if a.MTU() != 1500+i*1000 {
			t.Errorf("MTU %d", a.MTU())
		}
	}
}

// TestAddressMoves: a port with an address finds the interface with that address after a rename of
// the interface, even if the interface exists before its address. The port leaves an interface that
// loses the address.
func TestAddressMoves(t *testing.T) {
	ns := namespace(t)
	neighbor, mac := net.IPv4(10, 0, 0, 2), net.HardwareAddr{2, 0, 0, 0, 0, 2}
	must(t, ns.Veth("va", "vb", 1500))
	must(t, ns.Address("va", "10.0.0.1/24", neighbor, mac))
	a, b := open(t, ns, "10.0.0.1"), open(t, ns, "vb")
	a.attach()
	b.attach()
	f := numbered(1, 100)
	a.send(t, f)
	b.want(t, f)
	for i := range 2 {
		must(t, ns.Delete(*a.name.Load()))
		a.wantLink(t, false)
		b.wantLink(t, false)
		name := fmt.Sprint("other", i)
		must(t, ns.Veth(name, "vb", 1500))
		b.wantLink(t, true)
		if n, _ := a.Send([][]byte{f}); n != 0 {
			t.Error("a frame was sent on an interface that has not the address")
		}
		must(t, ns.Address(name, "10.0.0.1/24", neighbor, mac))
		a.wantLink(t, true)
		if got := *a.name.Load(); got != name {
			t.Errorf("the port is on %s, want %s", got, name)
		}
		a.send(t, f)
		b.want(t, f)
		b.send(t, f)
		a.want(t, f)
	}
	must(t, ns.Remove(*a.name.Load(), "10.0.0.1/24"))
	a.wantLink(t, false)
	if n, _ := a.Send([][]byte{f}); n != 0 {
		t.Error("a frame was sent on an interface that lost the address")
	}
	b.send(t, f)
	must(t, ns.Address(*a.name.Load(), "10.0.0.1/24", nil, nil))
	a.wantLink(t, true)
	g := numbered(2, 100)
	b.send(t, g)
	a.want(t, g) // and not f, which arrived when the interface was not the port's
	if _, err := Open("10.0.0.9", slog.New(slog.DiscardHandler)); !errors.Is(err, ErrInterface) ||
		!strings.Contains(err.Error(), "no interface has this address") {
		t.Errorf("an address of no interface: %v", err)
	}
}

// A link that was down at the start is told of.
func TestOpenDown(t *testing.T) {
	ns := namespace(t)
	must(t, ns.Veth("va", "vb", 1500))
	must(t, ns.SetUp("vb", false))
	a := open(t, ns, "va")
	a.attach()
	a.wantLink(t, false)
	must(t, ns.SetUp("vb", true))
	a.wantLink(t, true)
}

// A larger MTU makes room for its frames while the port is open.
func TestMTUGrows(t *testing.T) {
	ns := namespace(t)
	a, b := pair(t, ns, 1500)
	f := numbered(1, 1000)
	a.send(t, f)
	b.want(t, f)
	must(t, ns.SetMTU("vb", 9000))
	must(t, ns.SetMTU("va", 9000))
	for deadline := time.Now().Add(patience); b.MTU() != 9000 || a.MTU() != 9000; {
		if time.Now().After(deadline) {
			t.Fatalf("MTU %d and %d, want 9000", a.MTU(), b.MTU())
		}
		time.Sleep(time.Millisecond)
	}
	f = numbered(2, 9000+etherHeader)
	for range 1000 {
		a.send(t, f)
		b.want(t, f)
	}
}

// TestConfigure checks that a port changes its MTU, and takes its interface down and up while the
// far end loses its carrier. A setting refused by the kernel gives an error.
func TestConfigure(t *testing.T) {
	ns := namespace(t)
	a, b := pair(t, ns, 1500)
	for _, enabled := range []bool{false, false, true, true} {
		must(t, a.SetEnabled(enabled))
		a.wantLink(t, enabled)
		b.wantLink(t, enabled)
	}
	must(t, a.SetMTU(9014))
	must(t, b.SetMTU(9014))
	for deadline := time.Now().Add(patience); b.Details().MTU != 9014 || a.Details().MTU != 9014; {
		if time.Now().After(deadline) {
			t.Fatalf("MTU %d and %d, want 9014", a.Details().MTU, b.Details().MTU)
		}
		time.Sleep(time.Millisecond)
	}
	f := numbered(1, 9014)
	a.send(t, f)
	b.want(t, f)
	if err := a.SetMTU(20); !errors.Is(err, unix.EINVAL) {
		t.Errorf("an MTU of 20: %v, want EINVAL", err)
	}
	must(t, ns.Delete("va"))
	if err := a.SetEnabled(true); err == nil {
		t.Error("an interface that is gone is up")
	}
}

// kernel opens a UDP socket of the kernel's at one end of a wire, and a port at
// the other.
func kernel(t *testing.T) (*net.UDPConn, *end) {
	t.Helper()
	ns := namespace(t)
	must(t, ns.Veth("va", "vb", 1500))
	must(t, ns.Address("va", "10.0.0.1/24", net.IPv4(10, 0, 0, 2), net.HardwareAddr{2, 0, 0, 0, 0, 2}))
	b := open(t, ns, "vb")
	b.attach()
	var conn *net.UDPConn
	must(t, ns.Do(func() (err error) {
		conn, err = net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 4791})
		return err
	}))
	t.Cleanup(func() { conn.Close() })
	return conn, b
}

// A checksum that the kernel left to the interface is right.
func TestKernelChecksum(t *testing.T) {
	conn, b := kernel(t)
	for _, payload := range []string{"", "x", "a datagram", strings.Repeat("long ", 250)} {
		if _, err := conn.Write([]byte(payload)); err != nil {
			t.Fatal(err)
		}
		var f []byte
		for { // the kernel may say something of its own, such as IGMP
			select {
			case f = <-b.frames:
			case <-time.After(patience):
				t.Fatal("no datagram")
			}
			if len(f) == 42+len(payload) && f[12] == 8 && f[23] == unix.IPPROTO_UDP {
				break
			}
		}
		if got := binary.BigEndian.Uint16(f[40:]); got == 0 {
			t.Error("no checksum")
		}
		pseudo := append([]byte{0, unix.IPPROTO_UDP, f[38], f[39]}, f[26:34]...)
		if sum := slowSum(append(pseudo, f[34:]...)); sum != 0xffff {
			t.Errorf("%d octets of payload: the sum is %#04x, want 0xffff", len(payload), sum)
		}
	}
}

// Segments that the kernel left to the interface to be cut are dropped, counted,
// and warned of once.
func TestKernelSegments(t *testing.T) {
	conn, b := kernel(t)
	raw, err := conn.SyscallConn()
	must(t, err)
	must(t, raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, 1000)
	}))
	if err != nil {
		t.Skipf("no UDP segmentation offload here: %v", err)
	}
	for range 3 {
		if _, err := conn.Write(make([]byte, 10_000)); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(patience); b.Losses().Oversize < 3; {
		if time.Now().After(deadline) {
			t.Fatalf("losses %+v, want 3 too long", b.Losses())
		}
		time.Sleep(time.Millisecond)
	}
	must(t, b.Close())
	if n := strings.Count(b.log.String(), "ethtool -K"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, b.log)
	}
}

// Frames that find the ring full are counted.
func TestOverrun(t *testing.T) {
	ns := namespace(t)
	must(t, ns.Veth("va", "vb", 9000))
	a, b := open(t, ns, "va"), open(t, ns, "vb")
	a.attach()
	hold, got := make(chan struct{}), make(chan int, 4096)
	b.Attach(func(frames [][]byte) {
		<-hold
		got <- len(frames)
	}, func(bool) {})
	const sent = 4000
	f := numbered(1, 9000)
	for range sent {
		a.send(t, f)
	}
	lost := int(b.Losses().Overrun)
	if lost == 0 || lost == sent {
		t.Fatalf("%d of %d frames lost in a ring of %d slots", lost, sent, b.ring.slots)
	}
	close(hold)
	for n := lost; n < sent; {
		select {
		case k := <-got:
			n += k
		case <-time.After(patience):
			t.Fatalf("%d of %d frames delivered or lost", n, sent)
		}
	}
	// The ring is in use again.
	a.send(t, f)
	select {
	case <-got:
	case <-time.After(patience):
		t.Fatal("nothing arrives after an overrun")
	}
	if n := int(b.Losses().Overrun); n != lost {
		t.Errorf("%d lost, then %d", lost, n)
	}
}

// Nothing is allocated for frames, whether they come or go.
func TestAllocations(t *testing.T) {
	ns := namespace(t)
	must(t, ns.Veth("va", "vb", 1500))
	a, b := open(t, ns, "va"), open(t, ns, "vb")
	got := make(chan int, 4096)
	b.Attach(func(frames [][]byte) { got <- len(frames) }, func(bool) {})
	batch := make([][]byte, 64)
	for i := range batch {
		batch[i] = numbered(i, 1000)
	}
	if n := testing.AllocsPerRun(200, func() {
		a.Send(batch)
		for n := 0; n < len(batch); {
			n += <-got
		}
	}); n != 0 {
		t.Errorf("%g allocations for 64 frames", n)
	}
}
