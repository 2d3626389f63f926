package nic

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// TestAutoValues: the number of AUTO values over all ports is the profile's Count or the NIC's
// number, at least one value per port. The profile's minimum of values stays active, as far as
// enough values exist.
func TestAutoValues(t *testing.T) {
	const ports = 3
	n := alone(t, ports, func(c *Config) { c.AutoEVs = 30 })
	f := &flow{nic: n, qpn: 7}
	for _, c := range []struct {
		count, minActive int
		values, active   int
	}{{0, 5, 30, 5}, {1, 1, 3, 1}, {2, 7, 3, 3}, {6, 4, 6, 4}, {11, 12, 9, 9}} {
		got := n.values(f, &profile{is: &hostapi.Profile{Mode: hostapi.ModeAuto, Count: c.count,
			MinActive: c.minActive}})
		if len(got.EVs) != c.values || got.MinActive != c.active {
			t.Errorf("%+v: %d values, %d active", c, len(got.EVs), got.MinActive)
		}
	}
	if got := n.values(f, nil); len(got.EVs) != 30 || got.MinActive != 1 {
		t.Errorf("without a profile %d values, %d active", len(got.EVs), got.MinActive)
	}
}

// TestCounted: the counters of a value sum the packets sent and packets lost of all queue pairs,
// including destroyed queue pairs. The NIC leaves out unused values and local profiles.
func TestCounted(t *testing.T) {
	n := alone(t, 2, nil)
	to := peer(0)
	hold(t, n, explicit("p", 2, to), explicit("q", 2, peer(1)))
	type counts map[hostapi.EVCount]bool
	all := func() counts {
		got := counts{}
		n.Counts(func(c hostapi.EVCount) bool { got[c] = true; return true })
		return got
	}
	// send has a flow send and lose packets by its only path.
	send := func(f *flow, port, packets, lost int) {
		for i := range packets {
			p, ok := f.Next(0, mrc.UseData, packet.PortMask(0).With(port))
			if !ok {
				t.Fatal("no path")
			}
			if i < lost {
				f.Feedback(0, p.ID, mrc.SignalLost)
			} else {
				f.Feedback(0, p.ID, mrc.SignalArrived)
			}
		}
	}
	is := func(what string, want ...hostapi.EVCount) {
		t.Helper()
		got := all()
		for _, c := range want {
			if !got[c] {
				t.Errorf("%s: %+v, want %+v", what, got, c)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d values, want %d: %+v", what, len(got), len(want), got)
		}
	}
	count := func(value, port int, sent, lost uint64) hostapi.EVCount {
		return hostapi.EVCount{Profile: "p", EV: hostapi.NewEV(uint32(value)<<16, uint8(port)),
			Sent: sent, Lost: lost}
	}
	first, second := flowOf(t, n, 100, to, nil, Choice{}), flowOf(t, n, 101, to, nil, Choice{})
	flowOf(t, n, 102, peer(3), nil, Choice{}) // without a profile
	own := func(c *mrc.QPConfig) { c.Sprayer = mrc.NewRoundRobin() }
	flowOf(t, n, 103, to, own, Choice{})
	is("nothing sent")
	send(first, 1, 1, 1)
	is("one lost", count(1, 1, 1, 1))
	send(second, 1, 6, 2)
	send(second, 2, 3, 0)
	is("of two", count(1, 1, 7, 3), count(2, 2, 3, 0))
	for _, f := range []*flow{second, first} {
		if err := n.DestroyQP(f.qpn); err != nil {
			t.Fatal(err)
		}
		is("after they went", count(1, 1, 7, 3), count(2, 2, 3, 0))
	}
	send(flowOf(t, n, 104, to, nil, Choice{}), 1, 5, 1)
	is("with one that came", count(1, 1, 12, 4), count(2, 2, 3, 0))
	if len(n.profiles["q"].retired) != 0 {
		t.Errorf("%+v", n.profiles["q"].retired)
	}
}

// TestEventsOfValues: the NIC reports a value bad to the controller while any queue pair finds the
// value bad, even a value listed twice. The controller gets no events on denied values, on profiles
// without events, on replaced profiles, and on local profiles; the watcher gets the events on local
// profiles.
func TestEventsOfValues(t *testing.T) {
	n := alone(t, 2, nil)
	heard, watched := []hostapi.EVEvent(nil), []hostapi.EVEvent(nil)
	n.Watch(func(e hostapi.EVEvent) { watched = append(watched, e) })
	n.Report(eventsTo(&heard))
	p := explicit("p", 4, peer(0))
	p.EVs[3] = p.EVs[1]
	silent := explicit("silent", 2)
	silent.Events = false
	hold(t, n, p.WithDenied([]hostapi.EV{p.EVs[2]}), silent)
	local := explicit(LocalName(7), 2)
	if err := n.ApplyLocal(&hostapi.State{Profiles: []*hostapi.Profile{local}}); err != nil {
		t.Fatal(err)
	}
	is := func(what string, got *[]hostapi.EVEvent, want ...hostapi.EVEvent) {
		t.Helper()
		if !slices.Equal(*got, want) {
			t.Errorf("%s: heard of %+v, want %+v", what, *got, want)
		}
		*got = nil
	}
	event := func(s hostapi.EVState) hostapi.EVEvent {
		return hostapi.EVEvent{Profile: "p", EV: p.EVs[1], State: s}
	}
	held := n.profiles["p"]
	n.becameBad(held, 3)
	is("bad", &heard, event(hostapi.EVAssumedBad))
	n.becameBad(held, 1)
	n.recovered(held, 3)
	if !held.doubtful(1) || !held.doubtful(3) || held.doubtful(0) {
		t.Errorf("bad: %v", held.bad)
	}
	is("bad for another one", &heard)
	n.recovered(held, 1)
	is("bad for none", &heard, event(hostapi.EVGood))
	is("watched", &watched, event(hostapi.EVAssumedBad), event(hostapi.EVGood))
	n.becameBad(held, 2)
	n.becameBad(n.profiles["silent"], 0)
	is("denied, or silent", &heard)
	is("denied, or silent", &watched)
	n.becameBad(n.profiles[local.Name], 0)
	is("local", &heard)
	is("local", &watched, hostapi.EVEvent{Profile: local.Name, EV: local.EVs[0],
		State: hostapi.EVAssumedBad})
	gone := explicit("p", 2, peer(0))
	hold(t, n, gone)
	heard = nil
	n.becameBad(held, 0)
	is("of a version that is gone", &heard)
	n.Watch(nil)
	n.becameBad(n.profiles["p"], 0)
	is("of the version there is", &heard, hostapi.EVEvent{Profile: "p", EV: gone.EVs[0],
		State: hostapi.EVAssumedBad})
}

// eventsTo is a Reporter that notes events.
type eventNotes struct{ to *[]hostapi.EVEvent }

func eventsTo(to *[]hostapi.EVEvent) eventNotes               { return eventNotes{to} }
func (e eventNotes) EVEvent(v hostapi.EVEvent)                { *e.to = append(*e.to, v) }
func (e eventNotes) PortStatus(_ hostapi.PortMask)            {}
func (e eventNotes) SelfProbeCounts(*hostapi.SelfProbeCounts) {}
func ports(list ...int) (m packet.PortMask) {
	for _, p := range list {
		m = m.With(p)
	}
	return m
}

// TestAnswerPaths: the answer to an endpoint request goes by the profile that serves who asked, by
// the port of the request if it may, else by another one; without a profile the answer takes the
// port by which the packet came, or is not sent.
func TestAnswerPaths(t *testing.T) {
	for _, c := range []struct {
		name  string
		auto  bool
		down  int // port
		asked int
		ports packet.PortMask
		port  int // 0: none
	}{
		{"back", false, 0, 1, ports(1, 2), 1}, {"back by 2", false, 0, 2, ports(1, 2), 2},
		{"by the other one", false, 1, 1, ports(1, 2), 2}, {"not to be used", false, 0, 1, ports(2), 2},
		{"by none", false, 1, 1, ports(1), 0},
		{"auto", true, 0, 2, ports(1, 2), 2}, {"auto, down", true, 2, 2, ports(1, 2), 0},
		{"auto, not to be used", true, 0, 2, ports(1), 0},
	} {
		n := alone(t, 2, nil)
		if !c.auto {
			hold(t, n, explicit("p", 4, peer(0)))
		}
		if c.down > 0 {
			if err := n.SetPort(c.down, false); err != nil {
				t.Fatal(err)
			}
		}
		back := mrc.Path{EV: 77, Port: c.asked}
		path, ok := n.answerPath(0, peer(0), back, c.ports)
		if ok != (c.port > 0) || ok && (path.Port != c.port || (path.EV == 77) != c.auto) {
			t.Errorf("%s: %+v, %v", c.name, path, ok)
		}
	}
}

// TestAnswersOfBadValues: answers keep off values that queue pairs have found bad, in the order of
// the NIC's seed.
func TestAnswersOfBadValues(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(4) {
		n := alone(t, 2, func(c *Config) { c.Seed = seed })
		hold(t, n, explicit("p", 16, peer(0)))
		n.becameBad(n.profiles["p"], 4)
		bad := n.profiles["p"].made.EVs[4].Value
		order := ""
		for range 64 {
			path, ok := n.answerPath(0, peer(0), mrc.Path{Port: 1}, ports(1, 2))
			if !ok || path.EV == bad {
				t.Fatalf("%+v, %v: a value that is bad", path, ok)
			}
			order += string(rune(path.EV >> 16))
		}
		orders[order] = true
	}
	if len(orders) != 4 {
		t.Errorf("%d orders of 4 seeds", len(orders))
	}
}

// TestWaitingForAState: while the NIC waits for its first state, data has no path, unless the queue
// pair has chosen an existing profile; answers have a path.
func TestWaitingForAState(t *testing.T) {
	for _, managed := range []bool{false, true} {
		n := alone(t, 2, func(c *Config) { c.Managed = managed })
		if err := n.ApplyLocal(&hostapi.State{Profiles: []*hostapi.Profile{explicit(LocalName(1),
			2)}}); err != nil {
			t.Fatal(err)
		}
		plain := flowOf(t, n, 100, peer(0), nil, Choice{})
		chosen := flowOf(t, n, 101, peer(0), nil, Choice{EV: LocalName(1)})
		for _, c := range []struct {
			f    *flow
			use  mrc.Use
			want bool
		}{{plain, mrc.UseData, !managed}, {plain, mrc.UseControl, true}, {plain, mrc.UseProbe, true},
			{chosen, mrc.UseData, true}} {
			if p, ok := c.f.Next(0, c.use, ports(1, 2)); ok != c.want || !ok && p != (mrc.Path{}) {
				t.Errorf("managed %v, use %v: %+v, %v", managed, c.use, p, ok)
			}
		}
		if n.Waiting() != managed {
			t.Errorf("waiting: %v", !managed)
		}
		if err := n.Apply(nil); err != nil || n.Waiting() || n.State() == nil {
			t.Errorf("%v; waiting after a first state: %v", err, n.Waiting())
		}
		if _, ok := plain.Next(0, mrc.UseData, ports(1, 2)); !ok {
			t.Error("data has no path after a first state")
		}
	}
}

// TestLongestDestination: the longest prefix with an address decides, in any order; an address of
// another family, or the zero address, has no profile.
func TestLongestDestination(t *testing.T) {
	made := map[string]*profile{}
	for _, s := range []string{"2001:db8::/32", "2001:db8:1::/48", "2001:db8:1::7/128", "::/0"} {
		made[s] = &profile{is: &hostapi.Profile{Destinations: []netip.Prefix{netip.MustParsePrefix(s)}}}
	}
	d := newDestinations(made)
	for a, want := range map[string]string{"2001:db8:1::7": "2001:db8:1::7/128",
		"2001:db8:1::8": "2001:db8:1::/48", "2001:db8:2::7": "2001:db8::/32", "2002::1": "::/0"} {
		if got := d.find(netip.MustParseAddr(a)); got != made[want] {
			t.Errorf("%s: %+v, want %s", a, got, want)
		}
	}
	delete(made, "::/0")
	d = newDestinations(made)
	for _, a := range []string{"2002::1", "10.0.0.1"} {
		if got := d.find(netip.MustParseAddr(a)); got != nil {
			t.Errorf("%s: %+v", a, got)
		}
	}
	if !slices.Equal(d.lengths, []int{128, 48, 32}) {
		t.Errorf("lengths %v", d.lengths)
	}
}
