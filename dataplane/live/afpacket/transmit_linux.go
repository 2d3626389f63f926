package afpacket

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sendBatch is how many frames one call hands to the kernel.
const sendBatch = 64

// message is Linux's struct mmsghdr.
type message struct {
	header unix.Msghdr
	length uint32
}

// transmitter is a socket for frames that leave, and the arguments of sendmmsg. The socket receives
// nothing, and no goroutine waits for it: a waiting thread would wake up for every frame that the
// kernel has finished with.
type transmitter struct {
	file   *os.File
	socket syscall.RawConn // of file

	parts    [2 * sendBatch]unix.Iovec // of a frame, or of a frame and what goes in front of it
	messages [sendBatch]message
	joins    *joins // nil: each frame is a message

	first, end int   // of messages, those not sent yet
	err        error // of the first of them
	send       func(fd uintptr) bool
}

func newTransmitter(joined bool) (*transmitter, error) {
	t := &transmitter{}
	for i := range t.messages {
		t.messages[i].header.Iov = &t.parts[i]
		t.messages[i].header.SetIovlen(1)
	}
	// Made once: a function literal in Send would be an allocation each time.
	t.send = t.sendAll
	// Of no protocol: no frames.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	t.file = os.NewFile(uintptr(fd), "packets out")
	err = setSendBuffer(fd)
	if err == nil && joined {
		t.joins = &joins{}
		err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("options: %w", err), t.file.Close())
	}
	if t.socket, err = t.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, t.file.Close())
	}
	return t, nil
}

// bind has frames leave by an interface; 0: by none.
func (t *transmitter) bind(index int) error {
	var err error
	if closed := t.socket.Control(func(fd uintptr) {
		err = unix.Bind(int(fd), &unix.SockaddrLinklayer{Ifindex: index})
	}); closed != nil {
		return closed
	}
	if err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	return nil
}

// fill takes up to sendBatch frames and returns how many.
func (t *transmitter) fill(frames [][]byte) int {
	n := min(len(frames), sendBatch)
	if t.joins != nil {
		t.first, t.end = 0, t.join(frames[:n])
		return n
	}
	for i, f := range frames[:n] {
		part := &t.parts[i]
		part.Base = unsafe.SliceData(f)
		part.SetLen(len(f))
	}
	t.first, t.end = 0, n
	return n
}

// frames is how many frames the first messages hold.
func (t *transmitter) frames(messages int) int {
	if t.joins == nil {
		return messages
	}
	return t.joins.upTo[messages]
}

// sendAll sends until all is sent or one is refused.
func (t *transmitter) sendAll(fd uintptr) bool {
	t.err = nil
	for t.first < t.end {
		// The call never waits, so the runtime's scheduler need not know about it.
		n, _, errno := unix.RawSyscall6(
			unix.SYS_SENDMMSG,
			fd,
			uintptr(unsafe.Pointer(&t.messages[t.first])),
			uintptr(t.end-t.first),
			unix.MSG_DONTWAIT,
			0,
			0,
		)
		switch errno {
		case 0:
			t.first += int(n)
		case unix.EINTR:
		default:
			t.err = errno
			return true
		}
	}
	return true
}

// hopeless reports whether later frames will meet the same error.
func hopeless(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENETDOWN) || errors.Is(err, unix.ENXIO)
}

// Send implements live.Port: it transmits the frames, and drops those that the
// kernel has no room for or finds too long.
func (p *Port) Send(frames [][]byte) (taken, octets int) {
	t := p.out
	for len(frames) > 0 {
		n := t.fill(frames)
		for t.first < t.end {
			sent := t.first
			if t.socket.Write(t.send) != nil { // closed
				return taken, octets
			}
			for _, f := range frames[t.frames(sent):t.frames(t.first)] {
				taken++
				octets += len(f)
			}
			if hopeless(t.err) {
				return taken, octets
			}
			if t.err != nil {
				t.first++
			}
		}
		frames = frames[n:]
	}
	return taken, octets
}
