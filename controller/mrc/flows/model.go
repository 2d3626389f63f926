package flows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
)

// A Model is some jobs on a network, ready to run in any [State]. It does not change: any number of
// goroutines may use it at once.
type Model struct {
	net   *Network
	jobs  []Job
	racks []ev.Attachment
	inAll []int // by rack: the NICs of the network
	nics  []nic
	place map[string]int32 // of nics
	// classes holds NICs that are alike; a pair has the rack that sends first.
	classes  []class
	pairs    []pair
	bundles  []bundle
	entities []entity
	least    []float64 // by job: the least time of a step, in seconds
	whole    *view
	large    bool // entities end together
}

// nic is a NIC of some job.
type nic struct {
	name  string
	host  Host
	rack  int32
	class int32
}

// class is NICs of one rack that send and receive alike.
type class struct {
	rack  int32
	count float64
	rate  float64 // of a port
	delay float64
	one   int32 // one of them
}

// pair joins two racks, where the first sends to the second, with the profile in the first rack's
// hosts while nothing is lost.
type pair struct {
	from, to int32
	built    *ev.Built
	why      string // there is none
}

// bundle is messages that are alike.
type bundle struct {
	entity, pair, from, to int32 // places of entities, pairs and classes
	count                  float64
	octets                 float64 // of each
}

// entity is groups that are alike.
type entity struct {
	job     int
	pace    pace
	bundles []int32
}

// Bounds of what [Network.Compile] takes.
const (
	// MaxMessages bounds the messages of all jobs in a step, those of an all-to-all not counted.
	MaxMessages = 4 << 20
	// MostParts bounds the kinds of messages (messages between similar NICs count once) times the
	// ports on a NIC: some 1 GB of memory. quickParts of them take some seconds.
	MostParts  = 8 << 20
	quickParts = 1 << 18
	// largeParts bounds the parts of a model whose rates are always exact.
	largeParts = 1 << 16
	// kept times the parts of a network is what a view remembers, in rates of bundles, entities and
	// links: with MostParts some 0.5 GB.
	kept = 4
)

// ErrTooLarge: the jobs have more messages in a step, or kinds of messages, than a model takes.
var ErrTooLarge = errors.New("too much to simulate")

// Compile makes a model of some jobs. It returns an error for a NIC that the network lacks,
// ErrTooLarge, before the work, for too large jobs, and the error from an ended ctx. NICs named in
// apart are in no class with others: their ports may be lost.
func (n *Network) Compile(ctx context.Context, jobs []Job, apart ...string) (*Model, error) {
	m := &Model{net: n, jobs: jobs, place: map[string]int32{}, least: make([]float64, len(jobs))}
	racks := map[string]int32{}
	m.findRacks(racks)
	c := compiler{Model: m, ctx: ctx}
	total := 0
	c.each(func(_ int, g *Group) { total += g.count() })
	if total > MaxMessages {
		return nil, fmt.Errorf("%w: the jobs have %d messages in a step, want at most %d: fewer ranks "+
			"or communicators with data", ErrTooLarge, total, MaxMessages)
	}
	for i := range jobs {
		for _, name := range jobs[i].NICs {
			if _, known := m.place[name]; known {
				continue
			}
			h, ok := n.Hosts[name]
			if !ok {
				return nil, fmt.Errorf("job %s: NIC %s is not in the network", jobs[i].Name, name)
			}
			m.place[name] = int32(len(m.nics))
			m.nics = append(m.nics, nic{name: name, host: h, rack: racks[fabric.AttachmentKey(h.At)]})
		}
	}
	c.color(apart)
	if err := cmp.Or(c.bundle(), ctx.Err()); err != nil {
		return nil, err
	}
	for i := range m.pairs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p := &m.pairs[i]
		r := ev.Request{Pair: ev.Pair{Source: m.racks[p.from], Destination: m.racks[p.to]},
			MaxEVs: n.MRC.MaxEVs, MinActive: n.MRC.MinActive, Explicit: n.MRC.Explicit}
		var err error
		if p.built, err = n.Fabric.Assignment().Build(r); err != nil {
			p.why = err.Error()
		}
	}
	m.findLeast()
	var err error
	m.whole, err = m.see(ctx, &State{})
	return m, err
}

// findRacks finds the racks of all NICs, and how many NICs each has.
func (m *Model) findRacks(racks map[string]int32) {
	for _, name := range slices.Sorted(maps.Keys(m.net.Hosts)) {
		at := m.net.Hosts[name].At
		key := fabric.AttachmentKey(at)
		i, ok := racks[key]
		if !ok {
			i = int32(len(m.racks))
			racks[key], m.racks, m.inAll = i, append(m.racks, at), append(m.inAll, 0)
		}
		m.inAll[i]++
	}
}

// findLeast finds the least time of a step of each job: the data of the rank with most data, at the
// rate of the rank's ports, and the time to compute.
func (m *Model) findLeast() {
	out, in := map[[2]int32]float64{}, map[[2]int32]float64{} // by job and class
	for i := range m.entities {
		e := &m.entities[i]
		for _, b := range e.bundles {
			x := &m.bundles[b]
			out[[2]int32{int32(e.job), x.from}] += x.octets * x.count / m.classes[x.from].count
			in[[2]int32{int32(e.job), x.to}] += x.octets * x.count / m.classes[x.to].count
		}
	}
	for _, of := range []map[[2]int32]float64{out, in} {
		for at, octets := range of {
			c := &m.classes[at[1]]
			rate := c.rate * float64(m.racks[c.rack].Ports()) * m.net.Payload
			m.least[at[0]] = max(m.least[at[0]], octets*8/rate)
		}
	}
	for j := range m.jobs {
		m.least[j] += m.jobs[j].Compute.Seconds()
	}
}

// compiler finds what is alike.
type compiler struct {
	*Model
	ctx  context.Context
	sums []uint64 // by NIC: of what it sends and receives
}

// each calls f for every group with two ranks or more and data, until ctx has ended.
func (c *compiler) each(f func(job int, g *Group)) {
	for j := range c.jobs {
		for i := range c.jobs[j].Groups {
			g := &c.jobs[j].Groups[i]
			if len(g.Ranks) > 1 && g.Octets > 0 && c.ctx.Err() == nil {
				f(j, g)
			}
		}
	}
}

// kindOf returns a hash of everything that similar groups have in common beside messages.
func kindOf(job int, g *Group) uint64 {
	h := mix(uint64(job), uint64(g.Octets))
	for _, x := range []byte(g.Collective) {
		h = mix(h, uint64(x))
	}
	return mix(h, uint64(len(g.Ranks)))
}

// nicOf returns the NIC of a rank of a group.
func (c *compiler) nicOf(job int, g *Group, at int) int32 {
	return c.place[c.jobs[job].NICs[g.Ranks[at]]]
}

// color puts NICs into classes: NICs in a rack with similar ports, and with equal messages to and
// from NICs in the same racks.
func (c *compiler) color(apart []string) {
	c.sum(func(n *nic) int32 { return n.rack }, false)
	type key struct {
		rack        int32
		sum         uint64
		rate, delay float64
	}
	for i, name := range apart {
		if at, ok := c.place[name]; ok {
			c.sums[at] = mix(c.sums[at], uint64(i)+1)
		}
	}
	known := map[key]int32{}
	for i := range c.nics {
		n := &c.nics[i]
		k := key{n.rack, c.sums[i], float64(n.host.Rate), n.host.Delay}
		at, ok := known[k]
		if !ok {
			at = int32(len(c.classes))
			known[k] = at
			rate := k.rate
			for _, leaf := range c.racks[n.rack] {
				if n.host.Rate == 0 && leaf != "" {
					rate = max(rate, c.net.fastest(leaf))
				}
			}
			c.classes = append(c.classes, class{rack: n.rack, rate: rate, delay: k.delay, one: int32(i)})
		}
		n.class = at
		c.classes[at].count++
	}
}

// sum hashes what each NIC sends and receives, with the part of each NIC at the other end, and, if
// whole, with all messages of the groups that the NIC is in.
func (c *compiler) sum(part func(*nic) int32, whole bool) {
	c.sums = make([]uint64, len(c.nics))
	c.each(func(job int, g *Group) {
		kind := kindOf(job, g)
		if g.Collective == AllToAll {
			all := kind
			for i := range g.Ranks {
				all += mix(kind, uint64(part(&c.nics[c.nicOf(job, g, i)])))
			}
			for i := range g.Ranks {
				c.sums[c.nicOf(job, g, i)] += mix(all, 3)
			}
			return
		}
		all, messages := uint64(0), g.messages()
		hash := func(x message) (h uint64, from, to int32) {
			from, to = c.nicOf(job, g, x.from), c.nicOf(job, g, x.to)
			return mix(mix(kind, math.Float64bits(x.octets)), uint64(part(&c.nics[from]))<<32|
				uint64(part(&c.nics[to]))), from, to
		}
		for i := 0; whole && i < len(messages); i++ {
			h, _, _ := hash(messages[i])
			all += mix(h, 3)
		}
		for _, x := range messages {
			h, from, to := hash(x)
			c.sums[from] += mix(h+all, 1)
			c.sums[to] += mix(h+all, 2)
		}
	})
}

// bundle makes bundles of messages and entities of groups that are alike.
func (c *compiler) bundle() error {
	pairs, first := map[[2]int32]int32{}, map[uint64]int{} // bundles of groups, by a hash
	ports := 1
	for _, r := range c.racks {
		ports = max(ports, len(r))
	}
	most, all := c.net.Parts/ports, 0 // kinds of messages
	type ends struct {
		from, to int32
		octets   float64
	}
	c.each(func(job int, g *Group) {
		if all > most {
			return
		}
		counts := map[ends]float64{}
		if g.Collective == AllToAll {
			of := map[int32]float64{}
			for i := range g.Ranks {
				of[c.nics[c.nicOf(job, g, i)].class]++
			}
			if all+len(of)*len(of) > most {
				all += len(of) * len(of)
				return
			}
			each := float64(g.Octets) / float64(len(g.Ranks))
			for a, n := range of {
				for b, m := range of {
					if a == b {
						m--
					}
					if m > 0 {
						counts[ends{a, b, each}] = n * m
					}
				}
			}
		} else {
			for _, x := range g.messages() {
				counts[ends{c.nics[c.nicOf(job, g, x.from)].class, c.nics[c.nicOf(job, g, x.to)].class,
					x.octets}]++
			}
		}
		sum := kindOf(job, g)
		order := slices.SortedFunc(maps.Keys(counts), func(a, b ends) int {
			if a.from != b.from {
				return int(a.from - b.from)
			}
			return int(a.to - b.to)
		})
		for _, x := range order {
			sum = mix(mix(sum, uint64(x.from)<<32|uint64(x.to)), math.Float64bits(counts[x]))
		}
		if at, ok := first[sum]; ok {
			for i, x := range order {
				c.bundles[at+i].count += counts[x]
			}
			return
		}
		if all += len(order); all > most {
			return
		}
		first[sum] = len(c.bundles)
		e := entity{job: job, pace: g.pace()}
		for _, x := range order {
			key := [2]int32{c.classes[x.from].rack, c.classes[x.to].rack}
			p, ok := pairs[key]
			if !ok {
				p = int32(len(c.pairs))
				pairs[key], c.pairs = p, append(c.pairs, pair{from: key[0], to: key[1]})
			}
			if e.pace.rounds == 0 && len(e.bundles) > 0 { // each ends by itself
				c.entities = append(c.entities, e)
				e.bundles = nil
			}
			e.bundles = append(e.bundles, int32(len(c.bundles)))
			c.bundles = append(c.bundles, bundle{entity: int32(len(c.entities)), pair: p, from: x.from,
				to: x.to, count: counts[x], octets: x.octets})
		}
		c.entities = append(c.entities, e)
	})
	if all > most {
		return fmt.Errorf("%w: the jobs have %d kinds of messages in a step or more, want at most %d: "+
			"ranks in the order of racks, or fewer ranks or communicators with data, above all of "+
			"all-to-all", ErrTooLarge, all, most)
	}
	c.large = all*ports > largeParts
	return nil
}

// Alike returns, for each NIC of a job by name, the first NIC that is like it: NICs in one class,
// with messages to and from NICs in equal classes, in groups with equal messages. The loss of
// either does the same to steps.
func (m *Model) Alike() map[string]string {
	c := compiler{Model: m, ctx: context.Background()}
	c.sum(func(n *nic) int32 { return n.class }, true)
	type key struct {
		class int32
		sum   uint64
	}
	first, out := map[key]string{}, make(map[string]string, len(m.nics))
	for i := range m.nics {
		k := key{m.nics[i].class, c.sums[i]}
		if _, ok := first[k]; !ok {
			first[k] = m.nics[i].name
		}
		out[m.nics[i].name] = first[k]
	}
	return out
}

// EveryPath reports whether NICs hold the EVs for every path left between the NICs, so similar
// paths carry equal parts. It is false where NICs hold chosen paths.
func (m *Model) EveryPath() bool {
	return !slices.ContainsFunc(m.pairs, func(p pair) bool { return p.explicit() })
}

// explicit reports whether hosts hold a list of EVs for the pair.
func (p *pair) explicit() bool {
	return p.built != nil && p.built.Profile.Mode == hostapi.ModeExplicit
}

// alive returns the ports by which a NIC of a class can send or receive in a state.
func (m *Model) alive(c *class, down map[string]hostapi.PortMask) hostapi.PortMask {
	all := hostapi.PortMask(0)
	for p, leaf := range m.racks[c.rack] {
		if leaf != "" {
			all |= hostapi.Ports(p + 1)
		}
	}
	return all &^ down[m.nics[c.one].name]
}
