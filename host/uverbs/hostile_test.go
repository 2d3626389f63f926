//go:build linux

package uverbs

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// works writes data through a pair and checks that the data arrives.
func (p *pair) works(t *testing.T) {
	t.Helper()
	from := random(5000, rand.Uint64())
	m := p.apps[0].register(from, 0)
	p.qps[0].post(write{id: 9, va: p.region.IOVA, key: p.region.RKey, flags: sendSignaled,
		from: []sge{{m.Addr, 5000, m.LKey}}})
	if got := p.qps[0].cq.poll(); got.status != statusSuccess || !bytes.Equal(p.memory[:5000], from) {
		t.Errorf("a write of another process: %+v", got)
	}
}

// TestHostileIndices: an impossible index ends its queue pair, and no other queue pair.
func TestHostileIndices(t *testing.T) {
	for _, at := range []int{qpSQHead, qpRQHead} {
		p := newPair(t, nil)
		bad := p.bed.app(0)
		q := bad.qp(bad.cq(8), nil)
		depth := q.is.MaxSendWR
		if at == qpRQHead {
			depth = q.is.MaxRecvWR
		}
		word(q.ring, at).Store(depth) // as much as there may be, before anything is taken
		q.ringBell()
		var got qpAttr
		bad.must(opQueryQP, &object{q.is.Handle}, &got)
		if got.State != stateReset {
			t.Errorf("full ring: state %d", got.State)
		}
		word(q.ring, at).Store(depth + 1)
		q.ringBell()
		if e := bad.event(); e.Type != eventQPFatal || e.Handle != q.is.Handle {
			t.Errorf("event %+v", e)
		}
		p.works(t)
	}
}

// TestIndicesGoBack: an index before the requests already taken by the NIC, with requests in
// flight, ends the queue pair at once.
func TestIndicesGoBack(t *testing.T) {
	for _, state := range []uint32{stateRTS, stateError} {
		for _, at := range []int{qpSQHead, qpRQHead} {
			p := newPair(t, nil)
			bad := p.bed.app(0)
			q := bad.qp(bad.cq(32), nil)
			q.connect(1, 0x20000) // which is none's
			for i := range 4 {
				q.post(write{id: uint64(i), flags: sendInline, data: []byte{1}})
				q.receive(uint64(i))
			}
			q.put(write{id: 4, opcode: 99})
			p.bed.taken(t, q, 4)
			if state == stateError {
				bad.must(opModifyQP, &qpAttr{Handle: q.is.Handle, Mask: attrState, State: state}, nil)
				p.bed.taken(t, q, 4)
			}
			word(q.ring, at).Store(3)
			q.ringBell()
			if e := bad.event(); e.Type != eventQPFatal || e.Handle != q.is.Handle {
				t.Errorf("state %d, index at %d: event %+v", state, at, e)
			}
			p.works(t)
		}
	}
}

// taken waits until the NIC has taken so many requests of both queues of a queue pair.
func (b *bed) taken(t *testing.T, q *qp, want uint32) {
	t.Helper()
	for done := false; !done; {
		_ = b.do(func(time.Duration) {
			is := b.queuePair(q)
			done = is.sqTaken == want && is.rqTaken == want
		})
	}
}

// queuePair returns the queue pair of an app in the first NIC.
func (b *bed) queuePair(q *qp) *queuePair {
	for p := range b.doors[0].processes {
		if is := p.qps[q.is.Handle]; is != nil && is.is.QPN == q.is.QPN {
			return is
		}
	}
	return nil
}

// TestTurns: however much lies in its rings, the NIC takes a few entries of a queue pair, of a few
// queue pairs of a user, before it does other work; and in the end all of them.
func TestTurns(t *testing.T) {
	p := newPair(t, nil)
	a := p.bed.app(0)
	const depth, queues = 512, 3 * looksOfUser
	c := a.cq(2 * depth * queues)
	var qps []*qp
	for range queues {
		q := a.qp(c, func(r *qpRequest) { r.MaxSendWR, r.MaxRecvWR = depth, depth })
		a.must(opModifyQP, &qpAttr{Handle: q.is.Handle, Mask: attrState, State: stateError}, nil)
		qps = append(qps, q)
	}
	_ = p.bed.do(func(now time.Duration) {
		for _, q := range qps {
			word(q.ring, qpSQHead).Store(depth)
			word(q.ring, qpRQHead).Store(depth)
			q.ringBell()
		}
		is := p.bed.queuePair(qps[0]).process
		other := &process{user: is.user} // the user has two, which share its turn
		is.user.processes[other] = true
		defer delete(is.user.processes, other)
		more := is.look(now)
		looked := 0
		for _, q := range qps {
			n := p.bed.queuePair(q)
			if n.sqTaken > 0 {
				looked++
			}
			if n.sqTaken > atOnce || n.rqTaken > atOnce {
				t.Errorf("%d and %d entries in one turn, want at most %d", n.sqTaken, n.rqTaken, atOnce)
			}
		}
		if !more || looked != looksOfUser/len(is.user.processes) {
			t.Errorf("%d queue pairs in one turn, more: %v; want %d of %d", looked, more,
				looksOfUser/len(is.user.processes), queues)
		}
	})
	for n := 0; n < 2*depth*queues; n++ {
		if e := c.poll(); e.status != statusFlushed {
			t.Fatalf("completion %d: %+v", n, e)
		}
	}
	p.works(t)
}

// TestEndsInTurns: the NIC ends the queue pairs of an overflowed completion queue a few at a time,
// likewise the queue pairs of a process, and ends all of them.
func TestEndsInTurns(t *testing.T) {
	p := newPair(t, nil)
	a := p.bed.app(0)
	c := a.cq(1)
	const queues = 2*endsAtOnce + 1
	var qps []*qp
	for range queues {
		q := a.qp(c, nil)
		q.connect(1, 0x20000)
		qps = append(qps, q)
	}
	failed := func() (n int) {
		for _, q := range qps {
			if p.bed.queuePair(q).state() == stateError {
				n++
			}
		}
		return n
	}
	_ = p.bed.do(func(now time.Duration) {
		s := p.bed.doors[0]
		is := p.bed.queuePair(qps[0])
		for range 2 {
			is.push(is.send, &cqe{}, false)
		}
		s.endOverflowed(now)
		if n := failed(); n != endsAtOnce {
			t.Errorf("%d queue pairs ended at once, want %d", n, endsAtOnce)
		}
	})
	seen := map[uint64]bool{}
	for len(seen) < queues {
		if e := a.event(); e.Type == eventQPFatal {
			seen[e.Handle] = true
		}
	}
	_ = p.bed.do(func(time.Duration) {
		is := p.bed.queuePair(qps[0]).process
		if more := is.end(); !more || len(is.qps) != queues-endsAtOnce {
			t.Errorf("more: %v, %d of %d queue pairs left", more, len(is.qps), queues)
		}
	})
	if err := a.conn.Close(); err != nil {
		t.Fatal(err)
	}
	for done := false; !done; { // but what the other process has
		_ = p.bed.do(func(time.Duration) {
			own := p.bed.queuePair(p.qps[0]).process
			done = len(p.bed.doors[0].numbers) == 1 && own.user.octets == own.octets
		})
	}
	p.works(t)
}

// left waits until so many processes are connected to the first NIC.
func (b *bed) left(t *testing.T, want int) {
	t.Helper()
	for n := -1; n != want; {
		_ = b.do(func(time.Duration) { n = b.doors[0].Processes() })
	}
}

// TestHostileMemory: a process cannot take shared memory away, and what it writes to indices of the
// NIC has no effect but on itself.
func TestHostileMemory(t *testing.T) {
	p := newPair(t, nil)
	bad := p.bed.app(0)
	r := cqRequest{Depth: 4}
	fds := bad.must(opCreateCQ, &r, &r)
	if err := unix.Ftruncate(fds[0], 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("the ring is cut off: %v", err)
	}
	if err := unix.Fallocate(fds[0], unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0,
		ringEntries); err != nil {
		t.Errorf("punch: %v", err)
	}
	q := p.qps[0]
	word(q.cq.ring, cqHead).Add(7)
	word(q.ring, qpSQTail).Add(7)
	word(q.cq.ring, cqHead).Add(^uint32(6))
	p.works(t)
	_ = unix.Close(fds[0])
}

// TestConversations: what is no conversation ends the connection, and nothing else.
func TestConversations(t *testing.T) {
	p := newPair(t, nil)
	for _, c := range []struct {
		name string
		send []byte
	}{
		{"nothing before HELLO", encode(nil, &request{opAllocPD, 1})},
		{"too short", []byte{1, 0, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := p.bed.dial(0)
			if _, err := a.conn.Write(c.send); err != nil {
				t.Fatal(err)
			}
			if n, err := a.conn.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) &&
				!errors.Is(err, unix.ECONNRESET) {
				t.Errorf("%d octets, %v", n, err)
			}
		})
	}
	a := p.bed.dial(0)
	a.refused(opHello, &hello{Version: version + 1}, unix.EPROTONOSUPPORT)
	a.refused(opHello, &object{1}, unix.EPROTONOSUPPORT) // HELLO of version 1 had this size
	a.refused(opHello, &port{State: version}, unix.EINVAL)
	for _, fd := range a.hello() {
		_ = unix.Close(fd)
	}
	a.refused(opHello, &hello{Version: version}, unix.EALREADY)
	p.works(t)
}

// TestEnd: what a process holds ends with its connection: its region is not written any more, and
// its queue pairs answer no more.
func TestEnd(t *testing.T) {
	p := newPair(t, func(r *qpRequest) { r.SigAll = 1 })
	p.works(t)
	third := p.bed.app(1)
	c := third.cq(8)
	q, other := third.qp(c, nil), p.apps[0].qp(p.apps[0].cq(8), nil)
	q.connect(0, other.is.QPN)
	other.connect(1, q.is.QPN)
	other.app.must(opModifyQP, &qpAttr{Handle: other.is.Handle, MRCMask: mrcTimeout, Timeout: 8}, nil)
	region := third.register(make([]byte, 100), accessLocalWrite|accessRemoteWrite)
	if err := third.conn.Close(); err != nil {
		t.Fatal(err)
	}
	gone := func() (gone bool) {
		_ = p.bed.do(func(time.Duration) {
			_, err := p.bed.nics[1].QP(q.is.QPN)
			gone = err != nil && p.bed.doors[1].Processes() == 1
		})
		return gone
	}
	for !gone() {
	}
	// The keys of the process are free, so the NIC refuses a queue pair of another domain as for any
	// unknown key.
	p.qps[0].post(write{id: 4, va: region.IOVA, key: region.RKey, flags: sendInline, data: []byte{1}})
	if got := p.qps[0].cq.poll(); got.status != statusRemoteAccess {
		t.Errorf("%+v", got)
	}
}

// TestNICEnds: processes learn that the NIC has ended, and their objects lie idle.
func TestNICEnds(t *testing.T) {
	p := newPair(t, nil)
	a := p.apps[0]
	ended := make(chan error)
	go func() {
		_, err := a.conn.Read(make([]byte, 10))
		ended <- err
	}()
	if err := p.bed.doors[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the connection: %v", err)
	}
	if word(a.bell, bellGone).Load() != 1 {
		t.Error("the doorbell page does not say that the NIC is gone")
	}
	p.qps[0].post(write{id: 1, flags: sendSignaled}) // nobody reads it
}

// A change is an attempt to modify a queue pair.
type change struct {
	name string
	from uint32
	is   qpAttr
	want unix.Errno
}

// TestStates: the server makes the transitions of IBTA volume 1, section 10.3.1, with their
// required attributes; a refused change changes nothing.
func TestStates(t *testing.T) {
	p := newPair(t, nil)
	av := qpAttr{Mask: attrState | attrAV | attrPathMTU | attrDestQPN | attrRQPSN, State: stateRTR,
		PathMTU: 3, DestQPN: 0x20000, RQPSN: 1, IsGlobal: 1, DGID: addr(1).As16()}
	with := func(a qpAttr, edit func(*qpAttr)) qpAttr { edit(&a); return a }
	toInit := qpAttr{Mask: attrState | attrAccess, State: stateInit}
	toRTS := qpAttr{Mask: attrState | attrSQPSN, State: stateRTS}
	for _, c := range []change{
		{"RESET to INIT", stateReset, toInit, 0},
		{"without access", stateReset, with(toInit, func(a *qpAttr) {
			a.Mask = attrState
		}), unix.EINVAL},
		{"RESET to RTR", stateReset, av, unix.EINVAL},
		{"RESET to RTS", stateReset, toRTS, unix.EINVAL},
		{"wrong current state", stateReset, with(toInit, func(a *qpAttr) {
			a.Mask |= attrCurState
			a.CurState = stateInit
		}), unix.EINVAL},
		{"current state", stateReset, with(toInit, func(a *qpAttr) { a.Mask |= attrCurState }), 0},
		{"P_Key index 1", stateReset, with(toInit, func(a *qpAttr) {
			a.Mask |= attrPKey
			a.PKey = 1
		}), unix.EINVAL},
		{"EV profile", stateReset, with(toInit, func(a *qpAttr) {
			a.MRCMask, a.EVProfile = mrcEVProfile, 7
		}), unix.EINVAL},
		{"no EV profile", stateReset, with(toInit, func(a *qpAttr) { a.MRCMask = mrcEVProfile }), 0},
		{"CC profile", stateReset, with(toInit, func(a *qpAttr) {
			a.MRCMask, a.CCProfile = mrcCCProfile, 7
		}), unix.EINVAL},
		{"hint", stateReset, with(toInit, func(a *qpAttr) {
			a.MRCMask, a.Hint = mrcHint, 7
		}), unix.EINVAL},
		{"timeout in RESET", stateReset, with(toInit, func(a *qpAttr) {
			a.MRCMask = mrcTimeout
		}), unix.EINVAL},
		{"of a vendor", stateReset, with(toInit, func(a *qpAttr) {
			a.MRCMask = mrcVendor
			a.Vendor[3] = 1
		}), unix.EINVAL},
		{"INIT to RTR", stateInit, av, 0},
		{"INIT again", stateInit, toInit, 0},
		{"no PSN", stateInit, with(av, func(a *qpAttr) { a.Mask &^= attrRQPSN }), unix.EINVAL},
		{"no peer", stateInit, with(av, func(a *qpAttr) { a.Mask &^= attrDestQPN }), unix.EINVAL},
		{"no address", stateInit, with(av, func(a *qpAttr) { a.Mask &^= attrAV }), unix.EINVAL},
		{"no MTU", stateInit, with(av, func(a *qpAttr) { a.Mask &^= attrPathMTU }), unix.EINVAL},
		{"MTU 0", stateInit, with(av, func(a *qpAttr) { a.PathMTU = 0 }), unix.EINVAL},
		{"MTU 4096", stateInit, with(av, func(a *qpAttr) { a.PathMTU = 5 }), 0},
		{"MTU 6", stateInit, with(av, func(a *qpAttr) { a.PathMTU = 6 }), unix.EINVAL},
		{"no GRH", stateInit, with(av, func(a *qpAttr) { a.IsGlobal = 0 }), unix.EINVAL},
		{"GID index 1", stateInit, with(av, func(a *qpAttr) { a.SGID = 1 }), unix.EINVAL},
		{"IPv4 peer", stateInit, with(av, func(a *qpAttr) {
			a.DGID = [16]byte{10: 0xFF, 11: 0xFF, 12: 10, 15: 1}
		}), unix.EINVAL},
		{"multicast peer", stateInit, with(av, func(a *qpAttr) { a.DGID[0] = 0xFF }), unix.EINVAL},
		{"PSN of 25 bits", stateInit, with(av, func(a *qpAttr) { a.RQPSN = 1 << 24 }), unix.EINVAL},
		{"greatest PSN", stateInit, with(av, func(a *qpAttr) { a.RQPSN = 1<<24 - 1 }), 0},
		{"peer of 25 bits", stateInit, with(av, func(a *qpAttr) { a.DestQPN = 1 << 24 }), unix.EINVAL},
		{"peer 1", stateInit, with(av, func(a *qpAttr) { a.DestQPN = 1 }), unix.EINVAL},
		{"responder's MPR 0", stateInit, with(av, func(a *qpAttr) {
			a.MRCMask = mrcMPRDest
		}), unix.EINVAL},
		{"responder's MPR 255", stateInit, with(av, func(a *qpAttr) {
			a.MRCMask, a.MPRDest = mrcMPRDest, 255
		}), 0},
		{"responder's MPR 256", stateInit, with(av, func(a *qpAttr) {
			a.MRCMask, a.MPRDest = mrcMPRDest, 256
		}), unix.EINVAL},
		{"responder's WIMM 4096", stateInit, with(av, func(a *qpAttr) {
			a.MRCMask, a.MaxWIMMDest = mrcMaxWIMMDest, 4096
		}), 0},
		{"responder's WIMM 4097", stateInit, with(av, func(a *qpAttr) {
			a.MRCMask, a.MaxWIMMDest = mrcMaxWIMMDest, 4097
		}), unix.EINVAL},
		{"requester's MPR at RTR", stateInit, with(av, func(a *qpAttr) {
			a.MRCMask, a.MPR = mrcMPR, 8
		}), unix.EINVAL},
		{"INIT to RTS", stateInit, toRTS, unix.EINVAL},
		{"RTR to RTS", stateRTR, toRTS, 0},
		{"no first PSN", stateRTR, with(toRTS, func(a *qpAttr) { a.Mask = attrState }), unix.EINVAL},
		{"first PSN of 25 bits", stateRTR, with(toRTS, func(a *qpAttr) {
			a.SQPSN = 1 << 24
		}), unix.EINVAL},
		{"timeout 24", stateRTR, with(toRTS, func(a *qpAttr) {
			a.MRCMask, a.Timeout = mrcTimeout, 24
		}), 0},
		{"timeout 25", stateRTR, with(toRTS, func(a *qpAttr) {
			a.MRCMask, a.Timeout = mrcTimeout, 25
		}), unix.EINVAL},
		{"linear retries 7", stateRTR, with(toRTS, func(a *qpAttr) {
			a.MRCMask, a.Linear = mrcRetry, 7
		}), 0},
		{"linear retries 8", stateRTR, with(toRTS, func(a *qpAttr) {
			a.MRCMask, a.Linear = mrcRetry, 8
		}), unix.EINVAL},
		{"exponential 25", stateRTR, with(toRTS, func(a *qpAttr) {
			a.MRCMask, a.Exponential = mrcRetry, 25
		}), 0},
		{"exponential 26", stateRTR, with(toRTS, func(a *qpAttr) {
			a.MRCMask, a.Exponential = mrcRetry, 26
		}), unix.EINVAL},
		{"capability 8", stateRTR, with(toRTS, func(a *qpAttr) {
			a.MRCMask, a.Cap = mrcCap, 8
		}), unix.EINVAL},
		{"RTS to RTR", stateRTS, av, unix.EINVAL},
		{"RTS to SQD", stateRTS, qpAttr{Mask: attrState, State: 4}, unix.EINVAL},
		{"RTS, new timeout", stateRTS, qpAttr{MRCMask: mrcTimeout, Timeout: 12}, 0},
		{"RTS, new retries", stateRTS, qpAttr{MRCMask: mrcRetry}, unix.EINVAL},
		{"RTS to ERR", stateRTS, qpAttr{Mask: attrState, State: stateError}, 0},
		{"RTS to RESET", stateRTS, qpAttr{Mask: attrState, State: stateReset}, 0},
		{"ERR to RESET", stateError, qpAttr{Mask: attrState, State: stateReset}, 0},
		{"ERR to RTS", stateError, toRTS, unix.EINVAL},
		{"state 7", stateInit, qpAttr{Mask: attrState, State: 7}, unix.EINVAL},
	} {
		t.Run(c.name, func(t *testing.T) { p.change(t, c) })
	}
}

func (p *pair) change(t *testing.T, c change) {
	a := p.apps[0]
	q := a.qp(p.qps[0].cq, nil)
	a.must(opModifyQP, &qpAttr{Handle: q.is.Handle, Mask: attrState | attrAccess,
		State: stateInit}, nil)
	switch c.from {
	case stateReset:
		a.must(opModifyQP, &qpAttr{Handle: q.is.Handle, Mask: attrState, State: stateReset}, nil)
	case stateRTR, stateRTS:
		a.must(opModifyQP, q.toRTR(1, 0x20000), nil)
		if c.from == stateRTS {
			a.must(opModifyQP, &qpAttr{Handle: q.is.Handle, Mask: attrState | attrSQPSN,
				State: stateRTS}, nil)
		}
	case stateError:
		a.must(opModifyQP, &qpAttr{Handle: q.is.Handle, Mask: attrState, State: stateError}, nil)
	}
	var before, after qpAttr
	a.must(opQueryQP, &object{q.is.Handle}, &before)
	c.is.Handle = q.is.Handle
	_, err := a.call(opModifyQP, &c.is, nil)
	if c.want == 0 && err != nil || c.want != 0 && !errors.Is(err, c.want) {
		t.Errorf("%v, want %v", err, c.want)
	}
	a.must(opQueryQP, &object{q.is.Handle}, &after)
	if c.want != 0 && after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	if c.want == 0 && c.is.Mask&attrState != 0 && after.State != c.is.State {
		t.Errorf("state %d, want %d", after.State, c.is.State)
	}
	if word(q.ring, qpState).Load() != after.State {
		t.Error("the ring has another state")
	}
	a.must(opDestroyQP, &object{q.is.Handle}, nil)
}

// FuzzRequests: whatever a process sends or writes to its rings, others go on.
func FuzzRequests(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, uint64(1))
	f.Add(encode(nil, &request{opCreateCQ, 1}, &cqRequest{Depth: 8}), uint64(2))
	f.Add(encode(nil, &request{opRegMR, 1}, &memoryRegion{PD: 1, Length: 1 << 40}), uint64(3))
	f.Add(encode(nil, &request{opModifyQP, 1}, &qpAttr{Handle: 4, Mask: 1, State: 2}), uint64(4))
	f.Fuzz(func(t *testing.T, message []byte, seed uint64) {
		p := newPair(t, nil)
		bad := p.bed.app(0)
		q := bad.qp(bad.cq(8), nil)
		q.connect(1, 0x20000) // which is none's
		r := rand.New(rand.NewPCG(seed, 1))
		for range 20 {
			at := 64 + r.IntN(len(q.ring)/4-16)*4
			word(q.ring, at).Store(r.Uint32())
			word(q.ring, qpSQHead).Store(r.Uint32N(20))
			q.ringBell()
		}
		if len(message) > 0 && len(message) < maxMessage {
			if _, err := bad.conn.Write(message); err != nil {
				t.Fatal(err)
			}
			_, _ = bad.conn.Read(make([]byte, maxMessage))
		}
		p.works(t)
	})
}
