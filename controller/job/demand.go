package job

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/layout"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/internal/hostlist"
)

// Demand follows from the spec of a job and the location of its NICs in the inventory. It does not
// change.
type Demand struct {
	ready.Need
	Follows api.JobFollows
}

// expand returns the names of a list of hosts.
func expand(list string, most int) ([]string, error) { return hostlist.Parse(list, most) }

// rackOf names where a NIC is attached: the switches of its ports, in order.
func rackOf(h *inventory.Host) string {
	name := h.Switch
	for _, at := range h.Planes {
		name += "+" + at.Switch
	}
	return name
}

// newDemand returns the demand of a job with a valid spec. nic returns a host of the inventory, nil
// for a host that is gone.
func newDemand(s *api.JobSpec, nic func(name string) *inventory.Host) (*Demand, error) {
	places, err := s.Places(expand)
	if err != nil {
		return nil, err
	}
	d := &Demand{}
	d.NICs, d.Hosts = make([]string, len(places)), make([]string, len(places))
	d.Rack = make([]int32, len(places))
	racks := make(map[string]int32)
	hosts := make(map[string]int)
	ranks := make([]layout.Rank, len(places))
	for r, p := range places {
		name, at := s.NICOf(p.Host, p.NIC), ""
		if h := nic(name); h != nil {
			at = rackOf(h)
		} else if len(d.Follows.Unattached) < 5 {
			d.Follows.Unattached = append(d.Follows.Unattached, name)
		}
		i, ok := racks[at]
		if !ok {
			i = int32(len(racks))
			racks[at] = i
			d.Racks = append(d.Racks, at)
		}
		n, ok := hosts[p.Host]
		if !ok {
			n = len(hosts)
			hosts[p.Host] = n
		}
		d.NICs[r], d.Hosts[r], d.Rack[r] = name, p.Host, i
		ranks[r] = layout.Rank{Host: n, NIC: p.NIC}
	}
	communicators, err := communicatorsOf(s, len(places))
	if err != nil {
		return nil, err
	}
	t, err := layout.Plan(ranks, communicators)
	if err != nil {
		return nil, err
	}
	d.pair(t, ranks)
	f := &d.Follows
	f.Communicators, f.Racks, f.RackPairs = len(communicators), len(d.Racks), len(d.Pairs)
	for i := range s.Communicators {
		if c := &s.Communicators[i]; c.Multicast != nil {
			f.Communicators++
		}
	}
	d.Hints = make([]hostapi.QPHints, len(places))
	for i, p := range t.Peers() {
		d.Hints[i] = hintsOf(s, p)
		if f.Pairs += p.Send; i == 0 {
			f.SendPeers, f.ReceivePeers = api.JobPeers{Least: p.Send}, api.JobPeers{Least: p.Receive}
		}
		f.SendPeers.Least = min(f.SendPeers.Least, p.Send)
		f.SendPeers.Most = max(f.SendPeers.Most, p.Send)
		f.ReceivePeers.Least = min(f.ReceivePeers.Least, p.Receive)
		f.ReceivePeers.Most = max(f.ReceivePeers.Most, p.Receive)
	}
	return d, nil
}

// hintsOf returns the queue-pair hints for the host of a NIC: empty hints if the NIC talks to no
// NIC.
func hintsOf(s *api.JobSpec, p layout.Peers) (h hostapi.QPHints) {
	if p.Send+p.Receive > 0 {
		h = hostapi.QPHints{QPsPerPeer: uint32(max(1, s.QPsPerPeer)), SendPeers: uint32(p.Send),
			RemotePeers: uint32(p.Receive)}
	}
	return h
}

// communicatorsOf returns the communicators of a job with n ranks whose ranks talk to each other.
func communicatorsOf(s *api.JobSpec, n int) (out []layout.Communicator, err error) {
	if l := s.Layout; l != nil {
		return layout.Communicators(l, n)
	}
	for i := range s.Communicators {
		c := &s.Communicators[i]
		if c.Multicast != nil {
			continue // its groups talk
		}
		members, err := c.Members(n)
		if err != nil {
			return nil, fmt.Errorf("communicator %s: %w", c.Name, err)
		}
		out = append(out, layout.Communicator{
			Name: c.Name, Ranks: members, Pattern: c.Pattern,
		})
	}
	return out, nil
}

// Communicators returns the communicators of a job with n ranks whose ranks talk to each other.
// A communicator from a layout has the dimension's name (tp) without a number.
func Communicators(s *api.JobSpec, n int) ([]layout.Communicator, error) {
	out, err := communicatorsOf(s, n)
	if s.Layout != nil {
		for i := range out {
			out[i].Name = out[i].Name[:strings.LastIndex(out[i].Name, "-")]
		}
	}
	return out, err
}

// checkLayout implements Layout of [api.JobEnv].
func checkLayout(l *api.JobLayout, ranks int) []api.FieldError {
	_, err := layout.Communicators(l, ranks)
	if err == nil {
		return nil
	}
	f := api.FieldError{Field: "spec.layout", Code: api.CodeInvalid, Want: err.Error()}
	errors.As(err, &f)
	return []api.FieldError{f}
}

// pair finds the pairs of racks that talk. The points of traffic are ranks, each having a NIC of
// its own.
func (d *Demand) pair(t *layout.Traffic, ranks []layout.Rank) {
	talk := make(map[[2]int32]bool)
	for _, p := range t.Pairs {
		talk[[2]int32{d.Rack[p.From], d.Rack[p.To]}] = true
	}
	for _, s := range t.Sets {
		from, to := d.racksOf(s.From, ranks), d.racksOf(s.To, ranks)
		for a, host := range from {
			for b, other := range to {
				if host != other || host < 0 { // ranks on one host talk inside of it
					talk[[2]int32{a, b}] = true
				}
			}
		}
	}
	d.Pairs = slices.SortedFunc(maps.Keys(talk), func(x, y [2]int32) int {
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	})
}

// racksOf returns the racks of some points. The value is the host when all points in the rack are
// on one host, else -1.
func (d *Demand) racksOf(points []int32, ranks []layout.Rank) map[int32]int {
	out := make(map[int32]int)
	for _, p := range points {
		host := ranks[p].Host
		if one, ok := out[d.Rack[p]]; ok && one != host {
			host = -1
		}
		out[d.Rack[p]] = host
	}
	return out
}

// named implements [api.Namer]: a job names its NICs, and each NIC is a host of the inventory.
type named []api.Named

// Named implements [api.Namer].
func (n named) Named() []api.Named { return slices.Clone(n) }

// Naming returns what a spec names for projects; a spec that is not valid names nothing.
func Naming(spec any) any {
	s, ok := spec.(api.JobSpec)
	if !ok {
		return spec
	}
	s = s.Complete()
	places, err := s.Places(expand)
	if err != nil {
		return named(nil)
	}
	field := placesField(&s)
	out := make(named, len(places))
	for i, p := range places {
		out[i] = api.Named{Field: field, Kind: api.ThingHost, Text: s.NICOf(p.Host, p.NIC)}
	}
	return out
}

// placesField returns the name of the field with the places of ranks.
func placesField(s *api.JobSpec) string {
	if len(s.Ranks) > 0 {
		return "spec.ranks"
	}
	return "spec.hosts"
}
