//go:build linux

package uverbs

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/endpoint/verbs"
)

// process is an application: what it holds by its connection.
type process struct {
	server  *Server
	memory  *memory
	bell    *shared
	ring    int // eventfd, by which the process wakes the NIC
	bellEnd *os.File
	events  int // write end of the pipe with asynchronous events
	eventsR int // its read end, until the process has it
	lost    uint64
	// mayControl: it has CAP_NET_ADMIN.
	mayControl bool

	last     uint64 // handle
	octets   int    // of rings
	pds      map[uint64]*domain
	mrs      map[uint64]*region
	byKey    map[uint32]*region
	channels map[uint64]*channel
	cqs      map[uint64]*completions
	qps      map[uint64]*queuePair
	slots    [maxQueuePairs]*queuePair
	hints    map[uint64]*hintObject
}

// domain is a protection domain.
type domain struct {
	id    uint32
	users int
}

type hintObject struct {
	is    hint
	users int
}

// serve answers the requests of a connection until it ends.
func (s *Server) serve(c *net.UnixConn) {
	pid, err := peer(c)
	if err == nil {
		err = s.converse(c, pid)
	}
	if err != nil {
		s.log.Info("connection of an application ended", "process", pid, "reason", err)
	}
	_ = c.Close()
}

// peer is the process at the other end, as it was when it connected.
func peer(c *net.UnixConn) (pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		var who *unix.Ucred
		if who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(who.Pid)
		}
	})
	return pid, errors.Join(controlErr, err)
}

func (s *Server) converse(c *net.UnixConn, pid int) error {
	p, err := s.newProcess(pid)
	if err != nil {
		return err
	}
	go p.listen()
	defer func() {
		p.memory.gone.Store(true)
		s.do(func(time.Duration) { p.end() })
		p.close()
	}()
	s.log.Info("application connected", "process", pid)
	buffer := make([]byte, maxMessage)
	greeted := false
	for {
		n, err := c.Read(buffer)
		if err != nil || n == 0 {
			return nil // it has ended, which is how applications leave
		}
		r, body, err := split(buffer[:n])
		if err != nil {
			return err
		}
		if !greeted && r.Op != opHello {
			return fmt.Errorf("operation %d before HELLO: %w", r.Op, unix.EPROTO)
		}
		var out reply
		if err := s.cfg.Do(func(now time.Duration) { out = p.handle(now, r.Op, body) }); err != nil {
			return nil // the NIC has ended
		}
		if out.wait != nil {
			out = out.wait()
		}
		greeted = greeted || r.Op == opHello && out.err == nil
		if err := send(c, r.Seq, out); err != nil {
			return err
		}
	}
}

// split is the head of a request and what follows.
func split(b []byte) (r request, body []byte, err error) {
	const head = 8
	if len(b) < head {
		return r, nil, fmt.Errorf("a request of %d octets: %w", len(b), unix.EPROTO)
	}
	return r, b[head:], decode(b[:head], &r)
}

// reply is what a request leads to: an error, or messages and file descriptors.
type reply struct {
	err      error // a unix.Errno
	messages []any
	fds      []int
	close    []int // of fds, those that are the process's alone from now on
	// wait, if not nil, returns the reply later, on the connection's goroutine.
	wait func() reply
}

func send(c *net.UnixConn, seq uint32, r reply) error {
	a := answer{Seq: seq}
	if r.err != nil {
		var code unix.Errno
		if !errors.As(r.err, &code) {
			code = unix.EIO
		}
		a.Error, r.messages = int32(code), nil
	}
	b := encode(nil, &a)
	b = encode(b, r.messages...)
	var rights []byte
	if len(r.fds) > 0 {
		rights = unix.UnixRights(r.fds...)
	}
	_, _, err := c.WriteMsgUnix(b, rights, nil)
	for _, fd := range r.close {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
}

func (s *Server) newProcess(pid int) (*process, error) {
	bell, err := share("weft-doorbell", doorbellSize)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("eventfd: %w", err), bell.close())
	}
	read, write, err := pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pipe: %w", err), bell.close(), unix.Close(fd))
	}
	p := &process{server: s, memory: &memory{pid: pid}, mayControl: mayControl(pid),
		bell: bell, ring: fd,
		bellEnd: os.NewFile(uintptr(fd), "doorbell"), events: write, eventsR: read,
		pds: make(map[uint64]*domain), mrs: make(map[uint64]*region),
		byKey: make(map[uint32]*region), channels: make(map[uint64]*channel),
		cqs: make(map[uint64]*completions), qps: make(map[uint64]*queuePair),
		hints: make(map[uint64]*hintObject)}
	bell.word(bellSleeping).Store(1)
	return p, nil
}

// listen wakes the NIC when the process rings.
func (p *process) listen() {
	var b [8]byte
	for {
		if _, err := p.bellEnd.Read(b[:]); err != nil {
			return
		}
		if p.server.cfg.Do(func(time.Duration) {}) != nil {
			return
		}
	}
}

// answerBell takes what queue pairs were rung for; false when there was nothing, and the process
// will ring for what comes.
func (p *process) answerBell(now time.Duration) bool {
	sleeping := p.bell.word(bellSleeping)
	found := p.takeDirty(now)
	if found {
		return true
	}
	sleeping.Store(1)
	if p.takeDirty(now) {
		sleeping.Store(0)
		return true
	}
	return false
}

// look takes what queue pairs were rung for, and has the process not ring: the NIC looks again.
func (p *process) look(now time.Duration) bool {
	if sleeping := p.bell.word(bellSleeping); sleeping.Load() != 0 {
		sleeping.Store(0)
	}
	return p.takeDirty(now)
}

func (p *process) takeDirty(now time.Duration) (found bool) {
	for w := range dirtyWords {
		word := p.bell.long(bellDirty + 8*w)
		if word.Load() == 0 {
			continue
		}
		for set := word.Swap(0); set != 0; set &= set - 1 {
			if q := p.slots[w*64+bits.TrailingZeros64(set)]; q != nil {
				q.take(now)
				found = true
			}
		}
	}
	return found
}

// tell writes an asynchronous event. One that finds the pipe full is lost, and counted.
func (p *process) tell(e asyncEvent) {
	if _, err := unix.Write(p.events, encode(nil, &e)); err != nil {
		if p.lost++; p.lost == 1 {
			p.server.log.Warn("an application does not read its asynchronous events", "process",
				p.memory.pid)
		}
	}
}

// end gives back what the process holds. It is the NIC's goroutine's.
func (p *process) end() {
	delete(p.server.processes, p)
	for h := range p.qps {
		p.destroyQP(h)
	}
	for h := range p.mrs {
		p.deregister(h)
	}
	for _, c := range p.cqs {
		_ = c.ring.close()
	}
	for _, c := range p.channels {
		_ = unix.Close(c.write)
	}
}

// close gives back what end has left.
func (p *process) close() {
	_ = p.bellEnd.Close()
	_ = p.bell.close()
	_ = unix.Close(p.events)
	if p.eventsR >= 0 {
		_ = unix.Close(p.eventsR)
	}
}

func (p *process) handleNumber() uint64 {
	p.last++
	return p.last
}

// handle carries out a request.
func (p *process) handle(now time.Duration, op operation, body []byte) reply {
	p.server.now = now
	if op >= opCtlDevice {
		return p.control(now, op, body)
	}
	switch op {
	case opHello:
		return p.hello(body)
	case opCreateChannel:
		return p.createChannel()
	case opAllocPD:
		return p.allocPD()
	case opRegMR:
		return with(body, p.register)
	case opCreateCQ:
		return with(body, p.createCQ)
	case opCreateQP:
		return with(body, p.createQP)
	case opModifyQP:
		return with(body, func(a *qpAttr) reply { return p.modifyQP(now, a) })
	case opCreateHint:
		return with(body, p.createHint)
	case opModifyHint:
		return with(body, p.modifyHint)
	}
	return with(body, func(o *object) reply { return p.handleObject(op, o.Handle) })
}

// handleObject carries out a request that names an object and nothing else.
func (p *process) handleObject(op operation, h uint64) reply {
	switch op {
	case opQueryPort:
		return p.queryPort(h)
	case opDeallocPD:
		return p.deallocPD(h)
	case opDeregMR:
		return p.deregister(h)
	case opDestroyChannel:
		return p.destroyChannel(h)
	case opDestroyCQ:
		return p.destroyCQ(h)
	case opQueryQP:
		return p.queryQP(h)
	case opDestroyQP:
		return p.destroyQP(h)
	case opQueryHint:
		return p.queryHint(h)
	case opDestroyHint:
		return p.destroyHint(h)
	}
	return reply{err: unix.EOPNOTSUPP}
}

// with decodes a request for a handler.
func with[M any](body []byte, do func(*M) reply) reply {
	m := new(M)
	if err := decode(body, m); err != nil {
		return reply{err: err}
	}
	return do(m)
}

// refuse is a reply of an error.
func refuse(code unix.Errno) reply { return reply{err: code} }

func (p *process) hello(body []byte) reply {
	var h hello
	if err := decode(body, &h); err != nil {
		return reply{err: err}
	}
	if h.Version != version {
		return refuse(unix.EPROTONOSUPPORT)
	}
	if p.eventsR < 0 {
		return refuse(unix.EALREADY)
	}
	p.server.processes[p] = true
	out := reply{messages: []any{p.server.device()}, fds: []int{p.bell.fd, p.ring, p.eventsR},
		close: []int{p.eventsR}}
	p.eventsR = -1
	return out
}

// device describes the NIC.
func (s *Server) device() *device {
	host := s.cfg.NIC.Config()
	d := &device{Version: version, Ports: uint32(len(host.Ports)), GID: host.Addr.As16(),
		MaxQP: maxQueuePairs, MaxQPWR: maxDepth, MaxSGE: maxSGEs, MaxInline: maxInlineLen, MaxCQ: maxCQs,
		MaxCQE: maxCQDepth, MaxMR: maxMRs, MaxPD: maxPDs, MaxHint: maxHints, MaxWIMM: mrc.MaxWIMM,
		MaxWIMMDest: mrc.MaxWIMM, MaxMPR: mrc.MaxMPR, MPRResolution: 1,
		Cap: capTrimNACK | capDynamicMPR | capServiceTime, MaxMRSize: maxMRSize,
		MaxMessage: maxMessageSize}
	copy(d.Name[:len(d.Name)-1], s.cfg.Name)
	// EUI-64 of the first port (IEEE: guidelines for EUI)
	mac := host.Ports[0].MAC
	copy(d.GUID[:], []byte{mac[0] ^ 2, mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5]})
	return d
}

func (p *process) queryPort(n uint64) reply {
	host := p.server.cfg.NIC
	ports := host.Config().Ports
	if n < 1 || n > uint64(len(ports)) {
		return refuse(unix.EINVAL)
	}
	state := uint32(portDown)
	if host.Ports().Has(int(n)) {
		state = portActive
	}
	return reply{messages: []any{&port{State: state, MaxMTU: mtu4096, ActiveMTU: p.server.pathMTU(),
		Speed: uint32(ports[n-1].LineRate / 1e6)}}}
}

// pathMTU is the greatest that the interfaces take, as an enum ibv_mtu.
func (s *Server) pathMTU() uint32 {
	if s.cfg.MTU == 0 {
		return mtu4096
	}
	return mtuFor(s.cfg.MTU - s.cfg.Overhead)
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
		m.Length > 0 && m.IOVA+m.Length-1 < m.IOVA,
		m.Access&accessRemoteWrite != 0 && m.Access&accessLocalWrite == 0:
		return refuse(unix.EINVAL)
	case len(p.mrs) >= maxMRs:
		return refuse(unix.ENOMEM)
	}
	if err := p.reachable(m); err != nil {
		return reply{err: err}
	}
	m.Handle = p.handleNumber()
	m.LKey = p.server.newKey()
	m.RKey = m.LKey
	r := &region{memory: p.memory, is: *m, domain: d.id, valid: true}
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

// reachable reads the first and the last octet of what is to be a region: EFAULT when they are not
// there, EPERM when the NIC may not.
func (p *process) reachable(m *memoryRegion) error {
	if m.Length == 0 {
		return nil
	}
	var b [1]byte
	err := errors.Join(p.memory.read(b[:], m.Addr), p.memory.read(b[:], m.Addr+m.Length-1))
	if errors.Is(err, unix.EPERM) {
		p.server.log.Warn("the NIC may not reach the memory of an application: "+
			"run it as root or with CAP_SYS_PTRACE", "process", p.memory.pid)
	}
	return err
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
	read, write, err := pipe()
	if err != nil {
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
	p.cqs[r.Handle] = &completions{handle: r.Handle, ring: ring, depth: r.Depth, channel: ch,
		events: r.Kind == 1}
	return handOver(ring, r)
}

// share makes shared memory within what a process may have.
func (p *process) share(name string, size int) (*shared, error) {
	if p.octets+size > maxShared {
		return nil, unix.ENOMEM
	}
	s, err := share(name, size)
	if err != nil {
		p.server.log.Warn("no memory for a ring", "process", p.memory.pid, "reason", err)
		return nil, unix.ENOMEM
	}
	p.octets += size
	return s, nil
}

// unshare gives it back.
func (p *process) unshare(s *shared) {
	p.octets -= len(s.octets)
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

// valid: counts are not negative, and there is nothing of a vendor's.
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
