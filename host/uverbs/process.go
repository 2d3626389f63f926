//go:build linux

package uverbs

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/host/mrc"
)

// process is an application: what it holds by its connection.
type process struct {
	server *Server
	memory *memory
	reach
	bell    *shared
	ring    int // eventfd, by which the process wakes the NIC
	bellEnd *os.File
	told
	mayControl bool // it came by the socket for control
	user       *user
	turns

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

// reach is how the NIC gets at the memory of a process.
type reach struct {
	mover   *mover
	answers *time.Timer    // until memory that the NIC has not waited for must have answered
	checks  sync.WaitGroup // of memory to be registered
}

// told is the pipe with the asynchronous events of a process.
type told struct {
	events  int // its write end
	eventsR int // its read end, until the process has it
	lost    uint64
}

// turns holds the queue pairs of a process that wait for a check of their rings.
type turns struct {
	pending [dirtyWords]uint64 // by their slots
	looks   bool               // there may be some
	next    int                // slot where the next turn begins
}

// serve answers the requests of a connection until it ends.
func (s *Server) serve(c *net.UnixConn, control bool) {
	defer func() { _ = c.Close() }()
	who, err := peer(c)
	if err != nil {
		s.say("connection of an application ended", "reason", err)
		return
	}
	u, err := s.admit(who.Uid)
	if err != nil {
		s.say("application refused", "process", who.Pid, "reason", err)
		_ = send(c, firstRequest, reply{err: err}) // it may be gone
		return
	}
	defer s.dismiss(u)
	p, err := s.greet(c, u, int(who.Pid))
	if err == nil {
		p.mayControl = control
		s.say("application connected", "process", who.Pid, "user", who.Uid, "control", control)
		err = p.converse(c)
	}
	if err != nil {
		s.say("connection of an application ended", "process", who.Pid, "reason", err)
	}
}

// say logs events that applications can cause at any rate: all lines of a burst, then one line a
// second with the number of omitted lines.
func (s *Server) say(message string, args ...any) {
	if !s.lines.Allow() {
		s.unsaid.Add(1)
		return
	}
	if n := s.unsaid.Swap(0); n > 0 {
		args = append(args, "linesLeftOut", n)
	}
	s.log.Info(message, args...)
}

// firstRequest is the number of the first request of a connection.
const firstRequest = 1

// greet waits for HELLO, for helloTime at most, and answers it.
func (s *Server) greet(c *net.UnixConn, u *user, pid int) (*process, error) {
	if err := c.SetReadDeadline(time.Now().Add(s.helloTime)); err != nil {
		return nil, err
	}
	buffer := make([]byte, 64)
	for {
		n, fd, err := readHello(c, buffer)
		if err != nil {
			return nil, fmt.Errorf("without HELLO: %w", err)
		}
		m := &memory{pid: pid, fd: fd}
		r, body, err := split(buffer[:n])
		if err == nil && r.Op != opHello {
			err = fmt.Errorf("operation %d before HELLO: %w", r.Op, unix.EPROTO)
		}
		if err != nil {
			m.close()
			return nil, err
		}
		if err := checkHello(body, m); err != nil {
			m.close()
			s.say("application refused", "process", pid, "reason", err)
			if err := send(c, r.Seq, reply{err: err}); err != nil {
				return nil, err
			}
			continue
		}
		if err := c.SetReadDeadline(time.Time{}); err != nil {
			m.close()
			return nil, err
		}
		p, err := s.newProcess(u, m)
		if err != nil {
			m.close()
			return nil, errors.Join(err, send(c, r.Seq, reply{err: err}))
		}
		if err := send(c, r.Seq, p.welcome()); err != nil {
			p.close()
			return nil, err
		}
		return p, nil
	}
}

// converse answers requests after HELLO.
func (p *process) converse(c *net.UnixConn) error {
	s := p.server
	go p.listen()
	defer func() {
		for more := true; more; {
			s.do(func(time.Duration) { more = p.end() })
		}
		p.close()
	}()
	if s.cfg.Do(func(time.Duration) { s.processes[p], p.user.processes[p] = true, true }) != nil {
		return nil // the NIC has ended
	}
	buffer := make([]byte, maxMessage)
	for {
		n, err := c.Read(buffer)
		if err != nil || n == 0 {
			return nil // it has ended, which is how applications leave
		}
		r, body, err := split(buffer[:n])
		if err != nil {
			return err
		}
		var out reply
		if err := s.cfg.Do(func(now time.Duration) { out = p.handle(now, r.Op, body) }); err != nil {
			return nil // the NIC has ended
		}
		if out.wait != nil {
			out = out.wait()
		}
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

func (s *Server) newProcess(u *user, m *memory) (*process, error) {
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
	p := &process{server: s, user: u, memory: m,
		bell: bell, ring: fd,
		bellEnd: os.NewFile(uintptr(fd), "doorbell"), told: told{events: write, eventsR: read},
		pds: make(map[uint64]*domain), mrs: make(map[uint64]*region),
		byKey: make(map[uint32]*region), channels: make(map[uint64]*channel),
		cqs: make(map[uint64]*completions), qps: make(map[uint64]*queuePair),
		hints: make(map[uint64]*hintObject)}
	bell.word(bellSleeping).Store(1)
	p.mover = newMover(m, s.waits, u)
	p.mover.left, p.mover.back = p.left, p.back
	return p, nil
}

// listen wakes the NIC when the process rings. It must not wait in a read: the process may have the
// doorbell, which both have open, block readers.
func (p *process) listen() {
	raw, err := p.bellEnd.SyscallConn()
	for err == nil {
		var readErr error
		err = raw.Read(func(fd uintptr) bool {
			var b [8]byte
			_, readErr = unix.Preadv2(int(fd), [][]byte{b[:]}, -1, unix.RWF_NOWAIT)
			return !errors.Is(readErr, unix.EAGAIN)
		})
		if err = errors.Join(err, readErr); err == nil {
			err = p.server.cfg.Do(func(time.Duration) {})
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

// looksOfUser is how many queue pairs of a user's processes have a turn in a row before those of
// other users; each process has at least one.
const looksOfUser = 16

func (p *process) takeDirty(now time.Duration) (found bool) {
	for w := range dirtyWords {
		if word := p.bell.long(bellDirty + 8*w); word.Load() != 0 {
			p.pending[w] |= word.Swap(0)
			p.looks = true
		}
	}
	if !p.looks {
		return false
	}
	for range max(1, looksOfUser/len(p.user.processes)) {
		slot, ok := p.nextPending()
		if !ok {
			p.looks = false
			break
		}
		if q := p.slots[slot]; q != nil {
			q.take(now)
			found = true
		}
	}
	return found || p.looks
}

// nextPending takes the next slot from pending, in turn.
func (p *process) nextPending() (slot int, ok bool) {
	for i := range dirtyWords + 1 { // the first word twice: its bits from p.next on, and the rest
		w := (p.next/64 + i) % dirtyWords
		set := p.pending[w]
		if i == 0 {
			set &= ^uint64(0) << (p.next % 64)
		}
		if set != 0 {
			bit := bits.TrailingZeros64(set)
			p.pending[w] &^= 1 << bit
			slot = w*64 + bit
			p.next = (slot + 1) % maxQueuePairs
			return slot, true
		}
	}
	return 0, false
}

// lookAgain has the NIC look at a queue pair at its next turn, as if the process had rung.
func (p *process) lookAgain(q *queuePair) {
	p.pending[q.is.Slot/64] |= 1 << (q.is.Slot % 64)
	p.looks = true
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

// end gives back what the process holds, some at a time; more says that there is more. It is the
// NIC's goroutine's.
func (p *process) end() (more bool) {
	delete(p.server.processes, p)
	delete(p.user.processes, p)
	n := 0
	for h := range p.qps {
		if n++; n > endsAtOnce {
			return true
		}
		p.destroyQP(h)
	}
	for h := range p.mrs {
		if n++; n > regionsAtOnce {
			return true
		}
		p.deregister(h)
	}
	for h := range p.cqs {
		p.destroyCQ(h)
	}
	for h := range p.channels {
		p.destroyChannel(h)
	}
	return false
}

// regionsAtOnce bounds the memory regions of an ended process that the NIC releases before other
// work.
const regionsAtOnce = 1024

// close gives back what end has left, once the kernel has: a connection counts until its memory has
// answered.
func (p *process) close() {
	p.mover.close()
	p.checks.Wait()
	p.memory.close()
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
		return refuse(unix.EALREADY)
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

// welcome is the answer to HELLO.
func (p *process) welcome() reply {
	out := reply{messages: []any{p.server.device}, fds: []int{p.bell.fd, p.ring, p.eventsR},
		close: []int{p.bell.fd, p.eventsR}}
	p.bell.fd, p.eventsR = -1, -1
	return out
}

// describe is the answer to HELLO, of what a NIC never changes.
func describe(cfg Config) *device {
	host := cfg.NIC.Config()
	d := &device{Version: version, Ports: uint32(len(host.Ports)), GID: host.Addr.As16(),
		MaxQP: maxQueuePairs, MaxQPWR: maxDepth, MaxSGE: maxSGEs, MaxInline: maxInlineLen, MaxCQ: maxCQs,
		MaxCQE: maxCQDepth, MaxMR: maxMRs, MaxPD: maxPDs, MaxHint: maxHints, MaxWIMM: mrc.MaxWIMM,
		MaxWIMMDest: mrc.MaxWIMM, MaxMPR: mrc.MaxMPR, MPRResolution: 1,
		Cap: capTrimNACK | capDynamicMPR | capServiceTime, MaxMRSize: maxMRSize,
		MaxMessage: maxMessageSize}
	copy(d.Name[:len(d.Name)-1], cfg.Name)
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
