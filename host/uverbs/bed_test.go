//go:build linux

package uverbs

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/packet"
)

// bed holds two NICs with two ports each, wired to each other, each NIC with a door, and a
// goroutine that owns both NICs.
type bed struct {
	t     *testing.T
	nics  [2]*nic.NIC
	doors [2]*Server
	paths [2]string
	calls chan func(now time.Duration)
	start time.Time
	wire  []flight
	ended chan struct{}
	drop  func(to, port int, frame []byte) bool
}

type flight struct {
	to, port int
	frame    []byte
}

func addr(i int) netip.Addr {
	a := netip.MustParseAddr("2001:db8::").As16()
	a[15] = byte(i + 1)
	return netip.AddrFrom16(a)
}

func mac(i, port int) packet.MAC { return packet.MAC{2, 0, 0, 0, byte(port), byte(i + 1)} }

func newBed(t *testing.T, edits ...func(*Server)) *bed { return newBedAt(t, addr, edits...) }

// newBedAt returns a bed of NICs with addresses by their number.
func newBedAt(t *testing.T, addr func(i int) netip.Addr, edits ...func(*Server)) *bed {
	b := &bed{t: t, calls: make(chan func(time.Duration)), start: time.Now(),
		ended: make(chan struct{})}
	served := make(chan error, 2)
	for i := range b.nics {
		cfg := nic.DefaultConfig()
		cfg.Host.Name, cfg.Host.Addr, cfg.Seed = "h", addr(i), 1
		for p := range 2 {
			cfg.Host.Ports = append(cfg.Host.Ports, mrc.Port{MAC: mac(i, p+1), Gateway: mac(1-i, p+1)})
		}
		cfg.Host.Output = func(_ time.Duration, port int, frame []byte) {
			b.wire = append(b.wire, flight{1 - i, port, append([]byte(nil), frame...)})
		}
		var err error
		if b.nics[i], err = nic.New(cfg); err != nil {
			t.Fatal(err)
		}
		b.doors[i] = New(Config{NIC: b.nics[i], Do: b.do})
		for _, edit := range edits {
			edit(b.doors[i])
		}
		b.paths[i] = filepath.Join(t.TempDir(), "nic.sock")
		l, err := Listen(b.paths[i], 0o600)
		if err != nil {
			t.Fatal(err)
		}
		go func() { served <- b.doors[i].Serve(l, false) }()
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		b.own(stop)
	}()
	t.Cleanup(func() {
		for i, d := range b.doors {
			if err := errors.Join(d.Close(), <-served); err != nil {
				t.Errorf("door %d: %v", i, err)
			}
		}
		close(stop)
		<-stopped
	})
	return b
}

// own is the goroutine of both NICs.
func (b *bed) own(stop chan struct{}) {
	defer close(b.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		now := time.Since(b.start)
		var due <-chan time.Time
		for i := range b.nics {
			more := b.doors[i].Pump(now)
			next, pending := b.nics[i].Advance(now)
			more = b.doors[i].Pump(now) || more
			if pending || more {
				timer.Reset(max(0, next-time.Since(b.start)))
				due = timer.C
			}
		}
		if b.deliver() {
			select { // packets may follow each other without an end
			case f := <-b.calls:
				f(time.Since(b.start))
			default:
			}
			continue
		}
		select {
		case f := <-b.calls:
			f(time.Since(b.start))
		case <-due:
		case <-stop:
			return
		}
	}
}

func (b *bed) deliver() bool {
	wire := b.wire
	b.wire = nil
	for _, f := range wire {
		if b.drop == nil || !b.drop(f.to, f.port, f.frame) {
			b.nics[f.to].Receive(time.Since(b.start), f.port, f.frame)
		}
	}
	return len(wire) > 0
}

func (b *bed) do(f func(now time.Duration)) error {
	ran := make(chan struct{})
	select {
	case b.calls <- func(now time.Duration) {
		defer close(ran)
		f(now)
	}:
		<-ran
		return nil
	case <-b.ended:
		return net.ErrClosed
	}
}

// app does the work of lib_mrc.so, in Go: a process at the door of a NIC. Its memory is the test's.
type app struct {
	t      *testing.T
	conn   *net.UnixConn
	seq    uint32
	device device
	bell   []byte
	ring   int
	events int
	pd     uint64
	word   [1]uint64 // of HELLO
	// memory of another process, and the address of a zero word there; 0: the test's
	memory int
	probe  uint64
}

func (b *bed) app(i int) *app {
	b.t.Helper()
	a := b.dial(i)
	a.begin()
	return a
}

// begin sends HELLO, and makes a protection domain.
func (a *app) begin() {
	a.t.Helper()
	fds := a.hello()
	a.bell, a.ring, a.events = a.mapped(fds[0], doorbellSize), fds[1], fds[2]
	a.t.Cleanup(func() { _ = errors.Join(unix.Close(a.ring), unix.Close(a.events)) })
	var o object
	a.must(opAllocPD, nil, &o)
	a.pd = o.Handle
}

func (b *bed) dial(i int) *app {
	b.t.Helper()
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: b.paths[i], Net: "unixpacket"})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close() })
	return &app{t: b.t, conn: c}
}

// hello sends HELLO with the memory of the app, and returns the descriptors of the answer.
func (a *app) hello() []int {
	a.t.Helper()
	if a.memory != 0 {
		fds, err := a.callWith([]int{a.memory}, opHello, &hello{Version: version, Probe: a.probe},
			&a.device)
		if err != nil {
			a.t.Fatalf("HELLO: %v", err)
		}
		return fds
	}
	fd := open(a.t, "/proc/self/mem", unix.O_RDWR)
	a.word[0] = 7 // a variable of this function moves when its stack grows
	fds, err := a.callWith([]int{fd}, opHello, greeting(&a.word), &a.device)
	if err != nil || a.word[0] != ^uint64(7) {
		a.t.Fatalf("HELLO: %v, the NIC wrote %#x", err, a.word[0])
	}
	return fds
}

// greeting is a HELLO about a word.
func greeting(w *[1]uint64) *hello {
	return &hello{Version: version, Probe: uint64(uintptr(unsafe.Pointer(w))), Value: w[0]}
}

// open opens a file until the test ends.
func open(t *testing.T, path string, flags int) int {
	t.Helper()
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// call makes a request.
func (a *app) call(op operation, message, into any) (fds []int, err error) {
	a.t.Helper()
	return a.callWith(nil, op, message, into)
}

// callWith makes a request with descriptors.
func (a *app) callWith(rights []int, op operation, message, into any) (fds []int, err error) {
	a.t.Helper()
	a.seq++
	out := encode(nil, &request{op, a.seq})
	switch m := message.(type) {
	case nil:
	case []byte:
		out = append(out, m...)
	default:
		out = encode(out, message)
	}
	if _, _, err := a.conn.WriteMsgUnix(out, unix.UnixRights(rights...), nil); err != nil &&
		!errors.Is(err, unix.EPIPE) {
		return nil, err
	}
	buffer, oob := make([]byte, maxMessage), make([]byte, 256)
	n, o, _, _, err := a.conn.ReadMsgUnix(buffer, oob)
	if errors.Is(err, unix.ECONNRESET) { // the NIC did not wait for the request; it has said why
		n, o, _, _, err = a.conn.ReadMsgUnix(buffer, oob)
	}
	if err != nil {
		return nil, err
	}
	var head answer
	if err := decode(buffer[:8], &head); err != nil || head.Seq != a.seq {
		a.t.Fatalf("answer %+v, %v", head, err)
	}
	if head.Error != 0 {
		return nil, unix.Errno(head.Error)
	}
	if raw, ok := into.(*[]byte); ok {
		*raw = buffer[8:n]
	} else if into != nil {
		if err := decode(buffer[8:n], into); err != nil {
			a.t.Fatalf("%T: %v", into, err)
		}
	}
	messages, err := unix.ParseSocketControlMessage(oob[:o])
	if err != nil {
		a.t.Fatal(err)
	}
	for _, m := range messages {
		rights, err := unix.ParseUnixRights(&m)
		if err != nil {
			a.t.Fatal(err)
		}
		fds = append(fds, rights...)
	}
	return fds, nil
}

func (a *app) must(op operation, message, into any) []int {
	a.t.Helper()
	fds, err := a.call(op, message, into)
	if err != nil {
		a.t.Fatalf("operation %d: %v", op, err)
	}
	return fds
}

func (a *app) refused(op operation, message any, want unix.Errno) {
	a.t.Helper()
	if _, err := a.call(op, message, nil); !errors.Is(err, want) {
		a.t.Errorf("operation %d, %+v: %v, want %v", op, message, err, want)
	}
}

func (a *app) mapped(fd, size int) []byte {
	a.t.Helper()
	m, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = errors.Join(unix.Munmap(m), unix.Close(fd)) })
	return m
}

func word(b []byte, at int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&b[at])) }

// register registers memory of the test, and keeps it until the test ends: the NIC has its address
// alone, which does not.
func (a *app) register(b []byte, access uint32) memoryRegion {
	a.t.Helper()
	m := memoryRegion{PD: a.pd, Addr: address(b), Length: uint64(len(b)), IOVA: address(b),
		Access: access}
	a.must(opRegMR, &m, &m)
	a.t.Cleanup(func() { runtime.KeepAlive(b) })
	return m
}

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

// cq is a completion queue of an app, with its channel.
type cq struct {
	app     *app
	handle  uint64
	ring    []byte
	depth   uint32
	channel int
	tail    uint32
}

func (a *app) cq(depth uint32) *cq {
	a.t.Helper()
	var ch object
	fds := a.must(opCreateChannel, nil, &ch)
	a.t.Cleanup(func() { _ = unix.Close(fds[0]) })
	r := cqRequest{Channel: ch.Handle, Depth: depth}
	ring := a.must(opCreateCQ, &r, &r)
	return &cq{app: a, handle: r.Handle, depth: r.Depth, channel: fds[0],
		ring: a.mapped(ring[0], ringEntries+int(r.Depth)*entryHead)}
}

// poll takes an entry, and waits for one by the channel.
func (c *cq) poll() cqe {
	c.app.t.Helper()
	for {
		if e, ok := c.try(); ok {
			return e
		}
		word(c.ring, cqArmed).Store(1)
		if e, ok := c.try(); ok {
			return e
		}
		c.wait()
	}
}

// wait reads an event of the channel.
func (c *cq) wait() {
	c.app.t.Helper()
	var b [8]byte
	if n, err := unix.Read(c.channel, b[:]); err != nil || n != 8 ||
		binary.NativeEndian.Uint64(b[:]) != c.handle {
		c.app.t.Fatalf("event of %d octets: %v, %v", n, b, err)
	}
}

func (c *cq) try() (e cqe, ok bool) {
	if word(c.ring, cqHead).Load() == c.tail {
		return e, false
	}
	b := c.ring[ringEntries+int(c.tail&(c.depth-1))*entryHead:]
	o := binary.NativeEndian
	e = cqe{id: o.Uint64(b), status: o.Uint32(b[8:]), opcode: o.Uint32(b[12:]),
		octets: o.Uint32(
			b[16:],
		), immediate: o.Uint32(b[20:]), qpn: o.Uint32(b[24:]), flags: o.Uint32(b[32:])}
	c.tail++
	word(c.ring, cqTail).Store(c.tail)
	return e, true
}

// qp is a queue pair of an app.
type qp struct {
	app  *app
	is   qpRequest
	ring []byte
	cq   *cq
}

func (a *app) qp(c *cq, edit func(*qpRequest)) *qp {
	a.t.Helper()
	r := qpRequest{PD: a.pd, SendCQ: c.handle, RecvCQ: c.handle, MaxSendWR: 16, MaxRecvWR: 8,
		MaxSendSGE: 3, MaxRecvSGE: 1, MaxInline: 64}
	if edit != nil {
		edit(&r)
	}
	fds := a.must(opCreateQP, &r, &r)
	q := &qp{app: a, is: r, cq: c}
	q.ring = a.mapped(fds[0], int(q.rqOffset()+r.MaxRecvWR*q.rqEntry()))
	return q
}

func (q *qp) sqEntry() uint32 {
	return entryHead + (max(q.is.MaxSendSGE*sgeLen, q.is.MaxInline)+63)&^63
}
func (q *qp) rqEntry() uint32  { return entryHead + (q.is.MaxRecvSGE*sgeLen+63)&^63 }
func (q *qp) rqOffset() uint32 { return ringEntries + q.is.MaxSendWR*q.sqEntry() }

// connect takes a queue pair to RTS, for another one.
func (q *qp) connect(to int, qpn uint32) {
	q.app.t.Helper()
	q.app.must(opModifyQP, &qpAttr{Handle: q.is.Handle,
		Mask: attrState | attrAccess | attrPKey | attrPort, State: stateInit,
		Access: accessLocalWrite | accessRemoteWrite, Port: 1}, nil)
	q.app.must(opModifyQP, q.toRTR(to, qpn), nil)
	q.app.must(opModifyQP, &qpAttr{Handle: q.is.Handle, Mask: attrState | attrSQPSN, State: stateRTS,
		SQPSN: 77}, nil)
}

func (q *qp) toRTR(to int, qpn uint32) *qpAttr {
	return &qpAttr{Handle: q.is.Handle,
		Mask: attrState | attrAV | attrPathMTU | attrDestQPN | attrRQPSN, State: stateRTR,
		PathMTU: 3, DestQPN: qpn, RQPSN: 77, IsGlobal: 1, DGID: addr(to).As16()}
}

// write is a work request.
type write struct {
	id, va                  uint64
	opcode, flags, imm, key uint32
	from                    []sge
	data                    []byte // inline
}

// post posts work, and rings.
func (q *qp) post(w write) {
	q.put(w)
	word(q.ring, qpSQHead).Add(1)
	q.ringBell()
}

// put writes the next entry.
func (q *qp) put(w write) {
	head := word(q.ring, qpSQHead)
	at := ringEntries + (head.Load()&(q.is.MaxSendWR-1))*q.sqEntry()
	b, o := q.ring[at:at+q.sqEntry()], binary.NativeEndian
	o.PutUint64(b, w.id)
	o.PutUint64(b[8:], w.va)
	o.PutUint32(b[16:], w.opcode)
	o.PutUint32(b[20:], w.flags)
	o.PutUint32(b[24:], network(w.imm))
	o.PutUint32(b[28:], w.key)
	o.PutUint32(b[32:], uint32(len(w.from)))
	o.PutUint32(b[36:], uint32(len(w.data)))
	copy(b[entryHead:], w.data)
	for i, s := range w.from {
		copy(b[entryHead+i*sgeLen:], encode(nil, &s))
	}
}

// receive posts a receive request.
func (q *qp) receive(id uint64) {
	head := word(q.ring, qpRQHead)
	at := q.rqOffset() + (head.Load()&(q.is.MaxRecvWR-1))*q.rqEntry()
	binary.NativeEndian.PutUint64(q.ring[at:], id)
	head.Add(1)
	q.ringBell()
}

func (q *qp) ringBell() {
	a := q.app
	dirty := (*atomic.Uint64)(unsafe.Pointer(&a.bell[bellDirty+8*(q.is.Slot/64)]))
	dirty.Or(1 << (q.is.Slot % 64))
	if word(a.bell, bellSleeping).Swap(0) != 0 {
		one := binary.NativeEndian.AppendUint64(nil, 1)
		if _, err := unix.Write(a.ring, one); err != nil {
			a.t.Fatal(err)
		}
	}
}

// event reads an asynchronous event.
func (a *app) event() (e asyncEvent) {
	a.t.Helper()
	b := make([]byte, 16)
	n, err := unix.Read(a.events, b)
	if err == nil {
		err = decode(b[:n], &e)
	}
	if err != nil {
		a.t.Fatalf("event of %d octets: %v", n, err)
	}
	return e
}

// pair is two connected queue pairs of two apps at two NICs, with a region of 1 MiB at the second.
type pair struct {
	bed    *bed
	apps   [2]*app
	qps    [2]*qp
	memory []byte
	region memoryRegion
}

func newPair(t *testing.T, edit func(*qpRequest)) *pair {
	p := &pair{bed: newBed(t), memory: make([]byte, 1<<20)}
	for i := range p.apps {
		p.apps[i] = p.bed.app(i)
		p.qps[i] = p.apps[i].qp(p.apps[i].cq(64), edit)
	}
	p.region = p.apps[1].register(p.memory, accessLocalWrite|accessRemoteWrite)
	for i, q := range p.qps {
		q.connect(1-i, p.qps[1-i].is.QPN)
	}
	return p
}
