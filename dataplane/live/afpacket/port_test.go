//go:build linux

package afpacket

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// patience bounds waits for what must happen.
const patience = 10 * time.Second

// inNamespace runs f on a thread with a network of its own, so that no one
// else's frames are seen and no one else sees ours.
func inNamespace(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its network
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Skipf("cannot make a network namespace: %v (needs CAP_SYS_ADMIN)", err)
	}
}

// tap makes an interface that is up; what the file is written arrives on it, and
// what is sent on it is read from the file.
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

func openTap(t *testing.T) (*Port, *os.File) {
	t.Helper()
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skipf("no TAP interfaces here: %v", err)
	}
	var port *Port
	var far *os.File
	inNamespace(t, func() {
		if far = tap(t, "weft0"); far == nil {
			return
		}
		var err error
		if port, err = Open("weft0"); err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return port, far
}

func frameOf(etherType uint16, payload int) []byte {
	f := append([]byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1}, byte(etherType>>8), byte(etherType))
	for i := range payload {
		f = append(f, byte(i*7))
	}
	return f
}

func TestPort(t *testing.T) {
	defer goleak.VerifyNone(t)
	port, far := openTap(t)
	got := make(chan []byte, 16)
	port.Attach(func(frame []byte) { got <- bytes.Clone(frame) })

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
		select {
		case f := <-got:
			if !bytes.Equal(f, c.frame) {
				t.Errorf("%s: got\n%x, want\n%x", c.name, f, c.frame)
			}
		case <-time.After(patience):
			t.Fatalf("%s: did not arrive", c.name)
		}
	}

	out := frameOf(0x86dd, 200)
	if !port.Send(out) {
		t.Fatal("frame refused")
	}
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
	if port.Send(frameOf(0x86dd, 9000)) {
		t.Error("a frame over the MTU was taken")
	}
	if len(got) != 0 {
		t.Errorf("own frame came back: %x", <-got)
	}
	if port.MTU() != 1500 || len(port.HardwareAddr()) != 6 {
		t.Errorf("MTU %d, address %v", port.MTU(), port.HardwareAddr())
	}
	if s := port.Stats(); s.Received < 4 || s.Sent != 1 || s.TxDropped != 1 || s.RxCut != 0 || s.RxDropped != 0 {
		t.Errorf("stats %+v", s)
	}
	if err := port.Close(); err != nil {
		t.Error(err)
	}
	if port.Send(out) {
		t.Error("a closed port took a frame")
	}
}

func TestOpenErrors(t *testing.T) {
	if _, err := Open("no-such-port"); !errors.Is(err, ErrInterface) {
		t.Errorf("error %v, want ErrInterface", err)
	}
}
