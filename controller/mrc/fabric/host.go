package fabric

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// A Host is an end system and where it is attached.
type Host struct {
	// Name is unique, and what the host calls itself.
	Name string
	// Address is the address of the host's queue pairs in all planes.
	Address netip.Addr
	// Prefixes are further prefixes of the host.
	Prefixes []netip.Prefix
	// At are its leaves by port.
	At ev.Attachment
	// LeafPorts are the leaves' ports towards it, by port; 0 or missing: unknown.
	LeafPorts []uint32
	// Rack is the name of this attachment in profile names, taken from the first host with the
	// attachment; empty: the name of its first leaf.
	Rack string
}

// Same reports whether two hosts have equal addresses, prefixes, racks and attachments.
func (h *Host) Same(o *Host) bool {
	return h.Address == o.Address && h.Rack == o.Rack && slices.Equal(h.At, o.At) &&
		slices.Equal(h.LeafPorts, o.LeafPorts) && slices.Equal(h.Prefixes, o.Prefixes)
}

// validate checks what a host says of itself.
func (h *Host) validate() error {
	attached := h.At.Ports()
	switch {
	case h.Name == "" || len(h.Name) > hostapi.MaxName:
		return fmt.Errorf("name: %.40q, want 1 to %d octets: %w", h.Name, hostapi.MaxName,
			ErrMalformed)
	case !h.Address.IsValid() || h.Address.Is4In6() || h.Address.Zone() != "":
		return fmt.Errorf("host %s: address: %v, want an IPv6 or IPv4 address: %w", h.Name, h.Address,
			ErrMalformed)
	case attached == 0 || len(h.At) > hostapi.MaxPort:
		return fmt.Errorf("host %s: at: %d of %d ports attached, want 1 to %d: %w", h.Name, attached,
			len(h.At), hostapi.MaxPort, ErrMalformed)
	case len(h.LeafPorts) > len(h.At):
		return fmt.Errorf("host %s: leafPorts: %d, want at most %d, its ports: %w", h.Name,
			len(h.LeafPorts), len(h.At), ErrMalformed)
	}
	for _, p := range h.Prefixes {
		if !p.IsValid() || p.Addr().Is4In6() || p.Masked() != p {
			return fmt.Errorf("host %s: prefixes: %v, want IPv6 or IPv4 prefixes without bits beyond "+
				"their length: %w", h.Name, p, ErrMalformed)
		}
	}
	return nil
}

// Attached is an attached host with the states of its ports. Callers must not change its fields.
type Attached struct {
	Host
	rack  *Rack
	ports hostPorts
}

// Rack returns the rack to which the host is attached now.
func (h *Attached) Rack() *Rack { return h.rack }

// A Rack is the hosts with one attachment.
type Rack struct {
	key   string
	name  string
	at    ev.Attachment
	hosts []*Attached // by name
	dests []netip.Prefix
	stale bool // dests must be computed again
}

// Key returns what tells the rack from others: its attachment.
func (r *Rack) Key() string { return r.key }

// Name returns what names of profiles call the rack. It has letters, digits, ".", "_" and "-".
func (r *Rack) Name() string { return r.name }

// At returns the leaves by port.
func (r *Rack) At() ev.Attachment { return r.at }

// Hosts returns the hosts by name. The slice must not be changed.
func (r *Rack) Hosts() []*Attached { return r.hosts }

// Destinations returns the addresses and prefixes of the hosts, in order, as of the last Take.
func (r *Rack) Destinations() []netip.Prefix { return r.dests }

// Leaf returns the switch behind a port of the hosts; empty: there is none.
func (r *Rack) Leaf(port uint8) topology.NodeID {
	if n := int(port); n >= 1 && n <= len(r.at) {
		return r.at[n-1]
	}
	return ""
}

// destinations returns the prefixes that lead to the hosts of a rack.
func (r *Rack) destinations() []netip.Prefix {
	var out []netip.Prefix
	for _, h := range r.hosts {
		out = append(out, netip.PrefixFrom(h.Address, h.Address.BitLen()))
		out = append(out, h.Prefixes...)
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	return slices.Compact(out)
}

// hostSet holds all hosts, by what they are attached to.
type hostSet struct {
	*env
	restore *inventory.Restore
	ports   *switchPorts
	// drained reports whether a port of a host is drained.
	drained func(host string, port uint8) bool

	byName    map[string]*Attached
	byAddress map[netip.Addr]*Attached
	racks     map[string]*Rack
	racksAt   map[topology.NodeID][]*Rack // by leaf
	ordered   []*Rack                     // by name, of the last tidy

	held    map[string]bool // hosts with ports that time moves on
	changed map[string]bool // hosts whose denied ports have changed; nil: none
	regroup bool            // racks have changed
	remask  bool            // peers' ports have changed
	peers   []hostapi.PeerPorts
}

func newHosts(
	e *env, restore *inventory.Restore, ports *switchPorts, drained func(string, uint8) bool,
) *hostSet {
	return &hostSet{
		env: e, restore: restore, ports: ports, drained: drained,
		byName: make(map[string]*Attached), byAddress: make(map[netip.Addr]*Attached),
		racks: make(map[string]*Rack), racksAt: make(map[topology.NodeID][]*Rack),
		held: make(map[string]bool),
	}
}

// AttachmentKey returns a text that tells an attachment from others.
func AttachmentKey(at ev.Attachment) string {
	var b []byte
	for _, leaf := range at {
		b = append(append(strconv.AppendInt(b, int64(len(leaf)), 10), ':'), leaf...)
	}
	return string(b)
}

// put adds a host, or replaces the one of its name. nodes have the names of leaves.
// fresh reports whether its rack is new.
func (s *hostSet) put(h Host, nodes *topology.Snapshot) (at *Attached, fresh bool, err error) {
	if err := h.validate(); err != nil {
		return nil, false, err
	}
	if other, ok := s.byAddress[h.Address]; ok && other.Name != h.Name {
		return nil, false, fmt.Errorf("host %s: address: %v is that of host %s: %w", h.Name, h.Address,
			other.Name, ErrMalformed)
	}
	h.At, h.LeafPorts = slices.Clone(h.At), slices.Clone(h.LeafPorts)
	h.Prefixes = slices.Clone(h.Prefixes)
	at = s.byName[h.Name]
	if at == nil {
		at = &Attached{}
		s.byName[h.Name] = at
	} else {
		s.detach(at)
	}
	at.Host = h
	s.byAddress[h.Address] = at
	return at, s.attach(at, nodes), nil
}

// remove removes a host: no host sends to it any more.
func (s *hostSet) remove(name string) error {
	h := s.byName[name]
	if h == nil {
		return fmt.Errorf("%s: %w", name, ErrUnknownHost)
	}
	s.detach(h)
	delete(s.byName, name)
	s.remask = true
	return nil
}

// attach puts a host into its rack, and reports whether the rack is new.
func (s *hostSet) attach(h *Attached, nodes *topology.Snapshot) (fresh bool) {
	key := AttachmentKey(h.At)
	r := s.racks[key]
	if fresh = r == nil; fresh {
		r = &Rack{key: key, at: h.At, name: s.rackName(h, nodes)}
		s.racks[key] = r
		for _, leaf := range h.At {
			if leaf != "" && !slices.Contains(s.racksAt[leaf], r) {
				s.racksAt[leaf] = append(s.racksAt[leaf], r)
			}
		}
	}
	i, _ := slices.BinarySearchFunc(r.hosts, h.Name,
		func(a *Attached, name string) int { return cmp.Compare(a.Name, name) })
	r.hosts = slices.Insert(r.hosts, i, h)
	r.stale, s.regroup, s.remask = true, true, true
	h.rack = r
	h.ports.attach(h.At)
	for i := range h.At {
		h.ports.list[i+1].drained = s.drained(h.Name, uint8(i+1))
	}
	s.look(h)
	return fresh
}

// detach takes a host out of its rack.
func (s *hostSet) detach(h *Attached) {
	r := h.rack
	r.hosts = slices.DeleteFunc(r.hosts, func(o *Attached) bool { return o == h })
	r.stale, s.regroup = true, true
	delete(s.byAddress, h.Address)
}

// tidy drops racks without hosts, and orders the remaining racks. It returns the racks whose
// destinations changed.
func (s *hostSet) tidy() (stale []*Rack) {
	s.regroup = false
	for key, r := range s.racks {
		if len(r.hosts) == 0 {
			delete(s.racks, key)
			for _, leaf := range r.at {
				if s.racksAt[leaf] = slices.DeleteFunc(s.racksAt[leaf],
					func(o *Rack) bool { return o == r }); len(s.racksAt[leaf]) == 0 {
					delete(s.racksAt, leaf)
				}
			}
			continue
		}
		if r.stale {
			r.stale, r.dests = false, r.destinations()
			stale = append(stale, r)
		}
	}
	s.ordered = slices.SortedFunc(maps.Values(s.racks),
		func(a, b *Rack) int { return cmp.Compare(a.name, b.name) })
	return stale
}

// rackName returns the name of a rack in the characters that profile names allow. It appends a
// number if another rack already has the name.
func (s *hostSet) rackName(h *Attached, nodes *topology.Snapshot) string {
	name := cmp.Or(h.Host.Rack, "leaf")
	for _, leaf := range h.At {
		if leaf == "" || h.Host.Rack != "" {
			continue
		}
		name = string(leaf)
		if n := nodes.Node(leaf); n != nil {
			name = n.DisplayName()
		}
		break
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9',
			r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	name = name[:min(len(name), 100)]
	taken := func(name string) bool {
		for _, r := range s.racks {
			if r.name == name {
				return true
			}
		}
		return false
	}
	for base, n := name, 2; taken(name); n++ {
		name = fmt.Sprintf("%s.%d", base, n)
	}
	return name
}

// leaves are the switches of hosts, and those that seem to have some.
func (s *hostSet) leaves(snap *topology.Snapshot) []topology.NodeID {
	leaves := snap.Leaves()
	for _, r := range s.racks {
		for _, leaf := range r.at {
			if leaf != "" && snap.Node(leaf) != nil {
				leaves = append(leaves, leaf)
			}
		}
	}
	slices.Sort(leaves)
	return slices.Compact(leaves)
}

// mask lists the hosts that lack a port, for all their peers, and reports whether the list changed.
func (s *hostSet) mask() bool {
	if !s.remask {
		return false
	}
	s.remask = false
	var peers []hostapi.PeerPorts
	for _, h := range s.byName {
		if h.ports.usable != h.ports.all() {
			peers = append(peers, hostapi.PeerPorts{Peer: h.Address, Ports: h.ports.usable})
		}
	}
	slices.SortFunc(peers, func(a, b hostapi.PeerPorts) int { return a.Peer.Compare(b.Peer) })
	if slices.Equal(peers, s.peers) {
		return false
	}
	s.peers = peers
	return true
}

// HostsOf returns the hosts of an inventory with a known attachment, and an address that MRC can
// have in its mode. The argument nodes maps the inventory's switches to nodes (plan.Nodes); while a
// switch is gone, its last known node serves.
func HostsOf(inv *inventory.Inventory, nodes map[string]*topology.Node) []Host {
	out, ipv4 := make([]Host, 0, len(inv.Hosts)), inv.RoutesIPv4()
	other := func(a netip.Addr) bool { return a.Is4() && !ipv4 }
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		if other(h.Address) {
			continue
		}
		host := Host{Name: h.Name, Address: h.Address, Rack: h.Switch,
			Prefixes: slices.DeleteFunc(slices.Clone(h.Prefixes), func(p netip.Prefix) bool {
				return other(p.Addr())
			})}
		for _, at := range h.Attachments() {
			leaf := topology.NodeID("")
			if n := nodes[at.Switch]; n != nil {
				leaf = n.ID
			}
			host.At, host.LeafPorts = append(host.At, leaf), append(host.LeafPorts, at.Port)
		}
		if host.At.Ports() > 0 {
			out = append(out, host)
		}
	}
	slices.SortFunc(out, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
