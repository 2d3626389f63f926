package live

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// poller makes the switch's goroutine wait for frames in the rings of its ports by a system call of
// its own. The runtime's poller would wake a thread for every frame, even while the goroutine is at
// work.
type poller struct {
	fds      []unix.PollFd // the event first
	event    int           // an eventfd
	sleeping atomic.Bool   // in wait, or about to be
}

// newPoller waits for descriptors to be readable.
func newPoller(descriptors []int) (*poller, error) {
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	p := &poller{event: event}
	for _, fd := range append([]int{event}, descriptors...) {
		p.fds = append(p.fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	return p, nil
}

// wait returns when a descriptor is readable, after wake, or after the timeout; a negative timeout
// means none. It does not wait if early reports true; wait calls early when wake already has an
// effect.
func (p *poller) wait(timeout time.Duration, early func() bool) {
	p.sleeping.Store(true)
	defer p.sleeping.Store(false)
	if early() {
		return
	}
	var until *unix.Timespec
	if timeout >= 0 {
		t := unix.NsecToTimespec(int64(timeout))
		until = &t
	}
	n, err := unix.Ppoll(p.fds, until, nil)
	if err != nil || n <= 0 {
		return // a signal: the caller looks at everything and comes again
	}
	if p.fds[0].Revents != 0 {
		var count [8]byte
		_, _ = unix.Read(p.event, count[:])
	}
	for i := range p.fds[1:] {
		if f := &p.fds[1+i]; f.Revents&unix.POLLERR != 0 {
			// An interface that is gone or down leaves an error, which is read once.
			_, _ = unix.GetsockoptInt(int(f.Fd), unix.SOL_SOCKET, unix.SO_ERROR)
		}
	}
}

// wake ends wait. It may be called from any goroutine.
func (p *poller) wake() {
	if p.sleeping.Load() {
		_, _ = unix.Write(p.event, []byte{7: 1})
	}
}

func (p *poller) close() error { return os.NewSyscallError("close", unix.Close(p.event)) }
