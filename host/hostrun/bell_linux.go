package hostrun

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bell lets a goroutine with polled ports, which no channel may wake, sleep in the kernel, with the
// precision of kernel timers instead of the runtime's millisecond. The zero bell cannot be rung.
type bell struct {
	files []unix.PollFd

	mu sync.Mutex
	fd int // guarded by mu; of an eventfd, plus 1; 0: there is none
}

func (b *bell) open() error {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fd = fd + 1
	b.files = []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	return nil
}

func (b *bell) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = unix.Close(b.fd - 1)
	b.fd = 0
}

// ring ends the wait that is under way, or the next one. Any goroutine may call it.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fd == 0 {
		return
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(b.fd-1, one[:]) // EAGAIN: it has been rung often enough
}

// wait waits until a port has frames, the bell is rung, or the time is over.
func (b *bell) wait(ports []Polled, most time.Duration) {
	b.files = b.files[:1]
	for _, p := range ports {
		b.files = append(b.files, unix.PollFd{Fd: int32(p.Descriptor()), Events: unix.POLLIN})
	}
	t := unix.NsecToTimespec(int64(most))
	if _, err := unix.Ppoll(b.files, &t, nil); err == nil && b.files[0].Revents != 0 {
		var rung [8]byte
		_, _ = unix.Read(int(b.files[0].Fd), rung[:])
	}
}
