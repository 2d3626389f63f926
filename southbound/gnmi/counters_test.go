package gnmi

import (
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// TestCountersOfEmbeddedSwitch checks that the counts of queues and priorities are found where the
// embedded switch has them (docs/gnmi.md), and priorities also where others do.
func TestCountersOfEmbeddedSwitch(t *testing.T) {
	path := func(first string, elems ...*gpb.PathElem) *gpb.Path {
		return &gpb.Path{Elem: append([]*gpb.PathElem{{Name: first}}, elems...)}
	}
	keyed := func(name, key, value string) *gpb.PathElem {
		return &gpb.PathElem{Name: name, Key: map[string]string{key: value}}
	}
	e := func(name string) *gpb.PathElem { return &gpb.PathElem{Name: name} }
	queue := func(leaf string) *gpb.Path {
		return path("qos", e("interfaces"), keyed("interface", "interface-id", "eth1"), e("output"),
			e("queues"), keyed("queue", "name", "3"), e("state"), e(leaf))
	}
	priority := func(leaf string) *gpb.Path {
		return path("interfaces", keyed("interface", "name", "eth1"), e("ethernet"),
			e("priority-flow-control"), e("priorities"), keyed("priority", "id", "5"), e("state"), e(leaf))
	}
	other := func(leaf string) *gpb.Path {
		return path("qos", e("interfaces"), keyed("interface", "interface-id", "eth1"), e("pfc"),
			e("pfc-priorities"), keyed("pfc-priority", "dot1p", "6"), e("state"), e("statistics"), e(leaf))
	}
	n := &gpb.Notification{}
	for i, p := range []*gpb.Path{
		queue("transmit-pkts"), queue("transmit-octets"), queue("dropped-pkts"), queue("dropped-octets"),
		queue("max-queue-len"),
		queue("ecn-marked-pkts"), queue("trim-pkts"), priority("in-pause-frames"),
		priority("out-pause-frames"), other("pause-frames-rx"), other("pause-frames-tx"),
	} {
		n.Update = append(n.Update, &gpb.Update{Path: p, Val: uintVal(uint64(i + 1))})
	}
	c := &counters{sw: "s1", tree: named("openconfig").tree}
	if err := c.take(n, func() { t.Error("complete too early") }); err != nil || c.ignored > 0 {
		t.Fatalf("%v, %d ignored", err, c.ignored)
	}
	samples := c.flush(func(string) uint32 { return 1 }, time.Unix(1, 0))
	if len(samples) != 1 || len(samples[0].Queues) != 1 {
		t.Fatalf("%+v", samples)
	}
	q, pfc := samples[0].Queues[0], samples[0].PFC
	for i, got := range []Count{q.Packets, q.Octets, q.DroppedPackets, q.DroppedOctets, q.Longest,
		q.Marked, q.Trimmed, pfc[5].In, pfc[5].Out, pfc[6].In, pfc[6].Out} {
		if want := (Count{uint64(i + 1), true}); got != want {
			t.Errorf("count %d is %+v, want %+v", i, got, want)
		}
	}
}
