package multicast

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// TestBefore: PSNs are ordered modulo 2^24, with half of all PSNs ahead of each PSN.
func TestBefore(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		want bool
	}{
		{5, 5, false}, {5, 6, true}, {6, 5, false}, {0, 1<<23 - 1, true}, {0, 1 << 23, false},
		{1<<24 - 1, 0, true}, {0, 1<<24 - 1, false}, {1 << 23, 0, false}, {1<<23 + 1, 0, true},
	} {
		if got := before(c.a, c.b); got != c.want {
			t.Errorf("%#x before %#x: %v", c.a, c.b, got)
		}
	}
}

// TestStallInterval has a group asked four times while it waits for an eviction, and otherwise as
// often as the inventory says.
func TestStallInterval(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3", "r4")
	for _, c := range []struct{ stall, evict, want time.Duration }{
		{0, 0, 0},
		{time.Second, 0, time.Second},
		{0, 8 * time.Second, 2 * time.Second},
		{time.Second, 8 * time.Second, time.Second},
		{3 * time.Second, 8 * time.Second, 2 * time.Second},
		{2 * time.Second, 8 * time.Second, 2 * time.Second},
		{time.Second, 3 * time.Millisecond, time.Millisecond},
	} {
		d.inv().Intervals.Stall = api.Duration(c.stall)
		g.item.Spec.EvictAfter = api.Duration(c.evict)
		if got := d.stallInterval(g); got != c.want {
			t.Errorf("stall %v, evictAfter %v: asked every %v, want %v", c.stall, c.evict, got, c.want)
		}
	}
}

// TestStallIsOfOneReceiver: a receiver that falls back to the former position of another receiver
// does not inherit the stall time of the other receiver.
func TestStallIsOfOneReceiver(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3", "r4")
	find := func(acknowledged ...int64) (stalled []netip.Addr) {
		r := &api.GroupState{Nodes: []api.GroupNodeState{{}}}
		for i, psn := range acknowledged {
			r.Nodes[0].Branches = append(r.Nodes[0].Branches, api.GroupBranchState{Index: uint8(i),
				Receiver: g.item.Spec.Receivers[i].Address, Answered: true, Valid: true, AckPSN: psn})
		}
		d.findStalls(g, r)
		d.env.Now += d.stallInterval(g)
		for _, s := range g.probe.stalled() {
			stalled = append(stalled, s.Address)
		}
		return stalled
	}
	a := g.item.Spec.Receivers
	for i, c := range []struct {
		psn  []int64
		want []netip.Addr
	}{
		{[]int64{5, 9, 9}, nil},
		{[]int64{9, 5, 9}, nil},
		{[]int64{5, 5, 9}, []netip.Addr{a[1].Address}},
		{[]int64{5, 6, 9}, []netip.Addr{a[0].Address}},
	} {
		if got := find(c.psn...); !slices.Equal(got, c.want) {
			t.Errorf("question %d, answer %v: stalled %v, want %v", i, c.psn, got, c.want)
		}
	}
}

// TestEvict takes out who was found at the same place twice for as long as the spec says, but not
// the last one.
func TestEvict(t *testing.T) {
	const after = time.Minute
	for what, c := range map[string]struct {
		seen  int
		since time.Duration
		out   []string
		want  bool
	}{
		"once":               {1, after, nil, false},
		"twice":              {2, after, nil, true},
		"twice, for less":    {2, after - 1, nil, false},
		"with one before":    {2, after, []string{"r3"}, true},
		"the last":           {2, after, []string{"r3", "r4"}, false},
		"twice, and already": {2, after, []string{"r1"}, false},
	} {
		d := newDesk(t)
		g := d.typed("s1", "r1", "r3", "r4")
		g.item.Spec.EvictAfter = api.Duration(after)
		for _, host := range c.out {
			g.evicted[d.net.Address(host)] = true
		}
		d.env.Take()
		d.env.Now += time.Hour
		g.probe.receivers = []progress{{seen: c.seen, since: d.env.Now - c.since,
			StalledReceiver: api.StalledReceiver{Address: d.net.Address("r1")}}}
		d.writes()
		d.evict(g)
		_, b := g.latest().FindReceiver(d.net.Address("r1"))
		if written := d.saved(g); written != c.want || (b == nil) != c.want ||
			(len(g.probe.receivers) == 0) != c.want {
			t.Errorf("%s: written %v, in the tree %v, behind %v", what, written, b != nil,
				g.probe.receivers)
		}
		events, _ := d.env.Take()
		evicted := slices.ContainsFunc(events, func(e api.Event) bool {
			return e.Type == api.EventReceiverEvicted
		})
		if evicted != c.want {
			t.Errorf("%s: evicted %v, want %v", what, evicted, c.want)
		}
	}
}

// TestBehindAReceiver: a receiver stalls a group if the receiver is behind another receiver, or has
// acknowledged nothing in the epoch while another receiver has. Acknowledgements of switches do not
// count, and a receiver without an answer is not behind.
func TestBehindAReceiver(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3", "r4")
	a := g.item.Spec.Receivers
	at := func(receiver int, psn int64) api.GroupBranchState { // -1: a switch
		b := api.GroupBranchState{Answered: true, Valid: true, AckPSN: psn, Index: uint8(receiver + 1)}
		if receiver >= 0 {
			b.Receiver = a[receiver].Address
		}
		return b
	}
	nothing := func(receiver int) api.GroupBranchState {
		b := at(receiver, -1)
		b.Valid = false
		return b
	}
	silent := func(receiver int) api.GroupBranchState {
		b := nothing(receiver)
		b.Answered = false
		return b
	}
	for what, c := range map[string]struct {
		branches []api.GroupBranchState
		want     []int
	}{
		"all are as far":    {[]api.GroupBranchState{at(0, 9), at(1, 9), at(2, 9)}, nil},
		"none has any":      {[]api.GroupBranchState{nothing(0), nothing(1), nothing(2)}, nil},
		"one is ahead":      {[]api.GroupBranchState{at(0, 9), at(1, 8), at(2, 7)}, []int{1, 2}},
		"the last is ahead": {[]api.GroupBranchState{at(0, 7), at(1, 8), at(2, 9)}, []int{0, 1}},
		"in another order":  {[]api.GroupBranchState{at(2, 7), at(1, 9), at(0, 8)}, []int{0, 2}},
		"ahead over zero": {[]api.GroupBranchState{at(0, maxPSN), at(1, 0), at(2, maxPSN)},
			[]int{0, 2}},
		"ahead of the first": {[]api.GroupBranchState{at(0, 0), at(1, 9)}, []int{0}},
		"a switch is ahead":  {[]api.GroupBranchState{at(-1, 50), at(0, 9), at(1, 9)}, nil},
		"a switch is behind": {[]api.GroupBranchState{at(-1, 5), at(0, 9), at(1, 9)}, nil},
		"one has acknowledged": {[]api.GroupBranchState{nothing(0), at(1, 9), nothing(2)}, []int{0,
			2}},
		"one has, near the end":   {[]api.GroupBranchState{at(1, maxPSN-5), nothing(0)}, []int{0}},
		"one does not answer":     {[]api.GroupBranchState{silent(0), at(1, 9), at(2, 8)}, []int{2}},
		"only switches have any":  {[]api.GroupBranchState{at(-1, 9), nothing(0), nothing(1)}, nil},
		"all on the other switch": {nil, nil},
	} {
		g.probe.receivers = nil
		clear(d.status)
		d.findStalls(g, &api.GroupState{Nodes: []api.GroupNodeState{{Switch: "n9"},
			{Switch: "n1", Branches: c.branches}}})
		var got []api.StalledReceiver
		for _, r := range g.probe.receivers {
			if r.seen != 1 || r.since != d.env.Now || r.last != d.env.Now {
				t.Errorf("%s: %+v at %v", what, r, d.env.Now)
			}
			got = append(got, r.StalledReceiver)
		}
		var want []api.StalledReceiver
		for _, i := range c.want {
			r := api.StalledReceiver{Address: a[i].Address, Switch: "n1", Branch: uint8(i + 1),
				Since: d.env.Wall()}
			for _, b := range c.branches {
				if b.Receiver == r.Address && b.Valid {
					r.Valid, r.AckPSN = true, uint32(b.AckPSN)
				}
			}
			want = append(want, r)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: behind %+v, want %+v", what, got, want)
		}
		if _, looked := d.status[g.index]; !looked {
			t.Errorf("%s: the status is not looked at", what)
		}
	}
}

// TestStallEvents: a receiver that stalls sends one event, and one event when the receiver
// continues.
func TestStallEvents(t *testing.T) {
	d := newDesk(t)
	g := d.typed("s1", "r1", "r3", "r4")
	at := func(host string, seen int) progress {
		return progress{seen: seen, StalledReceiver: api.StalledReceiver{Address: d.net.Address(host)}}
	}
	event := func(kind api.EventType, host string) string {
		return string(kind) + " " + d.net.Address(host).String()
	}
	for i, c := range []struct {
		behind []progress
		want   []string
	}{
		{[]progress{at("r1", 1)}, nil},
		{[]progress{at("r1", 2)}, []string{event(api.EventReceiverStalled, "r1")}},
		{[]progress{at("r1", 3), at("r3", 1)}, nil},
		{[]progress{at("r1", 4), at("r3", 2)}, []string{event(api.EventReceiverStalled, "r3")}},
		{[]progress{at("r1", 1), at("r3", 3)}, []string{event(api.EventReceiverRecovered, "r1")}},
		{[]progress{at("r4", 2)}, []string{event(api.EventReceiverStalled, "r4"),
			event(api.EventReceiverRecovered, "r3")}},
		{nil, []string{event(api.EventReceiverRecovered, "r4")}},
	} {
		d.env.Take()
		d.tellStalls(g, c.behind)
		g.probe.receivers = c.behind
		var got []string
		events, _ := d.env.Take()
		for _, e := range events {
			got = append(got, string(e.Type)+" "+e.Message)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("question %d: events %q, want %q", i, got, c.want)
		}
	}
}
