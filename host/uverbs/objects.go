//go:build linux

package uverbs

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/host/verbs"
)

// domain is a protection domain.
type domain struct {
	id    uint32
	users int
}

type hintObject struct {
	is    hint
	users int
}

func (p *process) allocPD() reply {
	if len(p.pds) >= maxPDs {
		return refuse(unix.ENOMEM)
	}
	for p.server.domain++; p.server.domain == 0 || p.server.domain == noDomain; {
		p.server.domain++
	}
	h := p.handleNumber()
	p.pds[h] = &domain{id: p.server.domain}
	return reply{messages: []any{&object{h}}}
}

func (p *process) deallocPD(h uint64) reply {
	d := p.pds[h]
	switch {
	case d == nil:
		return refuse(unix.EINVAL)
	case d.users > 0:
		return refuse(unix.EBUSY)
	}
	delete(p.pds, h)
	return reply{}
}

// register makes a memory region (IBTA volume 1, section 11.2.8.1).
func (p *process) register(m *memoryRegion) reply {
	d := p.pds[m.PD]
	switch {
	case d == nil, m.Length > maxMRSize, m.Length > 0 && m.Addr+m.Length-1 < m.Addr,
		m.Access&accessRemoteWrite != 0 && m.Access&accessLocalWrite == 0:
		return refuse(unix.EINVAL)
	case len(p.mrs) >= maxMRs:
		return refuse(unix.ENOMEM)
	}
	return reply{wait: func() (out reply) {
		if err := p.reachable(m); err != nil {
			return reply{err: err}
		}
		if p.server.cfg.Do(func(time.Duration) { out = p.enroll(m, d) }) != nil {
			return refuse(unix.EIO) // the NIC has ended
		}
		return out
	}}
}

// enroll creates a region of existing memory.
func (p *process) enroll(m *memoryRegion, d *domain) reply {
	m.Handle = p.handleNumber()
	m.LKey = p.server.newKey()
	m.RKey = m.LKey
	r := &region{mover: p.mover, is: *m, domain: d.id, valid: true}
	var access verbs.Access
	if m.Access&accessRemoteWrite != 0 {
		access = verbs.AccessRemoteWrite
	}
	if _, err := p.server.cfg.NIC.RegisterForeign(m.IOVA, m.RKey, verbs.Foreign{Memory: r,
		Size: m.Length, Domain: d.id}, access); err != nil {
		delete(p.server.keys, m.RKey)
		return refuse(unix.EINVAL)
	}
	d.users++
	p.mrs[m.Handle], p.byKey[m.LKey] = r, r
	return reply{messages: []any{m}}
}

// reachable reads the first and the last octet of a new region, and returns EFAULT if either is
// missing, ETIMEDOUT if the memory does not answer. It is the connection's goroutine that waits.
func (p *process) reachable(m *memoryRegion) error {
	if m.Length == 0 {
		return nil
	}
	read := make(chan error, 1)
	p.checks.Go(func() {
		var b [1]byte
		read <- errors.Join(p.memory.read(b[:], m.Addr), p.memory.read(b[:], m.Addr+m.Length-1))
	})
	patience := time.NewTimer(p.server.answerTime)
	defer patience.Stop()
	select {
	case err := <-read:
		return err
	case <-patience.C:
		return fmt.Errorf("memory does not answer: %w", unix.ETIMEDOUT)
	}
}

func (p *process) deregister(h uint64) reply {
	r := p.mrs[h]
	if r == nil {
		return refuse(unix.EINVAL)
	}
	r.valid = false
	p.server.cfg.NIC.DeregisterMR(r.is.RKey)
	delete(p.mrs, h)
	delete(p.byKey, r.is.LKey)
	delete(p.server.keys, r.is.RKey)
	if d := p.pds[r.is.PD]; d != nil {
		d.users--
	}
	return reply{}
}

func (p *process) createChannel() reply {
	if len(p.channels) >= maxChannels {
		return refuse(unix.ENOMEM)
	}
	if !p.server.take(p.user, 1) {
		return refuse(unix.EMFILE)
	}
	read, write, err := pipe()
	if err != nil {
		p.server.give(p.user, 1)
		return refuse(unix.EMFILE)
	}
	h := p.handleNumber()
	p.channels[h] = &channel{write: write}
	return reply{messages: []any{&object{h}}, fds: []int{read}, close: []int{read}}
}

func (p *process) destroyChannel(h uint64) reply {
	c := p.channels[h]
	switch {
	case c == nil:
		return refuse(unix.EINVAL)
	case c.users > 0:
		return refuse(unix.EBUSY)
	}
	_ = unix.Close(c.write)
	p.server.give(p.user, 1)
	delete(p.channels, h)
	return reply{}
}

func (p *process) createCQ(r *cqRequest) reply {
	ch := p.channels[r.Channel]
	switch {
	case r.Depth < 1, r.Depth > maxCQDepth, r.Channel != 0 && ch == nil:
		return refuse(unix.EINVAL)
	case r.Kind > 1:
		return refuse(unix.EINVAL)
	case r.Kind == 1 && !p.mayControl:
		return refuse(unix.EPERM)
	case len(p.cqs) >= maxCQs:
		return refuse(unix.ENOMEM)
	}
	r.Depth = powerOfTwo(r.Depth)
	size := ringEntries + int(r.Depth)*entryHead
	ring, err := p.share("weft-cq", size)
	if err != nil {
		return reply{err: err}
	}
	ring.put32(cqDepth, r.Depth)
	ring.put32(cqEntry, entryHead)
	r.Handle = p.handleNumber()
	if ch != nil {
		ch.users++
	}
	c := &completions{process: p, handle: r.Handle, ring: ring, depth: r.Depth, channel: ch,
		events: r.Kind == 1}
	if p.cqs[r.Handle] = c; c.events {
		p.server.eventQueues[c] = true
	}
	return handOver(ring, r)
}

// share makes shared memory within what a process may have.
func (p *process) share(name string, size int) (*shared, error) {
	if p.octets+size > maxShared || p.user.octets+size > maxSharedOfUser {
		return nil, unix.ENOMEM
	}
	s, err := share(name, size)
	if err != nil {
		p.server.log.Warn("no memory for a ring", "process", p.memory.pid, "reason", err)
		return nil, unix.ENOMEM
	}
	p.octets += size
	p.user.octets += size
	return s, nil
}

// unshare gives it back.
func (p *process) unshare(s *shared) {
	p.octets -= len(s.octets)
	p.user.octets -= len(s.octets)
	_ = s.close()
}

func (p *process) destroyCQ(h uint64) reply {
	c := p.cqs[h]
	switch {
	case c == nil:
		return refuse(unix.EINVAL)
	case c.users > 0:
		return refuse(unix.EBUSY)
	}
	p.unshare(c.ring)
	if c.channel != nil {
		c.channel.users--
	}
	delete(p.cqs, h)
	delete(p.server.eventQueues, c)
	return reply{}
}

func (p *process) createQP(r *qpRequest) reply {
	d, send, receive := p.pds[r.PD], p.cqs[r.SendCQ], p.cqs[r.RecvCQ]
	switch {
	case d == nil,
		send == nil,
		receive == nil,
		send.events,
		receive.events,
		r.MaxSendWR > maxDepth,
		r.MaxRecvWR > maxDepth,
		r.MaxSendSGE > maxSGEs,
		r.MaxRecvSGE > maxSGEs,
		r.MaxInline > maxInlineLen,
		r.Protocol > 1:
		return refuse(unix.EINVAL)
	}
	slot := p.freeSlot()
	if slot < 0 {
		return refuse(unix.ENOMEM)
	}
	q := &queuePair{process: p, is: *r, domain: d.id, send: send, receive: receive,
		ahead: aheadFor{pool: &p.server.ahead}}
	if err := q.newRings(); err != nil {
		return reply{err: err}
	}
	q.is.Handle, q.is.QPN, q.is.Slot = p.handleNumber(), p.server.newQPN(), uint32(slot)
	q.attr = newAttr(q.is.Handle)
	q.setState(stateReset)
	d.users++
	send.users++
	receive.users++
	p.slots[slot], p.qps[q.is.Handle] = q, q
	return handOver(q.ring, &q.is)
}

// handOver is a reply with shared memory, whose descriptor is the process's alone then.
func handOver(s *shared, message any) reply {
	fd := s.fd
	s.fd = -1
	return reply{messages: []any{message}, fds: []int{fd}, close: []int{fd}}
}

func (p *process) freeSlot() int {
	for i, q := range p.slots {
		if q == nil {
			return i
		}
	}
	return -1
}

func (p *process) modifyQP(now time.Duration, a *qpAttr) reply {
	q := p.qps[a.Handle]
	if q == nil {
		return refuse(unix.EINVAL)
	}
	return reply{err: q.modify(now, a)}
}

func (p *process) queryQP(h uint64) reply {
	q := p.qps[h]
	if q == nil {
		return refuse(unix.EINVAL)
	}
	a := q.attr
	a.State = q.state()
	a.CurState = a.State
	if q.qp != nil { // the timers are the NIC's unless the application has set them
		a.Timeout = uint32(q.qp.Config().AckTimeout)
	}
	return reply{messages: []any{&a}}
}

func (p *process) destroyQP(h uint64) reply {
	q := p.qps[h]
	if q == nil {
		return refuse(unix.EINVAL)
	}
	q.gone = true
	q.drop()
	p.server.use(q, nil)
	p.slots[q.is.Slot] = nil
	delete(p.qps, h)
	delete(p.server.numbers, q.is.QPN)
	p.unshare(q.ring)
	q.send.users--
	q.receive.users--
	if d := p.pds[q.is.PD]; d != nil {
		d.users--
	}
	return reply{}
}

func (p *process) createHint(h *hint) reply {
	if len(p.hints) >= maxHints {
		return refuse(unix.ENOMEM)
	}
	if !h.valid() {
		return refuse(unix.EINVAL)
	}
	h.Handle = p.handleNumber()
	p.hints[h.Handle] = &hintObject{is: *h}
	return reply{messages: []any{h}}
}

// valid reports whether counts are not negative and the vendor field is empty.
func (h *hint) valid() bool {
	return h.QPsPerPeer >= 0 && h.SendPeers >= 0 && h.RemoteReceivePeers >= 0 &&
		h.Vendor == [128]byte{}
}

const (
	hintQPs     = 1 << 0
	hintSends   = 1 << 1
	hintRecvs   = 1 << 2
	hintVendor  = 1 << 31
	hintAllBits = hintQPs | hintSends | hintRecvs | hintVendor
)

func (p *process) modifyHint(h *hint) reply {
	o := p.hints[h.Handle]
	if o == nil || h.Mask&^uint32(hintAllBits) != 0 {
		return refuse(unix.EINVAL)
	}
	next := o.is
	if h.Mask&hintQPs != 0 {
		next.QPsPerPeer = h.QPsPerPeer
	}
	if h.Mask&hintSends != 0 {
		next.SendPeers = h.SendPeers
	}
	if h.Mask&hintRecvs != 0 {
		next.RemoteReceivePeers = h.RemoteReceivePeers
	}
	if h.Mask&hintVendor != 0 {
		next.Vendor = h.Vendor
	}
	if !next.valid() {
		return refuse(unix.EINVAL)
	}
	o.is = next
	return reply{}
}

func (p *process) queryHint(handle uint64) reply {
	o := p.hints[handle]
	if o == nil {
		return refuse(unix.EINVAL)
	}
	return reply{messages: []any{&o.is}}
}

func (p *process) destroyHint(handle uint64) reply {
	o := p.hints[handle]
	switch {
	case o == nil:
		return refuse(unix.EINVAL)
	case o.users > 0:
		return refuse(unix.EBUSY)
	}
	delete(p.hints, handle)
	return reply{}
}
