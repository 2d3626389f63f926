package simulate

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/lab"
)

// Memory and queue pairs of hosts: every message goes to the same memory, which keeps nothing.
const (
	maxMessage = 1 << 30 // octets
	firstQPN   = 0x100
	rkey       = 0x1000
)

// nothing is memory that reads as zeros and keeps nothing.
type nothing struct{}

func (nothing) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

func (nothing) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// A worker runs the steps of one job. Each rank computes, sends and receives the messages of a
// step, and begins the next step when all these messages have arrived.
type worker struct {
	job   *Job
	world *lab.World
	graph []numbered // of all communicators, by number
	next  [][]int    // by message: those that depend on it
	mine  [][]int    // by rank: those that it sends

	pairs map[[2]int]*pair // by ranks
	ready []*pair          // those with completions to look at
	ranks []rank
	steps map[int]*running // those that some rank is in
	ended []StepTime
	began time.Duration // of the first step that some rank has not ended
	left  int           // ranks with steps to do
	err   error
}

// numbered is a message between ranks of the job.
type numbered struct {
	from, to, octets int
	after            int // how many messages it waits for
}

// rank is where a rank is in its work.
type rank struct {
	step  int
	sends bool // it has computed
	peers int  // messages that it sends or receives in a step
}

// running is a step that some rank is in.
type running struct {
	waits []int // by message: those that it waits for
	open  []int // by rank: messages that have yet to arrive, or to be acknowledged
	ranks int   // that have not ended it
}

// pair is the queue pair by which one rank sends to another.
type pair struct {
	source   *lab.MRCNode
	qp, sink *mrc.QP
	posted   []sending // not acknowledged
	arriving []sending // not arrived
	waiting  []sending // for room in the send queue
	seen     bool      // in ready
}

// sending is a message of a step.
type sending struct{ step, message int }

// newWorker makes the queue pairs of a job, and counts qpn up: the number of the next queue pair.
func newWorker(w *lab.World, j *Job, qpn *uint32) (*worker, error) {
	k := &worker{job: j, world: w, pairs: map[[2]int]*pair{}, steps: map[int]*running{},
		ranks: make([]rank, len(j.hosts)), mine: make([][]int, len(j.hosts)), left: len(j.hosts)}
	for _, g := range j.groups {
		first := len(k.graph)
		for _, m := range g.graph {
			x := numbered{from: g.ranks[m.From], to: g.ranks[m.To], octets: m.Octets,
				after: len(m.After)}
			for _, before := range m.After {
				k.next[first+before] = append(k.next[first+before], len(k.graph))
			}
			k.mine[x.from] = append(k.mine[x.from], len(k.graph))
			k.graph, k.next = append(k.graph, x), append(k.next, nil)
			k.ranks[x.from].peers++
			k.ranks[x.to].peers++
			if err := k.connect(x.from, x.to, qpn); err != nil {
				return nil, fmt.Errorf("job %s: %w", j.Name, err)
			}
		}
	}
	return k, nil
}

// connect makes the queue pair between two ranks, unless it exists.
func (k *worker) connect(from, to int, qpn *uint32) error {
	ends := [2]int{from, to}
	if k.pairs[ends] != nil {
		return nil
	}
	source, err := k.world.MRCHost(k.job.hosts[from])
	if err != nil {
		return err
	}
	sink, err := k.world.MRCHost(k.job.hosts[to])
	if err != nil {
		return err
	}
	p := &pair{source: source}
	k.pairs[ends] = p
	make := func(at, peer *lab.MRCNode) (*mrc.QP, error) {
		cfg := nic.DefaultQPConfig()
		cfg.AckTimeout, cfg.ProbeTimeout = k.world.Network.Timers()
		cfg.QPN, cfg.RemoteQPN, cfg.RemoteAddr = *qpn, *qpn, peer.Config().Addr
		cfg.Notify = func() {
			if !p.seen {
				p.seen, k.ready = true, append(k.ready, p)
			}
		}
		return at.CreateQP(cfg)
	}
	if p.qp, err = make(source, sink); err != nil {
		return err
	}
	if p.sink, err = make(sink, source); err != nil {
		return err
	}
	*qpn++
	for p.sink.ReceiveQueueLen() < p.sink.Config().RecvDepth {
		if err := p.sink.PostRecv(verbs.RecvRequest{}); err != nil {
			return err
		}
	}
	return nil
}

// start lets every rank begin the first step.
func (k *worker) start() {
	k.began = k.world.Now()
	for r := range k.ranks {
		k.enter(r)
	}
}

// step returns a step that a rank is in, or a message of which arrives.
func (k *worker) step(number int) *running {
	s := k.steps[number]
	if s == nil {
		s = &running{waits: make([]int, len(k.graph)), open: make([]int, len(k.ranks)),
			ranks: len(k.ranks)}
		for i, m := range k.graph {
			s.waits[i] = m.after
		}
		for r := range k.ranks {
			s.open[r] = k.ranks[r].peers
		}
		k.steps[number] = s
	}
	return s
}

// enter lets a rank compute, and then communicate.
func (k *worker) enter(r int) {
	at := &k.ranks[r]
	at.sends = false
	number := at.step
	k.step(number)
	k.world.After(k.job.Step.Compute, func() {
		at.sends = true
		s := k.step(number)
		for _, i := range k.mine[r] {
			if s.waits[i] == 0 {
				k.send(sending{number, i})
			}
		}
		k.leave(r)
	})
}

// leave ends the step of a rank with nothing open, and begins the next one.
func (k *worker) leave(r int) {
	at := &k.ranks[r]
	s := k.steps[at.step]
	if !at.sends || s.open[r] > 0 {
		return
	}
	if s.ranks--; s.ranks == 0 {
		k.ended = append(k.ended, StepTime{Began: k.began, Took: k.world.Now() - k.began})
		k.began = k.world.Now()
		delete(k.steps, at.step)
	}
	if at.step++; at.step == k.job.Steps {
		k.left--
		return
	}
	k.enter(r)
}

// send posts a message, once the send queue has room for it.
func (k *worker) send(x sending) {
	m := &k.graph[x.message]
	p := k.pairs[[2]int{m.from, m.to}]
	p.waiting = append(p.waiting, x)
	k.post(p)
}

// post posts what waits for room in a send queue.
func (k *worker) post(p *pair) {
	posted := false
	for len(p.waiting) > 0 && p.qp.SendQueueLen() < p.qp.Config().SendDepth {
		x := p.waiting[0]
		err := p.qp.PostSend(k.world.Now(), verbs.WorkRequest{Op: verbs.OpWriteImmediate, From: nothing{},
			Length: k.graph[x.message].octets, RKey: rkey, Immediate: uint32(x.message)})
		if err != nil {
			k.fail(err)
			return
		}
		p.waiting = p.waiting[1:]
		p.posted, p.arriving = append(p.posted, x), append(p.arriving, x)
		posted = true
	}
	if posted {
		p.source.Wake()
	}
}

func (k *worker) fail(err error) {
	if k.err == nil {
		k.err = err
	}
}

// collect takes the completions of all queue pairs, and sends the messages that waited for them.
func (k *worker) collect() {
	for len(k.ready) > 0 && k.err == nil {
		p := k.ready[0]
		k.ready, p.seen = k.ready[1:], false
		for c, ok := p.qp.Poll(); ok; c, ok = p.qp.Poll() {
			if c.Status != verbs.StatusOK {
				k.fail(fmt.Errorf("%s: %v", p.source.Name, c.Status))
				return
			}
			x := p.posted[0]
			p.posted = p.posted[1:]
			k.close(x, k.graph[x.message].from)
		}
		for c, ok := p.sink.Poll(); ok; c, ok = p.sink.Poll() {
			x := p.arriving[0]
			if c.Status != verbs.StatusOK || c.Immediate != uint32(x.message) {
				k.fail(fmt.Errorf("from %s: %v, message %d, want %d", p.source.Name, c.Status, c.Immediate,
					x.message))
				return
			}
			p.arriving = p.arriving[1:]
			if err := p.sink.PostRecv(verbs.RecvRequest{}); err != nil {
				k.fail(err)
				return
			}
			if k.job.Latency > 0 {
				k.world.After(k.job.Latency, func() { k.arrive(x) })
			} else {
				k.arrive(x)
			}
		}
		k.post(p)
	}
}

// arrive sends the messages that waited for a message.
func (k *worker) arrive(x sending) {
	s, at := k.steps[x.step], k.graph[x.message].to
	for _, next := range k.next[x.message] {
		if s.waits[next]--; s.waits[next] == 0 && k.ranks[at].step == x.step && k.ranks[at].sends {
			k.send(sending{x.step, next})
		}
	}
	k.close(x, at)
}

// close counts a message as over at a rank.
func (k *worker) close(x sending, r int) {
	s := k.steps[x.step]
	if s.open[r]--; s.open[r] == 0 && k.ranks[r].step == x.step {
		k.leave(r)
	}
}

// counters returns the sum of the counters of the job's queue pairs.
func (k *worker) counters() (c Counters) {
	for _, p := range k.pairs {
		from, to := p.qp.Counters(), p.sink.Counters()
		c.Packets += from.RequestsSent
		c.Resent += from.RequestsResent
		c.Timeouts += from.Timeouts
		c.Trimmed += to.Trimmed
		c.Marked += to.CEReceived
	}
	return c
}
