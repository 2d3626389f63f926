package inventory

import (
	"iter"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/target"
	"github.com/weft-sdn/weft/topology"
)

// Inventory is the configuration of a controller.
type Inventory struct {
	Switches []Switch `yaml:"switches"`
	Hosts    []Host   `yaml:"hosts"`
	BGP      BGP      `yaml:"bgp"`
	Topology Topology `yaml:"topology"`
	// Discovery finds links that nothing else names, and compares the others with the cables.
	Discovery Discovery `yaml:"discovery"`
	// Neighbors answer hosts that look for their gateway, and find hosts.
	Neighbors Neighbors `yaml:"neighbors"`
	API       API       `yaml:"api"`
	SIDs      SIDs      `yaml:"sids"`
	PFC       PFC       `yaml:"pfc"`
	MRC       MRC       `yaml:"mrc"`
	Cluster   Cluster   `yaml:"cluster"`
	Ports     Ports     `yaml:"ports"`
	// Telemetry bounds the history of what switches report.
	Telemetry Telemetry `yaml:"telemetry"`

	Defaults  api.GroupDefaults `yaml:"defaults"`
	Limits    api.GroupLimits   `yaml:"limits"`
	Intervals Intervals         `yaml:"intervals"`
	Orphans   Orphans           `yaml:"orphans"`

	certificates *certs.Cache
}

// Orphans defines what becomes of entries on switches that no resource explains.
type Orphans struct {
	// Policy is OrphansKeep or OrphansRemove. Default OrphansKeep.
	Policy string `yaml:"policy"`
	// After is how long after it was found an orphan is removed, with OrphansRemove. Nothing is
	// removed before the topology has settled (Intervals.Settle).
	After api.Duration `yaml:"after"`
}

// The policies for orphans.
const (
	OrphansKeep   = "keep"
	OrphansRemove = "remove"
)

// A Switch is a device of the network. One without an Address is known, for its
// MAC, but not programmed: a router that is not ours.
type Switch struct {
	// Name in the API; unique.
	Name string `yaml:"name"`
	// Node defines which node of the topology the switch is: its name, IPv4 or IGP
	// router-id, loopback, or its whole id "AS:router-id". Default: Name.
	Node string `yaml:"node"`
	// System is what runs on the switch: p4, the P4 program behind P4Runtime, sonic, or linux,
	// a kernel with its agent. Default p4.
	System target.System `yaml:"system"`
	// Release of the system, such as 202511; default: the newest that is known. Hardware is the chip
	// or model of switch, where its limits are known, and Interfaces how it names its ports, such as
	// Ethernet{8}. All three are of a switch without P4 alone.
	Release    string          `yaml:"release"`
	Hardware   target.Hardware `yaml:"hardware"`
	Interfaces target.Names    `yaml:"interfaces"`
	// Address is host:port of the server by which the switch is programmed: that of P4Runtime, or of
	// gNMI for SONiC and Linux.
	Address string `yaml:"address"`
	// DeviceID of the P4Runtime server. Default 1.
	DeviceID uint64 `yaml:"deviceId"`
	// MAC is the Ethernet address of all ports.
	MAC  MAC  `yaml:"mac"`
	TLS  *TLS `yaml:"tls"`
	GNMI GNMI `yaml:"gnmi"`
	// Trace is host:port of the HTTP listener of an embedded switch (weft switch --http-addr), with
	// /NAME for a switch of a lab. Clients of the API may then trace packets there.
	Trace string `yaml:"trace"`
	// Ports maps link identifiers (TLV 258) to ports where they differ.
	Ports map[uint32]uint32 `yaml:"ports"`
	// HostPorts face hosts; ports of hosts below need not be repeated.
	HostPorts []uint32 `yaml:"hostPorts"`
	// LinkPorts may lead to other switches; ports that the topology or gNMI names need not be
	// repeated.
	LinkPorts []uint32 `yaml:"linkPorts"`
	// Subnets are those of ports whose hosts need not be in the configuration; they face hosts.
	Subnets []Subnet `yaml:"subnets"`
}

// LinkID returns a link identifier that Port makes a port of.
func (s *Switch) LinkID(port uint32) uint32 {
	for id, p := range s.Ports {
		if p == port {
			return id
		}
	}
	if _, taken := s.Ports[port]; taken {
		return 1<<31 | port // the number is the identifier of another port
	}
	return port
}

// Managed reports whether the controller programs the switch.
func (s *Switch) Managed() bool { return s.Address != "" }

// P4 is the system of switches that run the P4 program.
const P4 target.System = "p4"

// RunsP4 reports whether the switch runs the P4 program.
func (s *Switch) RunsP4() bool { return s.System == "" || s.System == P4 }

// Target returns a switch without P4 as what a configuration is made for.
func (s *Switch) Target() target.Device {
	return target.Device{Name: s.Name, System: s.System, Version: s.Release, Chip: s.Hardware,
		Ports: s.Interfaces}
}

// ProgramsP4 reports whether the controller programs the switch, and it runs the P4 program.
func (s *Switch) ProgramsP4() bool { return s.Managed() && s.RunsP4() }

// WithoutP4 reports whether the controller programs the switch, and it runs something else.
func (s *Switch) WithoutP4() bool { return s.Managed() && !s.RunsP4() }

// Device returns the P4Runtime device id, 0 for a switch without P4.
func (s *Switch) Device() uint64 {
	if !s.RunsP4() {
		return 0
	}
	return max(1, s.DeviceID)
}

// Port returns the port of a link end with an identifier.
func (s *Switch) Port(linkID, advertised uint32) uint32 {
	if p, ok := s.Ports[linkID]; ok {
		return p
	}
	return advertised
}

// GNMI defines how a switch reports on its ports, and how they are configured. A switch that does
// not speak gNMI does no harm.
type GNMI struct {
	// Address is host:port of the gNMI server, with the switch's TLS. Default: the
	// switch's Address, over the same connection.
	Address string `yaml:"address"`
	// Off has the switch not asked.
	Off bool `yaml:"off"`
	// Dialect is one of gnmi.DialectNames. Default: the one that the switch's Capabilities name.
	Dialect string `yaml:"dialect"`
	// Sample is the time between two samples of the counters of a port. Default 1s.
	Sample api.Duration `yaml:"sample"`
}

// Ports define when a link is used again whose port a switch reported down. The time since the last
// failure of the port must be Hold at first, twice as long with every further failure, and at most
// MaxHold; it begins anew after Calm without a failure.
type Ports struct {
	// Defaults 1s, 1m and 5m.
	Hold    api.Duration `yaml:"hold"`
	MaxHold api.Duration `yaml:"maxHold"`
	Calm    api.Duration `yaml:"calm"`
}

// Telemetry bounds the history of what switches report.
type Telemetry struct {
	// Memory is how many octets the history may take. Default 1 GiB.
	Memory int64 `yaml:"memory"`
	// OTLP exports the metrics of the controller. Default: nothing does.
	OTLP *OTLP `yaml:"otlp"`
}

// Protocols of OTLP.
const (
	OTLPGRPC = "grpc"
	OTLPHTTP = "http"
)

// OTLP defines where an OpenTelemetry collector takes metrics.
type OTLP struct {
	Endpoint string `yaml:"endpoint"` // host:port
	// Protocol is OTLPGRPC or OTLPHTTP. Default OTLPGRPC.
	Protocol string `yaml:"protocol"`
	// Path is that of requests by HTTP. Default /v1/metrics.
	Path string `yaml:"path"`
	// Interval is the time between two exports, 1s or more. Default 15s.
	Interval api.Duration `yaml:"interval"`
	// HeadersFile has headers of requests, such as those of credentials: lines NAME: VALUE.
	HeadersFile string `yaml:"headersFile"`
	TLS         *TLS   `yaml:"tls"`
}

// LeastTelemetryMemory is the least Memory of Telemetry.
const LeastTelemetryMemory = 16 << 20

// A Host is an end system at a port of a switch.
type Host struct {
	// Name in the API; unique.
	Name    string     `yaml:"name"`
	Address netip.Addr `yaml:"address"`
	// MAC may be missing where neighbor discovery finds it.
	MAC    MAC    `yaml:"mac"`
	Switch string `yaml:"switch"`
	// Port of the switch; Ports when the host has several there, the first being
	// the one it is reached by.
	Port  uint32   `yaml:"port"`
	Ports []uint32 `yaml:"ports"`
	// Planes are where the host hangs off the other planes of the fabric: its
	// port 1 is Switch and Port, port 2 the first of these. All have its one
	// address.
	Planes []Attachment `yaml:"planes"`
	// Prefixes are others the host may use as source and is reached by.
	Prefixes []netip.Prefix `yaml:"prefixes"`
}

// An Attachment is one port of a host, and the port of a switch it leads to.
type Attachment struct {
	Switch string `yaml:"switch"`
	Port   uint32 `yaml:"port"`
	MAC    MAC    `yaml:"mac"`
}

// Attachments returns what the ports of a host lead to, in their order.
func (h *Host) Attachments() []Attachment {
	return append([]Attachment{{h.Switch, h.AllPorts()[0], h.MAC}}, h.Planes...)
}

// Addresses returns the address of the host, and after it the IPv4 addresses that it has beside it:
// those of its prefixes.
func (h *Host) Addresses() iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		if !yield(h.Address) {
			return
		}
		for _, p := range h.Prefixes {
			if p.Addr().Is4() && p.IsSingleIP() && !yield(p.Addr()) {
				return
			}
		}
	}
}

// IPv6 returns the IPv6 address of the host, invalid where it has none: that of an IPv4 host is the
// first of its prefixes that is one.
func (h *Host) IPv6() netip.Addr {
	if h.Address.Is6() {
		return h.Address
	}
	for _, p := range h.Prefixes {
		if p.Addr().Is6() && p.IsSingleIP() {
			return p.Addr()
		}
	}
	return netip.Addr{}
}

// AllPorts returns the ports of the host, the one it is reached by first.
func (h *Host) AllPorts() []uint32 {
	if len(h.Ports) == 0 {
		return []uint32{h.Port}
	}
	return h.Ports
}

// MAC is an Ethernet address as text, "02:00:00:00:00:01".
type MAC packet.MAC

// Topology defines what is known of the topology without BGP-LS.
type Topology struct {
	// File describes nodes and links (package topology/static); empty: none does.
	File string `yaml:"file"`
	// API reports that the topology may come from the API alone.
	API bool `yaml:"api"`
}

// BGP defines whom the topology is learned from.
type BGP struct {
	// Listen is address:port for peers that connect; empty: none do.
	Listen   string     `yaml:"listen"`
	ASN      uint32     `yaml:"asn"`
	RouterID netip.Addr `yaml:"routerId"` // an IPv4 address
	// HoldTime is how long a peer may be silent, in whole seconds from 3s on; default 90s.
	HoldTime api.Duration `yaml:"holdTime"`
	Peers    []Peer       `yaml:"peers"`
}

// A Peer is a BGP-LS speaker.
type Peer struct {
	Address netip.Addr `yaml:"address"`
	Port    uint16     `yaml:"port"` // default 179
	ASN     uint32     `yaml:"asn"`  // default: the controller's own
	Passive bool       `yaml:"passive"`
	// LocalAddress is the address of this machine that the session uses. Default: what routing to
	// the peer reports.
	LocalAddress netip.Addr `yaml:"localAddress"`
	// Password of TCP MD5 (RFC 2385), or PasswordFile, whose first line is the password.
	Password     string `yaml:"password"`
	PasswordFile string `yaml:"passwordFile"`
	// Nodes are those that the peer may describe, as topology.ParseScope reads them. Default: all.
	Nodes  []string   `yaml:"nodes"`
	Limits PeerLimits `yaml:"limits"`
}

// PeerLimits bound what the topology holds of a peer; see bgpls.Limits. 0 is the default.
type PeerLimits struct {
	Nodes    int `yaml:"nodes"`
	Links    int `yaml:"links"`
	Prefixes int `yaml:"prefixes"`
	SIDs     int `yaml:"sids"`
	Octets   int `yaml:"octets"`
}

// API defines where the controller listens.
type API struct {
	Listen string `yaml:"listen"` // address:port; default 127.0.0.1:8080
	TLS    *TLS   `yaml:"tls"`    // Cert and Key; with CA clients must have a certificate
	// Hosts are more names by which clients may call the API; "*" allows every name.
	Hosts []string `yaml:"hosts"`
	// URL is where people reach the API and its dashboard, for links in notifications.
	URL    string    `yaml:"url"`
	Limits APILimits `yaml:"limits"`
	Access Access    `yaml:"access"`
}

// APILimits bound what clients may take of the API at a time; see northbound.Limits. 0 is the
// default.
type APILimits struct {
	Connections int `yaml:"connections"`
	Strangers   int `yaml:"strangers"`
	PerClient   int `yaml:"perClient"`
	Requests    int `yaml:"requests"`
	Streams     int `yaml:"streams"`
	Rate        int `yaml:"rate"`
}

// SIDs are the codepoints without an assignment, and where the controller takes
// its SIDs from.
type SIDs struct {
	// TLVType of the End.MT TLV; default 124.
	TLVType uint8 `yaml:"tlvType"`
	// EndMT is the endpoint behavior of End.MT; default 0x8000.
	EndMT uint16 `yaml:"endMt"`
	// EndPFC and EndXPFC are the endpoint behaviors of PFC over SRv6, those of
	// End.X.PFC with flavors in their names; defaults 0x8015 and 0x8010 to 0x8014.
	EndPFC        uint16 `yaml:"endPfc"`
	EndXPFC       uint16 `yaml:"endXPfc"`
	EndXPFCPSP    uint16 `yaml:"endXPfcPsp"`
	EndXPFCUSP    uint16 `yaml:"endXPfcUsp"`
	EndXPFCPSPUSP uint16 `yaml:"endXPfcPspUsp"`
	EndXPFCUSD    uint16 `yaml:"endXPfcUsd"`
	// FunctionBase is the first function of a locator that the controller gives
	// to trees. Group g uses four from FunctionBase + 4g on. Default 0x8000.
	FunctionBase uint32 `yaml:"functionBase"`
}

// Intervals are the times of the controller.
type Intervals struct {
	// CNPTick is added to a group's CNP window before the poll that ends it.
	// Default 1ms.
	CNPTick api.Duration `yaml:"cnpTick"`
	// PollGap lies between the polls of a removal, from the leaves up: at least
	// the delay of a link. Default 5ms.
	PollGap api.Duration `yaml:"pollGap"`
	// Drain is how long what a tree no longer uses stays in the switches, for the
	// packets that are on their way. Default 50ms.
	Drain api.Duration `yaml:"drain"`
	// RetryMin and RetryMax bound the growing pauses between attempts to write an
	// entry that a switch refused. Defaults 100ms and 30s.
	RetryMin api.Duration `yaml:"retryMin"`
	RetryMax api.Duration `yaml:"retryMax"`
	// StateTimeout bounds the wait for the answers to a query of state. Default 1s.
	StateTimeout api.Duration `yaml:"stateTimeout"`
	// Stall is how often groups are asked for receivers that hold them up;
	// groups with evictAfter are asked as often as that needs. 0: they alone are
	// asked. Default 10s.
	Stall api.Duration `yaml:"stall"`
	// Settle is how long the topology must not change before a controller that has
	// just started moves the trees of earlier groups, or removes routes and
	// neighbors it finds in switches: what it has learned until then may be a part
	// of the network only. It waits ten times as long at most. Default 2s.
	Settle api.Duration `yaml:"settle"`
	// Audit is how often each switch is read back without a reason. 0: never.
	// Default 1m.
	Audit api.Duration `yaml:"audit"`
}

// Default returns an inventory without switches and hosts.
func Default() Inventory {
	ms := func(n int) api.Duration { return api.Duration(time.Duration(n) * time.Millisecond) }
	return Inventory{
		Discovery: defaultDiscovery(),
		Neighbors: defaultNeighbors(),
		API:       API{Listen: "127.0.0.1:8080", Access: defaultAccess()},
		SIDs:      defaultSIDs(),
		PFC:       defaultPFC(),
		MRC:       DefaultMRC(""),
		Cluster:   defaultCluster(),
		Ports:     Ports{Hold: ms(1000), MaxHold: ms(60_000), Calm: ms(300_000)},
		Telemetry: Telemetry{Memory: 1 << 30},
		Defaults:  api.StandardGroupDefaults(),
		Limits:    api.StandardGroupLimits(),
		Orphans:   Orphans{Policy: OrphansKeep},
		Intervals: Intervals{CNPTick: ms(1), PollGap: ms(5), Drain: ms(50), RetryMin: ms(100),
			RetryMax: ms(30000), StateTimeout: ms(1000), Stall: ms(10000), Settle: ms(2000),
			Audit: ms(60000)},
	}
}

func defaultSIDs() SIDs {
	b := topology.DefaultPFCBehaviors()
	return SIDs{
		TLVType: 124, EndMT: 0x8000, FunctionBase: 0x8000,
		EndPFC: uint16(b.End), EndXPFC: uint16(b.EndX), EndXPFCPSP: uint16(b.EndXPSP),
		EndXPFCUSP: uint16(b.EndXUSP), EndXPFCPSPUSP: uint16(b.EndXPSPUSP),
		EndXPFCUSD: uint16(b.EndXUSD),
	}
}

// Switch returns the switch of a name, or nil.
func (inv *Inventory) Switch(name string) *Switch {
	for i := range inv.Switches {
		if inv.Switches[i].Name == name {
			return &inv.Switches[i]
		}
	}
	return nil
}

// Host returns the host with an address, or nil.
func (inv *Inventory) Host(a netip.Addr) *Host {
	for i := range inv.Hosts {
		if inv.Hosts[i].Address == a {
			return &inv.Hosts[i]
		}
	}
	return nil
}
