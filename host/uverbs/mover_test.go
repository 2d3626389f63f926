//go:build linux

package uverbs

import (
	"bytes"
	"errors"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/bubble"
)

// silent is a program with silent memory at a NIC of a pair, connected to one at the other NIC.
type silent struct {
	*pair
	silence *silence
	at      int // number of the NIC
	qps     [2]*qp
	region  memoryRegion
	other   memoryRegion // at the other program
}

func newSilent(t *testing.T, at int) *silent {
	s := &silent{pair: newPair(t, nil), silence: newSilence(t), at: at}
	s.answerTime(time.Hour)
	for i := range s.qps {
		a := s.bed.dial(i)
		if i == at {
			a.memory, a.probe = s.silence.memory, s.silence.word
		}
		a.begin()
		s.qps[i] = a.qp(a.cq(8), nil)
	}
	for i, q := range s.qps {
		q.connect(1-i, s.qps[1-i].is.QPN)
	}
	const access = accessLocalWrite | accessRemoteWrite
	a := s.qps[at].app
	begin := s.silence.octets
	s.region = memoryRegion{PD: a.pd, Addr: begin, Length: 3 * page, IOVA: begin, Access: access}
	a.must(opRegMR, &s.region, &s.region)
	s.other = s.qps[1-at].app.register(bytes.Repeat([]byte{5}, page), access)
	return s
}

func (s *silent) answerTime(d time.Duration) {
	_ = s.bed.do(func(time.Duration) {
		for _, door := range s.bed.doors {
			door.answerTime = d
		}
	})
}

// write writes from the first program to the second one; the silent memory is at one end.
func (s *silent) write(octets uint32) {
	from, to := s.region, s.other
	if s.at == 1 {
		from, to = to, from
	}
	from.Addr, to.IOVA = s.middle(from.Addr), s.middle(to.IOVA)
	s.qps[0].post(write{id: 3, va: to.IOVA, key: to.RKey, flags: sendSignaled,
		from: []sge{{from.Addr, octets, from.LKey}}})
}

// middle is the address to use of a region.
func (s *silent) middle(address uint64) uint64 {
	if address == s.region.Addr {
		return address + page
	}
	return address
}

// counters waits until a NIC has waited in vain.
func (s *silent) counters(has func(MemoryCounters) bool) {
	for ok := false; !ok; {
		_ = s.bed.do(func(time.Duration) { ok = has(s.bed.doors[s.at].Memory()) })
	}
}

// TestSilentMemory: memory of a program that does not answer, to be read or to be written, holds up
// that program alone, and its work goes on when the memory answers. Octets are written once.
func TestSilentMemory(t *testing.T) {
	for at, name := range []string{"read", "written"} {
		t.Run(name, func(t *testing.T) {
			s := newSilent(t, at)
			s.write(page)
			s.counters(func(c MemoryCounters) bool {
				return c.Waits > 0
			})
			for range 20 {
				s.works(t)
			}
			if e, ok := s.qps[0].cq.try(); ok {
				t.Errorf("%+v of memory that has not answered", e)
			}
			got, want := make([]byte, page), bytes.Repeat([]byte{5}, page)
			middle := int64(s.silence.octets + page)
			// The program puts another octet in place of the first that arrives, before the NIC goes on.
			err := s.bed.do(func(time.Duration) {
				s.silence.give()
				for first := -1; at == 1 && first < 0; {
					if _, err := unix.Pread(s.silence.memory, got, middle); err != nil {
						t.Error(err)
						return
					}
					if first = bytes.IndexByte(got, 5); first >= 0 {
						want[first] = 9
						_, err := unix.Pwrite(s.silence.memory, []byte{9}, middle+int64(first))
						if err != nil {
							t.Error(err)
						}
					}
				}
			})
			if err != nil {
				t.Error(err)
			}
			if e := s.qps[0].cq.poll(); e.id != 3 || e.status != statusSuccess {
				t.Errorf("%+v", e)
			}
			if at == 1 {
				if _, err := unix.Pread(s.silence.memory, got, middle); err != nil ||
					!bytes.Equal(got, want) {
					t.Errorf("other octets have arrived, or octets again: %v", err)
				}
			}
		})
	}
}

// TestSilentMemoryFails: an access that fails after a while is an error, as one that fails at once.
func TestSilentMemoryFails(t *testing.T) {
	for at, name := range []string{"read", "written"} {
		t.Run(name, func(t *testing.T) {
			s := newSilent(t, at)
			s.write(1)
			s.counters(func(c MemoryCounters) bool { return c.Waits > 0 })
			if err := s.silence.server.Close(); err != nil {
				t.Fatal(err)
			}
			want := []uint32{statusLocalProtection, statusRemoteOp}[at]
			if e := s.qps[0].cq.poll(); e.status != want {
				t.Errorf("status %d, want %d", e.status, want)
			}
		})
	}
}

// TestSilentProgramEnds: queue pairs of a program whose memory does not answer in time end, at both
// ends, and those that the program makes when the memory has answered work.
func TestSilentProgramEnds(t *testing.T) {
	for at, name := range []string{"read", "written"} {
		t.Run(name, func(t *testing.T) {
			s := newSilent(t, at)
			s.answerTime(20 * time.Millisecond)
			s.write(page)
			own := s.qps[at]
			if e := own.app.event(); e.Type != eventQPFatal || e.Handle != own.is.Handle {
				t.Errorf("%+v", e)
			}
			want := []uint32{statusFlushed, statusRemoteOp}[at]
			if e := s.qps[0].cq.poll(); e.status != want {
				t.Errorf("status %d, want %d", e.status, want)
			}
			s.counters(func(c MemoryCounters) bool { return c.GivenUp == 1 })
			s.works(t)
			s.silence.give()
			s.counters(func(MemoryCounters) bool { // until the NIC uses the memory again
				for p := range s.bed.doors[at].processes {
					if p.mover.gaveUp || p.mover.state.Load() != moverFree {
						return false
					}
				}
				return true
			})
		})
	}
}

// TestSilentRegistration: memory that does not answer at its registration is refused in time.
func TestSilentRegistration(t *testing.T) {
	s := newSilent(t, 0)
	s.answerTime(20 * time.Millisecond)
	a := s.qps[0].app
	at := s.silence.octets + page
	a.refused(opRegMR, &memoryRegion{PD: a.pd, Addr: at, IOVA: at, Length: 1}, unix.ETIMEDOUT)
	s.works(t)
}

// TestCloseOfSilent: a NIC ends in time although memory does not answer.
func TestCloseOfSilent(t *testing.T) {
	s := newSilent(t, 0)
	s.write(page)
	s.counters(func(c MemoryCounters) bool { return c.Waits > 0 })
	began := time.Now()
	if err := s.bed.doors[0].Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*closeTime {
		t.Errorf("it took %v", took)
	}
	s.silence.give()
}

// TestPatience: the NIC waits for an access about as long as patienceTime says, and charges for one
// that it sees for slowTime. The first look is patienceTime after the access begins.
func TestPatience(t *testing.T) {
	const first, second = patienceTime, patienceTime + slowTime
	for _, c := range []struct {
		takes         time.Duration
		charged, left bool
	}{
		{0, false, false},
		{first - 1, false, false},
		{second - 1, false, false},
		{second + 1, true, false},
		{second + patienceTime - 1, true, false},
		{second + patienceTime + 1, true, true},
		{time.Minute, true, true},
	} {
		t.Run(c.takes.String(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				rested := make(chan bool, 1)
				u := &user{slow: rate.NewLimiter(0, 0), rested: func() { rested <- true }}
				m := newMover(&memory{}, newPatience(), u)
				defer m.close()
				left, back := false, make(chan bool, 1)
				m.left, m.back = func() { left = true }, func() { back <- true }
				m.span(0, 0)
				silent := func([]byte, uint64) error {
					time.Sleep(c.takes)
					return unix.EFAULT
				}
				began := time.Now()
				err := m.do(silent)
				took := time.Since(began)
				if left != c.left || u.rests.Load() != c.charged {
					t.Errorf("left %v, charged %v", left, u.rests.Load())
				}
				if !c.left {
					if took != c.takes || !errors.Is(err, unix.EFAULT) {
						t.Errorf("%v after %v", err, took)
					}
				} else {
					if took != second+patienceTime || !errors.Is(err, verbs.ErrLater) {
						t.Errorf("%v after %v", err, took)
					}
					if err := m.read(make([]byte, 1), 0); !errors.Is(err, verbs.ErrLater) {
						t.Errorf("another access: %v", err)
					}
					<-back
					m.free()
				}
				if c.charged {
					if err := m.write([]byte{1}, 0); !errors.Is(err, verbs.ErrLater) {
						t.Errorf("a user who has to rest: %v", err)
					}
					<-rested
					if took := time.Since(began); took > max(c.takes, second+restTime) {
						t.Errorf("the rest ends after %v", took)
					}
				}
				time.Sleep(time.Minute) // no timer is left
				if m.waits.armed.Load() {
					t.Error("the NIC looks although it waits for nothing")
				}
			})
		})
	}
}

// TestUserfaultfd: memory that a userfaultfd has not filled is no memory: the kernel does not wait.
func TestUserfaultfd(t *testing.T) {
	const (
		api, register, missing = 0xC018AA3F, 0xC020AA00, 1 // userfaultfd(2)
		apiVersion             = 0xAA
	)
	fd, _, code := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0)
	if code != 0 {
		t.Skipf("no userfaultfd that handles faults of the kernel: %v (it needs root)", code)
	}
	defer func() { _ = unix.Close(int(fd)) }()
	b, err := unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(b) }()
	for _, c := range []struct {
		request uintptr
		is      [4]uint64
	}{{api, [4]uint64{apiVersion}}, {register, [4]uint64{address(b), page, missing}}} {
		if _, _, code := unix.Syscall(unix.SYS_IOCTL, fd, c.request,
			uintptr(unsafe.Pointer(&c.is))); code != 0 {
			t.Skipf("userfaultfd: %v", code)
		}
	}
	m := &memory{fd: open(t, "/proc/self/mem", unix.O_RDWR)}
	for _, err := range []error{m.read(make([]byte, 1), address(b)), m.write([]byte{1}, address(b))} {
		if !errors.Is(err, unix.EFAULT) {
			t.Errorf("%v, want EFAULT", err)
		}
	}
}
