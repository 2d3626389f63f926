package suspect

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// Counts are packets that took a path.
type Counts struct {
	Sent   uint64
	Lost   uint64 // of those sent; not those that a switch trimmed
	Marked uint64 // of those that arrived: with ECN CE
}

func (c *Counts) add(o Counts) {
	c.Sent += o.Sent
	c.Lost += o.Lost
	c.Marked += o.Marked
}

// PathID is a path known to a Locator.
type PathID int32

// Locator holds evidence and names links. Make one with New.
type Locator struct {
	cfg    Config
	names  []topology.LinkID
	links  map[topology.LinkID]int32 // index into names
	known  map[string]PathID         // by the links of the path
	paths  []path
	across [][]PathID // the paths across each link, by its index
	turn   int64      // which half of a window it is
}

// path is a path and its evidence: of the half of a window that runs, and of the
// two before.
type path struct {
	links []int32
	// answers reports whether the answers that packets need, to count as arrived, may cross a link;
	// nil: packets need none.
	answers func(topology.LinkID) bool
	counts  [3]Counts
}

// New makes a Locator without evidence.
func New(cfg Config) (*Locator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Locator{cfg: cfg, links: map[topology.LinkID]int32{}, known: map[string]PathID{}}, nil
}

// Path returns the id of a path of links, in any order; a link that is there
// twice counts once.
func (l *Locator) Path(links []topology.LinkID) PathID { return l.path(links, nil) }

// Answered returns the id of a path of probes, which count as lost without an answer. Answers take
// paths of their own: may reports whether they may cross a link, in either direction. A named link
// also explains losses on paths whose answers may cross the link.
func (l *Locator) Answered(links []topology.LinkID, may func(topology.LinkID) bool) PathID {
	return l.path(links, may)
}

func (l *Locator) path(links []topology.LinkID, answers func(topology.LinkID) bool) PathID {
	at := make([]int32, 0, len(links))
	for _, name := range links {
		i, ok := l.links[name]
		if !ok {
			i = int32(len(l.names))
			l.links[name] = i
			l.names = append(l.names, name)
			l.across = append(l.across, nil)
		}
		at = append(at, i)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	key := make([]byte, 0, 4*len(at)+1)
	if answers != nil {
		key = append(key, 1)
	}
	for _, i := range at {
		key = binary.BigEndian.AppendUint32(key, uint32(i))
	}
	id, ok := l.known[string(key)]
	if !ok {
		id = PathID(len(l.paths))
		l.known[string(key)] = id
		l.paths = append(l.paths, path{links: at, answers: answers})
		for _, i := range at {
			l.across[i] = append(l.across[i], id)
		}
	}
	return id
}

// Observe adds the outcome of packets since the last observation, and reports whether the
// observation counts. It does not count when so many packets were marked that congestion explains
// the loss. A count of lost or marked packets above the possible maximum is cut to the maximum.
func (l *Locator) Observe(now time.Duration, id PathID, c Counts) bool {
	l.advance(now)
	c.Lost = min(c.Lost, c.Sent)
	c.Marked = min(c.Marked, c.Sent-c.Lost)
	if float64(c.Marked) > l.cfg.MaxMarked*float64(c.Sent-c.Lost) {
		return false
	}
	l.paths[id].counts[0].add(c)
	return true
}

// Across returns the evidence about packets across a link that still counts.
func (l *Locator) Across(link topology.LinkID) (t Counts) {
	at, ok := l.links[link]
	if !ok {
		return t
	}
	for _, id := range l.across[at] {
		t.add(l.paths[id].total())
	}
	return t
}

// Forget drops all evidence about paths across a link: it was repaired, or is
// not used any more.
func (l *Locator) Forget(link topology.LinkID) {
	at, ok := l.links[link]
	if !ok {
		return
	}
	for _, id := range l.across[at] {
		l.paths[id].counts = [3]Counts{}
	}
}

// advance lets old evidence go.
func (l *Locator) advance(now time.Duration) {
	turn := int64(now / (l.cfg.Window / 2))
	gone := turn - l.turn
	if gone <= 0 {
		return
	}
	l.turn = turn
	for i := range l.paths {
		c := &l.paths[i].counts
		for range min(gone, int64(len(c))) {
			copy(c[1:], c[:])
			c[0] = Counts{}
		}
	}
}

// total is all evidence of a path that still counts.
func (p *path) total() Counts {
	var t Counts
	for _, c := range p.counts {
		t.add(c)
	}
	return t
}
