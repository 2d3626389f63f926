package port

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/damping"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/topology"
)

// Ports returns the ports: those that switches report, and those with a spec.
func (f *Feature) Ports() resource.Resources[api.PortSpec, api.Port] { return ports{f} }

// ports implements resource.Resources.
type ports struct{ *Feature }

// List implements resource.Resources.
func (f ports) List() []api.Port { return f.list(false) }

// Wanted returns the ports that have a spec.
func (f *Feature) Wanted() []api.Port { return ports{f}.list(true) }

func (f ports) list(wanted bool) []api.Port {
	names := make(map[string]bool)
	if !wanted {
		for sw, s := range f.switches {
			for port := range s.byPort {
				names[name(sw, port)] = true
			}
		}
	}
	for _, i := range f.resources.All() {
		names[i.Name] = true
	}
	links := f.links("")
	out := make([]api.Port, 0, len(names))
	for n := range names {
		out = append(out, f.view(n, links))
	}
	slices.SortFunc(out, func(a, b api.Port) int {
		return cmp.Or(natural.Compare(a.Status.Switch, b.Status.Switch),
			cmp.Compare(a.Status.Port, b.Status.Port))
	})
	return out
}

// Get implements resource.Resources.
func (f ports) Get(n string) (api.Port, error) {
	sw, port, err := f.exists(n)
	if err != nil {
		return api.Port{}, err
	}
	if s := f.switches[sw]; f.resources.Get(n) == nil && (s == nil || s.byPort[port] == nil) {
		return api.Port{}, resource.NotFound(fmt.Sprintf("port %d of switch %s: the switch reports "+
			"none, and it has no spec", port, sw))
	}
	return f.view(n, f.links(sw)), nil
}

// exists reads a name, whose switch must be one that the controller programs.
func (f ports) exists(n string) (sw string, port uint32, err error) {
	if sw, port, err = ParseName(n); err != nil {
		return "", 0, err
	}
	if !f.env.Switches.Exists(sw) {
		return "", 0, &api.Error{Code: api.CodeNotFound,
			Message: fmt.Sprintf("there is no switch %q that the controller programs", sw)}
	}
	return sw, port, nil
}

// Put implements resource.Resources. It creates nothing: a port is there whether or not anybody has
// written it.
func (f ports) Put(n string, spec api.PortSpec, pre resource.Precondition) (api.Port, bool, error) {
	sw, _, err := f.exists(n)
	if err != nil {
		return api.Port{}, false, err
	}
	item, err := resource.Check(f.resources, n, pre)
	if err != nil {
		return api.Port{}, false, err
	}
	if err := spec.Validate(gnmi.Speeds()); err != nil {
		return api.Port{}, false, err
	}
	if item == nil || !item.Spec.Equal(&spec) {
		f.resources.Put(n, spec, f.env.Wall())
		i := f.intent(n)
		// A new spec is written at once, and what the switch refused is tried again.
		i.settled, i.earliest, i.backoff, i.task = false, 0, damping.Backoff{}, 0
		clear(i.refused)
		f.moved = true // it may be disabled, or no longer
		f.settle(i)
	}
	f.env.Settle(Kind.Record, n, spec)
	return f.view(n, f.links(sw)), false, nil
}

// Delete implements resource.Resources: the switch keeps the settings that it has.
func (f ports) Delete(n string, pre resource.Precondition) error {
	if _, _, err := f.exists(n); err != nil {
		return err
	}
	if _, err := resource.CheckDelete(f.resources, n, pre); err != nil {
		return err
	}
	f.resources.Delete(n)
	delete(f.intents, n)
	f.moved = true
	f.env.Settle(Kind.Record, n, nil)
	return nil
}

// end is the end of a link at a switch.
type end struct {
	sw   string
	port uint32
}

// links returns the links that begin at the ports of a switch; "": of all.
func (f *Feature) links(sw string) map[end]topology.LinkID {
	out := make(map[end]topology.LinkID)
	add := func(name string, l *topology.Link) {
		if s := f.env.Net.Switch(name); s != nil {
			out[end{name, s.Port(l.LocalID, l.LocalPort)}] = l.ID
		}
	}
	if sw != "" {
		if node := f.env.Net.Node(sw); node != nil {
			for _, l := range f.env.Net.Snapshot.LinksFrom(node.ID) {
				add(sw, l)
			}
		}
		return out
	}
	for _, l := range f.env.Net.Snapshot.Links {
		if name, ok := f.env.Net.SwitchOf(l.Local); ok {
			add(name, l)
		}
	}
	return out
}

// view returns a port as clients see it.
func (f *Feature) view(n string, links map[end]topology.LinkID) api.Port {
	sw, port := split(n)
	v := api.Port{Name: n, Status: api.PortStatus{Switch: sw, Port: port, Link: links[end{sw, port}]}}
	if item := f.resources.Get(n); item != nil {
		v.Version, v.Changed, v.Spec = item.Version, item.Changed, item.Spec
		i := f.intent(n)
		v.Status.Conditions, v.Status.Drift = slices.Clone(i.conditions), i.drift
	}
	s := f.switches[sw]
	if s == nil {
		return v
	}
	if up, known := s.Up[port]; known {
		v.Status.Oper = map[bool]string{true: "up", false: "down"}[up]
	}
	if x := s.byPort[port]; x != nil {
		v.Status.Interface, v.Status.Ifindex, v.Status.MAC, v.Status.Speed = x.Name, x.Ifindex, x.MAC,
			x.Speed
		v.Status.Config = api.PortSpec{Enabled: x.Config.Enabled, Speed: x.Config.Speed,
			MTU: x.Config.MTU, Description: x.Config.Description}
	}
	if fail := s.failed[port]; fail != nil {
		v.Status.Damping = &api.PortDamping{Out: fail.out, Failures: fail.Failures(), Flaps: fail.flaps}
		if fail.out && !fail.down {
			v.Status.Damping.Until = f.env.Start.Add(fail.until).UTC()
		}
	}
	return v
}

// split returns the parts of the name of a port.
func split(n string) (sw string, port uint32) {
	sw, number, _ := strings.Cut(n, "/")
	p, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return sw, 0
	}
	return sw, uint32(p)
}
