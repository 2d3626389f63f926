package engine

import (
	"math/rand/v2"
	"time"

	"github.com/weft-sdn/weft/dataplane/trace"
)

// Config sets a Context up.
type Config struct {
	DropPort uint32 // the egress_spec that drops
	Seed     uint64 // of the random primitive
}

// Context processes packets, one at a time: it holds the packet in hand, scratch space, and the
// State of the program.
type Context struct {
	PHV
	st   *State
	args []uint64 // of the running action
	// ID is the packet in the trace; 0: it is not traced.
	ID trace.ID
	// Tracer takes the steps of a traced packet.
	Tracer trace.Tracer

	fresh  bool // just received: metadata is zero but for what the parser sets
	cur    int  // parser: octets consumed
	perr   uint64
	failed bool

	checksumBad bool
	exit        bool
	aborted     bool // an assertion failed
	clone       int32
	cloneList   *fieldList
	digest      int32
	resubmit    *fieldList
	recirculate *fieldList

	tmp       []uint64 // stack of wide values
	sp        int
	buf       []byte // input of calculations
	segs      [][]byte
	key, key2 []uint64
	values    [][]byte // of a digest

	phvs   []*PHV // for reuse
	frames []*Frame

	told told // what the trace needs to remember of the packet

	paths    *paths // nil: every packet runs the program
	recalled *Frame // of the packet whose path is looked for
	kept     *slots // of the packet that waited and was made last
}

// New returns a Context without a program.
func New(cfg Config) *Context {
	return &Context{st: &State{
		rng: rand.New(rand.NewPCG(cfg.Seed, 0x57656674)), dropPort: uint64(cfg.DropPort),
		down: map[uint32]bool{},
	}}
}

// State returns the state of the program.
func (c *Context) State() *State { return c.st }

// Load starts a program with empty state; nil is none. Packets that the caller holds are void.
func (c *Context) Load(p *Program) {
	*c = Context{st: c.st, Tracer: c.Tracer, frames: c.frames}
	if p != nil {
		c.PHV = *newPHV(&p.layout)
		defer c.SetPaths(PathsEarned)
		c.key, c.key2 = make([]uint64, p.keyWords), make([]uint64, p.keyWords)
	}
	c.st.load(p)
}

// Tick sets the time of the packets and control calls that follow. Time never runs backwards: an
// earlier one counts as the latest seen.
func (c *Context) Tick(now time.Duration) { c.st.now = max(c.st.now, now) }

// Now returns the latest time seen.
func (c *Context) Now() time.Duration { return c.st.now }

// Micros returns the time in microseconds, as the metadata has it.
func (c *Context) Micros() uint64 { return uint64(c.st.now / time.Microsecond) }

// SetPortUp changes the state of a port and reports whether it was another.
func (c *Context) SetPortUp(port uint32, up bool) bool { return c.st.setPortUp(port, up) }

// Faults returns the accesses to a register, counter or meter beyond its size, and the actions cut
// short because they ran too many statements.
func (c *Context) Faults() (outOfRange, runaway uint64) { return c.st.outOfRange, c.st.runaway }

// TableChanges returns a number that grows with every change to the entries of a table.
func (c *Context) TableChanges(table int) uint64 { return c.st.tables[table].changes }

// Scratch returns the words of scratch space in use: 0 between packets.
func (c *Context) Scratch() int { return c.sp }

// push takes n words of scratch; pop gives them back.
func (c *Context) push(n int) []uint64 {
	if c.sp+n > len(c.tmp) {
		c.tmp = append(make([]uint64, 0, 2*(c.sp+n)), c.tmp...)
		c.tmp = c.tmp[:cap(c.tmp)]
	}
	t := c.tmp[c.sp : c.sp+n : c.sp+n]
	c.sp += n
	return t
}

func (c *Context) pop(n int) { c.sp -= n }

// calcBuf returns n octets of scratch.
func (c *Context) calcBuf(n int) []byte {
	if n > len(c.buf) {
		c.buf = make([]byte, 2*n)
	}
	return c.buf[:n]
}
