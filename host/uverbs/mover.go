//go:build linux

package uverbs

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/host/verbs"
)

// Memory of a program may not answer: pages of a FUSE file system, or of a userfaultfd. The kernel
// neither says so before an access nor ends the access.
const (
	// patienceTime is how long the NIC waits for an access at least, and half of what it waits at
	// most.
	patienceTime = time.Millisecond
	// slowTime is how long an access may take for which the NIC charges nothing to the user.
	slowTime = 50 * time.Microsecond
	// slowAccesses is how many slow accesses of a user the NIC waits for in a second.
	slowAccesses = 100
	// restTime is how long the NIC leaves memory of a user alone after more than slowAccesses.
	restTime = 5 * time.Millisecond
	// answerTime is how long an access may take before the queue pairs of the program end.
	answerTime = time.Second
)

// A mover reads and writes the memory of a process for the NIC, on a goroutine of its own. The NIC
// waits for a mover for patienceTime, and then goes on without the process.
type mover struct {
	memory *memory
	waits  *patience
	user   *user
	jobs   chan job
	// Made once: a method value is an allocation each time.
	reads, writes job
	ended         chan struct{}
	state         atomic.Uint32 // moverFree, ...
	// buffer holds the octets of a job. The mover owns it while the job lasts: the buffers of the NIC
	// are in use again when the NIC has not waited.
	buffer []byte
	spans  []span // of the job
	err    error  // of the last job
	moved  int    // accesses of the last job that were made

	// of the NIC's goroutine
	gaveUp   bool
	underway *verbs.Underway // of a write that the NIC has not waited for
	left     func()          // runs when the NIC has not waited for a job
	// back runs on the mover's goroutine at the end of such a job, and calls free on the NIC's.
	back func()
}

// States of a mover.
const (
	moverFree = iota
	moverWorks
	moverLeft // the NIC has not waited for the job
)

// job is what a mover does with the octets of each span.
type job func(p []byte, at uint64) error

// span is memory that several accesses follow each other in, with its place in the buffer.
type span struct {
	at       uint64
	from, to int // in the buffer
	accesses int
}

// newMover starts a mover of the memory of a process; close ends it.
func newMover(m *memory, w *patience, u *user) *mover {
	v := &mover{memory: m, waits: w, user: u, jobs: make(chan job, 1), ended: make(chan struct{})}
	v.reads, v.writes = m.read, m.write
	go v.run()
	return v
}

func (m *mover) run() {
	defer close(m.ended)
	for move := range m.jobs {
		m.err, m.moved = nil, 0
		for i := range m.spans {
			s := &m.spans[i]
			if m.err = move(m.buffer[s.from:s.to], s.at); m.err != nil {
				break
			}
			m.moved += s.accesses
		}
		if m.state.CompareAndSwap(moverWorks, moverFree) {
			m.waits.done <- struct{}{}
		} else {
			m.back()
		}
	}
}

// close ends the mover, and waits for its job.
func (m *mover) close() {
	close(m.jobs)
	<-m.ended
}

// free makes a mover take jobs again.
func (m *mover) free() {
	m.gaveUp = false
	if m.underway != nil {
		m.underway.Ended, m.underway.Err = true, m.err
		m.underway = nil
	}
	m.state.Store(moverFree)
}

// begin prepares a job of n octets. Without an error the buffer has room for n octets, and the job
// has no spans yet.
func (m *mover) begin(n int) error {
	switch {
	case m.gaveUp:
		return fmt.Errorf("memory of process %d does not answer: %w", m.memory.pid, unix.EIO)
	case m.state.Load() != moverFree, m.user.rests.Load():
		return verbs.ErrLater
	case n <= cap(m.buffer):
	case n <= packetOctets:
		m.buffer = make([]byte, packetOctets)
	default:
		m.buffer = make([]byte, max(n, aheadOctets))
	}
	m.spans = m.spans[:0]
	return nil
}

// span adds an access to the job, and returns its part of the buffer. An access that begins in the
// last span or right behind it prolongs the span: the kernel takes longer for an access than for
// its octets.
func (m *mover) span(at uint64, n int) []byte {
	from := 0
	if k := len(m.spans) - 1; k >= 0 {
		s := &m.spans[k]
		if at >= s.at && at-s.at <= uint64(s.to-s.from) {
			from = s.from + int(at-s.at)
			s.to = max(s.to, from+n)
			s.accesses++
			return m.buffer[from:][:n]
		}
		from = s.to
	}
	m.spans = append(m.spans, span{at: at, from: from, to: from + n, accesses: 1})
	return m.buffer[from:][:n]
}

// packetOctets is the greatest payload of a packet.
const packetOctets = 4096

// do has a job done. An error that wraps verbs.ErrLater: the memory has not answered yet.
func (m *mover) do(j job) error {
	m.state.Store(moverWorks)
	m.waits.begin(m)
	m.jobs <- j
	m.waits.wait()
	if m.state.Load() == moverFree {
		return m.err
	}
	m.left()
	return verbs.ErrLater
}

// write writes p to an address of the process.
func (m *mover) write(p []byte, at uint64) error {
	_, err := m.writeMany([]verbs.Part{{VA: at, Octets: p}}, 0)
	return err
}

// writeMany writes parts at base + VA. n is how many were written before an error.
func (m *mover) writeMany(parts []verbs.Part, base uint64) (n int, err error) {
	for n < len(parts) {
		end, octets := n, 0
		for end < len(parts) && (end == n || octets+len(parts[end].Octets) <= aheadOctets) {
			octets += len(parts[end].Octets)
			end++
		}
		if err := m.begin(octets); err != nil {
			return n, err
		}
		for _, p := range parts[n:end] {
			copy(m.span(base+p.VA, len(p.Octets)), p.Octets)
		}
		switch err := m.do(m.writes); {
		case errors.Is(err, verbs.ErrLater):
			m.underway = &verbs.Underway{}
			return n, m.underway
		case err != nil:
			return n + m.moved, err
		}
		n = end
	}
	return n, nil
}

// read fills p with the octets at an address of the process.
func (m *mover) read(p []byte, at uint64) error {
	if err := m.begin(len(p)); err != nil {
		return err
	}
	octets := m.span(at, len(p))
	err := m.do(m.reads)
	if err == nil {
		copy(p, octets)
	}
	return err
}

// smallOctets is the size of messages that the NIC reads when it takes them from the ring, all of a
// turn at a time: to hand an access to the mover takes longer than the access.
const smallOctets = 256

// fetch reads small messages of a process. Where that fails, the NIC reads them one by one.
func (m *mover) fetch(messages []*gather) {
	n := 0
	for _, g := range messages {
		n += int(g.total)
	}
	if m.begin(n) != nil {
		return
	}
	for _, g := range messages {
		g.small = m.span(g.list[0].address(), int(g.total))
	}
	if m.do(m.reads) != nil {
		for _, g := range messages {
			g.small = nil
		}
		return
	}
	octets := make([]byte, 0, n)
	for _, g := range messages {
		octets = append(octets, g.small...)
		g.small = octets[len(octets)-len(g.small):]
	}
}

// fill is read for a buffer of aheadOctets, which fill exchanges.
func (m *mover) fill(p *[]byte, at uint64) error {
	n := len(*p)
	err := m.begin(aheadOctets)
	if err == nil {
		m.span(at, n)
		err = m.do(m.reads)
	}
	if err == nil {
		*p, m.buffer = m.buffer[:n], (*p)[:aheadOctets]
	}
	return err
}

// patience bounds how long the NIC waits for movers, one at a time. The NIC's goroutine does not
// set a timer for each access, which would take longer than the access: a timer looks from time to
// time whether the NIC still waits for the same access.
type patience struct {
	done   chan struct{} // the NIC need not wait any more
	number atomic.Uint64 // of the access, times two; odd while the NIC waits
	mover  atomic.Pointer[mover]
	armed  atomic.Bool
	timer  *time.Timer

	// of the timer's function: the number at the last look, and how often it has seen that
	seen  uint64
	looks int
}

func newPatience() *patience {
	p := &patience{done: make(chan struct{}, 1), looks: -1}
	p.timer = time.AfterFunc(time.Hour, p.look)
	p.timer.Stop()
	return p
}

func (p *patience) begin(m *mover) {
	p.mover.Store(m)
	p.number.Add(1)
	p.arm()
}

func (p *patience) arm() {
	if !p.armed.Load() && p.armed.CompareAndSwap(false, true) {
		p.timer.Reset(patienceTime)
	}
}

func (p *patience) wait() {
	<-p.done
	p.number.Add(1)
}

// look sees an access three times before the NIC gives up waiting: at some time of the access,
// slowTime later, and patienceTime later.
func (p *patience) look() {
	n := p.number.Load()
	waiting := n%2 == 1
	again := patienceTime
	switch {
	case n != p.seen && waiting && p.looks != 0:
		p.seen, p.looks = n, 0
		again = slowTime
	case n != p.seen:
		p.seen, p.looks = n, -1
	case !waiting:
		p.looks = -1
		p.armed.Store(false)
		if p.number.Load() != n {
			p.arm()
		}
		return
	case p.looks <= 0:
		p.looks = 1
		p.mover.Load().user.charge()
	default:
		// another access may have begun since: that it is left too early costs one more turn
		if p.mover.Load().state.CompareAndSwap(moverWorks, moverLeft) {
			p.done <- struct{}{}
		}
	}
	p.timer.Reset(again)
}

// charge notes that the NIC has waited for memory of a user. A user beyond slowAccesses has to
// rest.
func (u *user) charge() {
	if !u.slow.Allow() && u.rests.CompareAndSwap(false, true) {
		time.AfterFunc(restTime, u.rested)
	}
}

// left has the process answer for memory that the NIC has not waited for.
func (p *process) left() {
	p.server.memory.Waits++
	p.answers = time.AfterFunc(p.server.answerTime, func() {
		p.server.do(func(time.Duration) { p.giveUp() })
	})
}

// giveUp ends the queue pairs of a process whose memory has not answered.
func (p *process) giveUp() {
	if p.mover.gaveUp || p.mover.state.Load() != moverLeft {
		return
	}
	s := p.server
	p.mover.gaveUp = true
	s.memory.GivenUp++
	s.say("memory of an application does not answer: its queue pairs end", "process", p.memory.pid,
		"after", s.answerTime)
	for _, q := range p.qps {
		s.ends = append(s.ends, q)
	}
}

// back has the NIC use memory again that has answered at last.
func (p *process) back() {
	p.server.do(func(time.Duration) {
		p.answers.Stop()
		p.mover.free()
		p.resume()
	})
}

// resume has queue pairs ask memory again.
func (p *process) resume() {
	for _, q := range p.qps {
		if q.qp != nil {
			q.qp.Resume()
		}
	}
}

// MemoryCounters are about memory of applications that has not answered at once.
type MemoryCounters struct {
	// Waits counts accesses that the NIC did not wait for.
	Waits uint64
	// GivenUp counts accesses whose application has lost its queue pairs.
	GivenUp uint64
}

// waiting is how the NIC waits for memory, and what it has read ahead meanwhile.
type waiting struct {
	ahead  aheadPool
	waits  *patience
	memory MemoryCounters
}

// Memory is a copy of the counters.
func (s *Server) Memory() MemoryCounters { return s.memory }
