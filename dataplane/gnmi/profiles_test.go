package gnmi_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// TestProfiles follows the cases of openconfig/featureprofiles that docs/gnmi.md lists as held, by
// their ids.
func TestProfiles(t *testing.T) {
	get := func(b *bed, of gpb.GetRequest_DataType, p *gpb.Path) *gpb.TypedValue {
		b.t.Helper()
		resp, err := b.client.Get(b.ctx, &gpb.GetRequest{Type: of, Encoding: gpb.Encoding_JSON_IETF,
			Path: []*gpb.Path{p}})
		if err != nil {
			b.t.Fatal(err)
		}
		return resp.GetNotification()[0].GetUpdate()[0].GetVal()
	}
	leaf := func(b *bed, below string) string {
		return strings.Trim(string(get(b, gpb.GetRequest_ALL, path("eth1", below)).GetJsonIetfVal()), `"`)
	}
	set := func(b *bed, req *gpb.SetRequest) {
		b.t.Helper()
		if _, err := b.client.Set(b.ctx, req); err != nil {
			b.t.Fatal(err)
		}
	}
	describe := func(b *bed) {
		set(b, &gpb.SetRequest{Update: []*gpb.Update{
			{Path: path("eth1", "config/description"), Val: text("dut:port1")},
			{Path: path("eth2", "config/description"), Val: text("dut:port2")},
		}})
	}
	item := func(name string) *gpb.Path { // the entry of an interface
		p := path(name, "config")
		p.Elem = p.Elem[:2]
		return p
	}

	t.Run("gNMI-1.15 Get and Set", func(t *testing.T) {
		for name, paths := range map[string][]*gpb.Path{
			"RootOp": {{}}, "ContainerOp": {elems("interfaces"), elems("qos"), elems("components"),
				elems("system")}, "ItemOp": {item("eth1"), item("eth2")},
		} {
			b := newBed(t)
			describe(b)
			var all []*gpb.Update
			for _, p := range paths {
				all = append(all, &gpb.Update{Path: p, Val: get(b, gpb.GetRequest_CONFIG, p)})
			}
			before := get(b, gpb.GetRequest_CONFIG, &gpb.Path{}).String()
			set(b, &gpb.SetRequest{Replace: all})
			if after := get(b, gpb.GetRequest_CONFIG, &gpb.Path{}).String(); after != before {
				t.Errorf("%s: the configuration is %s, and was %s", name, after, before)
			}
		}
	})
	t.Run("gNMI-1.15 Delete Interface", func(t *testing.T) {
		for name, req := range map[string]*gpb.SetRequest{
			"RootOp":      {Replace: update(&gpb.Path{}, jsonOf(`{}`))},
			"ContainerOp": {Replace: update(elems("interfaces"), jsonOf(`{}`))},
			"ItemOp":      {Delete: []*gpb.Path{item("eth1"), item("eth2")}},
		} {
			b := newBed(t)
			describe(b)
			set(b, req)
			for _, of := range []string{"eth1", "eth2"} {
				if got := b.config(of); got != `true "" 0` {
					t.Errorf("%s: %s is %s", name, of, got)
				}
			}
		}
	})
	t.Run("gNMI-1.25.1 and 1.26: flaps", func(t *testing.T) {
		b := newBed(t)
		status := b.subscribe(&gpb.SubscriptionList{Subscription: on(gpb.SubscriptionMode_ON_CHANGE,
			path("eth1", "state/oper-status"))})
		b.expect(status, "eth1 state/oper-status UP", "sync")
		before, count := time.Time{}, 0
		for i := range 10 {
			for _, up := range []bool{false, true} {
				if i%2 == 0 {
					set(b, &gpb.SetRequest{Update: update(path("eth1", "config/enabled"), truth(up))})
				} else {
					b.cables[0].SetUp(up)
				}
				b.expect(status, "eth1 state/oper-status "+map[bool]string{true: "UP", false: "DOWN"}[up])
			}
			n, err := strconv.ParseInt(leaf(b, "state/last-change"), 10, 64)
			if err != nil || !time.Unix(0, n).After(before) {
				t.Errorf("flap %d: last change at %d, %v; before that at %v", i, n, err, before)
			}
			before = time.Unix(0, n)
			for _, counter := range []string{"carrier-transitions", "interface-transitions"} {
				if got := leaf(b, "state/counters/"+counter); got != fmt.Sprint(count+2) {
					t.Errorf("flap %d: %s is %s, want %d", i, counter, got, count+2)
				}
			}
			count += 2
		}
	})
	t.Run("gNMI-1.27 1 and 2: samples", func(t *testing.T) {
		b := newBed(t)
		describe(b)
		samples := b.subscribe(&gpb.SubscriptionList{Subscription: []*gpb.Subscription{
			{Path: path("eth1", "state/description"), Mode: gpb.SubscriptionMode_SAMPLE,
				SampleInterval: uint64(100 * time.Millisecond)}}})
		b.expect(samples, "eth1 state/description dut:port1", "sync", "eth1 state/description dut:port1")
		b.cables[0].SetUp(false)
		b.cables[0].SetUp(true)
		set(b, &gpb.SetRequest{Update: update(path("eth1", "config/description"), text("updated"))})
		for last := ""; last != "eth1 state/description updated"; {
			m, err := samples.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if last = tell(m.GetUpdate()); last != "eth1 state/description updated" &&
				last != "eth1 state/description dut:port1" {
				t.Fatalf("a sample is %q", last)
			}
		}
	})
	t.Run("gNMI-2 lists of subscriptions", func(t *testing.T) {
		b := newBed(t)
		counters, states := []string{}, []string{"state/admin-status", "ethernet/state/port-speed",
			"state/id", "state/oper-status"}
		for _, c := range []string{"octets", "discards", "errors"} {
			counters = append(counters, "state/counters/in-"+c, "state/counters/out-"+c)
		}
		for _, modes := range [][2]gpb.SubscriptionMode{
			{gpb.SubscriptionMode_TARGET_DEFINED, gpb.SubscriptionMode_ON_CHANGE},
			{gpb.SubscriptionMode_SAMPLE, gpb.SubscriptionMode_TARGET_DEFINED},
		} {
			list := &gpb.SubscriptionList{}
			for _, c := range counters {
				list.Subscription = append(list.Subscription, &gpb.Subscription{Path: path("eth1", c),
					Mode: modes[0], SampleInterval: uint64(10 * time.Second)})
			}
			for _, s := range states {
				list.Subscription = append(list.Subscription, &gpb.Subscription{Path: path("eth1", s),
					Mode: modes[1]})
			}
			stream, n := b.subscribe(list), 0
			for {
				m, err := stream.Recv()
				if err != nil {
					t.Fatal(err)
				}
				if m.GetSyncResponse() {
					break
				}
				n += len(m.GetUpdate().GetUpdate())
			}
			if n != len(counters)+len(states) {
				t.Errorf("%d values before sync_response, want %d", n, len(counters)+len(states))
			}
		}
	})
}
