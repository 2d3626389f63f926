package mrc

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/weft-sdn/weft/endpoint/verbs"
)

// elsewhere is memory of another process, which can be gone.
type elsewhere struct {
	octets []byte
	gone   bool
	reads  int
}

var errGone = errors.New("no such process")

func (e *elsewhere) ReadAt(p []byte, at int64) (int, error) {
	e.reads++
	if e.gone {
		return 0, errGone
	}
	return copy(p, e.octets[at:]), nil
}

func (e *elsewhere) WriteAt(p []byte, at int64) (int, error) {
	if e.gone {
		return 0, errGone
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

// TestForeign: memory of other processes is read and written in place, as far as the protection
// domain of the queue pair is that of the region (IBTA volume 1, section 10.2.3).
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
