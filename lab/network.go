package lab

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/target"
)

// A Network describes a lab: switches, hosts and the links between them. Complete derives missing
// fields from the place in the list, so a name and a link are enough.
type Network struct {
	Name     string         `yaml:"name" doc:"name of the network" default:"lab"`
	Switches []Switch       `yaml:"switches"`
	Hosts    []Host         `yaml:"hosts"`
	Links    []Link         `yaml:"links"`
	MRC      *inventory.MRC `yaml:"mrc,omitempty" doc:"configuration of the fabric of hosts with transport 'mrc': the fields of ['mrc'](#mrc-hosts-that-spray-packets-over-many-paths) above, with the defaults below. It needs such hosts" default:"fits the links"`
	PFC      *inventory.PFC `yaml:"pfc,omitempty" doc:"the fields of 'pfc' of a controller, with the same defaults"`
}

// A Switch is an embedded P4 switch, or a kernel.
type Switch struct {
	Name     string        `yaml:"name" doc:"name of a switch; unique among switches and hosts" default:"required"`
	Loopback netip.Addr    `yaml:"loopback,omitempty" doc:"loopback address of the n-th switch" default:"2001:db8:0:n::1"`
	Locator  netip.Prefix  `yaml:"locator,omitempty" doc:"its SRv6 locator" default:"5f00:0:n::/48"`
	RouterID netip.Addr    `yaml:"routerId,omitempty" doc:"its router-id, h and l the octets of n" default:"10.0.h.l" want:"an IPv4 address such as 10.0.0.1"`
	PFC      bool          `yaml:"pfc,omitempty" doc:"advertises End.PFC, and End.X.PFC for each of its links to switches: one SID without flavors, and one each with PSP, USP, PSP & USP, and USD" default:"false"`
	System   target.System `yaml:"system,omitempty" doc:"what it runs: 'p4', or 'linux', a kernel in a network namespace ([labs.md](labs.md#kernels-as-switches))" default:"p4"`
	MAC      packet.MAC    `yaml:"-"` // 02:00:00:00:h:l
	ASN      uint32        `yaml:"-"`
}

// A Host is a software host: a RoCEv2 host with one port, or an MRC host with one port per plane of
// the fabric, numbered in the order of its links.
type Host struct {
	Name      string     `yaml:"name" doc:"name of a software host" default:"required"`
	Address   netip.Addr `yaml:"address,omitempty" doc:"address of the n-th host, of IPv6 or IPv4; with transport 'mrc', IPv4 takes mode 'ecmp'" default:"2001:db8:1:n::1"`
	IPv6      netip.Addr `yaml:"ipv6,omitempty" doc:"IPv6 address that an IPv4 host encapsulates from, in groups of mode 'inband'" default:"none"`
	Transport Transport  `yaml:"transport,omitempty" doc:"'roce': RoCEv2 RC, one link. 'mrc': OCP MRC 1.0, a link a plane of the fabric; its ports are its links in their order" default:"roce"`
	Receive   *Receive   `yaml:"receive,omitempty" doc:"of a host with transport 'mrc': what it has for packets that it receives. 'rate' and 'buffer', 'packets' and 'bitmap' are those of ['weft host'](#host-of-mrc)" default:"none"`
	MAC       packet.MAC `yaml:"-"` // of the first port: 02:00:00:01:h:l
}

// Receive has the resources of an MRC host for received packets. The host refuses a packet without
// resources by a NACK, and the sender repeats it. See [nic.Intake].
type Receive struct {
	// packets received out of order; default 0: any number. NACK NO_BITMAP
	Bitmap int `yaml:"bitmap,omitempty"`
	// bits of payload per second that the host consumes; default 0: unlimited
	Rate uint64 `yaml:"rate,omitempty"`
	// octets that may wait; default 1048576. NACK NO_PKT_BUFFER
	Buffer int `yaml:"buffer,omitempty"`
	// packets that may wait; default 0: any number. NACK NO_RESOURCE
	Packets int `yaml:"packets,omitempty"`
}

// intake returns the limits as the host has them.
func (r *Receive) intake() nic.Intake {
	if r == nil {
		return nic.Intake{}
	}
	return nic.Intake{Bitmap: r.Bitmap, Rate: r.Rate, Buffer: cmp.Or(r.Buffer, 1<<20),
		Packets: r.Packets}
}

// A Transport is what the queue pairs of a host speak.
type Transport string

// Transports.
const (
	RoCE Transport = "roce" // RoCEv2 RC
	MRC  Transport = "mrc"  // OCP MRC 1.0
)

// PortMAC is the address of a port of the host, counted from 1.
func (h *Host) PortMAC(port int) packet.MAC {
	mac := h.MAC
	mac[3] = byte(port)
	return mac
}

// A Link joins two switches, or a switch and a host.
type Link struct {
	A      string        `yaml:"a" doc:"names of the two ends" default:"required"`
	B      string        `yaml:"b" doc:"names of the two ends" default:"required"`
	Delay  time.Duration `yaml:"delay,omitempty" doc:"one way" default:"0"`
	Rate   uint64        `yaml:"rate,omitempty" doc:"bits per second" default:"0, no limit"`
	Metric uint32        `yaml:"metric,omitempty" doc:"IGP metric, both ways" default:"10"`
	PortA  uint32        `yaml:"portA,omitempty" doc:"ports of the ends that are switches, 1 to 500" default:"the next free one"`
	PortB  uint32        `yaml:"portB,omitempty" doc:"ports of the ends that are switches, 1 to 500" default:"the next free one"`
}

// ASN is the private AS number (RFC 6996) the lab's speakers use.
const ASN = 64512

const (
	maxNodes = 0xfffe // names are numbered in 16 bits
	// maxPort leaves room for the CPU, recirculation and drop ports: v1model has 9 bits for ports.
	maxPort = 500
)

// Figure1 is the reference topology of the draft, section 4.2: source S1; transit N6, N4, N5;
// edges N1, N2, N3, of which N2 hangs off both N4 and N5; receivers R1 to R5.
func Figure1() Network {
	n := Network{Name: "figure1"}
	for _, name := range []string{"N1", "N2", "N3", "N4", "N5", "N6"} {
		n.Switches = append(n.Switches, Switch{Name: name})
	}
	for _, name := range []string{"S1", "R1", "R2", "R3", "R4", "R5"} {
		n.Hosts = append(n.Hosts, Host{Name: name})
	}
	for _, ends := range [][2]string{
		{"S1", "N6"},
		{"N6", "N4"}, {"N6", "N5"},
		{"N4", "N1"}, {"N4", "N2"}, {"N5", "N2"}, {"N5", "N3"},
		{"N1", "R1"}, {"N1", "R2"}, {"N2", "R3"}, {"N3", "R4"}, {"N3", "R5"},
	} {
		n.Links = append(n.Links, Link{A: ends[0], B: ends[1]})
	}
	return n
}

// Builtin returns the built-in network of a name.
func Builtin(name string) (Network, bool) {
	switch name {
	case "figure1":
		return Figure1(), true
	case "clos":
		c := ClosConfig{}
		c.Rate, c.Delay = DemoLinks(c)
		return Clos(c), true
	case "fabric":
		c := ClosConfig{T0: 2, T1: 2, Hosts: 4}
		c.Rate, c.Delay = DemoLinks(c)
		n := Clos(c)
		n.Name = "fabric"
		return n, true
	case "pfc":
		return PFCNetwork(10*time.Millisecond, pfcLabRate), true
	default:
		return Network{}, false
	}
}

// BuiltinNames are the names Builtin knows.
func BuiltinNames() []string { return []string{"figure1", "clos", "fabric", "pfc"} }

// pfcLabRate is the rate of the links of the built-in network pfc, bit/s: what real time allows.
const pfcLabRate = 100_000_000

// Complete fills in what the description leaves out and checks the whole. Errors wrap
// ErrNetwork and name the field.
func (n *Network) Complete() error {
	n.derive()
	return n.validate()
}

func (n *Network) derive() {
	if n.Name == "" {
		n.Name = "lab"
	}
	for i := range n.Switches {
		s := &n.Switches[i]
		h, l := byte((i+1)>>8), byte(i+1)
		if !s.Loopback.IsValid() {
			s.Loopback = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 0, h, l, 15: 1})
		}
		if !s.Locator.IsValid() {
			s.Locator = netip.PrefixFrom(netip.AddrFrom16([16]byte{0x5f, 0, 0, 0, h, l}), 48)
		}
		if !s.RouterID.IsValid() {
			s.RouterID = netip.AddrFrom4([4]byte{10, 0, h, l})
		}
		s.MAC = packet.MAC{0x02, 0, 0, 0, h, l}
		s.ASN = ASN
	}
	for i := range n.Hosts {
		host := &n.Hosts[i]
		h, l := byte((i+1)>>8), byte(i+1)
		if !host.Address.IsValid() {
			host.Address = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 1, h, l, 15: 1})
		}
		host.MAC = packet.MAC{0x02, 0, 0, 1, h, l}
		if host.Transport == "" {
			host.Transport = RoCE
		}
	}
	used := map[string][]uint32{}
	for _, l := range n.Links {
		used[l.A] = append(used[l.A], l.PortA)
		used[l.B] = append(used[l.B], l.PortB)
	}
	next := func(name string, port *uint32) {
		if h := n.host(name); *port != 0 || h != nil && h.Transport != MRC {
			return
		}
		for p := uint32(1); ; p++ {
			if !slices.Contains(used[name], p) {
				*port = p
				used[name] = append(used[name], p)
				return
			}
		}
	}
	for i := range n.Links {
		l := &n.Links[i]
		next(l.A, &l.PortA)
		next(l.B, &l.PortB)
		if l.Metric == 0 {
			l.Metric = 10
		}
	}
}

func (n *Network) validate() error {
	var faults []error
	bad := func(field, format string, args ...any) {
		faults = append(faults, &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	if len(n.Switches) == 0 {
		bad("switches", "is empty: want one at least")
	}
	if len(n.Switches) > maxNodes {
		bad("switches", "has %d: want %d at most", len(n.Switches), maxNodes)
	}
	if len(n.Hosts) > maxNodes {
		bad("hosts", "has %d: want %d at most", len(n.Hosts), maxNodes)
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	names, addresses := map[string]string{}, map[netip.Addr]string{}
	claim := func(field, key, name string, a netip.Addr, ipv4 bool) {
		if name == "" {
			bad(field+".name", "is empty: want a name")
		} else if other, ok := names[name]; ok {
			bad(field+".name", "is %q, that of %s too: want another", name, other)
		} else {
			names[name] = field
		}
		if !a.Is6() && !ipv4 || a.Is4In6() || !a.IsValid() || a.IsMulticast() || a.IsUnspecified() {
			bad(field+"."+key, "is %v: want an IPv6 unicast address", a)
		} else if other, ok := addresses[a]; ok {
			bad(field+"."+key, "is %v, that of %s too: want another", a, other)
		} else {
			addresses[a] = field
		}
	}
	for i, s := range n.Switches {
		field := fmt.Sprintf("switches[%d]", i)
		claim(field, "loopback", s.Name, s.Loopback, false)
		if !s.Locator.Addr().Is6() || s.Locator.Bits() > 64 || s.Locator.Masked() != s.Locator {
			bad(field+".locator", "is %v: want an IPv6 prefix of at most 64 bits without host bits",
				s.Locator)
		}
		if s.System != "" && s.System != inventory.P4 && s.System != target.Linux {
			bad(field+".system", "is %q: want p4 or linux", string(s.System))
		}
		if s.IsKernel() && s.PFC {
			bad(field+".pfc", "is true, and %s runs Linux, which has no PFC over SRv6: want false", s.Name)
		}
		if !s.RouterID.Is4() {
			bad(field+".routerId", "is %v: want an IPv4 address", s.RouterID)
		}
		for j, o := range n.Switches[:i] {
			if o.Locator.Overlaps(s.Locator) {
				bad(field+".locator", "is %v, which overlaps that of switches[%d], %v: want another",
					s.Locator, j, o.Locator)
			}
			if o.RouterID == s.RouterID {
				bad(field+".routerId", "is %v, that of switches[%d] too: want another", s.RouterID, j)
			}
		}
	}
	for i, h := range n.Hosts {
		field := fmt.Sprintf("hosts[%d]", i)
		claim(field, "address", h.Name, h.Address, true)
		if h.IPv6.IsValid() && (!h.IPv6.Is6() || !h.Address.Is4()) {
			bad(field+".ipv6", "is %v: want an IPv6 address of a host whose address is IPv4", h.IPv6)
		}
		if h.Receive != nil && h.Transport != MRC {
			bad(field+".receive", "is given, of a host with transport %s: want transport mrc", h.Transport)
		}
		if i := h.Receive.intake(); i.Validate() != nil {
			bad(field+".receive", "%v", i.Validate())
		}
		if h.Transport != RoCE && h.Transport != MRC {
			bad(field+".transport", "is %q: want %s or %s", h.Transport, RoCE, MRC)
		}
	}
	type end struct {
		name string
		port uint32
	}
	ends, uplinks := map[end]int{}, map[string]int{}
	for i, l := range n.Links {
		field := fmt.Sprintf("links[%d]", i)
		if l.Delay < 0 {
			bad(field+".delay", "is %v: want 0 or more", l.Delay)
		}
		if l.Metric >= 1<<24 {
			bad(field+".metric", "is %d: want less than 2^24", l.Metric)
		}
		if l.A == l.B {
			bad(field+".b", "is %q, the other end too: want two nodes", l.A)
		}
		hosts := 0
		for _, e := range []end{{l.A, l.PortA}, {l.B, l.PortB}} {
			switch h := n.host(e.name); {
			case h != nil:
				hosts++
				uplinks[e.name]++
				if h.Transport == RoCE && e.port != 0 {
					bad(field, "is port %d of host %q: want none", e.port, e.name)
				}
				if h.Transport == MRC && int(e.port) != uplinks[e.name] {
					bad(field, "is port %d of host %q: want %d: its links in their order", e.port, e.name,
						uplinks[e.name])
				}
				continue
			case n.sw(e.name) == nil:
				bad(field, "leads to %q: want a switch or a host", e.name)
			case e.port < 1 || e.port > maxPort:
				bad(field, "is port %d of %s: want 1 to %d, as v1model has 9 bits for ports", e.port, e.name,
					maxPort)
			}
			if other, ok := ends[e]; ok {
				bad(field, "is port %d of %s, in use by links[%d]: want another", e.port, e.name, other)
			}
			ends[e] = i
		}
		if hosts == 2 {
			bad(field, "joins %s and %s, both hosts: want a switch at one end", l.A, l.B)
		}
	}
	for i, h := range n.Hosts {
		field, n := fmt.Sprintf("hosts[%d]", i), uplinks[h.Name]
		switch {
		case h.Transport == RoCE && n != 1:
			bad(field, "%s has %d links: want 1", h.Name, n)
		case h.Transport == MRC && (n < 1 || n > packet.MaxPort):
			bad(field, "%s has %d links: want 1 to %d", h.Name, n, packet.MaxPort)
		}
	}
	if len(faults) == 0 {
		faults = n.settingsFaults()
	}
	return errors.Join(faults...)
}

func (n *Network) sw(name string) *Switch {
	if i := slices.IndexFunc(n.Switches, func(s Switch) bool { return s.Name == name }); i >= 0 {
		return &n.Switches[i]
	}
	return nil
}

func (n *Network) host(name string) *Host {
	if i := slices.IndexFunc(n.Hosts, func(h Host) bool { return h.Name == name }); i >= 0 {
		return &n.Hosts[i]
	}
	return nil
}

// HasMRC reports whether there are hosts of MRC.
func (n *Network) HasMRC() bool {
	return slices.ContainsFunc(n.Hosts, func(h Host) bool { return h.Transport == MRC })
}

// Uplink returns the switch a host's first port leads to, and the switch's port.
func (n *Network) Uplink(host string) (sw string, port uint32) {
	for sw, port := range n.Uplinks(host) {
		return sw, port
	}
	return "", 0
}

// Uplinks yields the switches that the ports of a host lead to, and their ports, in the order of
// the host's.
func (n *Network) Uplinks(host string) iter.Seq2[string, uint32] {
	return func(yield func(string, uint32) bool) {
		for _, l := range n.Links {
			if l.A == host && !yield(l.B, l.PortB) || l.B == host && !yield(l.A, l.PortA) {
				return
			}
		}
	}
}

// linkAt is the link at a port of a switch.
func (n *Network) linkAt(sw string, port uint32) *Link {
	i := slices.IndexFunc(n.Links, func(l Link) bool {
		return l.A == sw && l.PortA == port || l.B == sw && l.PortB == port
	})
	return &n.Links[i]
}

// MRCHosts returns the names of the hosts of MRC.
func (n *Network) MRCHosts() (names []string) {
	for _, h := range n.Hosts {
		if h.Transport == MRC {
			names = append(names, h.Name)
		}
	}
	return names
}
