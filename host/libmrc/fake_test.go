//go:build linux

package libmrc_test

import (
	"encoding/binary"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fake is a NIC that sends nothing, and only simulates the results visible to a program. The
// destination of a queue pair selects the outcome of its work.
type fake struct {
	t       *testing.T
	path    string
	l       *net.UnixListener
	running sync.WaitGroup
	mu      sync.Mutex
	conns   map[*peer]bool
	// evs and formats are the last of each profile; entries the EVs of the one.
	evs, formats, ccs map[uint64][]byte
	entries           []byte
	messages          []int         // entries in each message of NIC_CTL_MODIFY_EVS
	masks             []uint32      // of the same
	timeouts          []uint32      // of NIC_CTL_ENDPOINT
	regions           [][3]uint64   // address, octets, IOVA
	version           atomic.Uint32 // of the protocol
}

// Destinations, by dest_qp_num.
const (
	toAll      = 1 // completes work when it sees it
	toNone     = 2 // holds it
	toUntailed = 3 // writes the completion of the first entry, and never moves the tail
	toTailed   = 4 // so, and moves the tail by three more
)

// Requests of nic.h.
const (
	opHello = iota + 1
	opQueryPort
	opAllocPD
	opDeallocPD
	opRegMR
	opDeregMR
	opCreateChannel
	opDestroyChannel
	opCreateCQ
	opDestroyCQ
	opCreateQP
	opModifyQP
	opQueryQP
	opDestroyQP
	opCreateHint
	opModifyHint
	opQueryHint
	opDestroyHint
)

const (
	opCtlDevice = iota + 64
	opCtlQueryPort
	opCtlModifyPort
	opCtlModifyFormat
	opCtlQueryFormat
	opCtlModifyEVs
	opCtlQueryEVs
	opCtlModifyCC
	opCtlQueryCC
	opCtlEndpoint
)

var order = binary.NativeEndian

type fakeCQ struct {
	handle, channel uint64
	kind, depth     uint32
	ring            []byte
}

type fakeQP struct {
	handle, send, recv      uint64
	qpn, slot, dest         uint32
	sqDepth, sqEntry        uint32
	rqDepth, rqEntry        uint32
	rqOffset                uint32
	ring                    []byte
	attr                    []byte
	untailed, all, sqd, rqd uint32
}

// peer is a process.
type peer struct {
	fake        *fake
	conn        *net.UnixConn
	bell        []byte
	wake, async int // eventfd; write end
	mu          sync.Mutex
	next        uint64
	channels    map[uint64]int
	cqs         map[uint64]*fakeCQ
	qps         map[uint64]*fakeQP
	hints       map[uint64][]byte
	fds         []int
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{t: t, path: filepath.Join(t.TempDir(), "nic.sock"), conns: make(map[*peer]bool),
		evs: make(map[uint64][]byte), formats: make(map[uint64][]byte),
		ccs: make(map[uint64][]byte)}
	f.version.Store(2)
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: f.path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	f.l = l
	f.running.Go(func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			p := &peer{fake: f, conn: c, next: 10, channels: make(map[uint64]int),
				cqs: make(map[uint64]*fakeCQ), qps: make(map[uint64]*fakeQP),
				hints: make(map[uint64][]byte), wake: -1, async: -1}
			f.mu.Lock()
			f.conns[p] = true
			f.mu.Unlock()
			f.running.Go(p.serve)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		f.kill()
		f.running.Wait()
	})
	return f
}

// kill ends the NIC as kill -9 does: no word, and everything is closed.
func (f *fake) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range f.conns {
		_ = p.conn.CloseRead()
		_ = p.conn.CloseWrite()
	}
}

func (f *fake) connected() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.conns)
}

func (p *peer) serve() {
	defer p.end()
	buffer := make([]byte, 65536)
	for {
		oob := make([]byte, unix.CmsgSpace(4))
		n, o, _, _, err := p.conn.ReadMsgUnix(buffer, oob)
		if err != nil || n < 8 {
			return
		}
		op, seq := order.Uint32(buffer), order.Uint32(buffer[4:])
		if op == opHello {
			p.writeWord(buffer[8:n], oob[:o])
		}
		p.mu.Lock()
		out, fds, failure := p.answer(op, append([]byte(nil), buffer[8:n]...))
		p.mu.Unlock()
		head := order.AppendUint32(order.AppendUint32(nil, seq), uint32(failure))
		if failure != 0 {
			out = nil
		}
		said := append(head, out...)
		if op == opRegMR {
			said = odd(said, order.Uint64(buffer[8+24:]))
		}
		_, _, err = p.conn.WriteMsgUnix(said, unix.UnixRights(fds...), nil)
		if err != nil {
			return
		}
	}
}

// odd makes an invalid answer for regions of certain sizes.
func odd(answer []byte, size uint64) []byte {
	switch size {
	case 1001: // to another request
		order.PutUint32(answer, order.Uint32(answer)+1)
	case 1002:
		return answer[:4]
	case 1003:
		order.PutUint32(answer[4:], ^uint32(0))
	}
	return answer
}

// writeWord writes the complement of the word in a HELLO to the memory passed with the HELLO.
func (p *peer) writeWord(hello, oob []byte) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 || len(hello) != 24 {
		p.fake.t.Errorf("HELLO of %d octets, %d messages: %v", len(hello), len(messages), err)
		return
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		p.fake.t.Errorf("HELLO with %d descriptors: %v", len(fds), err)
		return
	}
	defer func() { _ = unix.Close(fds[0]) }()
	word := order.AppendUint64(nil, ^order.Uint64(hello[16:]))
	if _, err := unix.Pwrite(fds[0], word, int64(order.Uint64(hello[8:]))); err != nil {
		p.fake.t.Error(err)
	}
}

func (p *peer) end() {
	p.fake.mu.Lock()
	delete(p.fake.conns, p)
	p.fake.mu.Unlock()
	_ = p.conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wake >= 0 {
		stop := order.AppendUint64(nil, 1<<32)
		_, _ = unix.Write(p.wake, stop)
	}
	for _, fd := range p.fds {
		_ = unix.Close(fd)
	}
}

func (p *peer) handle() uint64 {
	p.next++
	return p.next
}

// share makes shared memory. The mapping stays until the test ends: what rings of it come late.
func (p *peer) share(size int) (fd int, b []byte) {
	fd, err := unix.MemfdCreate("fake", unix.MFD_CLOEXEC)
	if err == nil {
		err = unix.Ftruncate(fd, int64(size))
	}
	if err == nil {
		b, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		panic(err)
	}
	p.fds = append(p.fds, fd)
	return fd, b
}

func (p *peer) pipe() (read, write int) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		panic(err)
	}
	p.fds = append(p.fds, fds[0], fds[1])
	return fds[0], fds[1]
}

func at32(b []byte, at int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&b[at])) }
func at64(b []byte, at int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&b[at])) }

func handleOf(h uint64) []byte { return order.AppendUint64(nil, h) }

func (p *peer) answer(op uint32, in []byte) (out []byte, fds []int, failure unix.Errno) {
	id := uint64(0)
	if len(in) >= 8 {
		id = order.Uint64(in)
	}
	switch op {
	case opHello:
		return p.hello()
	case opQueryPort:
		out = make([]byte, 16)
		for i, v := range []uint32{4, 5, 5, 100_000} {
			order.PutUint32(out[4*i:], v)
		}
		return out, nil, 0
	case opAllocPD:
		return handleOf(p.handle()), nil, 0
	case opRegMR:
		p.fake.mu.Lock()
		p.fake.regions = append(p.fake.regions, [3]uint64{order.Uint64(in[16:]), order.Uint64(in[24:]),
			order.Uint64(in[32:])})
		p.fake.mu.Unlock()
		order.PutUint64(in, p.handle())
		order.PutUint32(in[44:], 0x1000+uint32(p.next))
		order.PutUint32(in[48:], 0x2000+uint32(p.next))
		return in, nil, 0
	case opCreateChannel:
		h := p.handle()
		r, w := p.pipe()
		p.channels[h] = w
		return handleOf(h), []int{r}, 0
	case opCreateCQ:
		return p.createCQ(in)
	case opDestroyCQ:
		delete(p.cqs, id)
	case opCreateQP:
		return p.createQP(in)
	case opModifyQP:
		return p.modifyQP(p.qps[id], in)
	case opQueryQP:
		return p.qps[id].attr, nil, 0
	case opDestroyQP:
		delete(p.qps, id)
	case opCreateHint:
		h := p.handle()
		order.PutUint64(in, h)
		p.hints[h] = in
		return in, nil, 0
	case opModifyHint:
		p.hints[id] = in
	case opQueryHint:
		return p.hints[id], nil, 0
	case opDeallocPD, opDeregMR, opDestroyChannel, opDestroyHint:
	default:
		return p.fake.control(op, in, id)
	}
	return nil, nil, 0
}

func (p *peer) hello() (out []byte, fds []int, failure unix.Errno) {
	out = make([]byte, 176)
	order.PutUint32(out, p.fake.version.Load())
	order.PutUint32(out[4:], 2)
	copy(out[8:], "fake0")
	copy(out[72:], []byte{1, 2, 3, 4, 5, 6, 7, 8})
	copy(out[80:], net.ParseIP("2001:db8::1"))
	limits := []uint32{64, 256, 8, 128, 64, 4096, 64, 64, 64, 32, 32, 32, 1, 7}
	for i, v := range limits {
		order.PutUint32(out[96+4*i:], v)
	}
	order.PutUint64(out[160:], 1<<40)
	order.PutUint64(out[168:], 1<<30)
	fd, bell := p.share(4096)
	p.bell = bell
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, nil, unix.EMFILE
	}
	r, w := p.pipe()
	p.wake, p.async = wake, w
	p.fds = append(p.fds, wake)
	// work reads a duplicate of the descriptor, so close cannot hit a descriptor during a read
	own, err := unix.FcntlInt(uintptr(wake), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, nil, unix.EMFILE
	}
	p.fake.running.Go(func() { p.work(own) })
	return out, []int{fd, wake, r}, 0
}

// work sleeps until the doorbell rings, and then checks the queue pairs.
func (p *peer) work(wake int) {
	defer func() { _ = unix.Close(wake) }()
	b := make([]byte, 8)
	for {
		at32(p.bell, 0).Store(1)
		p.look()
		if n, err := unix.Read(wake, b); n != 8 || errors.Is(err, unix.EBADF) {
			return
		}
		if order.Uint64(b) >= 1<<32 {
			return
		}
		at32(p.bell, 0).Store(0)
		p.look()
	}
}

func (p *peer) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.qps {
		word := at64(p.bell, 64+8*int(q.slot/64))
		if word.And(^uint64(1<<(q.slot%64)))&(1<<(q.slot%64)) != 0 {
			p.progress(q)
		}
	}
}

func (p *peer) progress(q *fakeQP) {
	switch q.dest {
	case toUntailed, toTailed:
		if q.untailed == 0 && at32(q.ring, 64).Load() > 0 {
			q.untailed = 1
			if q.dest == toTailed {
				at32(q.ring, 128).Store(4)
			}
			p.push(p.cqs[q.send], order.Uint64(q.ring[4096:]), q.qpn, 0, 1, false)
		}
	case toAll:
		for head := at32(q.ring, 68).Load(); q.rqd != head; q.rqd++ {
			at := q.rqOffset + q.rqd&(q.rqDepth-1)*q.rqEntry
			p.push(p.cqs[q.recv], order.Uint64(q.ring[at:]), q.qpn, q.rqd, 129, true)
			at32(q.ring, 132).Store(q.rqd + 1)
		}
		for head := at32(q.ring, 64).Load(); q.sqd != head; q.sqd++ {
			at := 4096 + q.sqd&(q.sqDepth-1)*q.sqEntry
			flags := order.Uint32(q.ring[at+20:])
			if flags&2 != 0 || q.all != 0 {
				p.push(p.cqs[q.send], order.Uint64(q.ring[at:]), q.qpn, q.sqd, 1, flags&4 != 0)
			}
			at32(q.ring, 128).Store(q.sqd + 1)
		}
	}
}

// push adds a completion.
func (p *peer) push(c *fakeCQ, id uint64, qpn, index, opcode uint32, solicited bool) {
	head := at32(c.ring, 64)
	if head.Load()-at32(c.ring, 128).Load() >= c.depth {
		if at32(c.ring, 68).Swap(1) == 0 {
			p.tell(0, 0, c.handle)
		}
		return
	}
	b := c.ring[4096+64*int(head.Load()&(c.depth-1)):][:64]
	clear(b)
	order.PutUint64(b, id)
	order.PutUint32(b[12:], opcode)
	order.PutUint32(b[24:], qpn)
	order.PutUint32(b[40:], index+1)
	p.publish(c, solicited)
}

func (p *peer) publish(c *fakeCQ, solicited bool) {
	at32(c.ring, 64).Add(1)
	armed := at32(c.ring, 192)
	if a := armed.Load(); (a == 1 || a == 2 && solicited) && armed.Swap(0) != 0 {
		if w, ok := p.channels[c.channel]; ok {
			_, _ = unix.Write(w, handleOf(c.handle))
		}
	}
}

// tell sends an asynchronous event.
func (p *peer) tell(kind, port uint32, handle uint64) {
	b := order.AppendUint32(order.AppendUint32(nil, kind), port)
	_, _ = unix.Write(p.async, order.AppendUint64(b, handle))
}

func powerOfTwo(n uint32) uint32 {
	p := uint32(1)
	for p < n {
		p <<= 1
	}
	return p
}

func (p *peer) createCQ(in []byte) (out []byte, fds []int, failure unix.Errno) {
	c := &fakeCQ{handle: p.handle(), channel: order.Uint64(in[8:]),
		depth: powerOfTwo(order.Uint32(in[16:])), kind: order.Uint32(in[20:])}
	fd, ring := p.share(4096 + 64*int(c.depth))
	c.ring = ring
	at32(ring, 0).Store(c.depth)
	at32(ring, 4).Store(64)
	p.cqs[c.handle] = c
	order.PutUint64(in, c.handle)
	order.PutUint32(in[16:], c.depth)
	if c.kind == 1 {
		p.events(c)
	}
	return in, []int{fd}, 0
}

// events puts two EV events into a queue.
func (p *peer) events(c *fakeCQ) {
	for i := range 2 {
		b := c.ring[4096+64*i:][:64]
		order.PutUint64(b, 7)
		b[8] = byte(100 + i)
		order.PutUint32(b[40:], uint32(1+i))
		order.PutUint32(b[44:], 2)
		order.PutUint32(b[48:], uint32(i))
		p.publish(c, false)
	}
}

func (p *peer) createQP(in []byte) (out []byte, fds []int, failure unix.Errno) {
	q := &fakeQP{handle: p.handle(), send: order.Uint64(in[16:]), recv: order.Uint64(in[24:]),
		sqDepth: powerOfTwo(order.Uint32(in[32:])), rqDepth: powerOfTwo(order.Uint32(in[36:])),
		all: order.Uint32(in[52:]), attr: make([]byte, 288)}
	sges, rsges, inline := order.Uint32(in[40:]), order.Uint32(in[44:]), order.Uint32(in[48:])
	q.qpn, q.slot = 0x100+uint32(len(p.qps)), uint32(len(p.qps))*65%4096
	q.sqEntry = 64 + (max(16*sges, inline)+63)&^63
	q.rqEntry = 64 + (16*rsges+63)&^63
	q.rqOffset = 4096 + q.sqDepth*q.sqEntry
	fd, ring := p.share(int(q.rqOffset + q.rqDepth*q.rqEntry))
	q.ring = ring
	for i, v := range []uint32{q.sqDepth, q.sqEntry, q.rqDepth, q.rqEntry, q.rqOffset} {
		at32(ring, 4*i).Store(v)
	}
	p.qps[q.handle] = q
	order.PutUint64(in, q.handle)
	order.PutUint32(in[32:], q.sqDepth)
	order.PutUint32(in[36:], q.rqDepth)
	order.PutUint32(in[60:], q.qpn)
	order.PutUint32(in[64:], q.slot)
	return in, []int{fd}, 0
}

func (p *peer) modifyQP(q *fakeQP, in []byte) (out []byte, fds []int, failure unix.Errno) {
	mask := order.Uint32(in[8:])
	const state, rqPSN, timeout, retries, rnr, dest = 1, 1 << 12, 1 << 9, 1 << 10, 1 << 11, 1 << 20
	if mask&(timeout|retries|rnr) != 0 {
		return nil, nil, unix.EINVAL
	}
	copy(q.attr, in)
	if mask&dest != 0 {
		q.dest = order.Uint32(in[40:])
	}
	if mask&state != 0 {
		at32(q.ring, 136).Store(order.Uint32(in[16:]))
		if order.Uint32(in[16:]) == 0 { // RESET
			q.dest, q.sqd, q.rqd = toNone, at32(q.ring, 64).Load(), at32(q.ring, 68).Load()
			at32(q.ring, 128).Store(q.sqd)
			at32(q.ring, 132).Store(q.rqd)
		}
	}
	p.progress(q)
	return nil, nil, 0
}

// control has the profiles in the form in which they came.
func (f *fake) control(op uint32, in []byte, id uint64) (out []byte, _ []int, failure unix.Errno) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch op {
	case opCtlDevice:
		out = make([]byte, 56)
		for i := range 14 {
			order.PutUint32(out[4*i:], uint32(i+1))
		}
		return out, nil, 0
	case opCtlQueryPort:
		if id > 2 {
			return nil, nil, unix.EINVAL
		}
		return append(order.AppendUint64(nil, id), 1, 0, 0, 0), nil, 0
	case opCtlModifyPort:
		if order.Uint32(in) != 2 || order.Uint32(in[4:]) != 1 || order.Uint32(in[8:]) != 0 {
			return nil, nil, unix.EPERM
		}
	case opCtlModifyFormat:
		f.formats[id] = in
	case opCtlQueryFormat:
		if f.formats[id] == nil {
			return nil, nil, unix.EINVAL
		}
		return f.formats[id], nil, 0
	case opCtlModifyCC:
		f.ccs[id] = in
	case opCtlQueryCC:
		return f.ccs[id], nil, 0
	case opCtlModifyEVs, opCtlQueryEVs:
		return f.paths(op, in, id)
	case opCtlEndpoint:
		return f.endpoint(in)
	default:
		return nil, nil, unix.ENOSYS
	}
	return nil, nil, 0
}

// Of struct nic_evs.
const (
	evsMask    = 16
	evsOp      = 44
	evsFirst   = 48
	evsEntries = 52
	evsFields  = 56
	evsTotal   = 60
	evsSize    = 200
	evEntry    = 80
	evField    = 20
)

func (f *fake) paths(op uint32, in []byte, id uint64) (out []byte, fds []int, failure unix.Errno) {
	head, tail := append([]byte(nil), in[:evsSize]...), in[evsSize:]
	mask, what := order.Uint32(head[evsMask:]), order.Uint32(head[evsOp:])
	const entries, fields, array = 1 << 7, 1 << 8, 3
	total := uint32(len(f.entries) / evEntry)
	order.PutUint32(head[evsTotal:], total)
	if op == opCtlModifyEVs {
		f.messages = append(f.messages, int(order.Uint32(head[evsEntries:])))
		f.masks = append(f.masks, mask)
		if mask&entries != 0 {
			if order.Uint32(tail) == ^uint32(0) {
				return nil, nil, unix.ENOENT
			}
			f.entries = append(f.entries, tail...)
		}
		if mask&^(entries|fields) != 0 || f.evs[id] == nil {
			f.evs[id] = in[:evsSize:evsSize]
		}
		if mask&fields != 0 {
			f.evs[id] = in
		}
		order.PutUint32(head[evsEntries:], 0)
		order.PutUint32(head[evsFields:], 0)
		return head, nil, 0
	}
	if f.evs[id] == nil {
		return nil, nil, unix.EINVAL
	}
	copy(head, f.evs[id][:evsSize])
	order.PutUint32(head[evsEntries:], 0)
	order.PutUint32(head[evsFields:], 0)
	order.PutUint32(head[evsTotal:], total)
	switch {
	case mask&entries != 0 && what == array:
		first := order.Uint32(in[evsFirst:])
		n := min(total-first, 512)
		order.PutUint32(head[evsEntries:], n)
		return append(head, f.entries[first*evEntry:(first+n)*evEntry]...), nil, 0
	case mask&entries != 0:
		order.PutUint32(head[evsEntries:], order.Uint32(in[evsEntries:]))
		for at := 76; at < len(tail); at += evEntry {
			order.PutUint32(tail[at:], 4)
		}
		return append(head, tail...), nil, 0
	case mask&fields != 0:
		n := uint32(len(f.evs[id])-evsSize) / evField
		order.PutUint32(head[evsFields:], n)
		return append(head, f.evs[id][evsSize:]...), nil, 0
	}
	return head, nil, 0
}

// endpoint answers all requests but those with the id 13.
func (f *fake) endpoint(in []byte) (out []byte, fds []int, failure unix.Errno) {
	n := uint32(0)
	f.timeouts = append(f.timeouts, order.Uint32(in[8:]))
	var answers []byte
	for at := 16; at < len(in); at += 80 {
		id, port := order.Uint32(in[at:]), order.Uint32(in[at+72:])
		if id == 13 {
			continue
		}
		n++
		for _, v := range []uint32{id, port, 1000 + id, 1} {
			answers = order.AppendUint32(answers, v)
		}
	}
	order.PutUint32(in[12:], n)
	return append(in[:16], answers...), nil, 0
}
