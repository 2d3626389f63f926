package gnmi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/weft-sdn/weft/internal/natural"
)

// Interface describes a port of a switch, as reported by gNMI.
type Interface struct {
	// Name is the name that the switch gives the interface.
	Name string
	// Port is the P4Runtime port: state/id of openconfig-p4rt, or config/id, or the ifindex where the
	// switch has neither. 0: unknown.
	Port uint32
	// Ifindex is 0 when unknown.
	Ifindex uint32
	Oper    OperStatus
	// MAC is the Ethernet address as the switch writes it, "" when unknown.
	MAC string
	// Speed is the present one, in bit/s; 0 when unknown.
	Speed uint64
	// Config is the configuration that the switch reports.
	Config Settings

	id, configID uint32
}

// OperStatus is the operational state of an interface.
type OperStatus uint8

// The states of an interface.
const (
	OperUnknown OperStatus = iota // the switch does not know, or has not said
	OperUp
	OperDown
)

// operStatuses are the values of state/oper-status (openconfig-interfaces). All but UP pass no
// packets.
var operStatuses = map[string]OperStatus{
	"UP": OperUp, "UNKNOWN": OperUnknown,
	"DOWN": OperDown, "TESTING": OperDown, "DORMANT": OperDown, "NOT_PRESENT": OperDown,
	"LOWER_LAYER_DOWN": OperDown,
}

// Bounds of the state kept for a switch: an excess is an error.
const (
	maxInterfaces    = 4096
	maxInterfaceName = 255
)

// interfaces holds the interfaces of a switch, as reported by the notifications of a subscription.
type interfaces struct {
	tree   *node
	byName map[string]*Interface
	// ignored counts updates that say nothing of use.
	ignored uint64
	// wasUp holds the interfaces that were up in the last report; dipped holds the interfaces in wasUp
	// that went down since and are up again.
	wasUp, dipped map[string]bool
}

// take takes what a notification says, deletions first (gNMI, section 2.1).
func (x *interfaces) take(n *gpb.Notification) error {
	for _, path := range n.GetDelete() {
		x.forget(n.GetPrefix(), path)
	}
	for _, u := range n.GetUpdate() {
		var failed error
		found := false
		w := walk{take: func(l leaf, v vars, text string) {
			set := stateLeaves[l]
			if set == nil || failed != nil || text == "" && l != leafConfigDescription {
				return
			}
			var i *Interface
			if i, failed = x.at(v.iface); failed != nil {
				return
			}
			was := i.Oper
			found = set(i, text) || found
			if was == OperDown && i.Oper == OperUp && x.wasUp[i.Name] {
				x.dipped[i.Name] = true
			}
		}}
		w.update(x.tree, n.GetPrefix(), u)
		if failed != nil {
			return failed
		}
		if !found {
			x.ignored++
		}
	}
	return nil
}

// at returns the interface of a name.
func (x *interfaces) at(name string) (*Interface, error) {
	if i := x.byName[name]; i != nil {
		return i, nil
	}
	if len(name) > maxInterfaceName {
		return nil, fmt.Errorf("%w: name of an interface of %d octets; want at most %d", ErrMalformed,
			len(name), maxInterfaceName)
	}
	if len(x.byName) == maxInterfaces {
		return nil, fmt.Errorf("%w: more than %d interfaces", ErrMalformed, maxInterfaces)
	}
	if x.byName == nil {
		x.byName = make(map[string]*Interface)
	}
	i := &Interface{Name: name}
	x.byName[name] = i
	return i, nil
}

// forget takes back what is at a path, and below.
func (x *interfaces) forget(prefix, path *gpb.Path) {
	at, v, ok := find(x.tree, prefix, path)
	if !ok {
		x.ignored++
		return
	}
	names := []string{v.iface}
	if v.iface == "" {
		names = slices.Collect(maps.Keys(x.byName))
	}
	leaves := at.below(nil)
	for _, name := range names {
		i := x.byName[name]
		if i == nil {
			continue
		}
		for _, l := range leaves {
			if set := stateLeaves[l]; set != nil {
				set(i, "")
			}
		}
		if i.Config.Description != nil && slices.Contains(leaves, leafConfigDescription) {
			i.Config.Description = nil
		}
		if i.empty() {
			delete(x.byName, name)
		}
	}
}

// empty reports whether nothing is known of an interface that decides anything.
func (i *Interface) empty() bool { return i.port() == 0 && i.Oper == OperUnknown }

// report returns the interfaces by name. An interface that went down and came back since the last
// report appears as down; again is then true, and the next report shows the interface as up.
func (x *interfaces) report() (list []Interface, again bool) {
	list = x.all()
	dipped := x.dipped
	x.wasUp, x.dipped = make(map[string]bool, len(list)), make(map[string]bool)
	for i := range list {
		if list[i].Oper == OperUp && dipped[list[i].Name] {
			list[i].Oper, again = OperDown, true
		}
		x.wasUp[list[i].Name] = list[i].Oper == OperUp
	}
	return list, again
}

// all returns the interfaces by name.
func (x *interfaces) all() []Interface {
	out := make([]Interface, 0, len(x.byName))
	for _, i := range x.byName {
		n := *i
		n.Port = i.port()
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b Interface) int { return natural.Compare(a.Name, b.Name) })
	return out
}

// port returns the P4Runtime port, 0 when it is unknown.
func (i *Interface) port() uint32 {
	return cmp.Or(i.id, i.configID, i.Ifindex)
}

// Up returns the ports with a known state and whether they are up; nil: nothing is known. An
// interface without a number is no port; a port with several interfaces is up if any of them is up.
func (s *State) Up() map[uint32]bool {
	if s.Interfaces == nil {
		return nil
	}
	out := make(map[uint32]bool, len(s.Interfaces))
	for i := range s.Interfaces {
		if x := &s.Interfaces[i]; x.Port != 0 && x.Oper != OperUnknown {
			out[x.Port] = out[x.Port] || x.Oper == OperUp
		}
	}
	return out
}
