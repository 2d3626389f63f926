//go:build linux

package uverbs

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/packet"
)

// Config of a Server.
type Config struct {
	NIC *nic.NIC
	// Do has f run on the NIC's goroutine, with the time there, does afterwards whatever follows
	// from what was done to the NIC, Pump too, and returns then. Its error reports that f was not run.
	Do func(f func(now time.Duration)) error
	// Name of the device, for ibv_get_device_name. Default "weft0".
	Name string
	// MTU is the octets that the interfaces of the ports take from the IP header on, of the smallest.
	// 0: not known.
	MTU int
	// Overhead is the octets around the payload of a packet that an MTU counts.
	Overhead int
	// LocalControl lets mrc_ctl change the EVs of profiles that a controller has written, until the
	// controller writes them again. Without LocalControl mrc_ctl can only read these EVs.
	LocalControl bool
	// Keep, if not nil, keeps what mrc_ctl has configured over the NIC's end, for Restore. It is
	// called by one goroutine at a time, not the NIC's.
	Keep func([]byte) error
	// Log has what applications do wrong. Default: nowhere.
	Log *slog.Logger
}

// Limits of a process. The server refuses objects beyond these limits with ENOMEM.
const (
	maxCQs       = 4096
	maxCQDepth   = 1 << 16
	maxMRs       = 1 << 16
	maxPDs       = 4096
	maxHints     = 4096
	maxChannels  = 1024
	maxDepth     = 1 << 14 // work requests of a queue
	maxSGEs      = 32
	maxInlineLen = 512
	// maxShared is the octets of rings of a process.
	maxShared = 1 << 30
	// maxMessageSize is the size of a message (IBTA volume 1, section 9.4.3).
	maxMessageSize = 1 << 31
	// maxMRSize is the octets of a memory region.
	maxMRSize = 1 << 46
)

// noDomain is a protection domain without any region.
const noDomain = ^uint32(0)

// firstQPN is the number of the first queue pair made by an application; queue pairs of a
// configuration have lower numbers.
const firstQPN = 0x10000

// lastQPN is reserved for multicast (IBTA volume 1, section 3.5.10), so no queue pair has this
// number.
const lastQPN = 0xFFFFFF

// A Server is the door of a NIC for applications. All but Serve and Close is its owner's, who is
// the NIC's.
type Server struct {
	cfg Config
	log *slog.Logger
	now time.Duration

	processes   map[*process]bool
	noted       []*queuePair // whose transport has something to say
	overflowed  []*completions
	ends        []*queuePair // of completion queues that have overflowed
	eventQueues map[*completions]bool
	numbers     map[uint32]bool // of queue pairs
	qpn         uint32
	domain      uint32
	keys        map[uint32]bool
	waiting
	ports    portStates
	profiles *profiles
	keeping  keeping

	ending   chan struct{}
	orphaned sync.Mutex // in place of the NIC's goroutine, once that has ended
	guests
	chatter
}

// guests holds the connections of a server.
type guests struct {
	running   sync.WaitGroup
	mu        sync.Mutex
	closed    bool
	listeners map[*net.UnixListener]bool
	conns     map[*net.UnixConn]bool
	accounts  map[uint32]*user
	held      int           // descriptors of all users
	room      int           // and how many there are
	helloTime time.Duration // from the connection to HELLO
	// answerTime is how long memory of an application may take to answer.
	answerTime time.Duration
	device     *device // the answer to HELLO
}

// chatter limits the log lines that applications can cause.
type chatter struct {
	lines  *rate.Limiter
	unsaid atomic.Uint64
}

// portStates holds the ports of a NIC with a link, and the ports disabled by mrc_ctl.
type portStates struct{ up, disabled packet.PortMask }

// New makes a server.
func New(cfg Config) *Server {
	if cfg.Name == "" {
		cfg.Name = "weft0"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, log: cfg.Log, qpn: anyQPN(), processes: make(map[*process]bool),
		keys: make(map[uint32]bool), ports: portStates{up: cfg.NIC.Ports()},
		ending: make(chan struct{}), eventQueues: make(map[*completions]bool),
		numbers: make(map[uint32]bool),
		guests: guests{listeners: make(map[*net.UnixListener]bool),
			conns: make(map[*net.UnixConn]bool), accounts: make(map[uint32]*user), room: descriptors(),
			helloTime: helloTime, answerTime: answerTime, device: describe(cfg)},
		waiting: waiting{waits: newPatience()},
		chatter: chatter{lines: rate.NewLimiter(1, 64)}}
	s.profiles = newProfiles(s)
	cfg.NIC.Watch(s.evEvent)
	cfg.NIC.HintsBy(s.hints)
	return s
}

// Listen creates a socket at a path, and replaces a socket without a listener; mode sets the access
// rights.
func Listen(path string, mode uint32) (*net.UnixListener, error) {
	address := &net.UnixAddr{Name: path, Net: "unixpacket"}
	l, err := net.ListenUnix("unixpacket", address)
	if errors.Is(err, unix.EADDRINUSE) {
		if c, alive := net.DialUnix("unixpacket", nil, address); alive == nil {
			return nil, errors.Join(fmt.Errorf("socket %s: another NIC listens there", path), c.Close())
		}
		if err = unix.Unlink(path); err == nil {
			l, err = net.ListenUnix("unixpacket", address)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	if err := unix.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), l.Close())
	}
	return l, nil
}

// Serve accepts connections until Close, which closes the listener. If the machine lacks a
// descriptor or memory for a connection, Serve tries again; any other error ends Serve, which
// returns the error to the owner. Processes connected by a control listener may use mrc_ctl: the
// access rights of the socket control the use of mrc_ctl.
func (s *Server) Serve(l *net.UnixListener, control bool) error {
	if !s.enter(func() { s.listeners[l] = true }) {
		return l.Close()
	}
	defer s.running.Done()
	pause := time.Duration(0)
	for {
		c, err := l.AcceptUnix()
		switch {
		case err == nil:
			pause = 0
		case s.over():
			return nil
		case !passing(err):
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.listeners, l)
			_ = l.Close() // it is of no use
			return fmt.Errorf("accept: %w", err)
		default:
			if pause == 0 {
				s.log.Warn("applications cannot connect for now", "reason", err)
			}
			pause = min(max(2*pause, time.Millisecond), time.Second)
			select {
			case <-time.After(pause):
			case <-s.ending:
			}
			continue
		}
		if !s.enter(func() { s.conns[c] = true }) {
			return c.Close()
		}
		go func() {
			defer s.running.Done()
			s.serve(c, control)
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.conns, c)
		}()
	}
}

// passing reports whether accept may succeed after this error of it (accept(2)).
func passing(err error) bool {
	for _, code := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM,
		unix.ECONNABORTED, unix.EINTR, unix.EPROTO, unix.EPERM} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// over reports whether Close was called.
func (s *Server) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// do runs f on the NIC's goroutine, or in its place when that has ended.
func (s *Server) do(f func(now time.Duration)) {
	if s.cfg.Do(f) == nil {
		return
	}
	s.orphaned.Lock()
	defer s.orphaned.Unlock()
	f(s.now)
}

// enter counts one more that runs, unless the server has been closed.
func (s *Server) enter(note func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	note()
	s.running.Add(1)
	return true
}

// Close ends all: processes see that the NIC is gone. It ends their connections, and returns when
// that is done, or after closeTime: a process may have its connection wait in the kernel. The NIC's
// goroutine must still run what Do gives it, or refuse it.
func (s *Server) Close() error {
	s.do(func(time.Duration) {
		for p := range s.processes {
			p.bell.word(bellGone).Store(1)
		}
	})
	s.mu.Lock()
	if !s.closed {
		close(s.ending)
	}
	s.closed = true
	var errs []error
	for l := range s.listeners {
		errs = append(errs, l.Close())
	}
	clear(s.listeners)
	for c := range s.conns {
		_ = c.Close() // it may have ended by itself
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.running.Wait()
	}()
	select {
	case <-done:
	case <-time.After(closeTime):
		s.log.Warn("connections of applications do not end: the NIC ends without them")
	}
	return errors.Join(errs...)
}

// closeTime is how long Close waits for connections.
const closeTime = 500 * time.Millisecond

// note has Pump look at a queue pair.
func (s *Server) note(q *queuePair) {
	if !q.noted {
		q.noted = true
		s.noted = append(s.noted, q)
	}
}

// Pump hands work to the NIC and completions to the processes, and reports whether there were any.
// The NIC's owner calls Pump after Receive, before Advance and after it. Once Pump has found
// nothing, the owner may sleep: a process that has more work wakes it by Do.
func (s *Server) Pump(now time.Duration) (found bool) { return s.pump(now, (*process).answerBell) }

// Work is Pump for an owner that will not sleep before it calls Pump: processes do not ring.
func (s *Server) Work(now time.Duration) (found bool) { return s.pump(now, (*process).look) }

func (s *Server) pump(now time.Duration, look func(*process, time.Duration) bool) (found bool) {
	s.now = now
	for range pumpRounds {
		again := len(s.noted) > 0 || len(s.overflowed) > 0 || len(s.ends) > 0
		s.settle(now)
		for p := range s.processes {
			again = look(p, now) || again
		}
		if !again {
			return found
		}
		found = true
	}
	return found
}

// pumpRounds bounds how long processes that ring without an end keep the NIC from its packets.
const pumpRounds = 8

// settle lets queue pairs tell what has happened to them.
func (s *Server) settle(now time.Duration) {
	for len(s.noted) > 0 {
		for i := 0; i < len(s.noted); i++ {
			q := s.noted[i]
			q.noted = false
			q.settle(now)
		}
		s.noted = s.noted[:0]
	}
	s.endOverflowed(now)
}

// endsAtOnce is how many queue pairs are ended before the NIC does other work.
const endsAtOnce = 16

// endOverflowed ends queue pairs of completion queues that have overflowed.
func (s *Server) endOverflowed(now time.Duration) {
	for _, c := range s.overflowed {
		for _, q := range c.process.qps {
			if q.send == c || q.receive == c {
				s.ends = append(s.ends, q)
			}
		}
	}
	s.overflowed = nil
	n := min(len(s.ends), endsAtOnce)
	for _, q := range s.ends[:n] {
		if !q.gone && q.state() != stateReset {
			_ = q.abort(now)
			q.process.tell(asyncEvent{Type: eventQPFatal, Handle: q.is.Handle})
		}
	}
	s.ends = s.ends[n:]
}

// SetPort has the NIC know whether a port has a link, and reports it to processes. A port that
// mrc_ctl has disabled stays down.
func (s *Server) SetPort(port int, up bool) {
	if up {
		s.ports.up = s.ports.up.With(port)
	} else {
		s.ports.up &^= packet.PortMask(0).With(port)
	}
	s.setPort(port)
}

// disable disables or enables a port; a disabled port is down whatever its link (mrc_ctl.h,
// mrc_ctl_port_attr).
func (s *Server) disable(port int, disabled bool) {
	if disabled {
		s.ports.disabled = s.ports.disabled.With(port)
	} else {
		s.ports.disabled &^= packet.PortMask(0).With(port)
	}
	s.setPort(port)
}

func (s *Server) setPort(port int) {
	up := (s.ports.up &^ s.ports.disabled).Has(port)
	if up == s.cfg.NIC.Ports().Has(port) {
		return
	}
	_ = s.cfg.NIC.SetPort(port, up) // the port is there
	kind := uint32(eventPortError)
	if up {
		kind = eventPortActive
	}
	for p := range s.processes {
		p.tell(asyncEvent{Type: kind, Port: uint32(port)})
	}
}

// Processes is how many are connected.
func (s *Server) Processes() int { return len(s.processes) }

// hints returns the hints given by processes with queue pairs, by queue pair number.
func (s *Server) hints() map[uint32]hostapi.QPHints {
	out := make(map[uint32]hostapi.QPHints)
	for p := range s.processes {
		for _, q := range p.qps {
			if q.hint != nil {
				h := &q.hint.is
				out[q.is.QPN] = hostapi.QPHints{QPsPerPeer: atMost(h.QPsPerPeer),
					SendPeers: atMost(h.SendPeers), RemotePeers: atMost(h.RemoteReceivePeers)}
			}
		}
	}
	return out
}

// atMost is a number that the host interface takes; it is not negative.
func atMost(n int32) uint32 { return min(uint32(n), hostapi.MaxQPHint) }

// use has a queue pair follow a hint.
func (s *Server) use(q *queuePair, h *hintObject) {
	if q.hint != nil {
		q.hint.users--
	}
	if q.hint = h; h != nil {
		h.users++
	}
}

// anyQPN returns a random first queue pair number: peers of an earlier NIC, which may have ended a
// moment ago, must not mistake new queue pairs for old queue pairs.
func anyQPN() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return firstQPN + binary.NativeEndian.Uint32(b[:])%(lastQPN-firstQPN)
}

// newQPN is a number that no queue pair has.
func (s *Server) newQPN() uint32 {
	for {
		n := s.qpn
		if s.qpn++; s.qpn >= lastQPN {
			s.qpn = firstQPN
		}
		if _, err := s.cfg.NIC.QP(n); err != nil && !s.numbers[n] {
			s.numbers[n] = true
			return n
		}
	}
}

// newKey returns a random, unguessable key unused by any region.
func (s *Server) newKey() uint32 {
	for {
		var b [4]byte
		_, _ = rand.Read(b[:]) // it never fails
		if k := binary.NativeEndian.Uint32(b[:]); k != 0 && !s.keys[k] {
			s.keys[k] = true
			return k
		}
	}
}
