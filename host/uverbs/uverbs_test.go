//go:build linux

package uverbs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func random(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, seed))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestWrite: what one process writes arrives in the memory of another, gathered from several
// regions, or inline; the last with immediate data, which uses a receive request.
func TestWrite(t *testing.T) {
	p := newPair(t, nil)
	from := random(300_000, 1)
	one := p.apps[0].register(from[:200_000], 0)
	two := p.apps[0].register(from[200_000:], accessLocalWrite)
	p.qps[1].receive(99)
	p.qps[0].post(write{id: 1, va: p.region.IOVA + 5, key: p.region.RKey, flags: sendSignaled,
		from: []sge{{one.Addr, 150_000, one.LKey}, {one.Addr + 150_000, 50_000, one.LKey},
			{two.Addr, 100_000, two.LKey}}})
	p.qps[0].post(write{id: 2, va: p.region.IOVA, key: p.region.RKey, flags: sendInline,
		data: []byte("hello")})
	p.qps[0].post(write{id: 3, va: p.region.IOVA + 400_000, key: p.region.RKey, imm: 0xABCD,
		opcode: wrRDMAWriteImmediate, flags: sendSignaled | sendSolicited,
		from: []sge{{one.Addr + 7, 11, one.LKey}}})
	for _, want := range []cqe{
		{id: 1, opcode: wcRDMAWrite, octets: 300_000, qpn: p.qps[0].is.QPN},
		{id: 3, opcode: wcRDMAWrite, octets: 11, qpn: p.qps[0].is.QPN},
	} {
		if got := p.qps[0].cq.poll(); got != want {
			t.Errorf("completion %+v, want %+v", got, want)
		}
	}
	want := cqe{id: 99, opcode: wcReceiveWriteImm, octets: 11, qpn: p.qps[1].is.QPN,
		flags: wcWithImmediate, immediate: network(0xABCD)}
	if got := p.qps[1].cq.poll(); got != want {
		t.Errorf("completion %+v, want %+v", got, want)
	}
	if !bytes.Equal(p.memory[5:300_005], from) || string(p.memory[:5]) != "hello" ||
		!bytes.Equal(p.memory[400_000:400_011], from[7:18]) {
		t.Error("other octets arrived")
	}
	if n := word(p.qps[0].ring, qpSQTail).Load(); n != 3 {
		t.Errorf("%d requests done", n)
	}
	if n := word(p.qps[1].ring, qpRQTail).Load(); n != 1 {
		t.Errorf("%d receive requests done", n)
	}
}

// TestPumpFindsWork: the owner of the NIC learns that a process has posted, and does not sleep
// before it has had the NIC send.
func TestPumpFindsWork(t *testing.T) {
	p := newPair(t, nil)
	for name, pump := range map[string]func(time.Duration) bool{
		"Pump": p.bed.doors[0].Pump, "Work": p.bed.doors[0].Work,
	} {
		if err := p.bed.do(func(now time.Duration) {
			pump(now)
			if pump(now) {
				t.Errorf("%s has found work of nobody", name)
			}
			p.qps[0].post(write{va: p.region.IOVA, key: p.region.RKey, flags: sendInline | sendSignaled,
				data: []byte("x")})
			if !pump(now) {
				t.Errorf("%s has not found what was posted", name)
			}
			if pump(now) {
				t.Errorf("%s has found it again", name)
			}
		}); err != nil {
			t.Fatal(err)
		}
		p.qps[0].cq.poll()
	}
}

// TestIPv4: programs give IPv4 addresses of peers as IPv4-mapped ones, of queue pairs and of probes
// (OCP MRC 1.0, 9.1).
func TestIPv4(t *testing.T) {
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 1, 0, byte(i + 1)}) }
	p := &pair{bed: newBedAt(t, at), memory: make([]byte, 64)}
	for i := range p.apps {
		p.apps[i] = p.bed.app(i)
		p.qps[i] = p.apps[i].qp(p.apps[i].cq(64), nil)
	}
	p.region = p.apps[1].register(p.memory, accessLocalWrite|accessRemoteWrite)
	for i, q := range p.qps {
		a := p.apps[i]
		a.must(opModifyQP, &qpAttr{Handle: q.is.Handle,
			Mask: attrState | attrAccess | attrPKey | attrPort, State: stateInit,
			Access: accessLocalWrite | accessRemoteWrite, Port: 1}, nil)
		ready := q.toRTR(0, p.qps[1-i].is.QPN)
		ready.DGID = at(1 - i).As16()
		a.must(opModifyQP, ready, nil)
		a.must(opModifyQP, &qpAttr{Handle: q.is.Handle, Mask: attrState | attrSQPSN, State: stateRTS,
			SQPSN: 77}, nil)
	}
	p.qps[0].post(write{id: 1, va: p.region.IOVA, key: p.region.RKey, flags: sendInline | sendSignaled,
		data: []byte("hello")})
	want := cqe{id: 1, opcode: wcRDMAWrite, octets: 5, qpn: p.qps[0].is.QPN}
	if got := p.qps[0].cq.poll(); got != want || string(p.memory[:5]) != "hello" {
		t.Errorf("completion %+v, want %+v; it wrote %q", got, want, p.memory[:5])
	}
	p.grant(p.apps[0], true)
	r := endpointRequest{ID: 700, Mode: ctlFormatUDP, Source: at(0).As16(), Dest: at(1).As16(),
		Port: 2}
	r.EV[0] = 0xC0
	out, err := p.apps[0].batch(ctlProbe, 5, time.Second, r)
	var got endpointAnswer
	if err != nil || len(out) != 32 || decode(out[16:], &got) != nil || got.ID != 700 || got.RTT == 0 {
		t.Errorf("the probe has %d octets, %+v, %v", len(out), got, err)
	}
}

// TestReceiveNotSeen: a receive request that was posted before its message was sent is there for
// it, whether or not the NIC has looked at the ring.
func TestReceiveNotSeen(t *testing.T) {
	p := newPair(t, nil)
	q := p.qps[1]
	word(q.ring, qpRQHead).Add(1) // without a bell
	m := p.apps[0].register(random(10, 1), 0)
	p.qps[0].post(write{id: 3, va: p.region.IOVA, key: p.region.RKey, opcode: wrRDMAWriteImmediate,
		flags: sendSignaled, from: []sge{{m.Addr, 10, m.LKey}}})
	if got := p.qps[0].cq.poll(); got.status != statusSuccess {
		t.Errorf("completion %+v", got)
	}
	if got := q.cq.poll(); got.status != statusSuccess || got.octets != 10 {
		t.Errorf("completion at the receiver %+v", got)
	}
}

// TestReadAhead: a limited number of queue pairs at a time read messages in pieces larger than a
// packet. After the region is gone, the queue pair does not send octets read ahead.
func TestReadAhead(t *testing.T) {
	own := random(3*aheadOctets+100, 5)
	waits := newPatience()
	waits.armed.Store(true) // so that no timer looks, and the NIC always waits
	m := newMover(&memory{fd: open(t, "/proc/self/mem", unix.O_RDWR)}, waits, &user{})
	defer m.close()
	m.left = func() { t.Error("the NIC has not waited") }
	r := &region{
		mover: m,
		valid: true,
		is: memoryRegion{Length: uint64(len(own)),
			Addr: address(own), IOVA: 1 << 40},
	}
	var pool aheadPool
	message := func(a *aheadFor) *gather {
		half := uint32(len(own) / 2)
		return &gather{total: int64(len(own)), ahead: a, list: []piece{{sge{1 << 40, half, 1}, r},
			{sge{1<<40 + uint64(half), uint32(len(own)) - half, 1}, r}}}
	}
	a := aheadFor{pool: &pool}
	g := message(&a)
	check := func(at, n int) {
		t.Helper()
		p := make([]byte, n)
		if _, err := g.ReadAt(p, int64(at)); err != nil || !bytes.Equal(p, own[at:at+n]) {
			t.Errorf("%d octets at %d: %v, other octets", n, at, err)
		}
	}
	for at := 0; at < len(own); at += 4096 {
		check(at, min(4096, len(own)-at))
	}
	if a.octets != nil || len(pool.spare) != 1 {
		t.Errorf("a buffer is kept: %d spare", len(pool.spare))
	}
	check(5, 4096) // again, out of order
	check(3*aheadOctets, 100)
	check(1, aheadOctets)
	check(1, aheadOctets+1)
	many := make([]aheadFor, aheadBuffers+1)
	for i := range many {
		many[i].pool = &pool
		g = message(&many[i])
		check(0, 100)
	}
	if pool.used != aheadBuffers {
		t.Errorf("%d buffers", pool.used)
	}
	g = message(&many[0])
	check(0, 100)
	r.valid = false
	if _, err := g.ReadAt(make([]byte, 100), 100); !errors.Is(err, unix.EACCES) {
		t.Errorf("read of a region that is gone: %v", err)
	}
	runtime.KeepAlive(own)
}

// TestRefusedWrites: work with a forbidden memory access ends with the status of IBTA volume 1, and
// ends the queue pair. An affected peer gets an event.
func TestRefusedWrites(t *testing.T) {
	for _, c := range []struct {
		name   string
		edit   func(p *pair, w *write)
		status uint32
		event  uint32 // at the peer; 0: none
	}{
		{"L_Key unknown", func(_ *pair, w *write) { w.from[0].LKey++ }, statusLocalProtection, 0},
		{"one octet too many", func(_ *pair, w *write) { w.from[0].Length++ }, statusLocalProtection, 0},
		{"below the region", func(_ *pair, w *write) { w.from[0].Addr-- }, statusLocalProtection, 0},
		{"another domain", func(p *pair, w *write) {
			var o object
			p.apps[0].must(opAllocPD, nil, &o)
			other := p.apps[0].pd
			p.apps[0].pd = o.Handle
			m := p.apps[0].register(random(100, 3), 0)
			w.from = []sge{{m.Addr, 100, m.LKey}}
			p.apps[0].pd = other
		}, statusLocalProtection, 0},
		{"deregistered", func(p *pair, w *write) {
			m := p.apps[0].register(random(100, 3), 0)
			w.from = []sge{{m.Addr, 100, m.LKey}}
			p.apps[0].must(opDeregMR, &object{m.Handle}, nil)
		}, statusLocalProtection, 0},
		{"operation", func(_ *pair, w *write) { w.opcode = 2 }, statusLocalQPOp, 0},
		{"too much inline", func(_ *pair, w *write) {
			w.flags |= sendInline
			w.from, w.data = nil, make([]byte, 65)
		}, statusLocalQPOp, 0},
		{"too many elements", func(_ *pair, w *write) {
			w.from = append(w.from, w.from[0], w.from[0], w.from[0])
		}, statusLocalQPOp, 0},
		{"R_Key unknown", func(_ *pair, w *write) { w.key++ }, statusRemoteAccess, eventQPAccess},
		{"past the region", func(p *pair, w *write) {
			w.va += p.region.Length - uint64(w.from[0].Length) + 1
		}, statusRemoteAccess, eventQPAccess},
		{"no receive request", func(_ *pair, w *write) { w.opcode = wrRDMAWriteImmediate },
			statusRemoteOp, eventQPFatal},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t, nil)
			from := random(100, 2)
			m := p.apps[0].register(from, 0)
			w := write{id: 1, va: p.region.IOVA, key: p.region.RKey, from: []sge{{m.Addr, 100, m.LKey}}}
			c.edit(p, &w)
			p.qps[0].post(w)
			p.qps[0].post(write{id: 2})
			if got := p.qps[0].cq.poll(); got.id != 1 || got.status != c.status {
				t.Errorf("completion %+v, want status %d", got, c.status)
			}
			if got := p.qps[0].cq.poll(); got.id != 2 || got.status != statusFlushed {
				t.Errorf("what follows: %+v", got)
			}
			if s := word(p.qps[0].ring, qpState).Load(); s != stateError {
				t.Errorf("state %d", s)
			}
			if c.event != 0 {
				if e := p.apps[1].event(); e.Type != c.event || e.Handle != p.qps[1].is.Handle {
					t.Errorf("event %+v", e)
				}
			}
			if w.opcode != wrRDMAWriteImmediate && !bytes.Equal(p.memory, make([]byte, len(p.memory))) {
				t.Error("something was written")
			}
		})
	}
}

// TestDomains: only peers of queue pairs in its protection domain can write a region, and only
// through queue pairs that allow remote writes.
func TestDomains(t *testing.T) {
	p := newPair(t, nil)
	var o object
	p.apps[1].must(opAllocPD, nil, &o)
	p.apps[1].pd = o.Handle
	elsewhere := p.apps[1].register(p.memory, accessLocalWrite|accessRemoteWrite)
	m := p.apps[0].register(random(100, 2), 0)
	p.qps[0].post(write{id: 1, va: elsewhere.IOVA, key: elsewhere.RKey,
		from: []sge{{m.Addr, 100, m.LKey}}})
	if got := p.qps[0].cq.poll(); got.status != statusRemoteAccess {
		t.Errorf("completion %+v", got)
	}
}

// TestOverflow: a completion queue without room ends its queue pairs, with events, and tells its
// channel.
func TestOverflow(t *testing.T) {
	p := newPair(t, nil)
	c := p.apps[0].cq(2)
	q := p.apps[0].qp(c, nil)
	other := p.apps[1].qp(p.apps[1].cq(4), nil)
	q.connect(1, other.is.QPN)
	other.connect(0, q.is.QPN)
	for i := range 2 {
		q.post(write{id: uint64(i), flags: sendSignaled})
	}
	for range 2 { // both are there, unread
		word(c.ring, cqArmed).Store(1)
		if word(c.ring, cqHead).Load() == 2 {
			break
		}
		c.wait()
	}
	word(c.ring, cqArmed).Store(0)
	if word(c.ring, cqOverflow).Load() != 0 {
		t.Fatal("two entries do not fit two places")
	}
	q.post(write{id: 2, flags: sendSignaled})
	if e := p.apps[0].event(); e.Type != eventCQError || e.Handle != c.handle {
		t.Errorf("event %+v", e)
	}
	if e := p.apps[0].event(); e.Type != eventQPFatal || e.Handle != q.is.Handle {
		t.Errorf("event %+v", e)
	}
	if word(c.ring, cqOverflow).Load() != 1 || word(q.ring, qpState).Load() != stateError {
		t.Error("the queue pair goes on")
	}
}

// TestObjects: the server does not destroy objects in use, and refuses unknown objects.
func TestObjects(t *testing.T) {
	p := newPair(t, nil)
	a, q := p.apps[0], p.qps[0]
	var h hint
	a.must(opCreateHint, &hint{QPsPerPeer: 2, SendPeers: 3, RemoteReceivePeers: 4}, &h)
	a.must(opModifyQP, &qpAttr{Handle: q.is.Handle, MRCMask: mrcHint, Hint: h.Handle}, nil)
	var got qpAttr
	a.must(opQueryQP, &object{q.is.Handle}, &got)
	if got.State != stateRTS || got.Hint != h.Handle || got.SQPSN != 77 || got.PathMTU != 3 {
		t.Errorf("%+v", got)
	}
	for _, in := range []struct {
		op     operation
		handle uint64
	}{{opDeallocPD, a.pd}, {opDestroyCQ, q.cq.handle}, {opDestroyHint, h.Handle}} {
		a.refused(in.op, &object{in.handle}, unix.EBUSY)
	}
	for _, op := range []operation{opDeallocPD, opDeregMR, opDestroyChannel, opDestroyCQ, opQueryQP,
		opDestroyQP, opQueryHint, opDestroyHint, opQueryPort} {
		a.refused(op, &object{1 << 40}, unix.EINVAL)
	}
	a.refused(operation(63), &object{}, unix.EOPNOTSUPP)
	a.must(opDestroyQP, &object{q.is.Handle}, nil)
	a.must(opDestroyHint, &object{h.Handle}, nil)
	a.must(opDestroyCQ, &object{q.cq.handle}, nil)
	a.must(opDeallocPD, &object{a.pd}, nil)
}

// TestSmallMessages: the NIC reads the small messages of a turn with one job, and others as before;
// all arrive, and a message whose region has gone is refused although the NIC has read the message.
func TestSmallMessages(t *testing.T) {
	p := newPair(t, nil)
	from := random(3*smallOctets, 9)
	m := p.apps[0].register(from, 0)
	sizes := []uint32{1, smallOctets, smallOctets + 1, 7}
	at := uint64(0)
	for i, n := range sizes {
		p.qps[0].put(write{id: uint64(i), va: p.region.IOVA + at, key: p.region.RKey,
			flags: sendSignaled, from: []sge{{m.Addr + at, n, m.LKey}}})
		word(p.qps[0].ring, qpSQHead).Add(1)
		at += uint64(n)
	}
	p.qps[0].ringBell()
	for i := range sizes {
		if e := p.qps[0].cq.poll(); e.id != uint64(i) || e.status != statusSuccess {
			t.Errorf("%+v", e)
		}
	}
	if !bytes.Equal(p.memory[:at], from[:at]) {
		t.Error("other octets have arrived")
	}
	v := newMover(&memory{fd: open(t, "/proc/self/mem", unix.O_RDWR)}, newPatience(), &user{})
	v.waits.armed.Store(true) // so that no timer looks, and the NIC always waits
	defer v.close()
	r := &region{mover: v, valid: true, is: memoryRegion{Addr: address(from), IOVA: 1 << 40,
		Length: uint64(len(from))}}
	var both []*gather
	for i := range uint64(2) {
		g := &gather{total: 9, list: []piece{{sge{1<<40 + 9*i, 9, 1}, r}}}
		if !g.isSmall() {
			t.Error("9 octets are not small")
		}
		both = append(both, g)
	}
	v.fetch(both)
	own := random(3*smallOctets, 9)
	clear(from) // what is read is not read again
	for i, g := range both {
		b := make([]byte, 9)
		if _, err := g.ReadAt(b, 0); err != nil || !bytes.Equal(b, own[9*i:9*i+9]) {
			t.Errorf("message %d: %v, %v", i, b, err)
		}
	}
	r.valid = false
	_, err := both[0].ReadAt(make([]byte, 9), 0)
	if !errors.Is(err, unix.EACCES) || both[0].isSmall() {
		t.Errorf("read of a region that is gone: %v", err)
	}
}
