package southbound

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// interfaces are those of a switch, as the notifications of a gNMI subscription
// say (openconfig-interfaces).
type interfaces struct {
	byName map[string]*iface
	// ignored counts updates that say nothing of use.
	ignored uint64
}

// iface is one interface. Numbers are 0 when unknown.
type iface struct {
	id      uint32 // state/id of openconfig-p4rt: the P4Runtime port
	ifindex uint32 // state/ifindex: the P4Runtime port, with Stratum
	oper    operStatus
}

// operStatus is what becomes of packets at an interface.
type operStatus uint8

const (
	operUnknown operStatus = iota // the switch does not know, or has not said
	operUp
	operDown
)

// operStatuses are the values of state/oper-status. All but UP pass no packets.
var operStatuses = map[string]operStatus{
	"UP": operUp, "UNKNOWN": operUnknown,
	"DOWN": operDown, "TESTING": operDown, "DORMANT": operDown, "NOT_PRESENT": operDown, "LOWER_LAYER_DOWN": operDown,
}

// Bounds of what is kept of a switch: more of it is an error.
const (
	maxInterfaces    = 4096
	maxInterfaceName = 255
)

// The leaves that are subscribed to, below /interfaces/interface[name=*]/state.
const (
	leafOper    = "oper-status"
	leafID      = "id"
	leafIfindex = "ifindex"
)

// portStateRequest asks for the states of all ports, and every change.
func portStateRequest() *gpb.SubscribeRequest {
	list := &gpb.SubscriptionList{Mode: gpb.SubscriptionList_STREAM, Encoding: gpb.Encoding_PROTO}
	for _, leaf := range []string{leafID, leafIfindex, leafOper} {
		list.Subscription = append(list.Subscription, &gpb.Subscription{
			Mode: gpb.SubscriptionMode_ON_CHANGE,
			Path: &gpb.Path{Elem: []*gpb.PathElem{
				{Name: "interfaces"}, {Name: "interface", Key: map[string]string{"name": "*"}}, {Name: "state"}, {Name: leaf},
			}},
		})
	}
	return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}
}

// take takes what a notification says, deletions first (gNMI, section 2.1). What
// it does not know it ignores.
func (x *interfaces) take(n *gpb.Notification) error {
	for _, path := range n.GetDelete() {
		x.forget(placeOf(n.GetPrefix(), path))
	}
	for _, u := range n.GetUpdate() {
		at := placeOf(n.GetPrefix(), u.GetPath())
		if at.name == "" || at.name == "*" || len(at.below) != 2 || at.below[0] != "state" {
			x.ignored++
			continue
		}
		if len(at.name) > maxInterfaceName {
			return fmt.Errorf("%w: name of an interface of %d octets; want at most %d", ErrMalformed, len(at.name), maxInterfaceName)
		}
		i := x.byName[at.name]
		if i == nil {
			if len(x.byName) == maxInterfaces {
				return fmt.Errorf("%w: more than %d interfaces", ErrMalformed, maxInterfaces)
			}
			if x.byName == nil {
				x.byName = make(map[string]*iface)
			}
			i = &iface{}
			x.byName[at.name] = i
		}
		if !i.set(at.below[1], u.GetVal()) {
			x.ignored++
		}
	}
	return nil
}

// set takes the value of a leaf, and reports whether it could.
func (i *iface) set(leaf string, v *gpb.TypedValue) (ok bool) {
	text := scalar(v)
	number := func(to *uint32) bool {
		n, err := strconv.ParseUint(text, 10, 32)
		*to = uint32(n)
		if err != nil {
			*to = 0
		}
		return err == nil
	}
	switch leaf {
	case leafOper:
		i.oper, ok = operStatuses[text[strings.LastIndexByte(text, ':')+1:]]
		return ok
	case leafID:
		return number(&i.id)
	case leafIfindex:
		return number(&i.ifindex)
	}
	return false
}

// ports are the ports of which the switch reports whether they are up. An interface
// without a number is none; a port of several interfaces is up if one of them is.
func (x *interfaces) ports() map[uint32]bool {
	out := make(map[uint32]bool, len(x.byName))
	for _, i := range x.byName {
		port := i.id
		if port == 0 {
			port = i.ifindex
		}
		if port != 0 && i.oper != operUnknown {
			out[port] = out[port] || i.oper == operUp
		}
	}
	return out
}

// forget takes back what is at a place, and below.
func (x *interfaces) forget(at place) {
	switch {
	case at.foreign:
		x.ignored++
	case at.name == "" || at.name == "*":
		for name := range x.byName {
			x.forgetOf(name, at.below)
		}
	default:
		x.forgetOf(at.name, at.below)
	}
}

func (x *interfaces) forgetOf(name string, below []string) {
	i := x.byName[name]
	switch {
	case i == nil || len(below) > 0 && below[0] != "state":
	case len(below) < 2:
		delete(x.byName, name)
	case below[1] == leafOper:
		i.oper = operUnknown
	case below[1] == leafID:
		i.id = 0
	case below[1] == leafIfindex:
		i.ifindex = 0
	}
}

// A place is where a path leads in the tree of interfaces.
type place struct {
	foreign bool     // elsewhere
	name    string   // of the interface; "": all of them
	below   []string // the elements below the interface
}

func placeOf(prefix, path *gpb.Path) (at place) {
	elems := slices.Concat(prefix.GetElem(), path.GetElem())
	for i, want := range []string{"interfaces", "interface"} {
		if i < len(elems) && local(elems[i].GetName()) != want {
			return place{foreign: true}
		}
	}
	if len(elems) < 2 {
		return at
	}
	at.name = elems[1].GetKey()["name"]
	for _, e := range elems[2:] {
		at.below = append(at.below, local(e.GetName()))
	}
	return at
}

// local is a name without that of its module.
func local(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// scalar is a value as text, "" for one that is none.
func scalar(v *gpb.TypedValue) string {
	quoted := func(b []byte) string {
		var s string
		if json.Unmarshal(b, &s) == nil {
			return s
		}
		return string(b) // a number
	}
	switch v := v.GetValue().(type) {
	case *gpb.TypedValue_StringVal:
		return v.StringVal
	case *gpb.TypedValue_AsciiVal:
		return v.AsciiVal
	case *gpb.TypedValue_UintVal:
		return strconv.FormatUint(v.UintVal, 10)
	case *gpb.TypedValue_IntVal:
		return strconv.FormatInt(v.IntVal, 10)
	case *gpb.TypedValue_JsonVal:
		return quoted(v.JsonVal)
	case *gpb.TypedValue_JsonIetfVal:
		return quoted(v.JsonIetfVal)
	}
	return ""
}
