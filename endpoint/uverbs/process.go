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
