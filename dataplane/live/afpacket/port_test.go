//go:build linux

package afpacket

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/live/afpacket/afpackettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits for what must happen.
const patience = 10 * time.Second

// tap makes an interface and sets it up. A write to the file arrives on the interface, and a read
// returns a frame sent on the interface.
func tap(t *testing.T, name string) *os.File {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Errorf("open /dev/net/tun: %v", err)
		return nil
	}
	req, err := unix.NewIfreq(name)
	if err != nil {
		t.Error(err)
		return nil
	}
	req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		t.Errorf("make %s: %v", name, err)
		return nil
	}
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer unix.Close(sock)
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(sock, unix.SIOCSIFFLAGS, req); err != nil {
		t.Errorf("bring %s up: %v", name, err)
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	t.Cleanup(func() { f.Close() })
	return f
}

// namespace makes a network for a test.
func namespace(t *testing.T) *afpackettest.Namespace {
	t.Helper()
	ns, err := afpackettest.New()
	if err != nil {
		t.Skipf("no network namespace here: %v", err)
	}
	t.Cleanup(ns.Close)
	return ns
}

// end is a port with what it was told.
type end struct {
	*Port
	frames chan []byte
	links  chan bool
	log    *bytes.Buffer // read when the port is closed
}

// open opens a port in a namespace; it is closed with the test.
func open(t *testing.T, ns *afpackettest.Namespace, name string) *end {
	t.Helper()
	return openBy(t, ns, name, Open)
}

func openBy(t *testing.T, ns *afpackettest.Namespace, name string,
	by func(string, *slog.Logger) (*Port, error)) *end {
	t.Helper()
	e := &end{frames: make(chan []byte, 4096), links: make(chan bool, 64), log: new(bytes.Buffer)}
	if err := ns.Do(func() (err error) {
		e.Port, err = by(name, slog.New(slog.NewTextHandler(e.log, nil)))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func (e *end) attach() {
	e.Attach(func(frames [][]byte) {
		for _, f := range frames {
			e.frames <- bytes.Clone(f)
		}
	}, func(up bool) { e.links <- up })
}

// want waits for frames, and no others.
func (e *end) want(t *testing.T, frames ...[]byte) {
	t.Helper()
	for i, want := range frames {
		select {
		case got := <-e.frames:
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: frame %d of %d is\n%x, want\n%x", *e.name.Load(), i, len(frames), got, want)
			}
		case <-time.After(patience):
			t.Fatalf("%s: frame %d of %d did not arrive: %+v", *e.name.Load(), i, len(frames), e.Losses())
		}
	}
	if n := len(e.frames); n > 0 {
		t.Errorf("%s: %d frames that were not sent, such as %x", *e.name.Load(), n, <-e.frames)
	}
}

// wantLink waits until a link is up or down.
func (e *end) wantLink(t *testing.T, up bool) {
	t.Helper()
	for {
		e.mu.Lock()
		now := e.up
		e.mu.Unlock()
		if now == up {
			return
		}
		select {
		case <-e.links:
		case <-time.After(patience):
			t.Fatalf("%s: the link does not become up=%v", *e.name.Load(), up)
		}
	}
}

func (e *end) send(t *testing.T, frames ...[]byte) {
	t.Helper()
	octets := 0
	for _, f := range frames {
		octets += len(f)
	}
	if n, o := e.Send(frames); n != len(frames) || o != octets {
		t.Fatalf("%s: %d of %d frames sent, %d of %d octets", *e.name.Load(), n, len(frames), o, octets)
	}
}

func frameOf(etherType uint16, payload int) []byte {
	f := append([]byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1}, byte(etherType>>8), byte(etherType))
	for i := range payload {
		f = append(f, byte(i*7))
	}
	return f
}

func TestPort(t *testing.T) {
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skipf("no TAP interfaces here: %v", err)
	}
	ns := namespace(t)
	var far *os.File
	_ = ns.Do(func() error {
		far = tap(t, "weft0")
		return nil
	})
	if t.Failed() {
		t.FailNow()
	}
	port := open(t, ns, "weft0")
	port.attach()

	tagged := frameOf(unix.ETH_P_8021Q, 0)
	tagged = append(tagged, 0xa0, 0x07) // priority 5, VLAN 7
	tagged = append(tagged, frameOf(0x86dd, 64)[12:]...)
	service := frameOf(unix.ETH_P_8021AD, 0)
	service = append(service, 0x00, 0x09)
	service = append(service, frameOf(0x86dd, 64)[12:]...)
	for _, c := range []struct {
		name  string
		frame []byte
	}{
		{"to an address that is not the interface's", frameOf(0x86dd, 100)},
		{"full size", frameOf(0x86dd, 1500)},
		{"VLAN tag", tagged},
		{"service tag", service},
	} {
		if _, err := far.Write(c.frame); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		port.want(t, c.frame)
	}

	out := frameOf(0x86dd, 200)
	port.send(t, out)
	if err := far.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for { // the kernel may have sent frames of its own
		n, err := far.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(buf[:n], out) {
			break
		}
	}
	// A frame over the MTU costs itself only.
	if n, octets := port.Send([][]byte{out, frameOf(0x86dd, 9000), nil, out}); n != 2 ||
		octets != 2*len(out) {
		t.Errorf("%d frames with %d octets sent, want 2 with %d", n, octets, 2*len(out))
	}
	port.want(t) // own frames do not come back
	if port.MTU() != 1500 || len(port.HardwareAddr()) != 6 {
		t.Errorf("MTU %d, address %v", port.MTU(), port.HardwareAddr())
	}
	if l := port.Losses(); l != (live.Losses{}) {
		t.Errorf("losses %+v", l)
	}
	if err := port.Close(); err != nil {
		t.Error(err)
	}
	if n, _ := port.Send([][]byte{out}); n != 0 {
		t.Error("a closed port took a frame")
	}
}

func TestOpenErrors(t *testing.T) {
	if _, err := Open("no-such-port", slog.New(slog.DiscardHandler)); !errors.Is(err, ErrInterface) {
		t.Errorf("error %v, want ErrInterface", err)
	}
}
