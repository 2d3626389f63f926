package hostapi_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostapitest"
	"github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// TestDiffApply: whatever two states are, the difference makes the one of the other, on the wire in
// parts too.
func TestDiffApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := hostapitest.State().Draw(t, "from"), hostapitest.State().Draw(t, "to")
		replace := rapid.Bool().Draw(t, "replace")
		d := hostapi.Diff(from, to, replace)
		if d.Empty() != from.Equal(to) {
			t.Fatalf("empty %v, equal %v", d.Empty(), from.Equal(to))
		}
		u := &hostapi.Update{Version: hostapi.Version{Epoch: 1, Number: 2},
			Base: hostapi.Version{Epoch: 1, Number: 1}, Delta: d}
		var parts hostapi.Assembler
		var arrived *hostapi.Update
		sent := hostapi.Parts(u, rapid.IntRange(1, 2000).Draw(t, "limit"))
		for i, p := range sent {
			got, lost, err := parts.Add(p)
			if lost || err != nil {
				t.Fatalf("part %d: lost %v, %v", i, lost, err)
			}
			if (got != nil) != (i == len(sent)-1) {
				t.Fatalf("part %d of %d: %v", i, len(sent), got)
			}
			arrived = got
		}
		if arrived.Version != u.Version || arrived.Base != u.Base {
			t.Fatalf("%v of %v, want %v of %v", arrived.Version, arrived.Base, u.Version, u.Base)
		}
		for _, delta := range []*hostapi.Delta{&d, &arrived.Delta} {
			got, err := from.Apply(delta)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Equal(to) {
				t.Fatalf("applied %+v, want %+v", got, to)
			}
			if made, err := hostapi.NewState(*got); err != nil || !made.Equal(to) {
				t.Fatalf("what Apply makes is not what NewState makes: %v", err)
			}
		}
		if !replace {
			for _, c := range d.Change {
				if len(c.Replace) > 0 {
					t.Fatalf("replaces %v", c)
				}
			}
		}
	})
}

// TestEncodeDelta: an update with a delta that was encoded before says on the wire what it says
// otherwise.
func TestEncodeDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := hostapi.Diff(hostapitest.State().Draw(t, "from"), hostapitest.State().Draw(t, "to"),
			rapid.Bool().Draw(t, "replace"))
		encoded, err := hostapi.EncodeDelta(&d)
		if err != nil {
			t.Fatal(err)
		}
		version := rapid.Custom(func(t *rapid.T) hostapi.Version {
			return hostapi.Version{Epoch: rapid.Uint64().Draw(t, "epoch"),
				Number: rapid.Uint64().Draw(t, "number")}
		})
		for range 2 {
			u := &hostapi.Update{Version: version.Draw(t, "version"), Base: version.Draw(t, "base"),
				Delta: d}
			got, want := encoded.Update(u.Version, u.Base), hostapi.EncodeDown(u)
			if len(got) != len(want) {
				t.Fatalf("%d messages, want %d", len(got), len(want))
			}
			for i, m := range got {
				b, err := proto.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				var read hostpb.ControllerMessage
				if err := proto.Unmarshal(b, &read); err != nil || !proto.Equal(&read, want[i]) {
					t.Fatalf("message %d: %v, want %v: %v", i, &read, want[i], err)
				}
			}
		}
	})
}

// TestApplyChangesNothing: Apply never changes the old state.
func TestApplyChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, to := hostapitest.State().Draw(t, "state"), hostapitest.State().Draw(t, "to")
		before, err := (*hostapi.State)(nil).Apply(new(hostapi.Diff(nil, s, true)))
		if err != nil {
			t.Fatal(err)
		}
		d := hostapi.Diff(s, to, true)
		_, _ = s.Apply(&d)
		d.Change = append(d.Change, hostapi.ProfileChange{Name: "nobody"})
		if _, err := s.Apply(&d); err == nil {
			t.Fatal("a profile that is not there was changed")
		}
		if !s.Equal(before) {
			t.Fatalf("%+v became %+v", before, s)
		}
	})
}

func good() *hostapi.Profile {
	return &hostapi.Profile{
		Name: "a-b", Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{8, 8}},
		Mode: hostapi.ModeExplicit,
		EVs:  []hostapi.EV{hostapi.NewEV(0x01020000, 1), hostapi.NewEV(0x02030000, 2)}, Count: 2,
		MinActive: 1, Events: true,
		Destinations: []netip.Prefix{netip.MustParsePrefix("2001:db8:1::/48")},
	}
}

func generated() *hostapi.Profile {
	p := good()
	p.Mode, p.EVs, p.Count = hostapi.ModeGenerated, nil, 16
	p.Fields = []hostapi.Field{{Width: 8, MaxVal: 5, Mask: 7}, {Width: 8, InitVal: 0x80}}
	return p
}

func goodCC() *hostapi.CCProfile {
	return &hostapi.CCProfile{Name: "nscc", Algorithm: hostapi.AlgorithmNSCC, NSCC: hostapi.NSCC{
		Gamma: 0.8, MaxMDJump: 0.5, MaxCwnd: 1 << 20, TargetDelay: 9000, Eta: 614, FI: 20480,
		FIScale: 0.25, QAGate: 3, QAThreshold: 36000,
		BaseRTT: 12000,
	}}
}

// TestAddresses: hosts have IPv6 or IPv4 addresses without zones, and prefixes of both in every
// format but SRv6.
func TestAddresses(t *testing.T) {
	for text, good := range map[string]bool{
		"2001:db8::1": true, "10.1.0.1": true, "fe80::1": true, "fe80::1%eth0": false,
		"::ffff:10.1.0.1": false,
	} {
		a := netip.MustParseAddr(text)
		for field, p := range map[string]hostapi.Probe{
			"source":      {Source: a, Destination: netip.MustParseAddr("2001:db8::2")},
			"destination": {Destination: a},
		} {
			p.Format = hostapi.Format{Mode: hostapi.FormatUDP, Widths: []uint8{16}}
			p.EV, p.Count, p.Timeout = hostapi.NewEV(0x01020000, 1), 1, time.Second
			if err := p.Validate(); (err == nil) != good ||
				err != nil && !strings.Contains(err.Error(), field) {
				t.Errorf("%s %s: %v", field, text, err)
			}
		}
	}
	p := good()
	p.Destinations[0] = netip.MustParsePrefix("10.0.0.0/8")
	if _, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{p}}); err != nil {
		t.Errorf("an IPv4 prefix: %v", err)
	}
}

// TestBadState: every mistake is named by its field, with the value.
func TestBadState(t *testing.T) {
	profile := func(change func(*hostapi.Profile)) hostapi.State {
		p := good()
		change(p)
		return hostapi.State{Profiles: []*hostapi.Profile{p}}
	}
	gen := func(change func(*hostapi.Profile)) hostapi.State {
		p := generated()
		change(p)
		return hostapi.State{Profiles: []*hostapi.Profile{p}}
	}
	cc := func(change func(*hostapi.CCProfile)) hostapi.State {
		c := goodCC()
		change(c)
		return hostapi.State{CC: []*hostapi.CCProfile{c}}
	}
	if _, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{good()},
		CC: []*hostapi.CCProfile{goodCC()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := hostapi.NewState(gen(func(*hostapi.Profile) {})); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		state hostapi.State
		field string
		says  string
	}{
		"name": {profile(func(p *hostapi.Profile) { p.Name = "a b" }),
			"set_profiles[a b].name", `"a b"`},
		"mode": {profile(func(p *hostapi.Profile) { p.Mode = 9 }), "set_profiles[a-b].mode",
			"9"},
		"format mode": {profile(func(p *hostapi.Profile) { p.Format.Mode = 0 }),
			"set_profiles[a-b].format.mode", "0"},
		"no field width": {profile(func(p *hostapi.Profile) { p.Format.Widths[1] = 0 }),
			"set_profiles[a-b].format.field_widths[1]", "0"},
		"too wide for STEV": {profile(func(p *hostapi.Profile) { p.Format.Widths = []uint8{30, 3} }),
			"set_profiles[a-b].format.field_widths", "33 bits"},
		"too wide for UDP": {profile(func(p *hostapi.Profile) {
			p.Format = hostapi.Format{Mode: hostapi.FormatUDP, Widths: []uint8{17}}
		}), "set_profiles[a-b].format.field_widths", "17 bits"},
		"too wide for SRv6": {profile(func(p *hostapi.Profile) {
			p.Format = hostapi.Format{Mode: hostapi.FormatSRv6, Widths: []uint8{255, 2}}
		}), "set_profiles[a-b].format.field_widths", "257 bits"},
		"count": {profile(func(p *hostapi.Profile) { p.Count = 3 }),
			"set_profiles[a-b].count", "3"},
		"no EVs": {profile(func(p *hostapi.Profile) { p.EVs, p.Count = nil, 0 }),
			"set_profiles[a-b].evs", "none"},
		"EV too wide": {profile(func(p *hostapi.Profile) { p.EVs[1] = hostapi.NewEV(1<<15, 1) }),
			"set_profiles[a-b].evs[1].value", "17 bits"},
		"no port": {profile(func(p *hostapi.Profile) { p.EVs[0].Port = 0 }),
			"set_profiles[a-b].evs[0].port", "0"},
		"port": {profile(func(p *hostapi.Profile) { p.EVs[0].Port = 32 }),
			"set_profiles[a-b].evs[0].port", "32"},
		"unknown denied EV": {profile(func(p *hostapi.Profile) {
			p.Denied = []hostapi.EV{hostapi.NewEV(0x01020000, 3)}
		}), "set_profiles[a-b].denied[0]", "0x01020000@3"},
		"denied twice": {profile(func(p *hostapi.Profile) {
			p.Denied = []hostapi.EV{p.EVs[0], p.EVs[0]}
		}),
			"set_profiles[a-b].denied[1]", "0x01020000@1"},
		"min active": {profile(func(p *hostapi.Profile) { p.MinActive = 3 }),
			"set_profiles[a-b].min_active", "3"},
		"destination": {profile(func(p *hostapi.Profile) {
			p.Destinations[0] = netip.MustParsePrefix("2001:db8:1::1/48")
		}), "set_profiles[a-b].destinations[0]", "2001:db8:1::1/48"},
		"IPv4 by SRv6": {profile(func(p *hostapi.Profile) {
			p.Format = hostapi.Format{Mode: hostapi.FormatSRv6, Widths: []uint8{32, 16, 16}}
			p.Mode, p.Fields, p.EVs, p.Denied, p.Count, p.MinActive = hostapi.ModeAuto, nil, nil, nil, 1, 0
			p.Destinations[0] = netip.MustParsePrefix("10.0.0.0/8")
		}), "set_profiles[a-b].destinations[0]", "10.0.0.0/8"},
		"IPv4-mapped": {profile(func(p *hostapi.Profile) {
			p.Destinations[0] = netip.PrefixFrom(netip.MustParseAddr("::ffff:10.0.0.1"), 128)
		}), "set_profiles[a-b].destinations[0]", "::ffff:10.0.0.1"},
		"no CC profile": {profile(func(p *hostapi.Profile) { p.CC = "slow" }),
			"set_profiles[a-b].cc_profile", "slow"},
		"AUTO with EVs": {profile(func(p *hostapi.Profile) { p.Mode = hostapi.ModeAuto }),
			"set_profiles[a-b].mode", "AUTO"},
		"field width": {gen(func(p *hostapi.Profile) { p.Fields[0].Width = 9 }),
			"set_profiles[a-b].fields[0].width", "9 bits"},
		"init val": {gen(func(p *hostapi.Profile) { p.Fields[1].InitVal = 256 }),
			"set_profiles[a-b].fields[1].init_val", "256"},
		"mask": {gen(func(p *hostapi.Profile) { p.Fields[0].Mask = 0x107 }),
			"set_profiles[a-b].fields[0].mask", "0x107"},
		"max val": {gen(func(p *hostapi.Profile) { p.Fields[0].MaxVal = 8 }),
			"set_profiles[a-b].fields[0].max_val", "8"},
		"min val": {gen(func(p *hostapi.Profile) { p.Fields[0].MinVal = 6 }),
			"set_profiles[a-b].fields[0].min_val", "6"},
		"GEN with EVs": {gen(func(p *hostapi.Profile) { p.EVs = good().EVs }), "set_profiles[a-b].evs",
			"2 EVs"},
		"GEN of none": {gen(func(p *hostapi.Profile) { p.Count, p.MinActive = 0, 0 }),
			"set_profiles[a-b].count", "0"},
		"GEN no fields": {gen(func(p *hostapi.Profile) { p.Fields = nil }), "set_profiles[a-b].fields",
			"none"},
		"more fields": {gen(func(p *hostapi.Profile) { p.Format.Widths = []uint8{16} }),
			"set_profiles[a-b].fields", "2"},
		"denied not made": {gen(func(p *hostapi.Profile) {
			p.Denied = []hostapi.EV{hostapi.NewEV(6<<29, 1)}
		}), "set_profiles[a-b].denied[0]", "0xc0000000@1"},
		"CC name": {cc(func(c *hostapi.CCProfile) { c.Name = "" }), "set_cc_profiles[].name",
			`""`},
		"CC algorithm": {cc(func(c *hostapi.CCProfile) { c.Algorithm = "swift" }),
			"set_cc_profiles[nscc].algorithm", "swift"},
		"gamma": {cc(func(c *hostapi.CCProfile) { c.NSCC.Gamma = 1.5 }),
			"set_cc_profiles[nscc].nscc.gamma", "1.5"},
		"no max md jump": {cc(func(c *hostapi.CCProfile) { c.NSCC.MaxMDJump = 0 }),
			"set_cc_profiles[nscc].nscc.max_md_jump", "0"},
		"negative eta": {cc(func(c *hostapi.CCProfile) { c.NSCC.Eta = -1 }),
			"set_cc_profiles[nscc].nscc.eta", "-1"},
		"window": {cc(func(c *hostapi.CCProfile) { c.NSCC.MaxCwnd = 0 }),
			"set_cc_profiles[nscc].nscc.max_cwnd", "0"},
		"windows": {cc(func(c *hostapi.CCProfile) { c.NSCC.MinCwnd = 1 << 21 }),
			"set_cc_profiles[nscc].nscc.min_cwnd", "2097152"},
		"target": {cc(func(c *hostapi.CCProfile) { c.NSCC.TargetDelay = 0 }),
			"set_cc_profiles[nscc].nscc.target_delay_ns", "0"},
		"qa gate": {cc(func(c *hostapi.CCProfile) { c.NSCC.QAGate = 32 }),
			"set_cc_profiles[nscc].nscc.qa_gate", "32"},
		"time": {cc(func(c *hostapi.CCProfile) { c.NSCC.BaseRTT = -1 }),
			"set_cc_profiles[nscc].nscc.base_rtt_ns", "-1ns"},
		"UDP port": {hostapi.State{Wire: hostapi.Wire{Control: 1}}, "wire.udp_port", "0"},
		"DSCP": {hostapi.State{Wire: hostapi.Wire{UDPPort: 1, TrimmedLastHop: 64}},
			"wire.dscp_trimmed_lasthop", "64"},
		"hint": {hostapi.State{Hints: hostapi.QPHints{SendPeers: hostapi.MaxQPHint + 1}},
			"qp_hints.num_send_peers", "16777217"},
		"port 0": {hostapi.State{DeniedPorts: 3}, "denied_ports", "0x3"},
		"peer": {hostapi.State{Peers: []hostapi.PeerPorts{{Peer: netip.MustParseAddr(
			"::ffff:10.0.0.1")}}}, "set_peers[::ffff:10.0.0.1].address", "::ffff:10.0.0.1"},
		"two of a name": {hostapi.State{Profiles: []*hostapi.Profile{good(), good()}},
			"set_profiles[a-b].name", "two"},
		"two of an address": {hostapi.State{Peers: []hostapi.PeerPorts{{Peer: netip.MustParseAddr("::1")},
			{Peer: netip.MustParseAddr("::1")}}},
			"set_peers[::1].address", "two"},
		"two of a CC name": {hostapi.State{CC: []*hostapi.CCProfile{goodCC(), goodCC()}},
			"set_cc_profiles[nscc].name", "two"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := hostapi.NewState(c.state)
			var e *hostapi.FieldError
			if !errors.As(err, &e) {
				t.Fatalf("%v, %v", s, err)
			}
			if e.Field != c.field || !strings.Contains(e.Reason, c.says) {
				t.Errorf("%q: %q, want field %q with %s", e.Field, e.Reason, c.field, c.says)
			}
		})
	}
	t.Run("two serve a destination", func(t *testing.T) {
		p, q := good(), good()
		q.Name = "a-c"
		_, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{p, q}})
		if err == nil || !strings.Contains(err.Error(),
			"set_profiles[a-c].destinations[0]: 2001:db8:1::/48 is served by profile a-b") {
			t.Error(err)
		}
	})
}

// TestBadDelta: what does not go with the state is refused by its field.
func TestBadDelta(t *testing.T) {
	base, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{good()},
		CC: []*hostapi.CCProfile{goodCC()}})
	if err != nil {
		t.Fatal(err)
	}
	base, err = base.Apply(&hostapi.Delta{Change: []hostapi.ProfileChange{{Name: "a-b",
		Deny: good().EVs[:1]}}})
	if err != nil {
		t.Fatal(err)
	}
	change := func(c hostapi.ProfileChange) hostapi.Delta {
		c.Name = "a-b"
		return hostapi.Delta{Change: []hostapi.ProfileChange{c}}
	}
	evs := good().EVs
	for name, c := range map[string]struct {
		delta hostapi.Delta
		field string
	}{
		"profile not there": {hostapi.Delta{RemoveProfiles: []string{"a-b", "x"}},
			"remove_profiles[1]"},
		"profile twice": {hostapi.Delta{RemoveProfiles: []string{"a-b", "a-b"}},
			"remove_profiles[1]"},
		"set twice": {hostapi.Delta{SetProfiles: []*hostapi.Profile{good(), good()}},
			"set_profiles[a-b]"},
		"change what is not": {hostapi.Delta{Change: []hostapi.ProfileChange{{Name: "x"}}},
			"change_profiles[x].name"},
		"change twice": {hostapi.Delta{Change: []hostapi.ProfileChange{{Name: "a-b"},
			{Name: "a-b"}}}, "change_profiles[a-b].name"},
		"deny twice": {change(hostapi.ProfileChange{Deny: []hostapi.EV{evs[1], evs[1]}}),
			"change_profiles[a-b].deny"},
		"deny what is denied": {change(hostapi.ProfileChange{Deny: evs[:1]}),
			"change_profiles[a-b].deny[0]"},
		"deny unknown": {change(hostapi.ProfileChange{Deny: []hostapi.EV{hostapi.NewEV(0x05050000,
			1)}}), "change_profiles[a-b].deny[0]"},
		"deny too wide": {change(hostapi.ProfileChange{Deny: []hostapi.EV{hostapi.NewEV(1, 1)}}),
			"change_profiles[a-b].deny[0].value"},
		"allow what is not": {change(hostapi.ProfileChange{Allow: evs[1:]}),
			"change_profiles[a-b].allow[0]"},
		"replace beyond": {change(hostapi.ProfileChange{Replace: []hostapi.Replacement{{Index: 2,
			EV: evs[0]}}}), "change_profiles[a-b].replace[0]"},
		"replace too wide": {change(hostapi.ProfileChange{Replace: []hostapi.Replacement{{Index: 1,
			EV: hostapi.NewEV(3, 1)}}}), "change_profiles[a-b].replacements[0].value"},
		"replace without port": {change(hostapi.ProfileChange{Replace: []hostapi.Replacement{{Index: 1,
			EV: hostapi.NewEV(1<<30, 0)}}}), "change_profiles[a-b].replacements[0].port"},
		"replace a denied one": {change(hostapi.ProfileChange{Replace: []hostapi.Replacement{{Index: 0,
			EV: hostapi.NewEV(1<<30, 1)}}}), "change_profiles[a-b].denied[0]"},
		"CC not there": {hostapi.Delta{RemoveCC: []string{"x"}}, "remove_cc_profiles[0]"},
		"peer not there": {hostapi.Delta{RemovePeers: []netip.Addr{netip.MustParseAddr("::1")}},
			"remove_peers[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := base.Apply(&c.delta)
			var e *hostapi.FieldError
			if !errors.As(err, &e) || e.Field != c.field {
				t.Errorf("%v, %v: want field %s", s, err, c.field)
			}
		})
	}
	t.Run("a CC profile that is used", func(t *testing.T) {
		p := good()
		p.CC = "nscc"
		s, err := base.Apply(&hostapi.Delta{SetProfiles: []*hostapi.Profile{p}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(&hostapi.Delta{RemoveCC: []string{"nscc"}}); err == nil ||
			!strings.Contains(err.Error(), "cc_profile") {
			t.Error(err)
		}
	})
}

// TestProfileTo: of the prefixes that hold an address the longest counts.
func TestProfileTo(t *testing.T) {
	p, q := good(), good()
	q.Name, q.Destinations = "a-c", []netip.Prefix{netip.MustParsePrefix("2001:db8:1:2::/64")}
	s, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{q, p}})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{"2001:db8:1:1::1": "a-b", "2001:db8:1:2::1": "a-c",
		"2001:db8:2::1": ""} {
		got := s.ProfileTo(netip.MustParseAddr(address))
		if name := func() string {
			if got == nil {
				return ""
			}
			return got.Name
		}(); name != want {
			t.Errorf("%s: %q, want %q", address, name, want)
		}
	}
	if m := (&hostapi.State{Peers: []hostapi.PeerPorts{{Peer: netip.MustParseAddr("::1"),
		Ports: hostapi.Ports(2)}}}).PeerPorts(netip.MustParseAddr("::1")); m != 4 {
		t.Errorf("%#x", m)
	}
	if m := s.PeerPorts(netip.MustParseAddr("::1")); m.Has(0) || !m.Has(1) || !m.Has(31) ||
		m.Len() != 31 {
		t.Errorf("%#x", m)
	}
}

// TestGeneratedHas holds Has against every value of a small profile.
func TestGeneratedHas(t *testing.T) {
	p := generated()
	p.Format.Widths = []uint8{8, 8, 8}
	p.Fields = []hostapi.Field{{Width: 8, MinVal: 1, MaxVal: 5, Mask: 0b1010_0001},
		{Width: 8, InitVal: 7}, {Width: 4, MaxVal: 2, Mask: 0b0110}}
	if p.Bits() != 5 {
		t.Fatalf("%d bits", p.Bits())
	}
	for x := range uint32(64) { // 6 bits: one more than there are
		a, b := x>>3, x>>1&3
		want := x&1 == 0 && a >= 1 && a <= 5 && b <= 2
		if got := p.Has(hostapi.NewEV(x<<26, 1)); got != want {
			t.Errorf("%06b: %v", x, got)
		}
	}
}

// TestAssembler: parts that do not follow each other are no update.
func TestAssembler(t *testing.T) {
	s := hostapi.State{}
	for _, name := range []string{"a", "b", "c"} {
		p := good()
		p.Name, p.Destinations = name, nil
		s.Profiles = append(s.Profiles, p)
	}
	u := &hostapi.Update{Version: hostapi.Version{Epoch: 1, Number: 1},
		Delta: hostapi.Diff(nil, &s, true)}
	parts := hostapi.Parts(u, 1)
	if len(parts) < 3 {
		t.Fatalf("%d parts", len(parts))
	}
	t.Run("left out", func(t *testing.T) {
		var a hostapi.Assembler
		_, lost, _ := a.Add(parts[0])
		if lost {
			t.Fatal("the first part")
		}
		if u, lost, _ := a.Add(parts[2]); u != nil || !lost {
			t.Errorf("%v, %v", u, lost)
		}
	})
	t.Run("in the middle", func(t *testing.T) {
		var a hostapi.Assembler
		if u, lost, _ := a.Add(parts[1]); u != nil || !lost {
			t.Errorf("%v, %v", u, lost)
		}
	})
	t.Run("of another version", func(t *testing.T) {
		var a hostapi.Assembler
		_, _, _ = a.Add(parts[0])
		other := *u
		other.Version.Number = 2
		if u, lost, _ := a.Add(hostapi.Parts(&other, 1)[1]); u != nil || !lost {
			t.Errorf("%v, %v", u, lost)
		}
	})
	t.Run("one that does not decode", func(t *testing.T) {
		var a hostapi.Assembler
		bad := hostapi.Parts(u, 1)
		bad[1].SetProfiles = append(bad[1].SetProfiles, &hostpb.EvProfile{Name: "d", Mode: 77})
		for i, p := range bad {
			u, lost, err := a.Add(p)
			if i < len(bad)-1 {
				if u != nil || lost || err != nil {
					t.Fatalf("part %d: %v, %v, %v", i, u, lost, err)
				}
				continue
			}
			var e *hostapi.FieldError
			if u == nil || !errors.As(err, &e) || e.Field != "set_profiles[d].mode" ||
				e.Code != hostapi.CodeUnsupported {
				t.Errorf("%v, %v", u, err)
			}
		}
	})
}

// TestCapabilities: a device gets nothing that it cannot hold.
func TestCapabilities(t *testing.T) {
	state := func(profiles ...*hostapi.Profile) *hostapi.State {
		s, err := hostapi.NewState(hostapi.State{Profiles: profiles, CC: []*hostapi.CCProfile{goodCC()}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	other := func() *hostapi.Profile {
		p := good()
		p.Name, p.Destinations = "a-c", nil
		p.Format = hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{8, 9}}
		return p
	}
	if err := new(hostapitest.Capabilities()).Check(state(good(), other())); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*hostapi.Capabilities)
		state  *hostapi.State
		field  string
		says   string
	}{
		"mode": {func(c *hostapi.Capabilities) {
			c.EVModes = hostapi.Modes(hostapi.ModeGenerated)
		}, state(good()), "set_profiles[a-b].mode", "ev_mode_mask"},
		"format mode": {func(c *hostapi.Capabilities) {
			c.EVFormatModes = 2
		}, state(good()), "set_profiles[a-b].format.mode", "ev_fmt_mode_mask"},
		"count": {func(c *hostapi.Capabilities) { c.EVMaxCountProfile = 1 }, state(good()),
			"set_profiles[a-b].count", "ev_max_count_profile"},
		"all counts": {func(c *hostapi.Capabilities) { c.EVMaxCount = 3 }, state(good(), other()),
			"set_profiles[a-c].count", "ev_max_count"},
		"alignment": {func(c *hostapi.Capabilities) {
			c.EVCountAlign = 4
		}, state(good()), "set_profiles[a-b].count", "ev_count_align"},
		"width": {func(c *hostapi.Capabilities) {
			c.EVMaxWidth = 15
		}, state(good()), "set_profiles[a-b].fields", "ev_max_width"},
		"port": {func(c *hostapi.Capabilities) { c.Ports = hostapi.Ports(1) }, state(good()),
			"set_profiles[a-b].evs[1].port", "phy_port_mask"},
		"profiles": {func(c *hostapi.Capabilities) { c.EVMaxProfiles = 1 }, state(good(), other()),
			"set_profiles[a-c]", "ev_max_profiles"},
		"formats": {func(c *hostapi.Capabilities) { c.EVMaxFormats = 1 }, state(good(), other()),
			"set_profiles[a-c].format", "ev_max_fmt_profiles"},
		"events": {func(c *hostapi.Capabilities) { c.OptAttr &^= hostapi.OptEVEvent }, state(good()),
			"set_profiles[a-b].events", "opt_attr"},
		"ranges": {func(c *hostapi.Capabilities) { c.OptAttr |= hostapi.OptEVExplicitRange },
			state(good()), "set_profiles[a-b].evs[1].value", "ranges"},
		"CC": {func(c *hostapi.Capabilities) { c.CCAlgorithms = []string{"swift"} }, state(),
			"set_cc_profiles[nscc].algorithm", "swift"},
		"CC profiles": {func(c *hostapi.Capabilities) {
			c.CCMaxProfiles = 0
		}, state(), "set_cc_profiles[nscc]", "cc_max_profiles"},
	} {
		t.Run(name, func(t *testing.T) {
			caps := hostapitest.Capabilities()
			c.change(&caps)
			snapshot := hostapi.Diff(nil, c.state, true)
			for _, err := range []error{caps.Check(c.state), caps.CheckUpdate(c.state, &snapshot)} {
				var e *hostapi.FieldError
				if !errors.As(err, &e) || e.Field != c.field || !strings.Contains(e.Reason, c.says) ||
					e.Code != hostapi.CodeUnsupported {
					t.Errorf("%v, want field %s and %s", err, c.field, c.says)
				}
			}
		})
	}
	t.Run("range", func(t *testing.T) {
		caps := hostapitest.Capabilities()
		caps.OptAttr |= hostapi.OptEVExplicitRange
		p := good()
		p.EVs = []hostapi.EV{hostapi.NewEV(0x00fe0000, 1), hostapi.NewEV(0x00ff0000, 1),
			hostapi.NewEV(0x01000000, 1)}
		p.Count = 3
		if err := caps.Check(state(p)); err != nil {
			t.Error(err)
		}
	})
	t.Run("modify online", func(t *testing.T) {
		caps := hostapitest.Capabilities()
		caps.OptAttr &^= hostapi.OptEVProfileModifyOnline
		p := good()
		p.EVs = slices.Clone(p.EVs)
		p.EVs[0] = hostapi.NewEV(0x09090000, 1)
		from, to := state(good()), state(p)
		d := hostapi.Diff(from, to, true)
		var e *hostapi.FieldError
		if err := caps.CheckUpdate(to, &d); !errors.As(err, &e) ||
			e.Field != "change_profiles[a-b].replace" {
			t.Error(err)
		}
		whole := hostapi.Diff(from, to, false)
		if err := caps.CheckUpdate(to, &whole); err != nil {
			t.Error(err)
		}
	})
}
