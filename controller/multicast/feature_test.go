package multicast

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/southbound/entry"
)

// unsettled is an underlay whose topology is not taken for the whole network.
type unsettled struct{ ready }

func (unsettled) Settled() bool { return false }

// TestNewNetworkPlaces: a new network makes the controller place the groups again. Groups loaded
// from a record wait until the network has settled. The controller does not place groups that are
// being removed.
func TestNewNetworkPlaces(t *testing.T) {
	for _, c := range []struct{ settled, loaded, want bool }{
		{true, false, true}, {true, true, true}, {false, false, true}, {false, true, false},
	} {
		d := newDesk(t)
		g := d.typed("s1", "r1", "r3")
		gone := d.typedAs("gone", 2, "s1", "r4")
		d.away("n1")
		if err := d.Groups().Delete("gone", resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		g.loaded = c.loaded
		if !c.settled {
			d.env.Underlay = unsettled{}
		}
		d.env.Net.Host(d.net.Address("r3")).Node = nil
		d.SetNetwork()
		if (g.planErr != nil) != c.want || gone.planErr != nil || gone.target != nil {
			t.Errorf("settled %v, loaded %v: error %v", c.settled, c.loaded, g.planErr)
		}
		d.Start()
	}
}

// TestPlacedAnew: placing a group takes the next epoch of the group's index. Without an epoch left
// the group stays unchanged.
func TestPlacedAnew(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	d.writes()
	d.place(g, true)
	key := epochKey(g.index)
	if w := d.writes(); !w[key] || d.epochs[g.index] != g.target.Epoch {
		t.Errorf("epoch %d, noted %d, writes %v", g.target.Epoch, d.epochs[g.index], w)
	}
	d.pass(time.Minute)
	target := g.target
	d.epochs[g.index] = lastEpoch
	d.place(g, true)
	d.Report()
	if g.planErr == nil || g.target != target || g.condition(api.Accepted).Status {
		t.Errorf("no epoch is left: error %v, another tree %v", g.planErr, g.target != target)
	}
	d.epochs[g.index] = target.Epoch
	d.place(g, true)
	d.Report()
	if c := g.condition(api.Accepted); g.planErr != nil || g.target == target || !c.Status ||
		c.Reason != api.ReasonPlanned {
		t.Errorf("an epoch is left: error %v, %+v", g.planErr, c)
	}
	g.item, g.planErr = nil, nil
	if d.place(g, true); g.planErr != nil {
		t.Errorf("a group that goes is placed: %v", g.planErr)
	}
	d.move(g, nil, errors.New("of the test"))
	if g.planErr.Code != api.CodeNotPlannable || g.planErr.Message != "of the test" {
		t.Errorf("%+v", g.planErr)
	}
}

// TestUnaskedMessages: the controller drops a message to an unknown group, to a group under removal
// and to a group without spec.connect, and a message that is no frame.
func TestUnaskedMessages(t *testing.T) {
	d := newDesk(t)
	typed := d.typed("s1", "r1")
	gone := d.typedAs("gone", 2, "s1", "r4")
	d.away("n3")
	g := d.group(3, nil)
	if err := d.Groups().Delete("gone", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	for what, at := range map[string]uint16{"of no group": 99, "of a group that goes": gone.index,
		"of a group of typed queue pairs": typed.index, "that is no frame": g.index} {
		d.arrives("n1", entry.PacketIn{Reason: entry.Connect, Group: at, Payload: []byte{1}})
		if d.carry(); len(d.sent) != 0 || len(g.Connections) != 0 {
			t.Errorf("a message %s is answered: %v", what, d.sent)
		}
	}
}

// TestUnknownEpoch: the controller raises a group's epoch above a higher epoch on a switch, and
// above an epoch from another controller. The controller's own writes do not raise the epoch.
func TestUnknownEpoch(t *testing.T) {
	for what, c := range map[string]struct {
		more  int64 // over the epoch of the group
		wrote bool
		want  bool
	}{
		"its own":          {0, true, false},
		"not written":      {0, false, true},
		"a higher one":     {5, true, true},
		"a lower one":      {-5, false, false},
		"a higher unknown": {5, false, true},
	} {
		d := newDesk(t)
		g := d.typed("s1", "r1")
		g.writes = make(map[string]uint32)
		epoch := g.target.Epoch
		there := *g.target
		for _, it := range g.target.Items("n1") {
			if c.wrote {
				d.SwitchEvent("n1", feature.SwitchEvent{Kind: feature.Writing, Owner: g.owner(),
					Entity: it.Entity})
				d.SwitchEvent("n3", feature.SwitchEvent{Kind: feature.Writing, Owner: -1, Entity: it.Entity})
				d.SwitchEvent("n3", feature.SwitchEvent{Kind: feature.Writing, Owner: 99, Entity: it.Entity})
			}
		}
		if len(g.writes) > 1 || c.wrote && g.writes["n1"] != epoch {
			t.Errorf("%s: written %v", what, g.writes)
		}
		there.Epoch = uint32(int64(epoch) + c.more)
		d.reads(&there, "n1")
		if raised := g.target.Epoch > there.Epoch && g.target.Epoch != epoch; raised != c.want {
			t.Errorf("%s: epoch %d, was %d, found %d", what, g.target.Epoch, epoch, there.Epoch)
		}
		if d.epochs[g.index] < max(there.Epoch, epoch) {
			t.Errorf("%s: noted %d", what, d.epochs[g.index])
		}
	}
}

// TestProgrammed: a group is programmed when the target carries the data and all switches hold the
// target.
func TestProgrammed(t *testing.T) {
	for p := steady; p <= cleaning; p++ {
		for _, queued := range []bool{false, true} {
			d := newDesk(t)
			g := d.typed("s1", "r1")
			if g.phase = p; queued {
				g.queued = g.target
			}
			d.updateStatus(g)
			c := g.condition(api.Programmed)
			want := !queued && (p == steady || p == draining || p == cleaning)
			if c.Status != want || !want && (c.Reason != api.ReasonInstalling || c.Message != p.String()) {
				t.Errorf("%v, queued %v: %+v", p, queued, c)
			}
		}
	}
}

// TestInstalled: the old tree stays the last complete tree until the new tree carries data.
func TestInstalled(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3")
	old := g.target
	d.inv().Intervals.Drain = 0
	d.put(g, func(s *api.MulticastGroupSpec) { s.InitialPSN++ })
	seen := make(map[phase]bool)
	for more := true; more && g.phase != steady; more = d.step() {
		seen[g.phase] = true
		if carries := g.phase == draining || g.phase == cleaning; (g.installed == old) == carries {
			t.Errorf("%v: the old tree is the last complete one: %v", g.phase, !carries)
		}
	}
	if len(seen) != 5 || g.installed != g.target {
		t.Errorf("phases %v, then installed is the target: %v", seen, g.installed == g.target)
	}
}

// TestLayers: the layers on switches in each phase of a change. The new tree comes beside the old
// tree, then the responses of the new tree, then the start of the new tree. The old tree stays
// until the packets of the old tree have arrived.
func TestLayers(t *testing.T) {
	target, resp, data := new(tree.Placement), new(tree.Placement), new(tree.Placement)
	oldResp, oldData := new(tree.Placement), new(tree.Placement)
	names := map[*tree.Placement]string{target: "target", resp: "resp", data: "data",
		oldResp: "oldResp",
		oldData: "oldData"}
	for p, want := range []string{
		"target:data,response,start",
		"target:data,response data:data,start resp:response",
		"oldResp:response target:data data:data,start target:response",
		"oldResp:response oldData:data target:data,response,start",
		"oldResp:response oldData:data target:data,response,start",
		"target:data,response,start",
	} {
		c := change{phase: phase(p), target: target, resp: resp, data: data, oldResp: oldResp,
			oldData: oldData}
		var got []string
		for _, l := range c.layers() {
			var of []string
			for class, name := range map[tree.Class]string{tree.Data: "data", tree.Response: "response",
				tree.Start: "start"} {
				if l.classes&(1<<class) != 0 {
					of = append(of, name)
				}
			}
			slices.Sort(of)
			got = append(got, names[l.placement]+":"+strings.Join(of, ","))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v: %q, want %q", phase(p), got, want)
		}
	}
}

// TestConnectEntities: switches whose hosts may connect hand their messages to the controller, by
// the addresses of the spec.
func TestConnectEntities(t *testing.T) {
	const any, hosts, s1, r1, r2 = "::/0", "2001:db8:1::/64", "2001:db8:1::1/128", "2001:db8:1::2/128",
		"2001:db8:1::3/128"
	for what, c := range map[string]struct {
		change func(*api.MulticastGroupSpec)
		want   map[string][]string // by switch: whom it hands on
	}{
		"any host": {nil, map[string][]string{"n1": {any}, "n2": {any}, "n3": {any}, "n6": {any}}},
		"a source and receivers of the spec": {func(s *api.MulticastGroupSpec) {
			fromS1(s)
			s.Connect.Receivers = nil
			s.Receivers = []api.GroupReceiver{{Address: sample.HostAddress(2)},
				{Address: sample.HostAddress(3)}}
		}, map[string][]string{"n1": {r1, r2}, "n6": {s1}}},
		"a prefix of receivers": {fromS1, map[string][]string{"n1": {hosts}, "n2": {hosts}, "n3": {hosts},
			"n6": {hosts, s1}}},
	} {
		d := newDesk(t)
		g := d.group(1, c.change)
		for _, sw := range d.env.Switches.Switches() {
			var got []string
			for _, p := range []string{any, hosts, s1, r1, r2, "2001:db8:1::4/128"} {
				e := tree.Connect(g.index, g.item.Spec.ProxyAddress, netip.MustParsePrefix(p))
				if _, held := d.env.Switches.Entity(sw, e.Key()); held {
					got = append(got, p)
				}
			}
			if !slices.Equal(got, c.want[sw]) {
				t.Errorf("%s: %s hands on %q, want %q", what, sw, got, c.want[sw])
			}
		}
	}
	d := newDesk(t)
	g := d.group(1, nil)
	d.env.Net.Host(d.net.Address("r3")).At = nil
	d.env.Net.Host(d.net.Address("r4")).At = &inventory.Switch{System: "sonic"}
	d.env.Net.Host(d.net.Address("r5")).At = &inventory.Switch{System: "sonic"}
	got := d.connectSwitches(g)
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, []string{"n1", "n6"}) {
		t.Errorf("hosts connect at %q", got)
	}
}

// TestFirstID: connection ids start from the time, so a controller that has lost its records uses
// new ids.
func TestFirstID(t *testing.T) {
	d := newDesk(t)
	first := uint32(d.env.Wall().Unix()) << 6
	if _, req := d.listener(1); req.LocalID != first {
		t.Errorf("id %d, want %d", req.LocalID, first)
	}
}

// TestHeaders: a group's packets have 124 octets around the payload between switches: two IPv6
// headers, UDP, BTH, RETH, immediate data and ICRC.
func TestHeaders(t *testing.T) {
	if groupHeaders != 40+40+8+12+16+4+4 {
		t.Errorf("%d octets", groupHeaders)
	}
}

// TestQuietConnections: without news of connections nothing is written.
func TestQuietConnections(t *testing.T) {
	d := newDesk(t)
	g := d.group(1, nil)
	d.joins(g, "r1", 50)
	d.writes()
	clear(d.status)
	d.admit(g)
	if d.saved(g) || len(d.status) != 0 {
		t.Error("a group without news is written")
	}
	d.leaves(g, "r1")
	if !d.saved(g) {
		t.Error("a group whose receiver has left is not written")
	}
}

// TestListenersOnce: the controller does not ask a host again that is connected or already being
// asked, and does not ask a host that has left the inventory.
func TestListenersOnce(t *testing.T) {
	d := newDesk(t)
	g, req := d.listener(1)
	d.pass(redial)
	if n := len(d.conns(g, "r1")); n != 1 {
		t.Errorf("%d connections with a host that was asked", n)
	}
	d.says(g, call{host: "r1", tid: d.conns(g, "r1")[0].TID}, cm.REP{LocalID: 9, RemoteID: req.LocalID,
		QPN: 50, CAGUID: 7})
	d.heard("r1")
	d.pass(3 * redial)
	if got := d.heard("r1"); len(got) != 0 || len(d.conns(g, "r1")) != 1 {
		t.Errorf("a host that is connected gets %+v", got)
	}
	d.leaves(g, "r1")
	d.heard("r1")
	d.env.Net.Host(d.net.Address("r1")).At = nil
	d.pass(3 * redial)
	if got := d.heard("r1"); len(got) != 0 {
		t.Errorf("a host without a switch gets %+v", got)
	}
	r := &g.item.Spec.Receivers[0]
	r.Address = netip.MustParseAddr("2001:db8:9::9")
	d.pass(3 * redial)
	for _, c := range g.Connections {
		if c.Peer == r.Address {
			t.Errorf("a host that is not there: %+v", c)
		}
	}
}

// TestWhatPhasesHold: a switch holds the data and response entities of a new tree before any
// traffic enters the tree. For an old tree, a switch holds only the entities for traffic still in
// flight.
func TestWhatPhasesHold(t *testing.T) {
	d := newDesk(t)
	p := d.typed("s1", "r1", "r3").target
	root := p.Switches()[0]
	for _, sw := range p.Switches() {
		if slices.ContainsFunc(p.Items(sw), func(it tree.Item) bool { return it.Class == tree.Start }) {
			root = sw
		}
	}
	const data, response, start = 1 << tree.Data, 1 << tree.Response, 1 << tree.Start
	for _, c := range []struct {
		what string
		is   change
		want int
	}{
		{"new, making", change{phase: making, target: p}, data | response},
		{"new, responding", change{phase: responding, target: p}, data | response},
		{"new, switching", change{phase: switching, target: p}, data | response | start},
		{"new, steady", change{phase: steady, target: p}, data | response | start},
		{"carries data, making", change{phase: making, data: p}, data | start},
		{"carries data, responding", change{phase: responding, data: p}, data | start},
		{"of responses, making", change{phase: making, resp: p}, response},
		{"of old responses, responding", change{phase: responding, oldResp: p}, response},
		{"of old responses, draining", change{phase: draining, oldResp: p}, response},
		{"of old data, draining", change{phase: draining, oldData: p}, data},
		{"of old data, cleaning", change{phase: cleaning, oldData: p}, 0},
	} {
		held := make(map[entry.Key]bool)
		for _, e := range c.is.entities(root) {
			held[e.Key()] = true
		}
		for _, it := range p.Items(root) {
			if want := c.want&(1<<it.Class) != 0; held[it.Entity.Key()] != want {
				t.Errorf("%s: there is %v: %v", c.what, it.Entity, !want)
			}
		}
	}
}
