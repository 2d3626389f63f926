package mrc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/test/seeds"
	"github.com/weft-sdn/weft/topology"
)

// A model states the expected state of a world as simply as possible.
type model struct {
	*bed
	links   map[topology.LinkID]topology.Link // all there ever were
	gone    map[topology.NodeID]bool
	removed map[topology.LinkID]bool
	ports   map[topology.NodePort]bool // down
	drains  map[Target]bool
	wishes  map[string]Override // by profile
	cc      []string            // CC profiles there are, in order
	planes  int
	next    int // number of the next host at a leaf
}

func (m *model) nodeOut(id topology.NodeID) bool {
	return m.gone[id] || m.drains[Target{Node: id}] || m.drains[Target{Plane: int(id[4] - '0')}] &&
		id[:4] == "leaf"
}

// linkOut reports whether EVs must not cross a link, given the advertised topology, the port states
// and the drains.
func (m *model) linkOut(id topology.LinkID) bool {
	l := m.links[id]
	for i := range m.links {
		o := m.links[i]
		same := o.Local == l.Local && o.Remote == l.Remote || o.Local == l.Remote && o.Remote == l.Local
		if same && (m.removed[i] || m.drains[Target{Link: i}]) {
			return true
		}
	}
	plane := 0
	for _, end := range [...]topology.NodeID{l.Local, l.Remote} {
		if m.gone[end] || m.drains[Target{Node: end}] {
			return true
		}
		if end[:4] == "leaf" {
			plane = int(end[4] - '0')
		}
	}
	return m.drains[Target{Plane: plane}] ||
		m.ports[topology.NodePort{Node: l.Local, Port: l.LocalPort}] ||
		m.ports[topology.NodePort{Node: l.Remote, Port: l.RemotePort}]
}

// never are EVs over what is out GOOD; others may be held.
func (m *model) invariant() {
	m.t.Helper()
	for _, h := range m.core.Hosts() {
		if h.State == nil {
			continue
		}
		for _, p := range h.State.Profiles {
			dst, ok := m.made[m.hostOf(p)]
			if !ok {
				continue
			}
			for _, v := range allEVs(p, h.At, dst.At) {
				wire, err := p.Expand(v)
				if err != nil {
					m.t.Fatal(err)
				}
				route, err := m.core.Assignment().Decode(h.At[v.Port-1], dst.At[v.Port-1], wire.Value)
				if err != nil {
					m.t.Fatal(err)
				}
				for _, hop := range route.Hops {
					if m.linkOut(hop.Links[0].ID) && !p.IsDenied(v) {
						m.t.Fatalf("%v: %s of %s: EV %v crosses %s and is GOOD", m.Now(), p.Name, h.Name, v,
							hop.Links[0].ID)
					}
				}
			}
		}
	}
}

func (m *model) hostOf(p *hostapi.Profile) string {
	for _, h := range m.made {
		if len(p.Destinations) > 0 && h.Address == p.Destinations[0].Addr() {
			return h.Name
		}
	}
	return ""
}

// step does something at random.
func (m *model) step(rng *rand.Rand) string {
	ids := slices.Sorted(maps.Keys(m.links))
	id := ids[rng.IntN(len(ids))]
	l := m.links[id]
	names := slices.Sorted(maps.Keys(m.made))
	name := names[rng.IntN(len(names))]
	switch rng.IntN(14) {
	case 0, 1:
		m.removed[id] = true
		m.net.RemoveLink(id)
		m.publish()
		return fmt.Sprint("withdraw ", id)
	case 2, 3:
		for id := range m.removed {
			m.net.SetLink(m.links[id])
		}
		clear(m.removed)
		m.publish()
		return "advertise all links"
	case 4:
		m.gone[l.Local] = true
		m.net.RemoveNode(l.Local)
		m.publish()
		return fmt.Sprint("withdraw ", l.Local)
	case 5:
		for id := range m.gone {
			m.net.SetNode(topology.Node{ID: id})
		}
		clear(m.gone)
		m.publish()
		return "advertise all nodes"
	case 6:
		key := topology.NodePort{Node: l.Local, Port: l.LocalPort}
		m.ports[key] = !m.ports[key]
		says := make(map[uint32]bool)
		for p, down := range m.ports {
			if p.Node == l.Local {
				says[p.Port] = !down
			}
		}
		m.core.SetPorts(l.Local, says)
		return fmt.Sprintf("port %v down: %v", key, m.ports[key])
	case 7:
		t := []Target{{Link: id}, {Node: l.Local}, {Plane: 1 + rng.IntN(m.planes)}}[rng.IntN(3)]
		err := m.core.Drain(t)
		if err == nil {
			m.drains[t] = true
		} else if !errors.Is(err, ErrLastPath) {
			m.t.Fatal(err)
		}
		return fmt.Sprintf("drain %v: %v", t, err)
	case 8:
		for _, d := range slices.Clone(m.core.drains.list) {
			if err := m.core.Undrain(d.Target); err != nil {
				m.t.Fatal(err)
			}
		}
		clear(m.drains)
		return "undrain all"
	case 9:
		if len(m.made) > 4 {
			if err := m.core.RemoveHost(name); err != nil {
				m.t.Fatal(err)
			}
			delete(m.made, name)
			delete(m.hosts, name)
			return "remove " + name
		}
		fallthrough
	case 12:
		return m.wish(rng)
	case 13:
		m.cc = nil
		for _, name := range []string{"a", "b", "c"} {
			if rng.IntN(2) == 0 {
				m.cc = append(m.cc, name)
			}
		}
		m.core.SetCC(ccProfiles(m.cc))
		return fmt.Sprint("CC profiles ", m.cc)
	case 10:
		m.next++
		leaf := 1 + rng.IntN(4)
		m.host(m.planes, leaf, 10+m.next)
		m.hello(hostName(leaf, 10+m.next), hostapi.Version{})
		return "add " + hostName(leaf, 10+m.next)
	default:
		h := m.hosts[name]
		h.up = !h.up
		if !h.up {
			if err := m.core.Gone(name); err != nil {
				m.t.Fatal(err)
			}
			return name + " goes"
		}
		if err := m.core.Hello(name, &hostapi.Hello{Name: name, Instance: 1,
			Capabilities: m.capabilities(), Version: hostapi.Version{Epoch: epoch, Number: 1}}); err != nil {
			m.t.Fatal(err)
		}
		if seq := m.core.hosts.byName[name].seq; seq > 0 {
			m.later(m.delay(),
				func() { m.apply(Set{Host: name, Seq: seq, State: m.core.hosts.byName[name].state}) })
		}
		return name + " comes"
	}
}

// wish wants something at random of a profile.
func (m *model) wish(rng *rand.Rand) string {
	all := m.core.Profiles()
	if len(all) == 0 {
		return "no profile"
	}
	before := all[rng.IntN(len(all))]
	o := Override{
		Mode:   []hostapi.Mode{0, hostapi.ModeExplicit, hostapi.ModeGenerated}[rng.IntN(3)],
		MaxEVs: rng.IntN(6), MinActive: rng.IntN(4), CC: []string{"", "b", "c"}[rng.IntN(3)],
	}
	err := m.core.SetOverride(before.Name, o)
	after, _ := m.core.Profile(before.Name)
	switch {
	case err != nil && (after.Built != before.Built ||
		after.Outcome.Profile != before.Outcome.Profile):
		m.t.Fatalf("%s was refused %+v (%v), and has changed", before.Name, o, err)
	case err == nil && o == (Override{}):
		delete(m.wishes, before.Name)
	case err == nil:
		m.wishes[before.Name] = o
	}
	return fmt.Sprintf("want %+v of %s: %v", o, before.Name, err)
}

// granted checks that hosts hold the requested settings of their profiles, except where these
// became impossible and the status says so.
func (m *model) granted() {
	m.t.Helper()
	for _, h := range m.core.Hosts() {
		if h.State == nil {
			continue
		}
		var cc []string
		for _, c := range h.State.CC {
			cc = append(cc, c.Name)
		}
		if !slices.Equal(cc, m.cc) {
			m.t.Fatalf("%v: host %s has the CC profiles %v, want %v", m.Now(), h.Name, cc, m.cc)
		}
		for _, p := range h.State.Profiles {
			o := m.wishes[p.Name]
			want := cmp.Or(o.CC, "a")
			if !slices.Contains(m.cc, want) {
				want = ""
			}
			s, _ := m.core.Profile(p.Name)
			spurned := strings.Contains(s.Outcome.Degraded, "what is wanted of it cannot be")
			switch {
			case p.CC != want:
				m.t.Fatalf("%v: %s has CC profile %q, want %q of %+v", m.Now(), p.Name, p.CC, want, o)
			case spurned:
			case o.Mode != 0 && p.Mode != o.Mode, o.MaxEVs > 0 && p.Count > o.MaxEVs, o.MinActive > 0 &&
				p.MinActive != o.MinActive:
				m.t.Fatalf("%v: %s is %v with %d EVs, %d active, want %+v", m.Now(), p.Name, p.Mode, p.Count,
					p.MinActive, o)
			}
		}
	}
}

// ccProfiles are valid ones of some names.
func ccProfiles(names []string) (out []*hostapi.CCProfile) {
	for _, name := range names {
		out = append(out, &hostapi.CCProfile{Name: name, Algorithm: hostapi.AlgorithmNSCC,
			NSCC: hostapi.NSCC{Gamma: 1, MaxMDJump: 1, MaxCwnd: 1, TargetDelay: 1}})
	}
	return out
}

// TestRandom: whatever happens, no EV across a lost element is ever GOOD in the states sent to
// hosts. When events cease, exactly the EVs are denied that a walk through the switches finds lost,
// every attached host holds the state that the core has for it, and drains are over.
func TestRandom(t *testing.T) {
	start, count := seeds.Range(t, 0, 10)
	for seed := start; seed < start+count; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { random(t, seed) })
	}
}

func random(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	planes := 1 + int(seed%2)
	w := newBed(t, seed, func(c *Config) {
		c.Restore.MaxHold, c.Mode, c.Explicit, c.CCProfile = api.Duration(4*time.Second),
			pathModes[seed%4].String(), seed%3 == 0, "a"
		if seed%5 == 0 {
			c.MaxEVs, c.MinActive = 2, 2
		}
	}).clos(planes, 4, 3, 1)
	w.delay = func() time.Duration { return time.Duration(rng.IntN(800)) * time.Millisecond }
	w.start()
	m := &model{
		bed: w, links: map[topology.LinkID]topology.Link{}, gone: map[topology.NodeID]bool{},
		removed: map[topology.LinkID]bool{},
		ports:   map[topology.NodePort]bool{}, drains: map[Target]bool{}, wishes: map[string]Override{},
		planes: planes,
	}
	for _, l := range w.net.Build().Links {
		m.links[l.ID] = *l
	}
	var did []string
	t.Cleanup(func() {
		if t.Failed() {
			for _, d := range did {
				t.Log(d)
			}
		}
	})
	for range 3 {
		for range 15 {
			did = append(did, fmt.Sprintf("%v: %s", w.Now(), m.step(rng)))
			w.pump()
			m.invariant()
			w.run(time.Duration(rng.IntN(1500)) * time.Millisecond)
			m.invariant()
		}
		for name, h := range w.hosts {
			if !h.up {
				h.up = true
				if err := w.core.Hello(name, &hostapi.Hello{Name: name, Instance: 1,
					Capabilities: w.capabilities(),
					Version:      hostapi.Version{Epoch: epoch, Number: 1}}); err != nil {
					t.Fatal(err)
				}
				if seq := w.core.hosts.byName[name].seq; seq > 0 {
					w.later(0,
						func() { w.apply(Set{Host: name, Seq: seq, State: w.core.hosts.byName[name].state}) })
				}
			}
		}
		did = append(did, fmt.Sprintf("%v: quiet", w.Now()))
		w.run(20 * time.Second)
		w.check(m.linkOut, m.nodeOut)
		w.valid()
		m.granted()
		for _, h := range w.core.Hosts() {
			if sim := w.hosts[h.Name]; sim == nil || sim.held != h.State {
				t.Fatalf("%v: host %s does not hold its state", w.Now(), h.Name)
			}
		}
		for _, d := range w.core.Drains() {
			if !d.Drained {
				t.Fatalf("%v: %v is not drained, awaits %v", w.Now(), d.Target, d.Awaits)
			}
		}
	}
}
