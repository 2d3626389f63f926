package ev

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// attach is the attachment of hosts at the leaves of a number in all planes.
func attach(planes, leaf int) Attachment {
	var at Attachment
	for p := range planes {
		at = append(at, topology.NodeID(fmt.Sprintf("leaf%d-%02d", p+1, leaf)))
	}
	return at
}

func mustBuild(t testing.TB, a *Assignment, r Request) *hostapi.Profile {
	t.Helper()
	return mustBuilt(t, a, r).Profile
}

func mustBuilt(t testing.TB, a *Assignment, r Request) *Built {
	t.Helper()
	r.Name = "p"
	b, err := a.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A regular fabric: generated EVs, whose expansion is every path and nothing else.
func TestBuildGenerated(t *testing.T) {
	for _, format := range []Format{{Mode: ModeStructured}, {Mode: ModeF3216}, {Mode: ModeF1616},
		{Mode: ModeSRH}, {Mode: ModeF3216, Hops: HopNodes},
		{Mode: ModeUSIDStructured}} {
		for name, build := range map[string]struct {
			f        *fabric
			src, dst Attachment
			paths    int // a port
		}{
			"two tiers": {leafSpine(2, 3, 5, 1), attach(2, 1), attach(2, 3), 5},
			"short cut": {leafSpine(2, 3, 5, 1), attach(2, 1), attach(2, 1), 1},
			"three tiers": {threeTiers(1, 2, 2, 2, 4), Attachment{"leaf1-01-01"}, Attachment{"leaf1-02-02"},
				8},
			"own pod": {threeTiers(1, 2, 2, 2, 4), Attachment{"leaf1-01-01"}, Attachment{"leaf1-01-02"},
				2},
		} {
			a := assign(t, build.f.clos(t), format)
			p := mustBuild(t, a, Request{Pair: Pair{build.src, build.dst}})
			if a.Format().Hops == HopNodes && (len(build.src) > 1 || name == "three tiers") {
				// Every switch has a uN of its own: those of two planes differ,
				// and which core comes next depends on the switch before.
				if p.Mode != hostapi.ModeExplicit {
					t.Errorf("%s by nodes: mode %v, want EXP", name, p.Mode)
				}
				continue
			}
			if p.Mode != hostapi.ModeGenerated || p.Count != build.paths*len(build.src) || len(p.EVs) != 0 {
				t.Errorf("%s, %v: %v with %d EVs, want GEN with %d", name, format.Mode, p.Mode, p.Count,
					build.paths*len(build.src))
				continue
			}
			got := make(map[Value]bool)
			// Many more than there are: every EV comes up.
			many := *p
			many.Count = 1000
			for _, e := range many.Generate(hostapi.Ports(1)) {
				wire, err := p.Expand(e)
				if err != nil || !p.Has(e) {
					t.Fatal(err)
				}
				got[wire.Value] = true
			}
			set, err := a.Clos().Paths(build.src[0], build.dst[0], 1)
			if err != nil {
				t.Fatal(err)
			}
			enc, err := a.Encoder(set)
			if err != nil {
				t.Fatal(err)
			}
			for ref := range set.All() {
				if v := enc.Value(ref); !got[v] {
					t.Errorf("%s, %v: %v is not generated", name, format.Mode, v)
				}
			}
			if len(got) != build.paths {
				t.Errorf("%s, %v: %d values are generated, want %d", name, format.Mode, len(got), build.paths)
			}
		}
	}
}

// TestBuildUneven: Build generates no EVs if a port has fewer paths than another, so that equal
// field ranges contain combinations without a path: a device would generate these combinations for
// all ports.
func TestBuildUneven(t *testing.T) {
	for plane := 1; plane <= 2; plane++ {
		f := threeTiers(2, 2, 1, 2, 2)
		for _, l := range f.Build().Links {
			for i := 1; i <= 2; i++ { // each switch of the first pod keeps another core of two
				agg := topology.NodeID(fmt.Sprintf("agg%d-01-%02d", plane, i))
				core := topology.NodeID(fmt.Sprintf("core%d-%02d-%02d", plane, i, 3-i))
				if l.Local == agg && l.Remote == core || l.Local == core && l.Remote == agg {
					f.RemoveLink(l.ID)
				}
			}
		}
		a := assign(t, f.clos(t), Format{Mode: ModeStructured})
		p := mustBuild(t, a, Request{Pair: Pair{Attachment{"leaf1-01-01", "leaf2-01-01"},
			Attachment{"leaf1-02-01", "leaf2-02-01"}}, MaxEVs: 6})
		if p.Mode != hostapi.ModeExplicit || p.Count != 6 {
			t.Errorf("plane %d has less: mode %v with %d EVs, want EXP with 6", plane, p.Mode, p.Count)
		}
	}
}

// A fabric that lacks a link, a plane that is smaller, parallel links down: EVs
// are explicit, every one a path, every path one or more.
func TestBuildExplicit(t *testing.T) {
	for _, seed := range seeds(t, 30) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := randomFabric(r)
		c := f.clos(t)
		for _, format := range allFormats {
			a := assign(t, c, format)
			for p := range c.Pairs() {
				caps := Unlimited()
				caps.EVCountAlign = r.IntN(4)
				if r.IntN(2) == 0 {
					caps.EVMaxWidth = 10 + r.IntN(130)
				}
				request := Request{
					Name: "p", Pair: Pair{Attachment{p.Source().ID}, Attachment{p.Destination().ID}},
					Capabilities: &caps, MaxEVs: 4 + r.IntN(30), Explicit: true,
				}
				built, err := a.Build(request)
				if p.Len() == 0 {
					if !errors.Is(err, ErrNoPath) {
						t.Fatalf("seed %d: %v, want no path", seed, err)
					}
					continue
				}
				if err != nil && strings.Contains(err.Error(), "ev_max_width") && caps.EVMaxWidth < 64 {
					continue
				}
				if err != nil {
					t.Fatalf("seed %d, %+v: %v", seed, format, err)
				}
				checkExplicit(t, a, p, built, request)
			}
		}
	}
}

func checkExplicit(t *testing.T, a *Assignment, p topology.PathSet, built *Built, r Request) {
	t.Helper()
	profile, align := built.Profile, max(1, r.Capabilities.EVCountAlign)
	if profile.Mode != hostapi.ModeExplicit || profile.Count > r.MaxEVs || profile.Count%align != 0 {
		t.Fatalf("%v with %d EVs, want EXP, at most %d, in multiples of %d", profile.Mode, profile.Count,
			r.MaxEVs, align)
	}
	times := make(map[Value]int)
	for _, e := range profile.EVs {
		wire, err := profile.Expand(e)
		if err != nil {
			t.Fatal(err)
		}
		times[wire.Value]++
		if _, err := built.Route(e); err != nil {
			t.Fatal(err)
		}
	}
	values, err := a.candidates(p)
	if err != nil {
		t.Fatal(err)
	}
	least, most := 1<<30, 0
	for _, c := range values {
		n := times[c.wire]
		least, most = min(least, n), max(most, n)
		delete(times, c.wire)
	}
	if len(times) > 0 || most-least > 1 {
		t.Fatalf("paths have %d to %d EVs, and %d EVs are none of them", least, most, len(times))
	}
}

// More paths than EVs: every switch on the way up has its links used equally
// often, over one pair and, nearly, over all.
func TestBuildSpreads(t *testing.T) {
	f := threeTiers(1, 2, 4, 8, 8)
	a := assign(t, f.clos(t), Format{Mode: ModeStructured})
	total := map[topology.LinkID]int{}
	for _, src := range f.leaves {
		for _, dst := range f.leaves {
			set, err := a.Clos().Paths(src, dst, 1)
			if err != nil {
				t.Fatal(err)
			}
			if set.Hops() != 4 {
				continue
			}
			p := mustBuild(t, a, Request{Pair: Pair{Attachment{src}, Attachment{dst}}, MaxEVs: 32,
				Explicit: true})
			used := map[topology.LinkID]int{}
			for _, e := range p.EVs {
				route, err := a.Decode(src, dst, e.Value)
				if err != nil {
					t.Fatal(err)
				}
				for _, hop := range route.Hops[:2] {
					used[hop.Links[0].ID]++
					total[hop.Links[0].ID]++
				}
			}
			for _, l := range a.Clos().Up(src) {
				if used[l.ID] != 4 {
					t.Fatalf("%s to %s: link %s has %d EVs, want 32 / 8", src, dst, l.ID, used[l.ID])
				}
				for _, second := range a.Clos().Up(l.Remote) {
					if n := used[second.ID]; n > 1 {
						t.Fatalf("%s to %s: link %s has %d EVs, want 0 or 1", src, dst, second.ID, n)
					}
				}
			}
		}
	}
	// 4 leaves x 4 leaves x 32 EVs over 64 links up of a pod's 8 switches: 8 each.
	for id, n := range total {
		if tier, _ := a.Clos().Tier(a.snap.Link(id).Local); tier == 1 && (n < 3 || n > 14) {
			t.Errorf("link %s has %d EVs of all pairs, want about 8", id, n)
		}
	}
}

func TestBuildPorts(t *testing.T) {
	f := leafSpine(4, 2, 8, 1)
	a := assign(t, f.clos(t), Format{Mode: ModeStructured})
	p := mustBuild(t, a, Request{Pair: Pair{attach(4, 1), attach(4, 2)}, Explicit: true, MaxEVs: 16})
	ports := map[uint8]int{}
	for _, e := range p.EVs {
		ports[e.Port]++
	}
	for port := uint8(1); port <= 4; port++ {
		if ports[port] != 4 {
			t.Errorf("port %d has %d EVs, want 4", port, ports[port])
		}
	}
	// If one end lacks a port, neither end uses the port, and Build generates nothing, because a
	// device would generate for all of its ports.
	lame := attach(4, 2)
	lame[2] = ""
	p = mustBuild(t, a, Request{Pair: Pair{attach(4, 1), lame}})
	if p.Mode != hostapi.ModeExplicit || p.Count != 24 ||
		slices.ContainsFunc(p.EVs, func(e hostapi.EV) bool { return e.Port == 3 }) {
		t.Errorf("%v with %d EVs: %v", p.Mode, p.Count, p.EVs)
	}
	_, err := a.Build(Request{Pair: Pair{Attachment{"leaf1-01"}, Attachment{"leaf2-01"}}})
	if !errors.Is(err, ErrNoPath) {
		t.Errorf("between planes: %v", err)
	}
}

// TestBuildWithoutAPlane: if the fabric has no path for one port, the other ports keep their EVs,
// and the profile reports the missing port. Losses on the other ports are denied.
func TestBuildWithoutAPlane(t *testing.T) {
	f := leafSpine(2, 2, 4, 1)
	pair := Pair{attach(2, 1), attach(2, 2)}
	whole := assign(t, f.clos(t), Format{Mode: ModeStructured})
	all := mustBuild(t, whole, Request{Name: "p", Pair: pair})
	f.isolate("leaf2-01")
	c := f.clos(t)
	a := assign(t, c, Format{Mode: ModeStructured})
	built, err := a.Build(Request{Name: "p", Pair: pair})
	if err != nil {
		t.Fatal(err)
	}
	p := built.Profile
	if p.Mode != hostapi.ModeExplicit || len(p.EVs) != 4 ||
		slices.ContainsFunc(p.EVs, func(e hostapi.EV) bool { return e.Port != 1 }) {
		t.Errorf("%v with EVs %v, want those of port 1 alone", p.Mode, p.EVs)
	}
	out, err := built.Under(c.Lost(topology.Losses{}))
	if err != nil || !strings.Contains(out.Degraded, "port 2") || out.Profile != p {
		t.Errorf("degraded %q, %v, want port 2 named", out.Degraded, err)
	}
	lost := c.Lost(topology.Losses{Nodes: []topology.NodeID{"spine1-01"}})
	for name, before := range map[string]*hostapi.Profile{"its own": p, "of a whole fabric": all} {
		denied, _, err := a.Deny(before, pair, lost)
		if err != nil || len(denied.Denied) != 1 || denied.Denied[0].Port != 1 {
			t.Errorf("%s: denies %v, %v, want the EV of port 1 over the lost spine", name, denied.Denied,
				err)
		}
	}
	if _, err := assign(t, c, Format{Mode: ModeECMP}).Build(Request{Name: "p",
		Pair: pair}); err == nil {
		t.Error("in mode ecmp a device would use the port without a path")
	}
}

func TestBuildECMP(t *testing.T) {
	f := leafSpine(2, 2, 4, 1)
	a := assign(t, f.clos(t), Format{Mode: ModeECMP})
	r := Request{Pair: Pair{attach(2, 1), attach(2, 2)}}
	if p := mustBuild(t, a, r); p.Mode != hostapi.ModeAuto || p.Count != 0 ||
		p.Format.Mode != hostapi.FormatUDP {
		t.Errorf("%v with %d EVs of %v, want AUTO, none, UDP", p.Mode, p.Count, p.Format.Mode)
	}
	caps := Unlimited()
	caps.EVModes = hostapi.Modes(hostapi.ModeGenerated)
	r.Capabilities = &caps
	p := mustBuild(t, a, r)
	if p.Mode != hostapi.ModeGenerated || p.Count != 128 {
		t.Errorf("%v with %d EVs, want GEN, 128", p.Mode, p.Count)
	}
	for x, want := range map[uint32]uint16{0: 0xC000, 0x3FFF: 0xFFFF} {
		wire, err := p.Expand(hostapi.NewEV(x<<18, 1))
		if err != nil || Value(wire.Value).Structured() != packet.NewEV(want, 0) {
			t.Errorf("%#x expands to %v, %v; want source port %#x", x, wire, err, want)
		}
	}
	caps.EVModes, caps.EVMaxWidth = hostapi.Modes(hostapi.ModeExplicit), 16
	p = mustBuild(t, a, r)
	seen := map[hostapi.EV]bool{}
	for _, e := range p.EVs {
		seen[e] = true
	}
	if p.Mode != hostapi.ModeExplicit || len(seen) != 128 {
		t.Errorf("%v with %d EVs, want EXP, 128", p.Mode, len(seen))
	}
	if _, err := a.Decode("leaf1-01", "leaf1-02", p.EVs[0].Value); !errors.Is(err, ErrUnknownPath) {
		t.Errorf("decoded: %v", err)
	}
	if _, err := a.Encode("leaf1-01", nil, TableUSID); !errors.Is(err, ErrUnknownPath) {
		t.Errorf("encoded: %v", err)
	}
}

func TestBuildRefuses(t *testing.T) {
	f := leafSpine(1, 2, 4, 2)
	f.connect("leaf1-01", "spine1-01")
	a := assign(t, f.clos(t), Format{Mode: ModeF3216})
	good := Request{Name: "p", Pair: Pair{Attachment{"leaf1-02"}, Attachment{"leaf1-01"}}}
	for word, change := range map[string]func(*Request, *hostapi.Capabilities){
		"source: 0 ports": func(r *Request, _ *hostapi.Capabilities) { r.Source = nil },
		"destination: 32 ports": func(r *Request,
			_ *hostapi.Capabilities) {
			r.Destination = append(make(Attachment, 31), "leaf1-01")
		},
		"x: node is not a leaf": func(r *Request,
			_ *hostapi.Capabilities) {
			r.Source = Attachment{"x"}
		},
		"spine1-01": func(r *Request,
			_ *hostapi.Capabilities) {
			r.Destination = Attachment{"spine1-01"}
		},
		"no path": func(r *Request,
			_ *hostapi.Capabilities) {
			r.Destination = Attachment{"", "leaf1-01"}
		},
		"maxEVs: -1": func(r *Request, _ *hostapi.Capabilities) { r.MaxEVs = -1 },
		"name:":      func(r *Request, _ *hostapi.Capabilities) { r.Name = "" },
		"min_active: 9, want 0 to c": func(r *Request,
			_ *hostapi.Capabilities) {
			r.MinActive, r.MaxEVs = 9, 8
		},
		"min_active: -1": func(r *Request, _ *hostapi.Capabilities) { r.MinActive = -1 },
		"count: the limits leave no": func(r *Request,
			c *hostapi.Capabilities) {
			r.MaxEVs, c.EVCountAlign = 3, 4
		},
		"takes no explicit ones": func(_ *Request,
			c *hostapi.Capabilities) {
			c.EVModes = hostapi.Modes(hostapi.ModeGenerated)
		},
		"format.mode: SRV6": func(_ *Request,
			c *hostapi.Capabilities) {
			c.EVFormatModes = hostapi.Modes(hostapi.FormatSTEV)
		},
		"EVs of 7 bits, want at": func(_ *Request, c *hostapi.Capabilities) { c.EVMaxWidth = 4 },
		"evs[0].port: 1": func(_ *Request,
			c *hostapi.Capabilities) {
			c.Ports = hostapi.Ports(2)
		},
		"the device takes ranges": func(_ *Request,
			c *hostapi.Capabilities) {
			c.OptAttr |= hostapi.OptEVExplicitRange
		},
		"ev_max_profiles":     func(_ *Request, c *hostapi.Capabilities) { c.EVMaxProfiles = 0 },
		"ev_max_fmt_profiles": func(_ *Request, c *hostapi.Capabilities) { c.EVMaxFormats = 0 },
	} {
		r, caps := good, Unlimited()
		r.Capabilities = &caps
		r.Explicit = !strings.Contains(word, "takes no")
		change(&r, &caps)
		if _, err := a.Build(r); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
}

// TestBuildWidth: Build generates EVs while their field bits fit the device, and lists EVs with one
// bit more.
func TestBuildWidth(t *testing.T) {
	a := assign(t, leafSpine(2, 3, 5, 1).clos(t), Format{Mode: ModeStructured})
	pair := Pair{attach(2, 1), attach(2, 3)}
	width := 0
	for _, f := range mustBuild(t, a, Request{Pair: pair}).Fields {
		width += f.Bits()
	}
	if width == 0 {
		t.Fatal("generated EVs have no bits")
	}
	for bits, want := range map[int]hostapi.Mode{width - 1: hostapi.ModeExplicit,
		width: hostapi.ModeGenerated, width + 1: hostapi.ModeGenerated} {
		caps := Unlimited()
		caps.EVMaxWidth = bits
		b, err := a.Build(Request{Name: "p", Pair: pair, Capabilities: &caps})
		switch {
		case bits < width && err != nil && strings.Contains(err.Error(), "ev_max_width"):
			// listed EVs are as wide as the format, which does not fit either
		case err != nil:
			t.Errorf("%d bits of %d: %v", bits, width, err)
		case b.Profile.Mode != want:
			t.Errorf("%d bits of %d: mode %v, want %v", bits, width, b.Profile.Mode, want)
		}
	}
}

// TestBuildStructuredRefuses: what is refused is refused also where all ports climb alike.
func TestBuildStructuredRefuses(t *testing.T) {
	a := assign(t, leafSpine(2, 3, 5, 1).clos(t), Format{Mode: ModeStructured})
	good := Pair{attach(2, 1), attach(2, 3)}
	long := func(at Attachment) Attachment { return append(slices.Clone(at), make(Attachment, 30)...) }
	for word, pair := range map[string]Pair{
		"source: 32 ports":   {long(good.Source), good.Destination},
		"destination: 32 po": {good.Source, long(good.Destination)},
		"source: 0 ports":    {nil, nil},
	} {
		if _, err := a.Build(Request{Name: "p", Pair: pair}); err == nil ||
			!strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
}

// TestDefaultMinActive: where nobody says, a quarter of the EVs, rounded down, and at least one,
// have to be active (annex C, min_active).
func TestDefaultMinActive(t *testing.T) {
	a := assign(t, leafSpine(1, 3, 16, 1).clos(t), Format{Mode: ModeStructured})
	for count, want := range map[int]int{1: 1, 3: 1, 4: 1, 7: 1, 8: 2, 11: 2, 12: 3, 16: 4} {
		p := mustBuild(t, a, Request{Pair: Pair{attach(1, 1), attach(1, 3)}, Explicit: true,
			MaxEVs: count})
		if p.Count != count || p.MinActive != want {
			t.Errorf("%d EVs, want %d: at least %d active, want %d", p.Count, count, p.MinActive, want)
		}
	}
	p := mustBuild(t, a, Request{Pair: Pair{attach(1, 1), attach(1, 3)}, Explicit: true, MaxEVs: 8,
		MinActive: 5})
	if p.MinActive != 5 {
		t.Errorf("at least %d active where 5 are asked for", p.MinActive)
	}
}

// TestUnknownPaths has explicit EVs of mode ecmp spread their source ports over all there are, and
// take ports in turns.
func TestUnknownPaths(t *testing.T) {
	for _, most := range []int{1, 3, 128} {
		b := &building{caps: hostapi.Capabilities{EVModes: hostapi.Modes(hostapi.ModeExplicit)},
			lanes: []lane{{port: 1}, {port: 2}}, most: most}
		var p hostapi.Profile
		b.unknownPaths(&p)
		if p.Mode != hostapi.ModeExplicit || p.Count != most || len(p.EVs) != most {
			t.Fatalf("mode %v, %d EVs, %d listed; want %d explicit ones", p.Mode, p.Count, len(p.EVs), most)
		}
		const ports = lastSourcePort - firstSourcePort + 1
		for i, e := range p.EVs {
			want := hostapi.NewEV(uint32(firstSourcePort+i*ports/most)<<16, uint8(1+i%2))
			if e != want {
				t.Errorf("EV %d of %d is %v, want %v", i, most, e, want)
			}
		}
	}
}
