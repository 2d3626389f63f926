package mrc

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
)

// elsewhere simulates memory in another process; the process may end.
type elsewhere struct {
	octets []byte
	gone   bool
	reads  int
	later  func() bool // reports that the memory does not answer now; nil: it answers
	// goesOn, when not nil, returns the error of a write at an offset that goes on
	goesOn func(at int64) error
}

var errGone = errors.New("no such process")

func (e *elsewhere) ReadAt(p []byte, at int64) (int, error) {
	e.reads++
	if e.gone {
		return 0, errGone
	}
	if e.later != nil && e.later() {
		return 0, verbs.ErrLater
	}
	return copy(p, e.octets[at:]), nil
}

func (e *elsewhere) WriteAt(p []byte, at int64) (int, error) {
	if e.gone {
		return 0, errGone
	}
	if e.later != nil && e.later() {
		return 0, verbs.ErrLater
	}
	if e.goesOn != nil {
		copy(e.octets[at:], p)
		return 0, e.goesOn(at)
	}
	return copy(e.octets[at:], p), nil
}

// foreignBed has two hosts; a region of host 1 is another process's.
func foreignBed(t *testing.T, domain uint32) (*bed, [2]*QP, *elsewhere) {
	l := newBed(t, 1, 2, 2)
	to := &elsewhere{octets: make([]byte, 100_000)}
	if _, err := l.hosts[1].RegisterForeign(4096, testRKey, verbs.Foreign{Memory: to, Size: 100_000,
		Domain: 3}, verbs.AccessRemoteWrite); err != nil {
		t.Fatal(err)
	}
	return l, l.pair(0, 1, func(_ int, c *QPConfig) { c.Domain = domain }), to
}

// write writes what is elsewhere to the other end, and returns how that ended at both.
func (l *bed) write(q [2]*QP, from *elsewhere, va uint64) (status verbs.Status, failed bool) {
	l.t.Helper()
	err := q[0].PostSend(l.Now(), verbs.WorkRequest{ID: 5, Op: verbs.OpWrite, From: from,
		Length: len(from.octets), RemoteVA: va, RKey: testRKey})
	if err != nil {
		l.t.Fatal(err)
	}
	l.run(l.Now()+time.Second, nil)
	c, ok := q[0].Poll()
	if !ok || c.ID != 5 {
		l.t.Fatalf("completion %+v, %v", c, ok)
	}
	if c.Status == verbs.StatusOK && c.Octets != len(from.octets) {
		l.t.Errorf("%d octets, want %d", c.Octets, len(from.octets))
	}
	return c.Status, q[1].Failed()
}

// TestForeign: the host reads and writes memory of other processes in place, if queue pair and
// region have the same protection domain (IBTA volume 1, section 10.2.3).
func TestForeign(t *testing.T) {
	for _, c := range []struct {
		name   string
		domain uint32
		va     uint64
		octets int
		want   verbs.Status
	}{
		{"same domain", 3, 4096, 100_000, verbs.StatusOK},
		{"every domain", 0, 4096, 100_000, verbs.StatusOK},
		{"no octets", 4, 1, 0, verbs.StatusOK},
		{"last octet", 3, 4096 + 99_999, 1, verbs.StatusOK},
		{"one too many", 3, 4096 + 99_999, 2, verbs.StatusRemoteAccess},
		{"below", 3, 4095, 1, verbs.StatusRemoteAccess},
		{"another domain", 4, 4096, 1, verbs.StatusRemoteAccess},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, q, to := foreignBed(t, c.domain)
			l.planes[0].loss = 0.1
			from := &elsewhere{octets: make([]byte, c.octets)}
			for i := range from.octets {
				from.octets[i] = byte(i*7 + i>>8)
			}
			if got, _ := l.write(q, from, c.va); got != c.want {
				t.Fatalf("%v, want %v", got, c.want)
			}
			at := int(c.va) - 4096
			if c.want == verbs.StatusOK && c.octets > 0 &&
				!bytes.Equal(to.octets[at:at+c.octets], from.octets) {
				t.Error("other octets arrived")
			}
		})
	}
}

// TestForeignGone: memory that cannot be read is a local protection error, memory that cannot be
// written a remote operational error at the peer.
func TestForeignGone(t *testing.T) {
	l, q, _ := foreignBed(t, 3)
	status, failed := l.write(q, &elsewhere{octets: make([]byte, 10_000), gone: true}, 4096)
	if status != verbs.StatusLocalProtection || !q[0].Failed() || failed {
		t.Errorf("no memory to read: %v, peer failed: %v", status, failed)
	}
	if n := q[0].Counters().RequestsSent; n != 0 {
		t.Errorf("%d packets left", n)
	}
	l, q, to := foreignBed(t, 3)
	to.gone = true
	status, failed = l.write(q, &elsewhere{octets: make([]byte, 10_000)}, 4096)
	if status != verbs.StatusRemoteOperational || !failed {
		t.Errorf("no memory to write: %v, peer failed: %v", status, failed)
	}
}

// TestForeignLater: memory that does not answer now holds up its queue pair. The queue pair asks
// again when its owner calls Resume, and never more often; a responder drops the packet, without a
// NACK, which would use up retries.
// Packets sent for the first time, sent again and sent for their ACK alone arrive all the same.
func TestForeignLater(t *testing.T) {
	l, q, to := foreignBed(t, 3)
	l.planes[0].loss = 0.1
	from := &elsewhere{octets: pattern(100_000, 3)}
	held, asked, refused := 0, false, uint64(0)
	from.later = func() bool {
		if asked {
			t.Error("memory is asked again without Resume")
		}
		if from.reads%3 != 0 {
			return false
		}
		held++
		asked = true
		sent := q[0].Counters().RequestsSent
		l.At(l.Now()+10*time.Microsecond, func() {
			if n := q[0].Counters().RequestsSent; n != sent || q[0].Schedule() == Ready {
				t.Errorf("%d packets without memory, state %v", n-sent, q[0].Schedule())
			}
			asked = false
			q[0].Resume()
		})
		return true
	}
	writes := 0
	to.later = func() bool {
		if writes++; writes%4 != 0 {
			return false
		}
		refused++
		return true
	}
	if got, _ := l.write(q, from, 4096); got != verbs.StatusOK ||
		!bytes.Equal(to.octets, from.octets) {
		t.Errorf("%v", got)
	}
	if n := l.hosts[1].Counters().Refused[RefusedResource]; held == 0 || refused == 0 ||
		n != refused || q[1].Counters().NACKsSent != 0 || q[0].Counters().RequestsResent == 0 {
		t.Errorf("held %d times, refused %d times, counted %d, %d NACKs", held, refused, n,
			q[1].Counters().NACKsSent)
	}
	s := newSolo(t, nil) // the ACK of a packet that has arrived is asked for with its payload
	memory := &elsewhere{octets: make([]byte, 100)}
	s.post(verbs.WorkRequest{From: memory, Length: 100})
	first := s.settle(time.Microsecond)
	s.give(sackPacket(100, 100, first[0].EV(), 1))
	memory.later = func() bool { return true }
	s.settle(2 * time.Millisecond)
	if n := s.qp.Counters(); !s.qp.held || n.AckProbes != 0 {
		t.Errorf("held %v, %d asked for their ACK", s.qp.held, n.AckProbes)
	}
	memory.later = nil
	s.qp.Resume()
	if out := s.settle(time.Microsecond); len(out) != 1 || s.qp.Counters().AckProbes != 1 {
		t.Errorf("sent %+v", out)
	}
}

// TestForeignUnderway: a write that goes on after the host has dropped its packet counts when the
// packet comes again and the write has ended, and the host does not repeat the write. An error of
// the write counts too.
func TestForeignUnderway(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration // how long a write goes on
		err   error
		want  verbs.Status
	}{
		{time.Microsecond, nil, verbs.StatusOK},
		{10 * time.Millisecond, nil, verbs.StatusOK}, // the packet has come again meanwhile
		{time.Microsecond, errGone, verbs.StatusRemoteOperational},
	} {
		l, q, to := foreignBed(t, 3)
		written, ended := make(map[int64]int), uint64(0)
		to.goesOn = func(at int64) error {
			written[at]++
			u := &verbs.Underway{}
			l.At(l.Now()+c.takes, func() {
				u.Ended, u.Err = true, c.err
				if n := q[1].Counters().RequestsReceived; n > ended {
					t.Errorf("%v, %v: %d packets count, and %d writes have ended", c.takes, c.err, n, ended)
				}
				ended++
			})
			return u
		}
		from := &elsewhere{octets: pattern(10_000, 3)}
		if got, _ := l.write(q, from, 4096); got != c.want ||
			c.err == nil && !bytes.Equal(to.octets[:10_000], from.octets) {
			t.Errorf("%v, %v: %v, want %v", c.takes, c.err, got, c.want)
		}
		for at, n := range written {
			if n != 1 {
				t.Errorf("%v, %v: the octets at %d are written %d times", c.takes, c.err, at, n)
			}
		}
		if n := l.hosts[1].Counters().Refused[RefusedResource]; n < uint64(len(written)) ||
			c.err == nil && len(q[1].underway) != 0 {
			t.Errorf("%v, %v: %d packets dropped, %d writes kept", c.takes, c.err, n, len(q[1].underway))
		}
	}
}

// TestBegin: a queue pair that answers already learns what its requester begins with.
func TestBegin(t *testing.T) {
	l, q, to := foreignBed(t, 3)
	from := &elsewhere{octets: bytes.Repeat([]byte{9}, 10_000)}
	a := DefaultAttributes()
	a.MaxMPR = 1
	if err := q[0].Begin(1<<24, a, 7, 25); !errors.Is(err, verbs.ErrConfig) {
		t.Errorf("PSN of 25 bits: %v", err)
	}
	if err := q[0].Begin(0, a, 3, 4); err != nil { // what host 1 expects of host 0
		t.Fatal(err)
	}
	if c := q[0].Config(); c.LinearRetries != 3 || c.ExponentialRetries != 4 || c.Remote != a {
		t.Errorf("%+v", c)
	}
	if n := q[0].SendWindow(); n != 128 {
		t.Errorf("window of %d packets", n)
	}
	if got, _ := l.write(q, from, 4096); got != verbs.StatusOK ||
		!bytes.Equal(to.octets[:10_000], from.octets) {
		t.Errorf("%v", got)
	}
	if err := q[0].Begin(0, a, 3, 4); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("after the first packet: %v", err)
	}
}
