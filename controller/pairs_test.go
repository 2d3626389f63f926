package controller_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

// TestQueuePairOfOneGroup: a queue pair belongs to one group, in whatever role, until the group has
// left the switches with the queue pair.
func TestQueuePairOfOneGroup(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	first := net.Spec(1, "s1", "r1", "r2", "r3")
	w.put("one", first)
	w.run(time.Second)
	refused := func(name string, s api.MulticastGroupSpec, field string) {
		t.Helper()
		for _, trial := range []*resource.Trial{nil, {}} {
			for _, sees := range []bool{true, false} {
				pre := resource.Precondition{Trial: trial, Sees: func(string) bool { return sees }}
				err := w.core.PutGroupAlone(name, s, pre)
				var refusal *api.Error
				if !errors.As(err, &refusal) || refusal.Code != api.CodeConflict || len(refusal.Fields) != 1 ||
					refusal.Fields[0].Field != field {
					t.Fatalf("%v, want a conflict of %s", err, field)
				}
				if strings.Contains(err.Error(), `"one"`) != sees {
					t.Errorf("who may see the other group: %v; %v", sees, err)
				}
			}
		}
	}
	second := net.Spec(2, "r4", "r5")
	w.put("two", second)
	for _, c := range []struct {
		field string
		edit  func(*api.MulticastGroupSpec)
	}{
		{"spec.receivers[0].qpn", func(s *api.MulticastGroupSpec) {
			s.Receivers[0] = api.GroupReceiver{Address: net.Address("r2"), QPN: first.Receivers[1].QPN}
		}},
		{"spec.receivers[0].qpn", func(s *api.MulticastGroupSpec) { // a source is no receiver either
			s.Receivers[0] = api.GroupReceiver{Address: net.Address("s1"), QPN: first.Source.QPN}
		}},
		{"spec.source.qpn", func(s *api.MulticastGroupSpec) { s.Source = first.Source }},
		{"spec.source.qpn", func(s *api.MulticastGroupSpec) {
			s.Source = api.GroupSource{Address: net.Address("r3"), QPN: first.Receivers[2].QPN}
		}},
	} {
		s := second.Clone()
		c.edit(&s)
		refused("two", s, c.field)
		s.ProxyAddress = net.Spec(3, "r4", "r5").ProxyAddress
		if c.field == "spec.receivers[0].qpn" {
			s.Source.QPN += 0x10
		} else {
			s.Receivers[0].QPN += 0x10
		}
		refused("three", s, c.field)
	}
	// A different queue pair number at the address is free, and so is the number at another address.
	free := net.Spec(3, "s1", "r1", "r4")
	free.Receivers[1].QPN = first.Receivers[0].QPN
	w.put("three", free)
	// A group keeps its own.
	first.CNPLimit++
	w.put("one", first)
	w.run(time.Second)

	// A queue pair that a group gives up is free when the tree of the group has left the switches.
	less := first.Clone()
	less.Receivers = less.Receivers[:2]
	w.put("one", less)
	takes := second.Clone()
	takes.Receivers = append(takes.Receivers, first.Receivers[2])
	refused("two", takes, "spec.receivers[1].qpn")
	w.run(time.Second)
	w.put("two", takes)
	if err := w.core.Groups().Delete("one", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	takes.Receivers = append(takes.Receivers, first.Receivers[1])
	refused("two", takes, "spec.receivers[2].qpn")
	w.run(time.Second)
	w.put("two", takes)
}

// TestRecordsThatShareAQueuePair: the controller loads groups from before the rule. The groups
// report the shared queue pair until one group gives up the queue pair.
func TestRecordsThatShareAQueuePair(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	one, two := net.Spec(1, "s1", "r1"), net.Spec(2, "r4", "r2")
	w.put("one", one)
	w.put("two", two)
	w.run(time.Second)
	r, err := w.store.Get(t.Context(), "groups/two")
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(r.Value, &record); err != nil {
		t.Fatal(err)
	}
	record["spec"].(map[string]any)["receivers"] = []any{map[string]any{
		"address": one.Receivers[0].Address, "qpn": one.Receivers[0].QPN}}
	b, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Apply(t.Context(), []store.Op{{Key: "groups/two", Value: b}}); err != nil {
		t.Fatal(err)
	}
	for name := range w.devices {
		w.session[name]++
	}
	w.boot()
	w.core.SetTopology(net.Topology.Build())
	w.connectAll()
	w.run(time.Second)
	check := func(name, reason, without string) {
		t.Helper()
		c := w.group(name).Status.Conditions.Find(api.Degraded)
		if c == nil || c.Reason != reason || strings.Contains(c.Message, without) {
			t.Errorf("%s: %+v, want %s", name, c, reason)
		}
	}
	check("one", api.ReasonQueuePairShared, "two")
	check("two", api.ReasonQueuePairShared, "one")
	w.put("two", two)
	w.run(time.Second)
	check("one", api.ReasonHealthy, "two")
	check("two", api.ReasonHealthy, "one")
}
