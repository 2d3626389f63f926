package gnmi

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// TestCountersOfEmbeddedSwitch checks that the reader finds the counts of queues and priorities at
// the paths of the embedded switch (docs/gnmi.md), and priorities also at the paths of other
// switches.
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

// TestSIDs checks that the reader finds the counts of local SIDs in SONiC's COUNTERS_DB, makes no
// sample of a port from these counts, and drops counts that the switch leaves out.
func TestSIDs(t *testing.T) {
	c := &counters{sw: "s1", tree: named("sonic").tree}
	take := func(document string) []SID {
		t.Helper()
		n := &gpb.Notification{Prefix: &gpb.Path{Target: "COUNTERS_DB"}, Update: []*gpb.Update{{
			Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "COUNTERS"}, {Name: "SID:*"}}},
			Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{
				JsonIetfVal: []byte(document)}}}}}
		if err := c.take(n, func() { t.Error("complete too early") }); err != nil {
			t.Fatal(err)
		}
		samples := c.flush(func(iface string) uint32 { return uint32(len(iface)) }, time.Unix(1, 0))
		if len(samples) != 1 || samples[0].Port != 0 || samples[0].Interface != "" {
			t.Fatalf("%+v", samples)
		}
		return samples[0].SIDs
	}
	sid := func(prefix string, packets, octets uint64) SID {
		return SID{netip.MustParsePrefix(prefix), Count{packets, true}, Count{octets, true}}
	}
	const one = `"SID:5f00:0:9::/48": {"SAI_COUNTER_STAT_PACKETS": "1",
		"SAI_COUNTER_STAT_BYTES": "90"}`
	const two = `"SID:5f00:0:4:e001::/64": {"SAI_COUNTER_STAT_PACKETS": "2",
		"SAI_COUNTER_STAT_BYTES": "180"}`
	for _, x := range []struct {
		document string
		want     []SID
	}{
		{"{" + one + "," + two + "}", []SID{sid("5f00:0:4:e001::/64", 2, 180),
			sid("5f00:0:9::/48", 1, 90)}},
		{"{" + one + `, "SID:all": {"SAI_COUNTER_STAT_PACKETS": "7"},
			"SID:10.0.0.0/8": {"SAI_COUNTER_STAT_PACKETS": "7"},
			"Ethernet0": {"SAI_COUNTER_STAT_PACKETS": "7"}}`, []SID{sid("5f00:0:9::/48", 1, 90)}},
	} {
		if got := take(x.document); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", x.document, got, x.want)
		}
	}
}

// TestTooManySIDs checks that a switch that names SIDs without end is given up.
func TestTooManySIDs(t *testing.T) {
	var g gathering
	for i := range maxSIDs {
		if s, err := g.sid(fmt.Sprintf("5f00:0:%x::/48", i)); s == nil || err != nil {
			t.Fatalf("SID %d: %v", i, err)
		}
	}
	if _, err := g.sid("5f00:1::/48"); !errors.Is(err, ErrMalformed) {
		t.Errorf("%v, want ErrMalformed", err)
	}
}
