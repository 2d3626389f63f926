package export

import (
	"fmt"
	"math"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/southbound/target"
)

// A plan is a lab as the templates see it.
type plan struct {
	Name        string // of the lab, in lower case
	Tool        Tool
	Data        string // folder of the files as Compose names it, with ./ before it
	Network     lab.Network
	Controllers []machine
	Speaker     machine // advertises BMv2 switches, and takes the controller's session
	Switches    []node
	Hosts       []host
	Links       []link
	MRC, PFC    string // sections of the controller's configuration, empty: none
	Group       *group // of the hosts of RoCEv2; nil: there are too few
	facts

	switches map[string]*node
	hosts    map[string]*host
	data     string // prefix of the names of files
}

// facts are what templates ask of a plan as a whole.
type facts struct {
	Cluster    bool         // several controllers form an etcd
	HasMRC     bool         // there are hosts of MRC
	HasKernels bool         // a switch is a kernel with its agent
	HasSONiC   bool         // switches run SONiC, which all do then
	WithoutP4  bool         // a switch runs something else than the P4 program
	Collectors []netip.Addr // from which switches and speakers take BGP-LS sessions
	Kinds      []bool       // of switches in a Compose lab: false for weft switch, true for BMv2
}

// A machine has an address in the management network.
type machine struct {
	Name    string // in the lab
	Service string // name of the container: letters, digits and hyphens
	Index   int    // from 1, among its kind
	Address netip.Addr
	// Published is the port of the lab's machine at which a controller's API is.
	Published int
}

// A node is a switch.
type node struct {
	At     machine
	Switch lab.Switch
	Ports  []port
	GRPC   netip.AddrPort // of its P4Runtime server
	BGP    netip.AddrPort // where it takes sessions
	// System is what it runs; "": the P4 program.
	System target.System
	// Neighbors holds the hosts at the switch's ports; these hosts do not answer a kernel's
	// solicitations.
	Neighbors []neighbor
}

// A neighbor is a host in the form that a switch without P4 needs.
type neighbor struct {
	Interface string // the kernel's
	Port      string // as the system of the switch names it
	Address   netip.Addr
	MAC       string
}

// A host is a software host.
type host struct {
	At       machine
	Host     lab.Host
	Ports    []port
	LineRate uint64
	Peers    []peer // queue pairs of MRC
	IsMRC    bool   // it speaks MRC
	Source   bool   // of the group
	QPN      uint32 // of RoCEv2
}

// A peer is the far end of a queue pair.
type peer struct {
	Name           string
	Address        netip.Addr
	QPN, RemoteQPN uint32
}

// A port is an end of a link.
type port struct {
	Number    uint32
	Interface string // where the tool chooses its name: eth1, N6-eth1
	Link      *link
	Address   netip.Addr // of the interface, for Compose
	Far       *node      // the switch at the other end, of a host's port
	FarPort   uint32
	MAC       string // of a host's port; told where the switch does not run the P4 program
	Rate      uint64 // packets a second; 0: unlimited
	Bits      uint64 // the same in bits a second
}

// A link is a network of two ends.
type link struct {
	Name    string // of the network
	Subnet  netip.Prefix
	Hex     string     // the subnet as /proc/net/route has it
	Address netip.Addr // of the first end, for Compose
	Ends    [2]end
}

// An end is where a link ends.
type end struct {
	At        machine
	Interface string
	Kernel    string // the MAC of a kernel that is the switch there; "": it is something else
}

// A group is a multicast group of the hosts of RoCEv2.
type group struct {
	Proxy     netip.Addr
	QPN       uint32 // designated
	Source    *host
	Receivers []*host
}

const (
	grpcPort  = 9559
	sonicPort = 8080 // of gNMI
	bgpPort   = 1790 // without privileges; 179 needs them
	mrcPort   = 9400
	firstQPN  = 0x100
	groupQPN  = 0x1000
	octets    = 4200        // of a full packet, about
	queued    = 4096        // packets, where trimming and ECN act long before
	lineRate  = 100_000_000 // of a host without a rate of its link, bit/s: what one processor carries
	maxLabel  = 40          // of a service
	linkBits  = 29
	linkFirst = 0x0a610000 // 10.97.0.0
)

// management returns an address of the management network, 10.96.0.0/16.
func management(block, index int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 96, byte(block + (index-1)/250), byte((index-1)%250 + 1)})
}

// Blocks of the management network.
const (
	controllerBlock = 0 // the speaker is .9, controllers are .10 and so on
	switchBlock     = 1
	hostBlock       = 128
)

func newPlan(n lab.Network, o Options) (*plan, error) {
	p := &plan{Name: label(n.Name), Tool: o.Tool, Network: n, Data: "./" + path.Clean("./"+o.Data),
		switches: map[string]*node{}, hosts: map[string]*host{}}
	if o.Data != "" {
		p.data = path.Clean(o.Data) + "/"
	}
	if p.Data == "./." {
		p.Data = "."
	}
	for i := range o.Controllers {
		name := "controller"
		if o.Controllers > 1 {
			name = fmt.Sprintf("c%d", i+1)
		}
		p.Controllers = append(p.Controllers, machine{Name: name, Service: name, Index: i + 1,
			Address: management(controllerBlock, 10+i), Published: 8080 + i})
		p.Collectors = append(p.Collectors, p.Controllers[i].Address)
	}
	p.Speaker = machine{Name: "speaker", Service: "speaker", Address: management(controllerBlock, 9)}
	if o.Tool == Mininet {
		p.Speaker.Address, p.Collectors = loopback, []netip.Addr{loopback}
	}
	p.Cluster, p.HasMRC, p.Kinds = o.Controllers > 1, n.HasMRC(), []bool{false, true}
	if err := p.addNodes(o.Switches == SONiC); err != nil {
		return nil, err
	}
	p.addLinks()
	p.addNeighbors()
	if err := p.addMRC(); err != nil {
		return nil, err
	}
	p.addGroup()
	return p, nil
}

// addNodes adds switches and hosts.
func (p *plan) addNodes(sonic bool) error {
	taken := map[string]string{"speaker": "the speaker", "certs": "the certificates",
		"authority": "the authority", "management": "the management network", "state": "the state"}
	for _, c := range p.Controllers {
		taken[c.Service] = "a controller"
	}
	claim := func(name string) (string, error) {
		service := label(name)
		if other, twice := taken[service]; twice {
			return "", fmt.Errorf("%w: %s is container %q, as is %s: want names that differ in letters "+
				"and digits", ErrOptions, name, service, other)
		}
		taken[service] = name
		return service, nil
	}
	p.Switches = make([]node, len(p.Network.Switches))
	for i, s := range p.Network.Switches {
		service, err := claim(s.Name)
		if err != nil {
			return err
		}
		m := machine{Name: s.Name, Service: service, Index: i + 1, Address: management(switchBlock, i+1)}
		p.Switches[i] = node{At: m, Switch: s}
		sw := &p.Switches[i]
		sw.GRPC, sw.BGP = netip.AddrPortFrom(m.Address, grpcPort), netip.AddrPortFrom(m.Address, bgpPort)
		switch {
		case s.IsKernel() && sonic:
			sw.System, p.HasSONiC, p.WithoutP4 = target.SONiC, true, true
			sw.GRPC = netip.AddrPortFrom(m.Address, sonicPort)
		case s.IsKernel(): // in a namespace of its own
			sw.System, p.HasKernels, p.WithoutP4 = target.Linux, true, true
		case p.Tool == Mininet: // all in the namespace of the machine
			if grpcPort+m.Index > math.MaxUint16 {
				return fmt.Errorf("%w: %d switches: want at most %d with mininet", ErrOptions,
					len(p.Network.Switches), math.MaxUint16-grpcPort)
			}
			sw.GRPC, sw.BGP = netip.AddrPortFrom(loopback, uint16(grpcPort+i)),
				netip.AddrPortFrom(loopback, uint16(bgpPort+i))
		}
		p.switches[s.Name] = sw
	}
	p.Hosts = make([]host, len(p.Network.Hosts))
	for i, h := range p.Network.Hosts {
		service, err := claim(h.Name)
		if err != nil {
			return err
		}
		m := machine{Name: h.Name, Service: service, Index: i + 1, Address: management(hostBlock, i+1)}
		p.Hosts[i] = host{At: m, Host: h, LineRate: lineRate, IsMRC: h.Transport == lab.MRC}
		p.hosts[h.Name] = &p.Hosts[i]
	}
	return nil
}

// addLinks gives each link a network, and each of its ends an interface.
func (p *plan) addLinks() {
	p.Links = make([]link, len(p.Network.Links))
	for i, l := range p.Network.Links {
		first := uint32(linkFirst + i<<(32-linkBits))
		at := func(n uint32) netip.Addr {
			a := first + n
			return netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)})
		}
		x := &p.Links[i]
		x.Subnet, x.Address = netip.PrefixFrom(at(0), linkBits), at(2)
		net := at(0).As4()
		x.Hex = fmt.Sprintf("%02X%02X%02X%02X", net[3], net[2], net[1], net[0])
		far := [2]string{l.B, l.A}
		for side, name := range []string{l.A, l.B} {
			number := [2]uint32{l.PortA, l.PortB}[side]
			q := port{Link: x, Number: number, Address: at(uint32(2 + side))}
			if sw := p.switches[name]; sw != nil {
				q.Interface = p.interfaceOf(name, number)
				if l.Rate > 0 {
					q.Rate, q.Bits = max(1, l.Rate/8/octets), l.Rate
				}
				sw.Ports = append(sw.Ports, q)
				x.Ends[side] = end{At: sw.At, Interface: q.Interface}
				if sw.System == target.Linux {
					x.Ends[side].Kernel = sw.Switch.MAC.String()
				}
				continue
			}
			h := p.hosts[name]
			q.Number = uint32(len(h.Ports) + 1)
			q.Interface = p.interfaceOf(name, q.Number)
			q.Far, q.FarPort, q.MAC = p.switches[far[side]], [2]uint32{l.PortB, l.PortA}[side],
				h.Host.MAC.String()
			if h.IsMRC {
				q.MAC = h.Host.PortMAC(int(q.Number)).String()
			}
			if l.Rate > 0 {
				h.LineRate = l.Rate
			}
			h.Ports = append(h.Ports, q)
			x.Ends[side] = end{At: h.At, Interface: q.Interface}
		}
		x.Name = x.Ends[0].At.Service + "_" + x.Ends[1].At.Service
		for _, other := range p.Links[:i] { // parallel links
			if other.Name == x.Name {
				x.Name = fmt.Sprintf("%s_%d", x.Name, i+1)
				break
			}
		}
	}
	for i := range p.Switches {
		slices.SortFunc(p.Switches[i].Ports, func(a, b port) int { return int(a.Number) - int(b.Number) })
	}
}

// addNeighbors adds the hosts at switches without P4.
func (p *plan) addNeighbors() {
	for i := range p.Hosts {
		h := &p.Hosts[i]
		for _, at := range h.Ports {
			if at.Far.System == "" {
				continue
			}
			d := target.Device{System: at.Far.System, Ports: sonicInterfaces}
			at.Far.Neighbors = append(at.Far.Neighbors, neighbor{
				Interface: p.interfaceOf(at.Far.At.Name, at.FarPort), Port: d.Interface(at.FarPort),
				Address: h.Host.Address, MAC: at.MAC})
		}
	}
}

// sonicInterfaces are the interfaces of SONiC's virtual machine, whose ports have four lanes.
const sonicInterfaces target.Names = "Ethernet{4}"

// interfaceOf returns the name of an interface, where the tool takes one.
func (p *plan) interfaceOf(node string, number uint32) string {
	if p.Tool == Mininet {
		return fmt.Sprintf("%s-eth%d", node, number)
	}
	return fmt.Sprintf("eth%d", number)
}

// addMRC adds the sections mrc and pfc, and queue pairs from each host of MRC to each other one.
func (p *plan) addMRC() error {
	n, defaults := &p.Network, inventory.Default()
	settings := n.MRC
	if settings == nil && n.HasMRC() {
		settings = lab.MRCSettings(n, n.DefaultMode())
	}
	var err error
	if settings != nil && settings.On() {
		m := *settings
		m.Listen = fmt.Sprintf("0.0.0.0:%d", mrcPort)
		if m.CCProfile == lab.CCProfile {
			m.CCProfile = "" // only a lab in one process makes it
		}
		if p.MRC, err = section("mrc", m, defaults.MRC); err != nil {
			return err
		}
	}
	if n.PFC != nil {
		if p.PFC, err = section("pfc", *n.PFC, defaults.PFC); err != nil {
			return err
		}
	}
	for i := range p.Hosts {
		for j := range p.Hosts {
			h, far := &p.Hosts[i], &p.Hosts[j]
			if i != j && h.IsMRC && far.IsMRC {
				h.Peers = append(h.Peers, peer{far.At.Name, far.Host.Address, uint32(firstQPN + j),
					uint32(firstQPN + i)})
			}
		}
	}
	return nil
}

// addGroup makes a multicast group with the first RoCEv2 host as source and all other RoCEv2 hosts
// as receivers.
func (p *plan) addGroup() {
	g := &group{Proxy: netip.MustParseAddr("2001:db8:ffff::1"), QPN: groupQPN}
	for i := range p.Hosts {
		h := &p.Hosts[i]
		if h.IsMRC {
			continue
		}
		h.QPN = uint32(firstQPN + i)
		if g.Source == nil {
			g.Source, h.Source = h, true
			continue
		}
		g.Receivers = append(g.Receivers, h)
	}
	if len(g.Receivers) > 0 {
		p.Group = g
	}
}

// label returns a name as container tools and DNS have it: RFC 1123, section 2.1.
func label(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if len(name) > maxLabel {
		name = name[:maxLabel]
	}
	return strings.Trim(name, "-")
}
