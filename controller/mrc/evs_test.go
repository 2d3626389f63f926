package mrc

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/topology"
)

// TestEVsOfProfile: the EVs of a profile come in pages by port, state and index, each with its
// path. Denied EVs and EVs that hosts found bad are included.
func TestEVsOfProfile(t *testing.T) {
	for _, explicit := range []bool{true, false} {
		w := newBed(t, 1, func(c *Config) { c.Explicit = explicit }).clos(2, 2, 4, 2)
		for plane := 1; plane <= 2; plane++ {
			w.net.SetNode(topology.Node{ID: leafID(plane, 2), Name: "T0"})
		}
		w.start()
		w.run(time.Second)
		const name = "leaf1-1:leaf1-2"
		state := func() ProfileState {
			s, ok := w.core.Profile(name)
			if !ok {
				t.Fatal("there is no profile")
			}
			return s
		}
		s := state()
		all := s.EVPage(api.ReadEVs{})
		if len(all) != 8 || all[3].Index != 3 {
			t.Fatalf("%d EVs: %+v", len(all), all)
		}
		of := func(text string) hostapi.EV {
			v, err := hostapi.ParseEV(text)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		bad := of(all[0].EV)
		path, err := s.Path(bad)
		if err != nil || path.State != "GOOD" || len(path.Hops) != 2 || len(path.Nodes) != 3 ||
			path.Nodes[0] != string(leafID(int(bad.Port), 1)) || path.Nodes[2] != "T0" ||
			path.Plane != int(bad.Port) || path.Port != bad.Port || len(path.LostLinks) != 0 ||
			path.Source != leafID(int(bad.Port), 1) || path.Destination != leafID(int(bad.Port), 2) {
			t.Errorf("%+v, %v", path, err)
		}
		denied := of(all[1].EV)
		crosses, _ := s.Path(denied)
		lost := crosses.Hops[0].Links[0].ID
		if err := w.core.Drain(Target{Link: lost}); err != nil {
			t.Fatal(err)
		}
		for _, h := range []string{"h1-1", "h1-2"} {
			if err := w.core.EVEvents(h, &hostapi.EVEvents{Events: []hostapi.EVEvent{
				{Profile: name, EV: bad, State: hostapi.EVAssumedBad},
				{Profile: name, EV: denied, State: hostapi.EVAssumedBad}}}); err != nil {
				t.Fatal(err)
			}
		}
		s = state()
		for v, want := range map[hostapi.EV]string{bad: "ASSUMED_BAD", denied: "DENIED"} {
			p, err := s.Path(v)
			if err != nil || p.State != want || (len(p.LostLinks) == 1) != (v == denied) {
				t.Errorf("%+v, %v; want %s", p, err, want)
			}
		}
		other := bad
		other.Port = 3
		if _, err := s.Path(other); !is(err, api.CodeNotFound) {
			t.Errorf("the path of an EV that there is not: %v", err)
		}
		v := s.View()
		if v.Denied != 1 || v.Active != 7 || v.Count != 8 || v.AssumedBad != 2 || v.Replaced != 0 ||
			len(v.LostLinks) != 1 || len(v.Source) != 2 || v.Source[1].Port != 2 || len(v.Hosts) != 2 {
			t.Errorf("explicit %v: %+v", explicit, v)
		}
		for _, c := range []struct {
			port        uint8
			state       string
			from, limit int
			want        int
		}{
			{0, "", 0, 0, 8}, {1, "", 0, 0, 4}, {3, "", 0, 0, 0}, {0, "", 3, 0, 5}, {0, "", 8, 0, 0},
			{0, "", 0, 2, 2}, {0, "", 0, 9, 8}, {0, "DENIED", 0, 0, 1}, {0, "ASSUMED_BAD", 0, 0, 1},
			{0, "GOOD", 0, 0, 6}, {0, "GOOD", 1, 3, 3},
		} {
			q := api.ReadEVs{EVFilter: api.EVFilter{Port: c.port, State: c.state}, From: c.from,
				Limit: c.limit}
			got := s.EVPage(q)
			if len(got) != c.want {
				t.Errorf("explicit %v, %+v: %d EVs, want %d", explicit, q, len(got), c.want)
			}
			for _, e := range got {
				if c.port != 0 && e.Port != c.port || c.state != "" && e.State != c.state ||
					e.Index < c.from || e.Replacement {
					t.Errorf("%+v: %+v", q, e)
				}
				if found := e.EV == all[0].EV || e.EV == all[1].EV; (e.BadAt == 2) != found {
					t.Errorf("%+v: found bad by %d hosts", e, e.BadAt)
				}
			}
		}
		for range s.EVs() {
			break
		}
		kinds, err := Offer(w.core, time.Now, direct{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := kind.Of[api.EVProfileSpec, api.EVProfile](kinds).Get(t.Context(), name)
		if err != nil || p.Status.Count != 8 || len(p.Status.EVs) != 8 || p.Name != name {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// TestCountsOfFabric: the fabric counts connected hosts, hosts with all their state, usable ports,
// degraded profiles and denied links.
func TestCountsOfFabric(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 2).start()
	w.run(2 * time.Second)
	f := w.core.Fabric()
	if f.Hosts != (api.HostCount{All: 4, Connected: 4, Current: 4}) || f.Ports.All != 8 ||
		f.Ports.Usable != 8 || f.Profiles.Bad != 0 || f.Links != (api.FabricCount{All: 16}) ||
		f.Planes != 2 || f.Tiers != 2 || f.Leaves != 4 {
		t.Errorf("%+v", f)
	}
	_ = w.core.Gone("h1-1")
	if err := w.core.Refused("h2-1", "no room"); err != nil {
		t.Fatal(err)
	}
	w.core.SetPorts(leafID(1, 1), map[uint32]bool{hostPortBase + 1: false})
	w.remove(w.both(leafID(1, 1), spineID(1, 1)))
	f = w.core.Fabric()
	if f.Hosts.Connected != 3 || f.Hosts.Current >= 4 || f.Ports.Usable != 7 || f.Links.Bad != 2 {
		t.Errorf("%+v", f)
	}
	w.run(2 * time.Second)
	if f = w.core.Fabric(); f.Hosts.Current != 3 {
		t.Errorf("%+v: want all current but the one that refuses something", f)
	}
}

// TestPlainHosts: hosts of a network without a fabric are in the order of their names, each with
// its ports, at the switches that the network knows.
func TestPlainHosts(t *testing.T) {
	down := &api.SwitchStatus{Node: "node of S", Ports: &api.SwitchPorts{Up: 1, Down: []uint32{4}}}
	p := &plainNetwork{switches: map[string]*api.SwitchStatus{"S": down, "T": {}},
		found: []inventory.Found{{Host: inventory.Host{Name: "h10", Switch: "S", Port: 4}},
			{Host: inventory.Host{Name: "h9", Switch: "S", Port: 3,
				Planes: []inventory.Attachment{{Switch: "T", Port: 7}, {Switch: "U", Port: 8}}}}}}
	got := p.hosts()
	if len(got) != 2 || got[0].Name != "h9" || got[1].Name != "h10" || len(got[0].Ports) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []api.HostPortStatus{
		{LeafName: "S", LeafPort: 3, Leaf: "node of S", Usable: true}, {LeafName: "T", LeafPort: 7},
		{LeafName: "U", LeafPort: 8},
	} {
		s := got[0].Ports[i].Status
		if s.LeafName != want.LeafName || s.LeafPort != want.LeafPort || s.Leaf != want.Leaf ||
			s.Usable != want.Usable || s.LinkDown || got[0].Ports[i].Port != uint8(i+1) {
			t.Errorf("port %d: %+v, want %+v", i+1, s, want)
		}
	}
	if s := got[1].Ports[0].Status; !s.LinkDown || s.Usable || s.Leaf != "node of S" {
		t.Errorf("a port that is down: %+v", s)
	}
	for port, want := range map[uint32]string{0: "", 4: "down", 5: "up"} {
		if got := portState(down, port); got != want {
			t.Errorf("port %d is %q, want %q", port, got, want)
		}
	}
	for _, s := range []*api.SwitchStatus{nil, {}, {Ports: &api.SwitchPorts{}}} {
		if got := portState(s, 5); got != "" {
			t.Errorf("a port that nothing is known of is %q", got)
		}
	}
}

// TestHelloAgain: a host that is put again keeps its profiles; a host that has not said Hello has
// no profiles.
func TestHelloAgain(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 2, 2, 2).start()
	w.run(time.Second)
	h := w.core.hosts.byName["h1-1"]
	again := w.made["h1-1"]
	again.At = slices.Clone(w.made["h2-1"].At)
	if err := w.core.PutHost(again); err != nil {
		t.Fatal(err)
	}
	w.pump()
	if h.sender == nil || h.sender != w.core.hosts.byName["h2-1"].sender {
		t.Error("a host that has moved has no profiles, or not those of its rack")
	}
	mute := again
	mute.Name, mute.Address = "mute", again.Address.Next().Next().Next()
	for range 2 {
		if err := w.core.PutHost(mute); err != nil {
			t.Fatal(err)
		}
		w.pump()
		if x := w.core.hosts.byName["mute"]; x.sender != nil || x.told {
			t.Error("a host that has not said what it can is told something")
		}
	}
	if err := w.core.ProbeResult("nosuch", &hostapi.ProbeResult{}); err == nil {
		t.Error("a result of an unknown host")
	}
	if err := w.core.LinkCounts("nosuch", 1, 1); !errors.Is(err, ErrUnknownTarget) {
		t.Errorf("counts of an unknown link: %v", err)
	}
	if err := w.core.LinkCounts(topology.LinkID(w.both(leafID(1, 1), spineID(1, 1))[0].ID), 1,
		1); err != nil {
		t.Error(err)
	}
}
