package simulate

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/lab"
)

// Memory and queue pairs of hosts: every message goes to the same memory, which keeps nothing.
const (
	maxMessage = 1 << 30 // octets
	firstQPN   = 0x100
	rkey       = 0x1000
)

// A worker runs the steps of one job. Each rank computes, sends and receives the messages of a
// step, and begins the next step when all these messages have arrived.
type worker struct {
	job   *Job
	world *lab.World
	graph []numbered // of all communicators, by number
	next  [][]int    // by message: those that depend on it
	mine  [][]int    // by rank: those that it sends

	pairs map[pairKey]*pair
	ready []*pair // those with completions to look at
	ranks []rank
	steps map[int]*running // those that some rank is in
	ended []StepTime

	roce   rc.QPConfig // of RoCEv2 hosts
	memory []byte      // likewise
	share  float64     // of payload in the bits of a link

	began time.Duration // of the first step that some rank has not ended
	left  int           // ranks with steps to do
	over  bool          // the controller was told that the job is done
	err   error
}

// numbered is a message between ranks of the job.
type numbered struct {
	from, to, octets int
	also             []int // further ranks that it goes to
	after            int   // how many messages it waits for
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

// pair is the queue pair by which one rank sends to another, or to several by a multicast group.
type pair struct {
	name    string // of the source
	source  end
	sinks   []sink
	posted  []sending // not acknowledged
	waiting []sending // for room in the send queue
	seen    bool      // in ready
}

// sink is where the messages of a pair arrive.
type sink struct {
	end
	rank     int
	arriving []sending // not arrived
}

// sending is a message of a step.
type sending struct{ step, message int }

// pairKey is the ranks that a pair joins; also lists the further ranks of a group.
type pairKey struct {
	from, to int
	also     string
}

func (m *numbered) key() pairKey {
	key := pairKey{from: m.from, to: m.to}
	if len(m.also) > 0 {
		key.also = fmt.Sprint(m.also)
	}
	return key
}

// newWorker makes the queue pairs of a job, and counts qpn up: the number of the next queue pair.
// It also makes the multicast groups of the job, the i-th. memory is the memory of RoCEv2 hosts.
func (s *Scenario) newWorker(w *lab.World, c *lab.Control, i int, qpn *uint32,
	memory []byte) (*worker, error) {
	j := &s.Jobs[i]
	k := &worker{job: j, world: w, pairs: map[pairKey]*pair{}, steps: map[int]*running{},
		ranks: make([]rank, len(j.hosts)), mine: make([][]int, len(j.hosts)), left: len(j.hosts),
		memory: memory, share: lab.PayloadShare}
	if s.Transport == lab.RoCE {
		k.roce = s.roceQP()
		k.share = float64(k.roce.PMTU) / float64(k.roce.PMTU+roceOverhead)
	}
	for _, g := range j.groups {
		first := len(k.graph)
		for _, m := range g.graph {
			x := numbered{from: g.ranks[m.From], to: g.ranks[m.To], octets: m.Octets,
				after: len(m.After)}
			for _, to := range m.Also {
				x.also = append(x.also, g.ranks[to])
				k.ranks[g.ranks[to]].peers++
			}
			for _, before := range m.After {
				k.next[first+before] = append(k.next[first+before], len(k.graph))
			}
			k.mine[x.from] = append(k.mine[x.from], len(k.graph))
			k.graph, k.next = append(k.graph, x), append(k.next, nil)
			k.ranks[x.from].peers++
			k.ranks[x.to].peers++
			if err := k.connect(c, &x, qpn); err != nil {
				return nil, fmt.Errorf("job %s: %w", j.Name, err)
			}
		}
	}
	return k, nil
}

// connect makes the queue pair of a message, unless it exists. A message to several ranks has a
// multicast group, which the controller makes as a client asks for it.
func (k *worker) connect(c *lab.Control, m *numbered, qpn *uint32) (err error) {
	if k.pairs[m.key()] != nil {
		return nil
	}
	p := &pair{name: k.job.hosts[m.from]}
	k.pairs[m.key()] = p
	notify := func() {
		if !p.seen {
			p.seen, k.ready = true, append(k.ready, p)
		}
	}
	number := *qpn
	*qpn++
	there, back := peer{number, number, k.address(m.to)}, peer{number, number, k.address(m.from)}
	group := api.MulticastGroupSpec{ProxyAddress: proxy(number), DesignatedQPN: number,
		Source: api.GroupSource{Address: back.address, QPN: number}}
	if len(m.also) > 0 {
		there.address, back.address = group.ProxyAddress, group.ProxyAddress
	}
	if p.source, err = k.end(m.from, there, notify); err != nil {
		return err
	}
	for _, rank := range append([]int{m.to}, m.also...) {
		at := sink{rank: rank}
		if at.end, err = k.end(rank, back, notify); err != nil {
			return err
		}
		if err := at.fill(); err != nil {
			return err
		}
		p.sinks = append(p.sinks, at)
		group.Receivers = append(group.Receivers,
			api.GroupReceiver{Address: k.address(rank), QPN: number})
	}
	if len(m.also) > 0 {
		return program(k.world, c, fmt.Sprintf("%s-%d", k.job.Name, number), group)
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
	p := k.pairs[m.key()]
	p.waiting = append(p.waiting, x)
	k.post(p)
}

// post posts what waits for room in a send queue.
func (k *worker) post(p *pair) {
	before := len(p.waiting)
	for len(p.waiting) > 0 {
		x := p.waiting[0]
		full, err := p.source.write(k.graph[x.message].octets, uint32(x.message))
		if err != nil {
			k.fail(err)
			return
		}
		if full {
			break
		}
		p.waiting, p.posted = p.waiting[1:], append(p.posted, x)
		for i := range p.sinks {
			p.sinks[i].arriving = append(p.sinks[i].arriving, x)
		}
	}
	if len(p.waiting) < before {
		p.source.wake()
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
		for c, ok := p.source.Poll(); ok; c, ok = p.source.Poll() {
			if c.Status != verbs.StatusOK {
				k.fail(fmt.Errorf("%s: %v", p.name, c.Status))
				return
			}
			x := p.posted[0]
			p.posted = p.posted[1:]
			k.close(x, k.graph[x.message].from)
		}
		for i := range p.sinks {
			if err := k.take(&p.sinks[i]); err != nil {
				k.fail(fmt.Errorf("from %s: %w", p.name, err))
				return
			}
		}
		k.post(p)
	}
}

// take takes the messages that have arrived at a sink.
func (k *worker) take(at *sink) error {
	for c, ok := at.Poll(); ok; c, ok = at.Poll() {
		x := at.arriving[0]
		if c.Status != verbs.StatusOK || c.Immediate != uint32(x.message) {
			return fmt.Errorf("%v, message %d, want %d", c.Status, c.Immediate, x.message)
		}
		at.arriving = at.arriving[1:]
		if err := at.PostRecv(verbs.RecvRequest{}); err != nil {
			return err
		}
		if rank := at.rank; k.job.Latency > 0 {
			k.world.After(k.job.Latency, func() { k.arrive(x, rank) })
		} else {
			k.arrive(x, rank)
		}
	}
	return nil
}

// arrive sends the messages that waited for a message at a rank.
func (k *worker) arrive(x sending, at int) {
	s := k.steps[x.step]
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
		p.source.sent(&c)
		for _, to := range p.sinks {
			to.arrived(&c)
		}
	}
	return c
}
