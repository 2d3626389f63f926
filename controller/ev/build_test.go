package ev

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

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

func mustBuild(t testing.TB, a *Assignment, r Request) *Profile {
	t.Helper()
	p, err := a.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A regular fabric: generated EVs, whose expansion is every path and nothing else.
func TestBuildGenerated(t *testing.T) {
	for _, format := range []Format{{Mode: ModeStructured}, {Mode: ModeF3216}, {Mode: ModeF1616}, {Mode: ModeSRH}, {Mode: ModeF3216, Hops: HopNodes}} {
		for name, build := range map[string]struct {
			f        *fabric
			src, dst Attachment
			paths    int // a port
		}{
			"two tiers":   {leafSpine(2, 3, 5, 1), attach(2, 1), attach(2, 3), 5},
			"short cut":   {leafSpine(2, 3, 5, 1), attach(2, 1), attach(2, 1), 1},
			"three tiers": {threeTiers(1, 2, 2, 2, 4), Attachment{"leaf1-01-01"}, Attachment{"leaf1-02-02"}, 8},
			"own pod":     {threeTiers(1, 2, 2, 2, 4), Attachment{"leaf1-01-01"}, Attachment{"leaf1-01-02"}, 2},
		} {
			a := assign(t, build.f.clos(t), format)
			p := mustBuild(t, a, Request{Source: build.src, Destination: build.dst})
			if format.Hops == HopNodes && (len(build.src) > 1 || name == "three tiers") {
				// Every switch has a uN of its own: those of two planes differ,
				// and which core comes next depends on the switch before.
				if p.Mode != Explicit {
					t.Errorf("%s by nodes: mode %v, want EXP", name, p.Mode)
				}
				continue
			}
			if p.Mode != Generated || p.Count != build.paths*len(build.src) || len(p.EVs) != 0 {
				t.Errorf("%s, %v: %v with %d EVs, want GEN with %d", name, format.Mode, p.Mode, p.Count, build.paths*len(build.src))
				continue
			}
			got := make(map[Value]bool)
			for _, v := range allValues(p) {
				wire, err := Expand(p.Fields, p.Format, v)
				if err != nil {
					t.Fatal(err)
				}
				got[wire] = true
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

// allValues are all values that the fields of a generated profile allow.
func allValues(p *Profile) []Value {
	out := []Value{{}}
	at := 0
	for _, f := range p.Fields {
		width := ValueBits([]Field{f})
		if width == 0 {
			continue
		}
		var next []Value
		for _, v := range out {
			for x := f.Min; x <= f.Max; x++ {
				w := v
				w.putBits(at, width, x)
				next = append(next, w)
			}
		}
		out, at = next, at+width
	}
	return out
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
				caps.Align = 1 + uint32(r.IntN(3))
				if r.IntN(2) == 0 {
					caps.MaxWidth = uint32(40 + r.IntN(100))
				}
				request := Request{
					Source: Attachment{p.Source().ID}, Destination: Attachment{p.Destination().ID},
					Capabilities: &caps, MaxEVs: 4 + r.IntN(30), Explicit: true,
				}
				profile, err := a.Build(request)
				if p.Len() == 0 {
					if !errors.Is(err, ErrNoPath) {
						t.Fatalf("seed %d: %v, want no path", seed, err)
					}
					continue
				}
				if errors.Is(err, ErrNoRoom) && caps.MaxWidth < 256 && format.Mode.SRv6() {
					continue
				}
				if err != nil {
					t.Fatalf("seed %d, %+v: %v", seed, format, err)
				}
				checkExplicit(t, a, p, profile, request)
			}
		}
	}
}

func checkExplicit(t *testing.T, a *Assignment, p topology.PathSet, profile *Profile, r Request) {
	t.Helper()
	if profile.Mode != Explicit || profile.Count > r.MaxEVs || profile.Count%r.Capabilities.align() != 0 {
		t.Fatalf("%v with %d EVs, want EXP, at most %d, in multiples of %d", profile.Mode, profile.Count, r.MaxEVs, r.Capabilities.Align)
	}
	times := make(map[Value]int)
	for _, e := range profile.EVs {
		wire, err := profile.Wire(e.EV)
		if err != nil {
			t.Fatal(err)
		}
		times[wire.Value]++
		if _, err := a.Decode(p.Source().ID, p.Destination().ID, wire.Value); err != nil {
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
			p := mustBuild(t, a, Request{Source: Attachment{src}, Destination: Attachment{dst}, MaxEVs: 32, Explicit: true})
			used := map[topology.LinkID]int{}
			for _, e := range p.EVs {
				route, err := a.Decode(src, dst, e.EV.Value)
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
	p := mustBuild(t, a, Request{Source: attach(4, 1), Destination: attach(4, 2), Explicit: true, MaxEVs: 16})
	ports := map[uint8]int{}
	for _, e := range p.EVs {
		ports[e.EV.Port]++
	}
	for port := uint8(1); port <= 4; port++ {
		if ports[port] != 4 {
			t.Errorf("port %d has %d EVs, want 4", port, ports[port])
		}
	}
	// A port that one end lacks is used by neither, and then nothing is generated:
	// a device would generate for all of its ports.
	lame := attach(4, 2)
	lame[2] = ""
	p = mustBuild(t, a, Request{Source: attach(4, 1), Destination: lame})
	if p.Mode != Explicit || p.Count != 24 || slices.ContainsFunc(p.EVs, func(e Entry) bool { return e.EV.Port == 3 }) {
		t.Errorf("%v with %d EVs: %v", p.Mode, p.Count, p.EVs)
	}
	_, err := a.Build(Request{Source: Attachment{"leaf1-01"}, Destination: Attachment{"leaf2-01"}})
	if !errors.Is(err, ErrNoPath) {
		t.Errorf("between planes: %v", err)
	}
}

func TestBuildECMP(t *testing.T) {
	f := leafSpine(2, 2, 4, 1)
	a := assign(t, f.clos(t), Format{Mode: ModeECMP})
	r := Request{Source: attach(2, 1), Destination: attach(2, 2)}
	if p := mustBuild(t, a, r); p.Mode != Auto || p.Count != 0 || p.Format.Mode != FormatUDP {
		t.Errorf("%v with %d EVs of %v, want AUTO, none, UDP", p.Mode, p.Count, p.Format.Mode)
	}
	caps := Unlimited()
	caps.Modes = Generated
	r.Capabilities = &caps
	p := mustBuild(t, a, r)
	if p.Mode != Generated || p.Count != 128 {
		t.Errorf("%v with %d EVs, want GEN, 128", p.Mode, p.Count)
	}
	for x, want := range map[uint32]uint16{0: 0xC000, 0x3FFF: 0xFFFF} {
		var v Value
		v.putBits(0, 14, x)
		if wire, err := Expand(p.Fields, p.Format, v); err != nil || wire.Structured() != packet.NewEV(want, 0) {
			t.Errorf("%#x expands to %v, %v; want source port %#x", x, wire, err, want)
		}
	}
	caps.Modes, caps.MaxWidth = Explicit, 16
	p = mustBuild(t, a, r)
	seen := map[EV]bool{}
	for _, e := range p.EVs {
		seen[e.EV] = true
	}
	if p.Mode != Explicit || len(seen) != 128 {
		t.Errorf("%v with %d EVs, want EXP, 128", p.Mode, len(seen))
	}
	if _, err := a.Decode("leaf1-01", "leaf1-02", p.EVs[0].EV.Value); !errors.Is(err, ErrUnknownPath) {
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
	good := Request{Source: Attachment{"leaf1-02"}, Destination: Attachment{"leaf1-01"}}
	for word, change := range map[string]func(*Request, *Capabilities){
		"source: 0 ports":            func(r *Request, _ *Capabilities) { r.Source = nil },
		"destination: 32 ports":      func(r *Request, _ *Capabilities) { r.Destination = make(Attachment, 32) },
		"x: node is not a leaf":      func(r *Request, _ *Capabilities) { r.Source = Attachment{"x"} },
		"spine1-01":                  func(r *Request, _ *Capabilities) { r.Destination = Attachment{"spine1-01"} },
		"maxEVs -1":                  func(r *Request, _ *Capabilities) { r.MaxEVs = -1 },
		"minActive: 9, want 0 to co": func(r *Request, _ *Capabilities) { r.MinActive = 9; r.MaxEVs = 8 },
		"maxEVs 3: the host's":       func(r *Request, c *Capabilities) { r.MaxEVs = 3; c.Align = 4 },
		"takes no explicit ones":     func(_ *Request, c *Capabilities) { c.Modes = Generated },
		"format.mode: SRV6":          func(_ *Request, c *Capabilities) { c.Formats = FormatStructured },
		"values of 32 bits, want at most 8": func(_ *Request, c *Capabilities) {
			c.MaxWidth = 8
		},
		"evs[0].port: 1": func(_ *Request, c *Capabilities) { c.Ports = 1 << 2 },
		"consecutive":    func(_ *Request, c *Capabilities) { c.Options |= ExplicitRange },
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
