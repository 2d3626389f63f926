//go:build linux

package bmv2

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const tapBuffer = 16 << 20 // octets of frames a tap holds until they are read

// Tap is the far end of a switch port's cable: the switch receives the frames written to the Tap,
// and Read returns the frames sent by the switch. A frame is one Write or one Read. One goroutine
// may read and another goroutine write.
type Tap struct {
	file *os.File
}

// openTap must run on the namespace's thread.
func openTap(link *net.Interface) (*Tap, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, tapBuffer),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: everyProtocol, Ifindex: link.Index}),
	)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("packet socket on %s: %w", link.Name, err)
	}
	return &Tap{file: os.NewFile(uintptr(fd), link.Name)}, nil
}

// Write sends a frame, from its Ethernet header on, without frame check sequence.
func (t *Tap) Write(frame []byte) (int, error) { return t.file.Write(frame) }

// Read waits for a frame; b should hold the MTU and an Ethernet header. It fails with
// os.ErrDeadlineExceeded or os.ErrClosed.
func (t *Tap) Read(b []byte) (int, error) { return t.file.Read(b) }

// SetReadDeadline sets the deadline of later reads and of the read under way.
func (t *Tap) SetReadDeadline(deadline time.Time) error { return t.file.SetReadDeadline(deadline) }

func (t *Tap) close() error { return t.file.Close() }
