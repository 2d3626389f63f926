package agent_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
)

func drain(o *agent.Outbox) []string {
	var out []string
	for m := o.Next(); m != nil; m = o.Next() {
		switch m := m.(type) {
		case *hostapi.EVEvents:
			out = append(out, fmt.Sprintf("events %d dropped %d", len(m.Events), m.Dropped))
		case *hostapi.EVCounts:
			text := "counts"
			for _, c := range m.Counts {
				text += fmt.Sprintf(" %s:%d", c.Profile, c.Sent)
			}
			out = append(out, text)
		case *hostapi.ProbeResult:
			out = append(out, fmt.Sprintf("result %d", m.ID))
		case *hostapi.PortStatus:
			out = append(out, fmt.Sprintf("ports %#x", uint32(m.Up)))
		default:
			out = append(out, fmt.Sprintf("%T", m))
		}
	}
	return out
}

// TestOutbox: the outbox returns messages by priority, split by the controller's limits; an
// overfull outbox drops the oldest entries first and counts the drops.
func TestOutbox(t *testing.T) {
	o := agent.NewOutbox()
	bad := func(profile string) hostapi.EVEvent {
		return hostapi.EVEvent{Profile: profile, EV: hostapi.NewEV(1, 1), State: hostapi.EVAssumedBad}
	}
	for i := range 10_000 {
		o.EVEvent(bad(fmt.Sprint(i)))
	}
	o.EVEvent(hostapi.EVEvent{Profile: "denied", State: hostapi.EVDenied}) // no event
	for i := range 10_000 {
		o.Result(hostapi.ProbeResult{ID: uint32(i)})
	}
	for i := range 100 {
		for _, p := range []string{"a", "b", "c"} {
			o.Count(hostapi.EVCount{Profile: p, Sent: uint64(i)})
		}
	}
	o.Ports(2)
	o.Ports(6)
	if m := o.Next(); m != nil {
		t.Fatalf("%T without a stream", m)
	}
	w := &hostapi.Welcome{MaxEvents: 5000, MaxCounts: 2}
	o.Open(w)
	o.Answer(&hostapi.Refused{}, &hostapi.State{}, false)
	got := drain(o)
	want := []string{"*hostapi.Refused", "ports 0x6", "events 5000 dropped 1808",
		"events 3192 dropped 0", "result 1808"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %s, want %s", i, got[i], want[i])
		}
	}
	if n := len(got); n != 4+8192+2 || got[n-2] != "counts a:99 b:99" || got[n-1] != "counts c:99" {
		t.Errorf("%d messages, the last %v", n, got[n-2:])
	}
	for _, p := range []string{"a", "b"} {
		o.Count(hostapi.EVCount{Profile: p, Sent: 99})
	}
	o.Ports(6)
	if got := drain(o); got != nil {
		t.Errorf("%v, want nothing new", got)
	}
	o.Close()
	o.Open(w)
	o.Count(hostapi.EVCount{Profile: "a", Sent: 99})
	if got := fmt.Sprint(drain(o)); got != "[ports 0x6 counts a:99]" {
		t.Errorf("on a new stream %v", got)
	}
	// A snapshot: the controller may have forgotten the bad EVs of the host.
	state := &hostapi.State{Profiles: []*hostapi.Profile{{Name: "7", Events: true,
		Mode: hostapi.ModeExplicit, EVs: []hostapi.EV{hostapi.NewEV(1, 1)}}}}
	o.Answer(&hostapi.Applied{}, state, true)
	if got := fmt.Sprint(drain(o)); got != "[*hostapi.Applied events 1 dropped 0]" {
		t.Errorf("after a snapshot %v", got)
	}
	o.EVEvent(hostapi.EVEvent{Profile: "7", EV: hostapi.NewEV(1, 1), State: hostapi.EVGood})
	o.Answer(&hostapi.Applied{}, state, true)
	// GOOD, and nothing is bad
	if got := fmt.Sprint(drain(o)); got != "[*hostapi.Applied events 1 dropped 0]" {
		t.Errorf("after it is good %v", got)
	}
}

// TestQueuePairs: the outbox reports queue pairs after a change, if the controller wants reports,
// and reports only the largest groups beyond the limit.
func TestQueuePairs(t *testing.T) {
	o := agent.NewOutbox()
	group := func(peer string, n int) hostapi.QueuePairGroup {
		return hostapi.QueuePairGroup{Count: n,
			QueuePairKey: hostapi.QueuePairKey{Peer: netip.MustParseAddr(peer)}}
	}
	is := func(groups ...hostapi.QueuePairGroup) { o.QueuePairs(hostapi.QueuePairs{Groups: groups}) }
	a, b, c := group("2001:db8::1", 1), group("2001:db8::2", 5), group("2001:db8::3", 3)
	is(b, a)
	o.Open(&hostapi.Welcome{MaxEvents: 1, MaxCounts: 1})
	if m := o.Next(); m != nil {
		t.Errorf("%+v for a controller that takes none", m)
	}
	o.Close()
	o.Open(&hostapi.Welcome{MaxEvents: 1, MaxCounts: 1, MaxGroups: 2})
	next := func(want ...hostapi.QueuePairGroup) *hostapi.QueuePairs {
		t.Helper()
		m, _ := o.Next().(*hostapi.QueuePairs)
		if m == nil || !slices.Equal(m.Groups, want) {
			t.Fatalf("%+v, want %v", m, want)
		}
		return m
	}
	next(a, b)
	is(a, b)
	if m := o.Next(); m != nil {
		t.Errorf("%+v, which is no news", m)
	}
	is(a, b, c)
	if m := next(b, c); m.LeftOut != 1 {
		t.Errorf("%d left out", m.LeftOut)
	}
	is(a, b)
	next(a, b)
	// The controller of a new stream may know nothing, and assumes no queue pairs.
	for range 2 {
		o.Close()
		o.Open(&hostapi.Welcome{MaxEvents: 1, MaxCounts: 1, MaxGroups: 2})
		next(a, b)
	}
	is()
	next()
	o.Close()
	o.Open(&hostapi.Welcome{MaxEvents: 1, MaxCounts: 1, MaxGroups: 2})
	if m := o.Next(); m != nil {
		t.Errorf("%+v on a new stream, without queue pairs", m)
	}
}

// TestClosedOutbox: without a stream nothing is sent, and the answer to an update of the stream
// before is no answer to the next one.
func TestClosedOutbox(t *testing.T) {
	o := agent.NewOutbox()
	w := &hostapi.Welcome{MaxEvents: 8, MaxCounts: 8, MaxGroups: 8}
	o.Open(w)
	o.Result(hostapi.ProbeResult{ID: 7})
	o.Answer(&hostapi.Refused{Version: hostapi.Version{Epoch: 1, Number: 1}}, nil, false)
	o.Close()
	if m := o.Next(); m != nil {
		t.Errorf("%T without a stream", m)
	}
	o.Open(w)
	if m, ok := o.Next().(*hostapi.ProbeResult); !ok || m.ID != 7 || o.Next() != nil {
		t.Errorf("%+v, want the result alone", m)
	}
}

// TestBadOnesAfterASnapshot: after a snapshot the outbox reports the bad EVs to the controller
// again, sorted by profile and EV. The outbox reports only EVs in a profile with events and not
// denied, and forgets other EVs after any applied update.
func TestBadOnesAfterASnapshot(t *testing.T) {
	ev := func(n int) hostapi.EV { return hostapi.NewEV(uint32(n)<<16, 1) }
	with := func(name string, events bool, denied ...hostapi.EV) *hostapi.Profile {
		p := &hostapi.Profile{Name: name, Events: events, Mode: hostapi.ModeExplicit,
			EVs: []hostapi.EV{ev(1), ev(2), ev(3)}}
		return p.WithDenied(denied)
	}
	all := &hostapi.State{Profiles: []*hostapi.Profile{with("a", true), with("b", true),
		with("c", true)}}
	some := &hostapi.State{Profiles: []*hostapi.Profile{with("a", true, ev(2)), with("b", false)}}
	said := func(o *agent.Outbox) (list []string) {
		for m := o.Next(); m != nil; m = o.Next() {
			if e, ok := m.(*hostapi.EVEvents); ok {
				for _, e := range e.Events {
					list = append(list, fmt.Sprint(e.Profile, e.EV.Value[1]))
				}
			}
		}
		return list
	}
	for _, c := range []struct {
		name     string
		answer   hostapi.Up
		state    *hostapi.State
		snapshot bool
		now      []string // what is told
		then     []string // what is told after a snapshot of all
	}{
		{"a snapshot of all", &hostapi.Applied{}, all, true, []string{"a1", "a2", "a3", "b1", "c1"},
			[]string{"a1", "a2", "a3", "b1", "c1"}},
		{"a snapshot of some", &hostapi.Applied{}, some, true, []string{"a1", "a3"},
			[]string{"a1", "a3"}},
		{"an update", &hostapi.Applied{}, some, false, nil, []string{"a1", "a3"}},
		{"a refusal", &hostapi.Refused{}, some, true, nil, []string{"a1", "a2", "a3", "b1", "c1"}},
	} {
		o := agent.NewOutbox()
		o.Open(&hostapi.Welcome{MaxEvents: 100, MaxCounts: 1})
		for _, k := range []struct {
			profile string
			n       int
		}{{"c", 1}, {"a", 3}, {"b", 1}, {"a", 1}, {"a", 2}, {"a", 9}} {
			o.EVEvent(hostapi.EVEvent{Profile: k.profile, EV: ev(k.n), State: hostapi.EVAssumedBad})
		}
		said(o)
		o.Answer(c.answer, c.state, c.snapshot)
		if got := said(o); !slices.Equal(got, c.now) {
			t.Errorf("%s: told of %v, want %v", c.name, got, c.now)
		}
		o.Answer(&hostapi.Applied{}, all, true)
		if got := said(o); !slices.Equal(got, c.then) {
			t.Errorf("%s, then all: told of %v, want %v", c.name, got, c.then)
		}
	}
}

// TestOutboxPortErrors: the outbox reports the counters of ports after a change, and on a new
// stream; to a controller that does not know them never, and of too many the first ones and the
// number of the others.
func TestOutboxPortErrors(t *testing.T) {
	o := agent.NewOutbox()
	errors := []hostapi.PortError{{Port: 1, Source: "eth0", Counter: "rx_errors", Count: 1},
		{Port: 2, Source: "eth1", Counter: "rx_errors", Count: 2}}
	is := func(what string, want, leftOut int) {
		t.Helper()
		m, ok := o.Next().(*hostapi.PortErrors)
		if ok != (want >= 0) || ok && (!slices.Equal(m.Errors, errors[:want]) ||
			m.LeftOut != leftOut) || o.Next() != nil {
			t.Errorf("%s: %+v, want %d of %v, and %d left out", what, m, want, errors, leftOut)
		}
	}
	none := -1
	o.PortErrors(hostapi.PortErrors{Errors: errors})
	o.Open(&hostapi.Welcome{MaxEvents: 9, MaxCounts: 9})
	is("an old controller", none, 0)
	o.Open(&hostapi.Welcome{MaxEvents: 9, MaxCounts: 9, MaxPortErrors: 1})
	is("one at a time", 1, 1)
	o.Open(&hostapi.Welcome{MaxEvents: 9, MaxCounts: 9, MaxPortErrors: 9})
	is("a new stream", 2, 0)
	o.PortErrors(hostapi.PortErrors{Errors: slices.Clone(errors)})
	is("the same", none, 0)
	errors[1].Count++
	o.PortErrors(hostapi.PortErrors{Errors: errors})
	is("one more", 2, 0)
	o.PortErrors(hostapi.PortErrors{Errors: errors, LeftOut: 3})
	is("a relay that left out three", 2, 3)
	o.PortErrors(hostapi.PortErrors{})
	is("none any more", 0, 0)
}

// TestOutboxNews: the outbox reports counters, ports and queue pairs at first and after a change;
// after a profile returns, the outbox reports its counters again.
func TestOutboxNews(t *testing.T) {
	o := agent.NewOutbox()
	w := &hostapi.Welcome{MaxEvents: 9, MaxCounts: 9, MaxGroups: 9}
	o.Open(w)
	is := func(what string, want ...string) {
		t.Helper()
		if got := drain(o); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	o.Ports(0)
	is("no port", "ports 0x0")
	o.Ports(0)
	is("no port still")
	o.Ports(4)
	is("a port", "ports 0x4")
	count := func(n uint64) { o.Count(hostapi.EVCount{Profile: "a", Sent: n}) }
	count(1)
	is("a count", "counts a:1")
	count(1)
	is("the same")
	count(2)
	is("another", "counts a:2")
	o.Answer(&hostapi.Applied{}, &hostapi.State{Profiles: []*hostapi.Profile{{Name: "a"}}}, false)
	count(2)
	is("of a profile that stays", "*hostapi.Applied")
	o.Answer(&hostapi.Applied{}, &hostapi.State{}, false)
	count(2)
	is("of a profile that went", "*hostapi.Applied", "counts a:2")
	o.Dropped(3)
	o.Dropped(4)
	is("events that the device lost", "events 0 dropped 7")
	q := hostapi.QueuePairs{Groups: []hostapi.QueuePairGroup{{Count: 1}}}
	o.QueuePairs(q)
	is("a queue pair", "*hostapi.QueuePairs")
	o.QueuePairs(q)
	is("the same queue pair")
	q.LeftOut = 1
	o.QueuePairs(q)
	is("one left out", "*hostapi.QueuePairs")
	o.Close()
	o.Open(w)
	is("on a new stream", "ports 0x4", "*hostapi.QueuePairs")
}

// TestOutboxIsBounded: a full outbox drops the oldest event or result for each new entry, and
// counts the drops.
func TestOutboxIsBounded(t *testing.T) {
	o := agent.NewOutbox()
	for i := range 8192 + 3 {
		o.Result(hostapi.ProbeResult{ID: uint32(i)})
		o.EVEvent(hostapi.EVEvent{Profile: "p", EV: hostapi.NewEV(uint32(i)<<8, 1),
			State: hostapi.EVAssumedBad})
	}
	if events, results := o.Lost(); events != 3 || results != 3 {
		t.Errorf("%d events and %d results lost", events, results)
	}
	o.Open(&hostapi.Welcome{MaxEvents: 1 << 20, MaxCounts: 1})
	m, ok := o.Next().(*hostapi.EVEvents)
	if !ok || len(m.Events) != 8192 || m.Dropped != 3 || m.Events[0].EV != hostapi.NewEV(3<<8, 1) {
		t.Errorf("%d events, %d dropped", len(m.Events), m.Dropped)
	}
	for i := range 8192 {
		if r, ok := o.Next().(*hostapi.ProbeResult); !ok || r.ID != uint32(i+3) {
			t.Fatalf("result %d: %+v", i, r)
		}
	}
	if m := o.Next(); m != nil {
		t.Errorf("%+v behind the last", m)
	}
}
