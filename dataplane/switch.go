package dataplane

import (
	"math/rand/v2"
	"time"

	"github.com/weft-sdn/weft/internal/ring"

	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/dataplane/extern"
	"github.com/weft-sdn/weft/dataplane/queue"
	"github.com/weft-sdn/weft/dataplane/table"
	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/p4"
)

// Config sets a switch up. A zero field takes its default.
type Config struct {
	// CPUPort is the port towards the control plane; default 510.
	CPUPort uint32
	// DropPort is the egress_spec that drops; default 511.
	DropPort uint32
	// Priorities is the number of priority queues a port has, at most 32;
	// default 8. 0 is the lowest priority.
	Priorities int
	// QueueDepth is the default limit of packets in a queue; 0 is none.
	QueueDepth int
	// QueueRate is the default rate of a queue in packets a second; 0 is no
	// limit.
	QueueRate uint64
	// PFCPort is the port by which a program that has the table pfc_queue
	// speaks with the traffic manager (p4.TargetFrame); default 508, NoPort:
	// such frames leave like others.
	PFCPort uint32
	// PauseBuffer is how many octets may wait in an egress queue that was
	// paused and has no entry in that table; default 32 MiB.
	PauseBuffer int
	// PauseSpeed is what pauses are measured by at a port without a speed,
	// in bits a second; default 100 Gb/s.
	PauseSpeed uint64
	// MTU is the longest frame received, in octets; default 10240. Longer
	// ones are dropped.
	MTU int
	// InputQueue is how many received frames of a port may wait for Advance;
	// default 65536. More are dropped. Ports take turns.
	InputQueue int
	// RecirculationQueue is how many recirculated and resubmitted packets may
	// wait; default 4096. More are dropped.
	RecirculationQueue int
	// RecirculationRate bounds recirculations and resubmissions a second,
	// beyond a burst of RecirculationBurst: packets over it wait, so that a
	// packet that circulates for ever takes a bounded share. Defaults
	// 4,000,000 and 65,536.
	RecirculationRate  uint64
	RecirculationBurst uint64
	// Seed starts the random number generator of the random primitive.
	Seed uint64
	// Trace observes everything that happens to packets; nil is nobody.
	Trace trace.Tracer
	// PortChanged, if not nil, is told whenever SetPortUp has changed the state
	// of a port. It must neither block nor call the switch.
	PortChanged func(port uint32, up bool)
}

func (c Config) withDefaults() Config {
	def := func(v *uint32, d uint32) {
		if *v == 0 {
			*v = d
		}
	}
	def(&c.CPUPort, 510)
	def(&c.DropPort, 511)
	def(&c.PFCPort, p4.PfcPort)
	defInt := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	defInt(&c.Priorities, 8)
	c.Priorities = min(c.Priorities, queue.MaxPriorities)
	defInt(&c.MTU, 10240)
	defInt(&c.InputQueue, 65536)
	defInt(&c.RecirculationQueue, 4096)
	defInt(&c.PauseBuffer, 32<<20)
	if c.PauseSpeed == 0 {
		c.PauseSpeed = 100e9
	}
	if c.RecirculationRate == 0 {
		c.RecirculationRate = 4_000_000
	}
	if c.RecirculationBurst == 0 {
		c.RecirculationBurst = 65_536
	}
	return c
}

// Stats counts what a switch did with packets since it was made.
type Stats struct {
	Received, Transmitted     uint64
	Recirculated, Resubmitted uint64
	Cloned, Replicated        uint64
	Multicast                 uint64 // packets that their copies took the place of

	// Drops counts dropped packets by reason. Received + Replicated is the sum of Transmitted,
	// Multicast, all drops, and the packets that wait in the switch.
	Drops drop.Counts

	// NoSession counts clones that were not made because their session does not exist.
	NoSession uint64
	// Runaway counts actions that were cut short after 1,048,576 statements.
	Runaway uint64
	// OutOfRange counts accesses to a register, counter or meter at an index
	// beyond its size. Such a read leaves its destination as it is, a write or
	// count does nothing, as in BMv2.
	OutOfRange uint64
}

// Switch is one switch. It is single-threaded; see the package comment.
type Switch struct {
	cfg   Config
	out   Output
	prog  *Program
	now   time.Duration
	rng   *rand.Rand
	stats Stats
	ctx   ctx

	tracer     trace.Tracer
	traceLast  trace.ID // given last
	traceSince trace.ID // later ones are known to tracer

	tables    []tableState
	packed    table.Packed // of the control method that runs
	profiles  []profileState
	regs      []extern.Register
	counters  []extern.Counter
	meters    []extern.MeterArray
	valueSets [][][]byte

	groups   map[uint16]*MulticastGroup
	sessions map[uint16]*CloneSession
	down     map[uint32]bool

	input   inputs            // received
	again   ring.Ring[inItem] // recirculated and resubmitted
	budget  tokenBucket       // of again
	queues  queue.Manager[queued]
	phvs    []*phv
	frames  []*frame
	outBuf  []byte
	digests [][]byte

	pfcTable  int            // pfc_queue; -1: the program has none
	pfcParams map[string]int // of its action, by name
	pfcRead   uint64         // changes of the table that the traffic manager knows of
	pfcBuf    []byte
}

// New makes a switch without a program.
func New(cfg Config, out Output) *Switch {
	s := &Switch{cfg: cfg.withDefaults(), out: out, tracer: cfg.Trace, pfcTable: -1}
	s.rng = rand.New(rand.NewPCG(s.cfg.Seed, 0x57656674))
	s.groups = map[uint16]*MulticastGroup{}
	s.sessions = map[uint16]*CloneSession{}
	s.down = map[uint32]bool{}
	s.ctx.sw = s
	s.budget = tokenBucket{rate: s.cfg.RecirculationRate, burst: s.cfg.RecirculationBurst, tokens: s.cfg.RecirculationBurst}
	s.queues = queue.New[queued](queue.Config{Priorities: s.cfg.Priorities, Depth: s.cfg.QueueDepth, Rate: s.cfg.QueueRate,
		PauseBuffer: uint64(s.cfg.PauseBuffer), PauseSpeed: s.cfg.PauseSpeed})
	return s
}

// Program returns the running program, nil before SetProgram.
func (s *Switch) Program() *Program { return s.prog }

// Stats returns the counts so far.
func (s *Switch) Stats() Stats { return s.stats }

// Config returns the configuration, defaults filled in.
func (s *Switch) Config() Config { return s.cfg }

// SetOutput sets who takes what leaves from now on.
func (s *Switch) SetOutput(out Output) { s.out = out }

// SetProgram starts a program with empty state.
func (s *Switch) SetProgram(p *Program) {
	s.drain()
	s.prog = p
	s.groups = map[uint16]*MulticastGroup{}
	s.sessions = map[uint16]*CloneSession{}
	s.phvs = nil
	s.ctx = ctx{sw: s}
	s.tables, s.profiles, s.regs, s.counters, s.meters, s.valueSets = nil, nil, nil, nil, nil, nil
	s.pfcTable, s.pfcParams, s.pfcRead = -1, nil, 0
	if p == nil {
		return
	}
	s.pfcTable, s.pfcParams = p.pfcTable()
	s.ctx.phv = *newPHV(&p.layout)
	s.ctx.key = make([]uint64, p.keyWords)
	s.ctx.key2 = make([]uint64, p.keyWords)
	for _, r := range p.info.registers {
		s.regs = append(s.regs, extern.NewRegister(r.Size, r.Width))
	}
	for _, c := range p.info.counters {
		s.counters = append(s.counters, extern.NewCounter(c.Size))
	}
	for _, m := range p.info.meters {
		s.meters = append(s.meters, extern.NewMeterArray(m.Size, m.Unit))
	}
	s.valueSets = make([][][]byte, len(p.info.valueSets))
	s.profiles = make([]profileState, len(p.profiles))
	s.tables = make([]tableState, len(p.tables))
	for i, t := range p.tables {
		s.tables[i] = tableState{entries: table.New[hit](&t.key), def: t.def}
		for _, e := range t.entries {
			if s.insert(t, e, t.size+len(t.entries)) == nil {
				s.tables[i].entries.Find(&s.packed, e.Priority).Value.target.extendSigns()
			}
		}
	}
}

// drain forgets every packet.
func (s *Switch) drain() {
	if s.tracer != nil {
		s.tracer.Forget()
	}
	s.input, s.again = inputs{}, ring.Ring[inItem]{}
	s.queues.Clear()
}

// inItem is a packet waiting for ingress. A recirculated or resubmitted one
// comes with its metadata.
type inItem struct {
	f       *frame
	p       *phv
	port    uint32
	arrived uint64
	id      trace.ID
}

// Receive takes a frame that arrived on a port; the frame is copied. It is
// processed by Advance.
func (s *Switch) Receive(now time.Duration, port uint32, data []byte) {
	s.now = max(s.now, now)
	s.stats.Received++
	var id trace.ID
	if s.tracer != nil {
		id = s.traceReceived(port, data)
	}
	switch {
	case s.prog == nil:
		s.drop(id, drop.NoProgram)
	case len(s.down) > 0 && s.down[port]:
		s.drop(id, drop.PortDown)
	case len(data) == 0:
		s.drop(id, drop.Empty)
	case len(data) > s.cfg.MTU:
		s.drop(id, drop.Oversize)
	default:
		q := s.input.of(port)
		if q.Len() >= s.cfg.InputQueue {
			s.drop(id, drop.InputFull)
			return
		}
		f := s.newFrame()
		f.b = append(f.b, data...)
		s.input.push(q, inItem{f: f, port: port, arrived: s.micros(), id: id})
	}
}

// micros is the time in microseconds, as the metadata has it.
func (s *Switch) micros() uint64 { return uint64(s.now / time.Microsecond) }

// Advance runs everything that is due at now and returns when something will
// be due next, if anything is pending. Time never runs backwards: an earlier
// now counts as the latest one seen.
func (s *Switch) Advance(now time.Duration) (next time.Duration, pending bool) {
	s.now = max(s.now, now)
	if s.prog == nil {
		return 0, false
	}
	s.budget.refill(s.now)
	if s.pfcTable >= 0 {
		s.readWatches()
		s.queues.Tick(s.now, s.dropStorm)
	}
	for turn := 0; ; turn++ {
		if s.queues.Len() > 0 {
			s.egressAll()
		}
		if s.queues.Events() > 0 {
			s.tellProgram()
		}
		switch {
		case s.input.n > 0 && (s.again.Len() == 0 || turn >= againTurns || s.budget.tokens == 0):
			s.ingress(s.input.pop())
			turn = 0
		case s.again.Len() > 0 && s.budget.take():
			s.ingress(s.again.Take())
		case s.again.Len() > 0:
			return s.soonest(s.budget.ready(s.now))
		default:
			return s.soonest(-1)
		}
	}
}

// againTurns is how many recirculated packets go before a received one that
// waits.
const againTurns = 64

// soonest is the earlier of at (negative is never) and the queues' next.
func (s *Switch) soonest(at time.Duration) (time.Duration, bool) {
	if t, ok := s.queues.Due(); ok && (at < 0 || t < at) {
		at = t
	}
	return max(at, 0), at >= 0
}

// newPHV takes a packet state from the pool, with zero headers and metadata.
func (s *Switch) newPHV() *phv {
	lay := &s.prog.layout
	if n := len(s.phvs); n > 0 {
		p := s.phvs[n-1]
		s.phvs = s.phvs[:n-1]
		p.clearHeaders(lay)
		p.clearMeta(lay)
		return p
	}
	return newPHV(lay)
}

func (s *Switch) freePHV(p *phv) {
	if p.frame != nil {
		s.freeFrame(p.frame)
		p.frame = nil
	}
	if len(s.phvs) < maxPool {
		s.phvs = append(s.phvs, p)
	}
}

// maxPool bounds the packet states and frames kept for reuse.
const maxPool = 1024

func (s *Switch) newFrame() *frame {
	if n := len(s.frames); n > 0 {
		f := s.frames[n-1]
		s.frames = s.frames[:n-1]
		f.b, f.shifted, f.refs = f.b[:0], f.shifted[:0], 1
		return f
	}
	return &frame{refs: 1}
}

func (s *Switch) freeFrame(f *frame) {
	if f.refs--; f.refs == 0 && len(s.frames) < maxPool {
		s.frames = append(s.frames, f)
	}
}
