package inventory

import (
	"iter"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/target"
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
	Policy string       `yaml:"policy" doc:"'keep': they stay until a client deletes them ([operations.md](operations.md#orphans)); 'remove': the controller removes them"`
	After  api.Duration `yaml:"after" doc:"with 'remove': time from the discovery of an orphan until its removal; never before the topology has settled" default:"0s"`
}

// The policies for orphans.
const (
	OrphansKeep   = "keep"
	OrphansRemove = "remove"
)

// A Switch is a device of the network. One without an Address is known, for its
// MAC, but not programmed: a router that is not ours.
type Switch struct {
	Name       string            `yaml:"name" doc:"name in the API, unique" default:"required"`
	Node       string            `yaml:"node" doc:"the node of the topology that is this switch: its name, IPv4 or IGP router-id, loopback address, or whole id 'AS:router-id'" default:"name"`
	System     target.System     `yaml:"system" doc:"what runs on the switch: 'p4', the P4 program behind P4Runtime, 'sonic' ([targets.md](targets.md#sonic-live)) or 'linux' ([targets.md](targets.md#linux))" default:"p4"`
	Release    string            `yaml:"release" doc:"release of the system, such as '202511'; not for 'p4'" default:"the newest"`
	Hardware   target.Hardware   `yaml:"hardware" doc:"chip or model, where its limits are known: 'spectrum-4', 'tomahawk-5' and others of [targets.md](targets.md#what-a-system-cannot-do); not for 'p4'" default:"–"`
	Interfaces target.Names      `yaml:"interfaces" doc:"how it names the interfaces of its ports: '{n}' is the port, '{8}' eight times the port less one; not for 'p4'" default:"as the system does"`
	Address    string            `yaml:"address" doc:"host:port of the server by which the switch is programmed: that of P4Runtime, or of gNMI for 'sonic' and 'linux'. The controller does not program a switch without one; it uses its MAC address" default:"–"`
	DeviceID   uint64            `yaml:"deviceId" doc:"P4Runtime device id" default:"1"`
	MAC        MAC               `yaml:"mac" doc:"Ethernet address of all its ports" default:"required"`
	TLS        *TLS              `yaml:"tls" doc:"see below" default:"no TLS"`
	GNMI       GNMI              `yaml:"gnmi"`
	Trace      string            `yaml:"trace" doc:"host:port of the HTTP listener of an embedded switch ('weft switch --http-addr'), with '/NAME' for a switch of 'weft lab --trace-addr'; with 'tls', and without a name, by TLS with these files: clients of the API can then trace packets there" default:"–"`
	Ports      map[uint32]uint32 `yaml:"ports" doc:"map from link identifier to port, '{11: 2}', for links whose identifier is not the port" default:"–"`
	HostPorts  []uint32          `yaml:"hostPorts" doc:"ports that face hosts, in addition to those of 'hosts'; only the hosts' own source addresses pass there (BCP 38)" default:"–"`
	LinkPorts  []uint32          `yaml:"linkPorts" doc:"ports that may lead to other switches, for [discovery](#discovery); those that gNMI or an advertised link names need not be repeated" default:"–"`
	// Subnets lists the subnets of ports whose hosts need not be in the configuration. These ports
	// face hosts.
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
		Ports: s.Interfaces, Live: true}
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
	Address string       `yaml:"address" doc:"host:port of the switch's gNMI server, which reports the states of ports; with the switch's 'tls'. By default gNMI shares the connection of P4Runtime, as in 'weft switch' and Stratum. The controller tries a switch without gNMI again every five minutes" default:"address"`
	Off     bool         `yaml:"off" doc:"the controller does not subscribe to the states of ports" default:"false"`
	Dialect string       `yaml:"dialect" doc:"the paths that the switch is asked for: 'openconfig', 'sonic' or 'stratum'" default:"the one that the switch's Capabilities name"`
	Sample  api.Duration `yaml:"sample" doc:"time between two samples of the counters of a port, 100ms to 1h" default:"1s"`
}

// Ports define when a link is used again whose port a switch reported down. The time since the last
// failure of the port must be Hold at first, twice as long with every further failure, and at most
// MaxHold; it begins anew after Calm without a failure.
type Ports struct {
	Hold    api.Duration `yaml:"hold" doc:"time for which the port must be up after its first failure"`
	MaxHold api.Duration `yaml:"maxHold" doc:"the most, when every failure doubles that time"`
	Calm    api.Duration `yaml:"calm" doc:"time without a failure after which it is 'hold' again"`
}

// Telemetry bounds the history of what switches report.
type Telemetry struct {
	Memory int64 `yaml:"memory" doc:"octets that the history may take, 16 MiB or more ([telemetry.md](telemetry.md#memory))"`
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
	Endpoint    string       `yaml:"endpoint" doc:"host:port of an OpenTelemetry collector, which gets the metrics ([telemetry.md](telemetry.md#opentelemetry))" default:"–"`
	Protocol    string       `yaml:"protocol" doc:"'grpc' or 'http'" default:"grpc"`
	Path        string       `yaml:"path" doc:"path of requests by HTTP" default:"/v1/metrics"`
	Interval    api.Duration `yaml:"interval" doc:"time between two exports, 1s or more" default:"15s"`
	HeadersFile string       `yaml:"headersFile" doc:"file of headers for requests, such as those of credentials: lines 'NAME: VALUE', read for each export; others must not be able to use it" default:"none"`
	TLS         *TLS         `yaml:"tls" doc:"'{ca, cert, key, serverName}': TLS to the collector; '{}' trusts the authorities of the system" default:"plain text"`
}

// LeastTelemetryMemory is the least Memory of Telemetry.
const LeastTelemetryMemory = 16 << 20

// A Host is an end system at a port of a switch.
type Host struct {
	Name     string         `yaml:"name" doc:"name in the API, unique" default:"required"`
	Address  netip.Addr     `yaml:"address" doc:"global unicast address of IPv6 or IPv4; with 'planes', of IPv6, or in mode 'ecmp' of IPv4" default:"required"`
	MAC      MAC            `yaml:"mac" doc:"Ethernet address; with ['neighbors'](#neighbors) it may be missing, also from 'planes', and is found, at switches that run the P4 program, and not with 'ports'" default:"required"`
	Switch   string         `yaml:"switch" doc:"name of its switch" default:"required"`
	Port     uint32         `yaml:"port" doc:"port of that switch" default:"required"`
	Ports    []uint32       `yaml:"ports" doc:"several ports, instead of 'port'; routes to the host use the first" default:"–"`
	Planes   []Attachment   `yaml:"planes" doc:"its ports beyond the first, in order, '[{switch: P2-T0-1, port: 4}]', each with its own 'mac': one a plane of the fabric, all with the one address. Multicast groups use the first port" default:"–"`
	Prefixes []netip.Prefix `yaml:"prefixes" doc:"further prefixes of the host, of IPv6 and IPv4, as source and destination. Groups and ARP know a /32 of IPv4 as an address of the host" default:"–"`
}

// An Attachment is a port of a host, with the switch port at the other end.
type Attachment struct {
	Switch string `yaml:"switch"`
	Port   uint32 `yaml:"port"`
	MAC    MAC    `yaml:"mac"`
}

// Attachments returns what the ports of a host lead to, in their order.
func (h *Host) Attachments() []Attachment {
	return append([]Attachment{{h.Switch, h.AllPorts()[0], h.MAC}}, h.Planes...)
}

// Addresses returns the address of the host, followed by the IPv4 addresses in the prefixes of the
// host.
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

// IPv6 returns the IPv6 address of the host, or an invalid address. For an IPv4 host, IPv6 returns
// the first IPv6 prefix of length 128.
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

// AllPorts returns the ports of the host. The first port is the port by which the switch reaches
// the host.
func (h *Host) AllPorts() []uint32 {
	if len(h.Ports) == 0 {
		return []uint32{h.Port}
	}
	return h.Ports
}

// MAC is an Ethernet address as text, "02:00:00:00:00:01".
type MAC packet.MAC

// Topology describes the topology known without BGP-LS.
type Topology struct {
	File string `yaml:"file" doc:"a file of nodes and links ([Topology](#topology)), read at the start" default:"none"`
	API  bool   `yaml:"api" doc:"the topology may come from [networks of the API](api.md#networks) alone: neither BGP-LS nor a file is required" default:"false"`
}

// BGP defines whom the topology is learned from.
type BGP struct {
	Listen        string       `yaml:"listen" doc:"address:port for peers that connect" default:"nowhere"`
	ASN           uint32       `yaml:"asn" doc:"the controller's autonomous system" default:"required"`
	RouterID      netip.Addr   `yaml:"routerId" doc:"its BGP identifier, an IPv4 address" default:"required" want:"an IPv4 address such as 10.0.0.1"`
	HoldTime      api.Duration `yaml:"holdTime" doc:"time of silence after which a session is lost, 3s to 65535s"`
	StalePathTime api.Duration `yaml:"stalePathTime" doc:"how long what a peer said in an earlier session counts after an End-of-RIB without it, 1s to 1h (RFC 4724, section 4.2)"`
	LossTime      api.Duration `yaml:"lossTime" doc:"how long the loss of half of the nodes by one peer is not believed, 1s to 24h"`
	Peers         []Peer       `yaml:"peers"`
}

// A Peer is a BGP-LS speaker.
type Peer struct {
	Address      netip.Addr `yaml:"address" doc:"address of a BGP-LS speaker" default:"required"`
	Port         uint16     `yaml:"port" doc:"where it listens" default:"179"`
	ASN          uint32     `yaml:"asn" doc:"its autonomous system" default:"asn"`
	Passive      bool       `yaml:"passive" doc:"wait for it to connect" default:"false"`
	LocalAddress netip.Addr `yaml:"localAddress" doc:"address of this machine that the session uses" default:"what routing says"`
	Password     string     `yaml:"password" doc:"password of TCP MD5 (RFC 2385), 80 octets at most; or a file with mode 0600 or 0640 whose first line it is" default:"none"`
	PasswordFile string     `yaml:"passwordFile" doc:"password of TCP MD5 (RFC 2385), 80 octets at most; or a file with mode 0600 or 0640 whose first line it is" default:"none"`
	Nodes        []string   `yaml:"nodes" doc:"nodes that the peer may describe, with their links, prefixes and SIDs: '10.0.0.6' or '0102.0304.0506' (router-ids), '10.0.0.0/24', '64512:10.0.0.6', '64512:*' (all of an AS). What it says of others is left out and counted ('weft_bgp_peer_refused_nlris_total')" default:"all"`
	Limits       PeerLimits `yaml:"limits"`
}

// PeerLimits bound what the topology holds of a peer; see bgpls.Limits. 0 is the default.
type PeerLimits struct {
	Nodes    int `yaml:"nodes" doc:"NLRIs of the peer in the topology; links are directions. A peer with more is disconnected with NOTIFICATION 6/1, and for a minute there is no session; what it said before stays, stale" default:"4096"`
	Links    int `yaml:"links" doc:"NLRIs of the peer in the topology; links are directions. A peer with more is disconnected with NOTIFICATION 6/1, and for a minute there is no session; what it said before stays, stale" default:"300000"`
	Prefixes int `yaml:"prefixes" doc:"NLRIs of the peer in the topology; links are directions. A peer with more is disconnected with NOTIFICATION 6/1, and for a minute there is no session; what it said before stays, stale" default:"131072"`
	SIDs     int `yaml:"sids" doc:"NLRIs of the peer in the topology; links are directions. A peer with more is disconnected with NOTIFICATION 6/1, and for a minute there is no session; what it said before stays, stale" default:"65536"`
	Octets   int `yaml:"octets" doc:"octets of these NLRIs with their attributes" default:"134217728"`
}

// API defines where the controller listens.
type API struct {
	Listen           string    `yaml:"listen" doc:"address:port of the REST API; '--listen' overrides it"`
	TLS              *TLS      `yaml:"tls" doc:"certificate of the API; with 'ca', clients may show certificates that it has signed, and 'access.certificates' says whose they are" default:"plain text"`
	Hosts            []string  `yaml:"hosts" doc:"further names by which clients address the API. A request's 'Host' must be an address, a name without a dot, the name in the certificate, or one of these; '\"*\"' allows every name. This prevents DNS rebinding" default:"none"`
	URL              string    `yaml:"url" doc:"where people reach this API and its dashboard, for links in [webhooks](api.md#webhooks)" default:"none"`
	LoopbackWebhooks bool      `yaml:"loopbackWebhooks" doc:"[notifications](api.md#webhooks) may have a receiver on the machine of the controller. Labs set it" default:"false"`
	Limits           APILimits `yaml:"limits"`
	Access           Access    `yaml:"access"`
}

// APILimits bound what clients may take of the API at a time; see northbound.Limits. 0 is the
// default.
type APILimits struct {
	Connections int `yaml:"connections" doc:"open connections"`
	Strangers   int `yaml:"strangers" doc:"of these, connections that have made no request with a valid token or client certificate"`
	PerClient   int `yaml:"perClient" doc:"connections of one IPv4 address or IPv6 /64"`
	Requests    int `yaml:"requests" doc:"concurrent requests of a principal: a token, a client certificate, or an address without either"`
	Streams     int `yaml:"streams" doc:"event streams of a principal"`
	Rate        int `yaml:"rate" doc:"requests a second of a principal, in bursts of two seconds' worth"`
}

// SIDs are the codepoints without an assignment, and where the controller takes
// its SIDs from.
type SIDs struct {
	TLVType       uint8  `yaml:"tlvType" doc:"type of the End.MT TLV"`
	EndMT         uint16 `yaml:"endMt" doc:"SRv6 endpoint behavior of End.MT: 'behaviorCode' of the edges in 'status.tree'"`
	EndPFC        uint16 `yaml:"endPfc" doc:"SRv6 endpoint behaviors of End.PFC and of End.X.PFC, which PFC-capable nodes advertise"`
	EndXPFC       uint16 `yaml:"endXPfc" doc:"SRv6 endpoint behaviors of End.PFC and of End.X.PFC, which PFC-capable nodes advertise"`
	EndXPFCPSP    uint16 `yaml:"endXPfcPsp" doc:"those of End.X.PFC with flavors"`
	EndXPFCUSP    uint16 `yaml:"endXPfcUsp" doc:"those of End.X.PFC with flavors"`
	EndXPFCPSPUSP uint16 `yaml:"endXPfcPspUsp" doc:"those of End.X.PFC with flavors"`
	EndXPFCUSD    uint16 `yaml:"endXPfcUsd" doc:"those of End.X.PFC with flavors"`
	FunctionBase  uint32 `yaml:"functionBase" doc:"first function of each locator that the controller assigns; group g has four, from 'functionBase' + 4g on"`
}

// Intervals are the times of the controller.
type Intervals struct {
	CNPTick      api.Duration `yaml:"cnpTick" doc:"added to a group's CNP window before the poll that ends it"`
	PollGap      api.Duration `yaml:"pollGap" doc:"between the polls of a removal, from the leaves up; at least the delay of a link"`
	Drain        api.Duration `yaml:"drain" doc:"time for which entries that a tree no longer uses stay in the switches, for packets in flight"`
	RetryMin     api.Duration `yaml:"retryMin" doc:"bounds of the growing pauses before a refused entry is written again"`
	RetryMax     api.Duration `yaml:"retryMax" doc:"bounds of the growing pauses before a refused entry is written again"`
	StateTimeout api.Duration `yaml:"stateTimeout" doc:"timeout of the switches' answers to a query of a group's state"`
	Stall        api.Duration `yaml:"stall" doc:"interval at which groups are checked for stalled receivers; 0: only groups with 'evictAfter' are checked"`
	Settle       api.Duration `yaml:"settle" doc:"after a start, time without a change of topology before the controller moves trees of earlier groups or removes routes and neighbors from switches; it waits at most ten times as long. 0: no wait"`
	Audit        api.Duration `yaml:"audit" doc:"interval at which each switch is read back as a whole and compared; 0: never. What is written is read back at once: a switch that accepts an update without effect counts as one that refuses it"`
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
