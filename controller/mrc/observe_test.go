package mrc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/prove"
	"github.com/weft-sdn/weft/topology"
)

// evKey is an EV of a profile, and evCount the packets that the EV carried.
type evKey struct {
	profile string
	ev      hostapi.EV
}

type evCount struct{ sent, lost uint64 }

// traffic makes hosts send over all usable EVs and report the outcome: a number of packets for each
// EV and report, and links that lose their share.
type traffic struct {
	w       *bed
	packets int
	loss    func(topology.LinkID) float64
	paths   map[evKey][]topology.LinkID
	counts  map[string]map[evKey]evCount
}

func (w *bed) traffic(packets int, loss func(topology.LinkID) float64) *traffic {
	return &traffic{w: w, packets: packets, loss: loss, paths: map[evKey][]topology.LinkID{},
		counts: map[string]map[evKey]evCount{}}
}

// binomial draws how many of n packets are lost.
func (w *bed) binomial(n int, p float64) (lost uint64) {
	for at := 0; p > 0; lost++ {
		at += 1 + int(math.Log(1-w.rng.Float64())/math.Log1p(-min(p, 1-1e-12)))
		if at > n {
			break
		}
	}
	return lost
}

func (tr *traffic) report() {
	w := tr.w
	for _, h := range w.core.Hosts() {
		if h.State == nil {
			continue
		}
		if tr.counts[h.Name] == nil {
			tr.counts[h.Name] = map[evKey]evCount{}
		}
		var m hostapi.EVCounts
		for _, p := range h.State.Profiles {
			dst := w.made[hostAt(w, p.Destinations[0].Addr())]
			for _, v := range allEVs(p, h.At, dst.At) {
				if p.IsDenied(v) {
					continue
				}
				key := evKey{p.Name, v}
				links, ok := tr.paths[key]
				if !ok {
					wire, err := p.Expand(v)
					if err != nil {
						w.t.Fatal(err)
					}
					if links, err = w.links(h.Name, dst.Address, wire); err != nil {
						w.t.Fatal(err)
					}
					tr.paths[key] = links
				}
				through := 1.0
				for _, id := range links {
					through *= 1 - tr.loss(id)
				}
				through *= 1 - w.hostLoss(h.Name, v.Port, false)
				receivers, lost := 0.0, 0.0
				for name, o := range w.made {
					if slices.Equal(o.At, dst.At) {
						receivers, lost = receivers+1, lost+w.hostLoss(name, v.Port, true)
					}
				}
				through *= 1 - lost/receivers
				n := 5 + w.rng.IntN(tr.packets)
				c := tr.counts[h.Name][key]
				c.sent += uint64(n)
				c.lost += w.binomial(n, 1-through*(1-1e-5))
				tr.counts[h.Name][key] = c
				m.Counts = append(m.Counts, hostapi.EVCount{Profile: p.Name, EV: v, Sent: c.sent, Lost: c.lost})
			}
		}
		if err := w.core.EVCounts(h.Name, &m); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestGreyLink: a link that loses 1 % in one direction becomes the only suspect, with the
// direction, within 5 s in 99 of 100 seeds, and the core denies the link when configured to.
func TestGreyLink(t *testing.T) {
	failed := 0
	for seed := range uint64(100) {
		w := newBed(t, seed, func(c *Config) { c.Suspects.Deny, c.Probes.Rate = seed%2 == 0, 0 }).clos(2,
			4, 4, 1).start()
		links := w.core.Links()
		bad := links[w.rng.IntN(len(links))]
		const starts = 3 * time.Second
		tr := w.traffic(240, func(id topology.LinkID) float64 {
			if id == bad.ID && w.Now() >= starts {
				return 0.01
			}
			return 0
		})
		named := time.Duration(0)
		for w.Now() < starts+5*time.Second && named == 0 {
			tr.report()
			w.run(500 * time.Millisecond)
			found := w.core.Suspects()
			switch {
			case len(found) == 1 && slices.Equal(found[0].Links, []topology.LinkID{bad.ID}):
				s := found[0]
				if strings.Contains(s.Why, "alone reports") {
					continue // another host loses packets too before the time is over
				}
				named = w.Now()
				if s.From != bad.Status.From || s.To != bad.Status.To || s.Confidence < 0.99 || s.Loss > 0.05 {
					t.Errorf("seed %d: %+v", seed, s)
				}
				if w.core.cfg.Suspects.Deny != s.Denied {
					t.Errorf("seed %d: denied: %v: %s", seed, s.Denied, s.Why)
				}
				out := never
				if s.Denied {
					out = func(id topology.LinkID) bool { return id == bad.ID }
				}
				w.check(out, none)
			case len(found) > 0:
				t.Logf("seed %d, %v: %+v, want %v", seed, w.Now(), found, bad)
				named = -1
			}
		}
		if named <= 0 {
			t.Logf("seed %d: %v is not named", seed, bad.ID)
			failed++
		}
	}
	if failed > 1 {
		t.Errorf("%d of 100 seeds failed, want at most 1", failed)
	}
}

// TestGreyHost: a host whose own link is bad accuses no link of the fabric.
func TestGreyHost(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Suspects.Deny, c.Probes.Rate = true, 0 }).clos(2, 4, 4,
		2).start()
	tr := w.traffic(80, func(topology.LinkID) float64 { return 0 })
	for range 10 {
		tr.report()
		var m hostapi.EVCounts
		for key, c := range tr.counts["h2-1"] {
			if key.ev.Port == 1 {
				c.lost += c.sent / 50
				tr.counts["h2-1"][key] = c
				m.Counts = append(m.Counts, hostapi.EVCount{Profile: key.profile, EV: key.ev, Sent: c.sent,
					Lost: min(c.lost, c.sent)})
			}
		}
		if err := w.core.EVCounts("h2-1", &m); err != nil {
			t.Fatal(err)
		}
		w.run(500 * time.Millisecond)
	}
	found := w.core.Suspects()
	if len(found) != 1 || found[0].Links[0] != "host h2-1 port 1 sending" || found[0].Denied ||
		!strings.Contains(found[0].Why, "drain the host's port") {
		t.Errorf("%+v", found)
	}
	w.check(never, none)
}

// TestGreyNIC: a host link that loses 3 % of its packets in one direction is the only suspect, with
// the host and its port, within 30 s in each seed. EVs do not name the receiver, so probes tell the
// hosts of the last leaf apart.
func TestGreyNIC(t *testing.T) {
	for seed := range uint64(12) {
		hosts := 3
		if seed%6 == 4 {
			hosts = 1 // the link of the rack is that of the host
		}
		w := newBed(t, seed, func(c *Config) {
			c.Suspects.Deny, c.Probes.Rate, c.Probes.HostRate = true, 2000, 100
		}).clos(2, 3, 2, hosts).start()
		bad := slices.Sorted(maps.Keys(w.made))[w.rng.IntN(len(w.made))]
		port, receiving := uint8(1+seed%2), seed%4 < 2
		w.nic = func(host string, p uint8, r bool) float64 {
			if host == bad && p == port && r == receiving {
				return 0.03
			}
			return 0
		}
		tr := w.traffic(80, func(topology.LinkID) float64 { return 0 })
		want := hostEnd{Host: bad, Port: port, Leaf: w.made[bad].At[port-1], Receiving: receiving}
		named := false
		for range 60 {
			tr.report()
			w.run(500 * time.Millisecond)
			for _, s := range w.core.Suspects() {
				if got := hostEndOf(&s); got == (hostEnd{}) || s.Denied || got.Host != "" && got != want {
					t.Errorf("seed %d: %+v, want %+v", seed, s, want)
				}
			}
			all := w.core.Suspects()
			named = len(all) == 1 && hostEndOf(&all[0]) == want
		}
		for id, counts := range w.core.prover.Looked() {
			for _, host := range w.rack(bad) {
				if n := counts[host].Sent; n < 300 {
					t.Errorf("seed %d: %s: %d probes of %s", seed, id, n, host)
				}
			}
		}
		if !named {
			t.Errorf("seed %d: the suspects after 30 s are %+v, want %+v", seed, w.core.Suspects(), want)
		}
	}
}

// hostEnd is the link of a host, in one direction.
type hostEnd struct {
	Host      string
	Port      uint8
	Leaf      topology.NodeID
	Receiving bool // from the leaf to the host
}

// hostEndOf returns the link of a host that a suspect is.
func hostEndOf(s *api.Suspect) hostEnd {
	return hostEnd{Host: s.Host, Port: s.HostPort, Leaf: cmp.Or(s.From, s.To), Receiving: s.From != ""}
}

// rack returns the hosts at the leaves of a host, by name.
func (w *bed) rack(host string) (names []string) {
	for name, o := range w.made {
		if slices.Equal(o.At, w.made[host].At) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestSuspectComesBack: a denied suspect is tried after its hold by many probes; while
// it still loses packets it stays denied, for longer and longer.
func TestSuspectComesBack(t *testing.T) {
	w := newBed(t, 1, func(c *Config) {
		c.Suspects.Deny, c.Suspects.Hold, c.Suspects.Probes = true, api.Duration(2*time.Second), 256
		c.Probes.Rate, c.Probes.HostRate = 400, 200
	}).clos(1, 4, 4, 1).start()
	bad := w.core.Links()[3].ID
	loss := 0.05
	tr := w.traffic(100, func(id topology.LinkID) float64 {
		if id == bad {
			return loss
		}
		return 0
	})
	w.black[bad] = loss
	isBad := func(id topology.LinkID) bool { return id == bad }
	for range 8 {
		tr.report()
		w.run(500 * time.Millisecond)
	}
	w.check(isBad, none)
	w.run(20 * time.Second)
	w.check(isBad, none)
	if s := w.core.Suspects(); len(s) != 1 || !s[0].Denied {
		t.Errorf("%+v", s)
	}
	loss = 0
	delete(w.black, bad)
	w.run(time.Minute)
	w.check(never, none)
	if s := w.core.Suspects(); len(s) != 0 {
		t.Errorf("%+v", s)
	}
}

// TestSuspectIsSpared: the last path of some hosts is not denied, and says why; in
// mode ecmp no link is.
func TestSuspectIsSpared(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Suspects.Deny, c.Probes.Rate = true, 0 }).clos(1, 4, 1,
		1).start()
	bad := w.both("leaf1-2", "spine1-1")[0]
	for range 6 {
		if err := w.core.LinkCounts(bad.ID, uint64(1e6*w.Now().Seconds()),
			uint64(0.98e6*w.Now().Seconds())); err != nil {
			t.Fatal(err)
		}
		for _, l := range w.core.Links() {
			if l.ID != bad.ID {
				n := uint64(1e6 * w.Now().Seconds())
				if err := w.core.LinkCounts(l.ID, n, n); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.run(500 * time.Millisecond)
	}
	s := w.core.Suspects()
	if len(s) != 1 || s[0].Links[0] != bad.ID || s[0].From != bad.Local || s[0].Denied ||
		!strings.Contains(s[0].Why, "it is the last path from host") {
		t.Errorf("%+v", s)
	}
	w.check(never, none)
}

// TestAssumedBad: EV events from hosts without counts suffice to name a dead link, once the
// remaining EVs are known to be good. The prober probes the EVs in events first.
func TestAssumedBad(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Probes.Rate, c.Probes.HostRate = 200, 100 }).clos(1, 4, 4,
		1).start()
	bad := w.both("leaf1-1", "spine1-2")[0].ID
	w.run(2 * time.Second)
	w.black[bad] = 1
	w.probes = nil
	events := 0
	for _, h := range w.core.Hosts() {
		for _, p := range h.State.Profiles {
			dst := w.made[hostAt(w, p.Destinations[0].Addr())]
			for _, v := range allEVs(p, h.At, dst.At) {
				wire, _ := p.Expand(v)
				links, err := w.links(h.Name, dst.Address, wire)
				if err != nil {
					t.Fatal(err)
				}
				if slices.Contains(links, bad) {
					events++
					e := hostapi.EVEvent{Profile: p.Name, EV: v, State: hostapi.EVAssumedBad}
					if err := w.core.EVEvents(h.Name,
						&hostapi.EVEvents{Events: []hostapi.EVEvent{e}}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	w.run(time.Second)
	if s := w.core.Suspects(); events != 3 || len(s) != 1 || s[0].Links[0] != bad {
		t.Errorf("%d events: %+v", events, s)
	}
	over := 0
	for _, p := range w.probes {
		links, err := w.links(p.host, p.Destination, p.EV)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(links, bad) {
			over++
		}
	}
	if over < 5 {
		t.Errorf("%d of %d probes are of EVs that were found bad", over, len(w.probes))
	}
}

// TestProbes: the prober probes every EV of every pair in turn, within the budgets, and the results
// can be read.
func TestProbes(t *testing.T) {
	w := newBed(t, 1, func(c *Config) {
		c.Probes.Rate, c.Probes.HostRate, c.Classes.DSCP.Control = 40, 4, 26
	}).clos(2, 4, 2, 2)
	slowest := w.both("leaf1-1", "spine1-1")[0].ID
	w.black[slowest] = 0.5
	w.start()
	const seconds = 15
	w.run(seconds * time.Second)
	total, host := map[int]int{}, map[string]int{}
	for _, p := range w.probes {
		total[int(p.at/time.Second)] += p.Count
		host[fmt.Sprintf("%s %d", p.host, p.at/time.Second)] += p.Count
		if p.DSCP != 26 || p.Source != w.made[p.host].Address || p.Destination == p.Source {
			t.Errorf("%+v", p.Probe)
		}
	}
	for s, n := range total {
		if n > 40+4 {
			t.Errorf("%d probes in second %d, want at most 40 and a burst", n, s)
		}
	}
	for s, n := range host {
		if n > 4+1 {
			t.Errorf("host %s: %d probes, want at most 4 and one", s, n)
		}
	}
	// 12 pairs with 4 EVs, and 4 with 2.
	m := w.core.Probes()
	if len(m) != 12*4+4*2 {
		t.Errorf("%d cells, want %d", len(m), 12*4+4*2)
	}
	least, most := uint64(math.MaxUint64), uint64(0)
	for _, cell := range m {
		least, most = min(least, cell.Sent), max(most, cell.Sent)
		p, ok := w.core.Profile(cell.Profile)
		if !ok || w.made[cell.Source].At[0] != p.Source[0] ||
			w.made[cell.Destination].At[0] != p.Destination[0] {
			t.Errorf("%+v", cell)
		}
		if cell.Received > 0 && (*cell.RTTMin != 1 || *cell.RTTMean != 2 || *cell.RTTMax != 3) ||
			cell.At.IsZero() {
			t.Errorf("%+v", cell)
		}
		e, err := hostapi.ParseEV(cell.EV)
		if err != nil {
			t.Fatal(err)
		}
		wire, err := p.Outcome.Profile.Expand(e)
		if err != nil {
			t.Fatal(err)
		}
		links, err := w.links(cell.Source, w.made[cell.Destination].Address, wire)
		if err != nil {
			t.Fatal(err)
		}
		if lossy := slices.Contains(links, slowest); lossy != (cell.Loss > 0) ||
			lossy != (cell.Received < cell.Sent) {
			t.Errorf("lossy: %v: %+v", lossy, cell)
		}
	}
	if least == 0 || most > 4*least {
		t.Errorf("%d to %d probes an EV", least, most)
	}
}

// TestProbesOneByOne: in the first round, and of EVs in turn, a request is for one probe: the
// others of the budget go to other links and EVs.
func TestProbesOneByOne(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 3).start()
	w.run(5 * time.Second)
	if len(w.probes) < 100 {
		t.Fatalf("%d requests", len(w.probes))
	}
	for _, p := range w.probes {
		if p.Count != 1 {
			t.Errorf("%v: %s is asked for %d probes of %v", p.at, p.host, p.Count, p.EV)
		}
	}
}

// TestBadInput: what hosts cannot know or mean is an error, is counted, and changes
// nothing.
func TestBadInput(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Probes.Rate = 0 }).clos(1, 3, 2, 1).start()
	w.run(time.Second)
	clear(w.sets)
	const mine, theirs = "leaf1-1:leaf1-2", "leaf1-2:leaf1-1"
	p, _ := w.core.Profile(mine)
	good := allEVs(p.Outcome.Profile, p.Source, p.Destination)[0]
	wrong := good
	wrong.Value[31] = 1
	events := func(host string, e hostapi.EVEvent) error {
		return w.core.EVEvents(host, &hostapi.EVEvents{Events: []hostapi.EVEvent{e}})
	}
	counts := func(host string, n hostapi.EVCount) error {
		return w.core.EVCounts(host, &hostapi.EVCounts{Counts: []hostapi.EVCount{n}})
	}
	for _, c := range []struct {
		name  string
		do    func() error
		err   error
		text  string
		count func(api.FabricCounters) uint64
	}{
		{"hello of nobody", func() error { return w.core.Hello("nobody", &hostapi.Hello{}) },
			fabric.ErrUnknownHost, "nobody", func(c api.FabricCounters) uint64 { return c.UnknownHosts }},
		{"events of nobody", func() error { return events("nobody", hostapi.EVEvent{}) },
			fabric.ErrUnknownHost, "nobody", func(c api.FabricCounters) uint64 { return c.UnknownHosts }},
		{"counts of nobody", func() error { return counts("nobody", hostapi.EVCount{}) },
			fabric.ErrUnknownHost, "nobody", func(c api.FabricCounters) uint64 { return c.UnknownHosts }},
		{"applied by nobody", func() error { return w.core.Applied("nobody", 1) }, fabric.ErrUnknownHost,
			"nobody", func(c api.FabricCounters) uint64 { return c.UnknownHosts }},
		{"ports of nobody", func() error { return w.core.PortStatus("nobody", 2) }, fabric.ErrUnknownHost,
			"nobody", func(c api.FabricCounters) uint64 { return c.UnknownHosts }},
		{"unknown profile", func() error {
			return events("h1-1", hostapi.EVEvent{Profile: "x", EV: good, State: hostapi.EVAssumedBad})
		}, prove.ErrUnknownEV, `profile "x"`, func(c api.FabricCounters) uint64 { return c.UnknownEVs }},
		{"profile of others", func() error {
			return events("h1-1", hostapi.EVEvent{Profile: theirs, EV: good, State: hostapi.EVAssumedBad})
		}, prove.ErrUnknownEV, theirs, func(c api.FabricCounters) uint64 { return c.UnknownEVs }},
		{"unknown EV",
			func() error { return counts("h1-1", hostapi.EVCount{Profile: mine, EV: wrong, Sent: 5}) },
			prove.ErrUnknownEV, wrong.String(), func(c api.FabricCounters) uint64 { return c.UnknownEVs }},
		{"state that nobody reports",
			func() error {
				return events("h1-1", hostapi.EVEvent{Profile: mine, EV: good, State: hostapi.EVDenied})
			}, fabric.ErrMalformed, "state DENIED, want ASSUMED_BAD or GOOD",
			func(c api.FabricCounters) uint64 { return c.BadEvents }},
		{"more lost than sent",
			func() error {
				return counts("h1-1", hostapi.EVCount{Profile: mine, EV: good, Sent: 5, Lost: 6})
			}, fabric.ErrMalformed, "lost 6, want at most sent, 5",
			func(c api.FabricCounters) uint64 { return c.BadCounts }},
		{"applied what was not set", func() error { return w.core.Applied("h1-1", 99) },
			fabric.ErrMalformed, "applied 99", nil},
		{"port 0", func() error { return w.core.PortStatus("h1-1", 3) }, fabric.ErrMalformed,
			"ports up 0x3", func(c api.FabricCounters) uint64 { return c.BadPorts }},
		{"unknown probe",
			func() error { return w.core.ProbeResult("h1-1", &hostapi.ProbeResult{ID: 4, Sent: 1}) },
			prove.ErrUnknownProbe, "probe 4", func(c api.FabricCounters) uint64 { return c.UnknownProbes }},
		{"unknown link", func() error { return w.core.LinkCounts("x", 1, 1) }, ErrUnknownTarget, "link x",
			nil},
		{"remove nobody", func() error { return w.core.RemoveHost("nobody") }, fabric.ErrUnknownHost,
			"nobody", nil},
		{"host without a name", func() error { return w.core.PutHost(fabric.Host{}) },
			fabric.ErrMalformed, "name", nil},
		{"host without an address", func() error { return w.core.PutHost(fabric.Host{Name: "x"}) },
			fabric.ErrMalformed, "address", nil},
		{"host without a port",
			func() error {
				return w.core.PutHost(fabric.Host{Name: "x", Address: w.made["h1-1"].Address.Next()})
			}, fabric.ErrMalformed, "want 1 to 31", nil},
		{"another's address",
			func() error { h := w.made["h1-1"]; h.Name = "x"; return w.core.PutHost(h) },
			fabric.ErrMalformed, "that of host h1-1", nil},
	} {
		before := w.core.Counters()
		err := c.do()
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.err, c.text)
		}
		if after := w.core.Counters(); c.count != nil && c.count(after) != c.count(before)+1 {
			t.Errorf("%s: not counted", c.name)
		}
	}
	w.pump()
	w.run(2 * time.Second)
	if len(w.sets) > 0 || len(w.core.Suspects()) > 0 {
		t.Errorf("something has changed: %v, %v", w.sets, w.core.Suspects())
	}
	// A counter that starts again is no error.
	for _, n := range []uint64{100, 10} {
		if err := counts("h1-1", hostapi.EVCount{Profile: mine, EV: good, Sent: n}); err != nil {
			t.Error(err)
		}
	}
}

// TestConfig: what is wrong is named, by the rules of the inventory too.
func TestConfig(t *testing.T) {
	for field, change := range map[string]func(*Config){
		"epoch": func(c *Config) { c.Epoch = 0 }, "mrc.mode": func(c *Config) { c.Mode = "" },
		"mrc.restore.hold": func(c *Config) { c.Restore.Hold = 0 },
	} {
		cfg := defaults()
		cfg.Epoch = 1
		change(&cfg)
		if _, err := New(cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestLyingHosts: the reports of one host take no link from other hosts, however many reports. Two
// hosts or the counters of switches suffice, and so does a true failure.
func TestLyingHosts(t *testing.T) {
	for _, c := range []struct {
		name     string
		liars    int
		fails    bool // the link loses 2 %
		switches bool // their counters say so
		denied   bool
	}{
		{"one liar", 1, false, false, false},
		{"two liars", 2, false, false, true},
		{"a failure", 0, true, false, true},
		{"a failure and a liar", 1, true, false, true},
		{"counters of switches", 0, false, true, true},
		{"counters of switches and a liar", 1, false, true, true},
	} {
		for seed := range uint64(4) {
			w := newBed(t, seed, func(c *Config) { c.Suspects.Deny, c.Probes.Rate = true, 0 }).clos(2, 4, 4,
				2).start()
			bad := w.both("spine1-2", "leaf1-3")[0].ID
			tr := w.traffic(40, func(id topology.LinkID) float64 {
				if c.fails && id == bad {
					return 0.02
				}
				return 0
			})
			var sent, received uint64 = 1e6, 1e6
			denied, alone := false, false
			for w.Now() < 8*time.Second && !denied {
				tr.report()
				told := 0
				for _, h := range w.core.Hosts() {
					var m hostapi.EVCounts
					for key, n := range tr.counts[h.Name] {
						if told < c.liars && slices.Contains(tr.paths[key], bad) {
							n.sent, n.lost = n.sent+2000, n.lost+1000
							tr.counts[h.Name][key] = n
							m.Counts = append(m.Counts, hostapi.EVCount{Profile: key.profile, EV: key.ev, Sent: n.sent,
								Lost: n.lost})
						}
					}
					if len(m.Counts) == 0 {
						continue
					}
					told++
					if err := w.core.EVCounts(h.Name, &m); err != nil {
						t.Fatal(err)
					}
				}
				if told != c.liars {
					t.Fatalf("%d hosts could lie, want %d", told, c.liars)
				}
				if c.switches {
					sent, received = sent+5000, received+4500
					if err := w.core.LinkCounts(bad, sent, received); err != nil {
						t.Fatal(err)
					}
				}
				w.run(500 * time.Millisecond)
				for _, s := range w.core.Suspects() {
					denied = denied || s.Denied
					alone = alone || strings.Contains(s.Why, "alone reports")
				}
			}
			if denied != c.denied {
				t.Errorf("%s, seed %d: denied: %t, want %t: %+v", c.name, seed, denied, c.denied,
					w.core.Suspects())
			}
			if c.liars == 1 && !c.fails && !c.switches && !alone {
				t.Errorf("%s, seed %d: the link was never suspected: nothing is shown", c.name, seed)
			}
			out := never
			if denied {
				out = func(id topology.LinkID) bool { return id == bad }
			}
			w.check(out, none)
		}
	}
}

// TestNobodyAnswers: inventory hosts that never connect, for example hosts without MRC, make no
// link look bad. The prober probes other hosts in their place, and a probe that perhaps no host
// could answer says nothing about links.
func TestNobodyAnswers(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1)
	alone := make(map[string]bool)
	for leaf := 1; leaf <= 3; leaf++ {
		w.host(1, leaf, 9) // with a port in plane 1 only: a rack of its own
		alone[hostName(leaf, 9)] = true
	}
	w.nic = func(host string, _ uint8, _ bool) float64 {
		if alone[host] {
			return 1
		}
		return 0
	}
	w.core.Tick(w.Now())
	w.core.SetTopology(w.net.Build())
	w.core.InSync()
	for _, name := range slices.Sorted(maps.Keys(w.made)) {
		if !alone[name] {
			w.hello(name, hostapi.Version{})
		}
	}
	w.pump()
	for range 50 {
		w.run(200 * time.Millisecond)
		for i := range w.core.state.Fabric().Len() {
			l := w.core.state.Links().At(int32(i))
			w.core.prover.Want(int32(i)) // as jobs do
			if l.Misses() > 0 {
				t.Fatalf("after %v, link %s has lost %d probes", w.Now(), l.ID, l.Misses())
			}
			if w.Now() > 5*time.Second && w.Now()-l.Heard() > 2*time.Second {
				t.Fatalf("after %v, no probe of link %s since %v", w.Now(), l.ID, l.Heard())
			}
		}
	}
}
