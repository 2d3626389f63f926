package api

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
)

// Thing is a kind of object that a spec may name, as given by the field's tag "names". Every spec
// field that project members write has the tag; "-" marks fields that name nothing.
type Thing string

// The kinds of things.
const (
	ThingHost       Thing = "host"          // a host, by its address
	ThingQueuePair  Thing = "queuePair"     // a queue pair of the host of the same object
	ThingProxy      Thing = "proxy"         // a proxy address
	ThingQPN        Thing = "designatedQpn" // a designated QPN
	ThingSwitch     Thing = "switch"        // the switch of the port of the same object
	ThingPort       Thing = "port"          // a port of the switch of the same object
	ThingPrefix     Thing = "prefix"        // addresses behind the port of the same object
	ThingSlice      Thing = "slice"
	ThingPriority   Thing = "priority"
	ThingRate       Thing = "rate"       // bit/s of the project's bandwidth
	ThingSRv6Policy Thing = "srv6Policy" // an SRv6 policy, by name
	ThingTenant     Thing = "tenant"     // a tenant, by name
)

// Namer is a spec that names things by other means than its fields.
type Namer interface{ Named() []Named }

// Named is a thing that a spec names.
type Named struct {
	// Field is its path, as "spec.sites[1].port".
	Field string
	Kind  Thing
	// Text is a name, or the switch of a port; Address that of a host or proxy, if Text has no name;
	// Number a port, slice, priority, rate or queue pair.
	Text    string
	Address netip.Addr
	Number  uint64
}

// Value returns the thing in the form of the spec.
func (n *Named) Value() string {
	switch n.Kind {
	case ThingHost, ThingProxy:
		if n.Text != "" {
			return n.Text
		}
		return n.Address.String()
	case ThingSRv6Policy, ThingTenant, ThingSwitch, ThingPrefix:
		return n.Text
	}
	return fmt.Sprint(n.Number)
}

// Names returns what a spec names, in the order of its fields.
func Names(spec any) []Named {
	if n, ok := spec.(Namer); ok {
		return n.Named()
	}
	var out []Named
	names("spec", reflect.ValueOf(spec), "", &out)
	return out
}

func names(at string, v reflect.Value, sw string, out *[]Named) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			names(fmt.Sprintf("%s[%d]", at, i), v.Index(i), "", out)
		}
		return
	case reflect.Struct:
	default:
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := at + "." + name
		switch kind := Thing(f.Tag.Get("names")); {
		case kind == "-":
		case kind == "":
			names(path, v.Field(i), "", out)
		case f.Type.Kind() == reflect.Slice:
			for j := range v.Field(i).Len() {
				*out = append(*out, named1(fmt.Sprintf("%s[%d]", path, j), kind, v.Field(i).Index(j), sw))
			}
		default:
			n := named1(path, kind, v.Field(i), sw)
			if kind == ThingSwitch {
				sw = n.Text // the port of the same object follows
			}
			*out = append(*out, n)
		}
	}
}

// named1 is one thing of a field.
func named1(at string, kind Thing, v reflect.Value, sw string) Named {
	n := Named{Field: at, Kind: kind}
	switch x := v.Interface().(type) {
	case string:
		n.Text = x
	case netip.Addr:
		n.Address = x
	case netip.Prefix:
		n.Text = x.String()
	default:
		n.Text, n.Number = sw, v.Uint()
	}
	return n
}
