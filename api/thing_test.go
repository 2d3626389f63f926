package api

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
)

var things = []Thing{ThingHost, ThingQueuePair, ThingProxy, ThingQPN, ThingSwitch, ThingPort,
	ThingPrefix, ThingSlice, ThingPriority, ThingRate, ThingSRv6Policy, ThingTenant}

// TestEveryFieldIsMarked: each spec field writable by project members carries the tag "names" with
// the named kind, or "-", so no new field can name something unchecked.
func TestEveryFieldIsMarked(t *testing.T) {
	var check func(at string, f reflect.Type)
	check = func(at string, of reflect.Type) {
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			t.Errorf("%s: give it the tag names: the kind of thing that it names, or - if it names nothing",
				at)
			return
		}
		for i := range of.NumField() {
			f := of.Field(i)
			switch kind := f.Tag.Get("names"); {
			case kind == "":
				check(at+"."+f.Name, f.Type)
			case kind != "-" && !slices.Contains(things, Thing(kind)):
				t.Errorf("%s.%s: no thing is a %q", at, f.Name, kind)
			}
		}
	}
	for _, spec := range []any{MulticastGroupSpec{}, TenantSpec{}, PFCPolicySpec{}} {
		check(reflect.TypeOf(spec).Name(), reflect.TypeOf(spec))
	}
}

func TestNamesOfASpec(t *testing.T) {
	a := netip.MustParseAddr("2001:db8::1")
	got := Names(TenantSpec{Slice: 5, Priority: 3, Sites: []TenantSite{{Switch: "R1", Port: 7},
		{Switch: "R2", Port: 8}}, Policies: []string{"x"}})
	want := []Named{
		{Field: "spec.slice", Kind: ThingSlice, Number: 5}, {Field: "spec.priority", Kind: ThingPriority,
			Number: 3}, {Field: "spec.rate", Kind: ThingRate},
		{Field: "spec.sites[0].switch", Kind: ThingSwitch, Text: "R1"},
		{Field: "spec.sites[0].port", Kind: ThingPort, Text: "R1", Number: 7},
		{Field: "spec.sites[1].switch", Kind: ThingSwitch, Text: "R2"},
		{Field: "spec.sites[1].port", Kind: ThingPort, Text: "R2", Number: 8},
		{Field: "spec.policies[0]", Kind: ThingSRv6Policy, Text: "x"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	group := Names(MulticastGroupSpec{ProxyAddress: a, DesignatedQPN: 9,
		Receivers: []GroupReceiver{{Address: a, QPN: 4}}})
	if len(group) != 6 || group[4].Field != "spec.receivers[0].address" || group[4].Address != a ||
		group[5].Number != 4 {
		t.Errorf("%+v", group)
	}
}

func TestProjectOf(t *testing.T) {
	known := func(name string) bool { return slices.Contains([]string{"acme", "acme-x", "b.c"}, name) }
	for name, want := range map[string]string{
		"acme": "acme", "acme-1": "acme", "acme.1.2": "acme", "acme-x": "acme-x", "acme-x-1": "acme-x",
		"acme-xy": "acme", "acmes": "", "acm": "",
		"b.c": "b.c", "b.c-1": "b.c", "b": "", "": "", "-acme": "",
	} {
		if got := ProjectOf(name, known); got != want {
			t.Errorf("%q is of %q, want %q", name, got, want)
		}
	}
}
