package agent_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/endpoint/agent"
	"github.com/weft-sdn/weft/hostapi"
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

// TestOutbox: what a host has to say comes out in the order of its worth, cut to the controller's
// limits; what it has too much of goes, oldest first, and is counted.
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
	// A snapshot: the controller may have forgotten what is bad, of what the host holds.
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

// TestQueuePairs: a controller hears which queue pairs there are when that has changed, if it wants
// to, and of the largest groups where there are too many.
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
	// A new stream is of a controller that may know nothing, and none at all is what it assumes.
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
