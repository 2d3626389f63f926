package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/southbound/target"
	"github.com/weft-sdn/weft/topology"
)

// Bounds of GNMI.Sample.
const (
	minSample = 100 * time.Millisecond
	maxSample = time.Hour
)

// Fault is one error of an inventory.
type Fault struct {
	Field   string // "switches[2].mac"
	Line    int    // of the YAML text, 0 when there is none
	Message string // what follows the field's name: "is VALUE: want WHAT", or "is missing"
}

func (f Fault) Error() string {
	if f.Line > 0 {
		return fmt.Sprintf("line %d: %s: %s", f.Line, f.Field, f.Message)
	}
	return f.Field + ": " + f.Message
}

// Faults has all errors of an inventory.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].Error()
	}
	return "inventory: " + strings.Join(lines, "\n")
}

// Validate returns Faults, or nil.
func (inv *Inventory) Validate() error {
	v := validator{inv: inv}
	v.switches()
	v.hosts()
	v.bgp()
	v.discovery()
	v.neighbors()
	v.listener("api.listen", inv.API.Listen)
	v.tls("api.tls", inv.API.TLS)
	v.apiURL(inv.API.URL)
	v.apiLimits(inv.API.Limits)
	v.access()
	if t := inv.API.TLS; t != nil && t.Cert == "" {
		v.bad("api.tls.cert", "is missing")
	}
	v.numbers()
	v.pfc()
	if m := &inv.MRC; m.On() || !reflect.DeepEqual(*m, DefaultMRC("")) &&
		!reflect.DeepEqual(*m, MRC{}) {
		v.mrc(m)
	}
	v.cluster()
	if len(v.faults) > 0 {
		return v.faults
	}
	return nil
}

type validator struct {
	inv    *Inventory
	faults Faults
}

func (v *validator) bad(field, format string, args ...any) {
	v.faults = append(v.faults, Fault{Field: field, Message: fmt.Sprintf(format, args...)})
}

// name reports whether a name keeps the rule of names.
func (v *validator) name(field, name string) bool {
	var refused *api.Error
	if !errors.As(api.ValidateName(name), &refused) {
		return true
	}
	v.bad(field, "is %.64q: want %s", name, refused.Fields[0].Want)
	return false
}

func (v *validator) switches() {
	names := make(map[string]int)
	devices := make(map[string]int)
	macs := make(map[MAC]int)
	nodes := make(map[string]int)
	for i := range v.inv.Switches {
		s := &v.inv.Switches[i]
		at := fmt.Sprintf("switches[%d]", i)
		if first, twice := names[s.Name]; v.name(at+".name", s.Name) && twice {
			v.bad(at+".name", "is %q, the name of switches[%d] too: want another", s.Name, first)
		} else {
			names[s.Name] = i
		}
		if first, twice := nodes[cmp.Or(s.Node, s.Name)]; twice && s.Node != "" {
			v.bad(at+".node", "is %q, the node of switches[%d] too: want another", s.Node, first)
		} else if twice && v.inv.Switches[first].Node != "" {
			v.bad(at+".name", "is %q, its node too for want of another, and the node of switches[%d]",
				s.Name, first)
		}
		nodes[cmp.Or(s.Node, s.Name)] = i
		v.system(at, s)
		v.mac(at+".mac", s.MAC)
		if first, twice := macs[s.MAC]; twice && !s.MAC.IsZero() {
			v.bad(at+".mac", "is %v, the MAC of switches[%d] too: want another", s.MAC, first)
		}
		macs[s.MAC] = i
		if s.Managed() {
			v.listener(at+".address", s.Address)
			device := s.Address + "#" + strconv.FormatUint(s.Device(), 10)
			if first, twice := devices[device]; twice {
				v.bad(at+".deviceId", "is %d, that of switches[%d] at the same "+
					"address: want another", s.Device(), first)
			}
			devices[device] = i
		}
		if a := s.GNMI.Address; a != "" {
			v.listener(at+".gnmi.address", a)
			if !s.Managed() {
				v.bad(at+".gnmi.address", "is %q, of a switch without an address: want both or none", a)
			}
		}
		if d, names := s.GNMI.Dialect, gnmi.DialectNames(); d != "" && !slices.Contains(names, d) {
			v.bad(at+".gnmi.dialect", "is %q; want one of %s", d, strings.Join(names, ", "))
		}
		if d := s.GNMI.Sample.D(); d != 0 && (d < minSample || d > maxSample) {
			v.bad(at+".gnmi.sample", "is %v; want %v to %v", d, minSample, maxSample)
		}
		if s.Trace != "" {
			address, _, _ := strings.Cut(s.Trace, "/")
			v.listener(at+".trace", address)
		}
		v.tls(at+".tls", s.TLS)
		used := make(map[uint32]uint32)
		for _, id := range slices.Sorted(maps.Keys(s.Ports)) {
			p := s.Ports[id]
			field := fmt.Sprintf("%s.ports.%d", at, id)
			v.port(field, p)
			if other, twice := used[p]; twice {
				v.bad(field, "is %d, the port of link %d too: want another", p, other)
			}
			used[p] = id
		}
		for j, p := range s.HostPorts {
			v.port(fmt.Sprintf("%s.hostPorts[%d]", at, j), p)
		}
		for j, p := range s.LinkPorts {
			field := fmt.Sprintf("%s.linkPorts[%d]", at, j)
			v.port(field, p)
			if slices.Contains(s.HostPorts, p) {
				v.bad(field, "is %d, which is in hostPorts too: want one of them", p)
			}
		}
	}
}

// live are the systems that the controller programs.
var live = [...]target.System{P4, target.SONiC, target.Linux}

// system checks what runs on a switch.
func (v *validator) system(at string, s *Switch) {
	if s.RunsP4() {
		for field, given := range map[string]string{"release": s.Release,
			"hardware": string(s.Hardware), "interfaces": string(s.Interfaces)} {
			if given != "" {
				v.bad(at+"."+field, "is %q, of a switch that runs P4: want none, or another system", given)
			}
		}
		return
	}
	if !slices.Contains(live[:], s.System) {
		v.bad(at+".system", "is %q: want %s, %s or %s", string(s.System), string(live[0]),
			string(live[1]), string(live[2]))
		return
	}
	d := s.Target()
	if err := d.Validate(); err != nil {
		field, what, _ := strings.Cut(err.Error(), " ")
		if field == "version" {
			field = "release"
		}
		v.bad(at+"."+field, "%s", what)
	}
	switch {
	case s.DeviceID != 0:
		v.bad(at+".deviceId", "is %d, of a switch without P4Runtime: want none", s.DeviceID)
	case s.GNMI.Address != "" && s.GNMI.Address != s.Address:
		v.bad(at+".gnmi.address", "is %q: want none, address is that of the gNMI server of a switch "+
			"that runs %v", s.GNMI.Address, s.System)
	}
}

func (v *validator) port(field string, p uint32) {
	if p < 1 || p > p4.MaxLinkPort {
		v.bad(field, "is %d: want a port from 1 to %d (%d and above are the switch's own)", p,
			p4.MaxLinkPort, p4.MaxLinkPort+1)
	}
}

func (v *validator) mac(field string, m MAC) {
	switch {
	case m.IsZero():
		v.bad(field, "is missing")
	case m[0]&1 != 0:
		v.bad(field, "is %v, a multicast address: want one of a single interface", m)
	}
}

func (v *validator) hosts() {
	names := make(map[string]int)
	addresses := make(map[netip.Addr]int)
	for i := range v.inv.Hosts {
		h := &v.inv.Hosts[i]
		at := fmt.Sprintf("hosts[%d]", i)
		if first, twice := names[h.Name]; v.name(at+".name", h.Name) && twice {
			v.bad(at+".name", "is %q, the name of hosts[%d] too: want another", h.Name, first)
		} else {
			names[h.Name] = i
		}
		switch first, twice := addresses[h.Address]; {
		case !h.Address.IsValid():
			v.bad(at+".address", "is missing")
		case h.Address.Is4In6() || h.Address.Zone() != "" || !h.Address.IsGlobalUnicast():
			v.bad(at+".address", "is %v: want a global unicast address of IPv6 or IPv4", h.Address)
		case h.Address.Is4() && len(h.Planes) > 0 && !v.inv.RoutesIPv4():
			v.bad(at+".address", "is %v: want one of IPv6, which a host with several planes needs where "+
				"mrc.mode is not ecmp or a switch runs no P4", h.Address)
		case twice:
			v.bad(at+".address", "is %v, the address of hosts[%d] too: want another", h.Address, first)
		default:
			addresses[h.Address] = i
		}
		v.hostMAC(at, h)
		if v.inv.Switch(h.Switch) == nil {
			v.bad(at+".switch", "is %q: want a switch of the inventory", h.Switch)
		}
		if h.Port != 0 && len(h.Ports) != 0 {
			v.bad(at+".ports", "is given beside port: want one of them")
		}
		for j, p := range h.AllPorts() {
			field := at + ".port"
			if len(h.Ports) > 0 {
				field = fmt.Sprintf("%s.ports[%d]", at, j)
			}
			v.port(field, p)
		}
		planes := map[string]bool{h.Switch: true}
		for j, a := range h.Planes {
			field := fmt.Sprintf("%s.planes[%d]", at, j)
			switch {
			case v.inv.Switch(a.Switch) == nil:
				v.bad(field+".switch", "is %q: want a switch of the inventory", a.Switch)
			case planes[a.Switch]:
				v.bad(field+".switch", "is %q, that of another plane: want a switch a plane", a.Switch)
			}
			planes[a.Switch] = true
			v.port(field+".port", a.Port)
			v.macFound(field+".mac", a.MAC, a.Switch)
		}
		for j, p := range h.Prefixes {
			if !p.IsValid() || p.Addr().Is4In6() || p != p.Masked() {
				v.bad(fmt.Sprintf("%s.prefixes[%d]", at, j),
					"is %v: want a prefix of IPv6 or IPv4 with nothing set beyond its length", p)
			}
		}
	}
}

// maxPassword is the longest password of TCP MD5 that Linux takes, in octets.
const maxPassword = 80

func (v *validator) bgp() {
	b := &v.inv.BGP
	if b.Listen != "" {
		v.listener("bgp.listen", b.Listen)
	}
	used := b.Listen != "" || len(b.Peers) > 0
	if used && b.ASN == 0 {
		v.bad("bgp.asn", "is missing")
	}
	switch {
	case used && !b.RouterID.IsValid():
		v.bad("bgp.routerId", "is missing: want an IPv4 address such as 10.0.0.1")
	case used && !b.RouterID.Is4():
		v.bad("bgp.routerId", "is %v: want an IPv4 address such as 10.0.0.1", b.RouterID)
	}
	if h := b.HoldTime.D(); h != 0 && (h < 3*time.Second || h > 65535*time.Second ||
		h%time.Second != 0) {
		v.bad("bgp.holdTime", "is %v: want whole seconds from 3s to 65535s", h)
	}
	for _, f := range []struct {
		field string
		value api.Duration
		most  time.Duration
	}{{"stalePathTime", b.StalePathTime, time.Hour}, {"lossTime", b.LossTime, 24 * time.Hour}} {
		if d := f.value.D(); d != 0 && (d < time.Second || d > f.most) {
			v.bad("bgp."+f.field, "is %v: want 1s to %v", d, f.most)
		}
	}
	peers := make(map[netip.AddrPort]int)
	for i, p := range b.Peers {
		at := topology.PeerEndpoint(p.Address, p.Port, p.Passive)
		if !p.Address.IsValid() {
			v.bad(fmt.Sprintf("bgp.peers[%d].address", i), "is missing")
		} else if first, twice := peers[at]; twice {
			v.bad(fmt.Sprintf("bgp.peers[%d].address", i), "is %v, the address of bgp.peers[%d] too: "+
				"want peers that differ in address or port", p.Address, first)
		}
		peers[at] = i
		if l := p.LocalAddress; l.IsValid() && l.Unmap().Is4() != p.Address.Unmap().Is4() {
			v.bad(fmt.Sprintf("bgp.peers[%d].localAddress", i),
				"is %v, and address %v: want both IPv4 or both IPv6", l, p.Address)
		}
		if p.Password != "" && p.PasswordFile != "" {
			v.bad(fmt.Sprintf("bgp.peers[%d].passwordFile", i), "goes with no password: want one of the two")
		}
		if n := len(p.Password); n > maxPassword {
			v.bad(fmt.Sprintf("bgp.peers[%d].password", i), "has %d octets: want %d at most", n, maxPassword)
		}
		for j, n := range p.Nodes {
			if _, err := topology.ParseScope([]string{n}); err != nil {
				v.bad(fmt.Sprintf("bgp.peers[%d].nodes[%d]", i, j), "%v", err)
			}
		}
		for _, l := range []struct {
			field string
			value int
		}{{"nodes", p.Limits.Nodes}, {"links", p.Limits.Links}, {"prefixes", p.Limits.Prefixes},
			{"sids", p.Limits.SIDs}, {"octets", p.Limits.Octets}} {
			if l.value < 0 {
				v.bad(fmt.Sprintf("bgp.peers[%d].limits.%s", i, l.field),
					"is %d: want a positive number, or 0 for the default", l.value)
			}
		}
	}
}

func (v *validator) listener(field, address string) {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		v.bad(field, "is %q: want host:port", address)
	}
}

func (v *validator) otlp(o *OTLP) {
	if o == nil {
		return
	}
	const at = "telemetry.otlp."
	if o.Endpoint == "" {
		v.bad(at+"endpoint", "is missing: want host:port of a collector")
	} else {
		v.listener(at+"endpoint", o.Endpoint)
	}
	switch o.Protocol {
	case "", OTLPGRPC:
		if o.Path != "" {
			v.bad(at+"path", "is %q: gRPC has none", o.Path)
		}
	case OTLPHTTP:
		if o.Path != "" && o.Path[0] != '/' {
			v.bad(at+"path", "is %q: want one that begins with /", o.Path)
		}
	default:
		v.bad(at+"protocol", "is %q: want %s or %s", o.Protocol, OTLPGRPC, OTLPHTTP)
	}
	if o.Interval != 0 && o.Interval.D() < time.Second {
		v.bad(at+"interval", "is %v: want at least 1s", o.Interval)
	}
	v.tls(at+"tls", o.TLS)
}

func (v *validator) tls(field string, t *TLS) {
	if t != nil && (t.Cert == "") != (t.Key == "") {
		v.bad(field, "has cert or key without the other")
	}
}

// apiURL checks where people reach the API.
func (v *validator) apiURL(s string) {
	if u, err := url.Parse(s); s != "" && (err != nil || u.Host == "" || u.User != nil ||
		u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "") {
		v.bad("api.url", "is %q: want the http or https URL of this API", s)
	}
}

func (v *validator) apiLimits(l APILimits) {
	for field, n := range map[string]int{
		"connections": l.Connections, "strangers": l.Strangers, "perClient": l.PerClient,
		"requests": l.Requests, "streams": l.Streams, "rate": l.Rate,
	} {
		if n < 0 {
			v.bad("api.limits."+field, "is %d: want at least 1, or 0 for the default", n)
		}
	}
}

func (v *validator) numbers() {
	inv := v.inv
	limit := func(field string, n, most int) {
		if n < 1 || n > most {
			v.bad(field, "is %d: want 1 to %d", n, most)
		}
	}
	most := api.StandardGroupLimits()
	limit("limits.groups", inv.Limits.Groups, most.Groups)
	limit("limits.branches", inv.Limits.Branches, most.Branches)
	limit("limits.receiversPerEdge", inv.Limits.ReceiversPerEdge, most.ReceiversPerEdge)
	limit("limits.srhOctets", inv.Limits.SRHOctets, most.SRHOctets)
	if inv.SIDs.TLVType < 2 {
		v.bad("sids.tlvType", "is %d, which is a padding TLV", inv.SIDs.TLVType)
	}
	if b := inv.SIDs.EndMT; b == 0 {
		v.bad("sids.endMt", "is 0")
	}
	if b := inv.SIDs.FunctionBase; b == 0 || b+4*uint32(most.Groups) > 1<<16 {
		v.bad("sids.functionBase", "is %#x: want 1 to %#x, so that functions of 16 bits suffice for "+
			"all groups", b, 1<<16-4*most.Groups)
	}
	v.positive("defaults.cnpWindow", inv.Defaults.CNPWindow, false)
	v.positive("defaults.nackHoldoff", inv.Defaults.NackHoldoff, false)
	if n := inv.Defaults.CNPLimit; n == 0 || n >= 1<<24 {
		v.bad("defaults.cnpLimit", "is %d: want 1 to %d", n, 1<<24-1)
	}
	if m := inv.Telemetry.Memory; m != 0 && m < LeastTelemetryMemory {
		v.bad("telemetry.memory", "is %d octets: want at least %d", m, LeastTelemetryMemory)
	}
	v.otlp(inv.Telemetry.OTLP)
	v.positive("ports.hold", inv.Ports.Hold, false)
	v.positive("ports.maxHold", inv.Ports.MaxHold, false)
	v.positive("ports.calm", inv.Ports.Calm, false)
	if inv.Ports.MaxHold < inv.Ports.Hold {
		v.bad("ports.maxHold", "is %v, below hold: want hold or more", inv.Ports.MaxHold)
	}
	iv := &inv.Intervals
	v.positive("intervals.cnpTick", iv.CNPTick, false)
	v.positive("intervals.pollGap", iv.PollGap, false)
	v.positive("intervals.drain", iv.Drain, true)
	v.positive("intervals.retryMin", iv.RetryMin, false)
	v.positive("intervals.retryMax", iv.RetryMax, false)
	if iv.RetryMax < iv.RetryMin {
		v.bad("intervals.retryMax", "is %v, below retryMin: want retryMin or more", iv.RetryMax)
	}
	v.positive("intervals.stateTimeout", iv.StateTimeout, false)
	v.positive("intervals.stall", iv.Stall, true)
	v.positive("intervals.settle", iv.Settle, true)
	v.positive("intervals.audit", iv.Audit, true)
	o := &inv.Orphans
	v.positive("orphans.after", o.After, true)
	switch {
	case o.Policy != OrphansKeep && o.Policy != OrphansRemove:
		v.bad("orphans.policy", "is %q: want %s or %s", o.Policy, OrphansKeep, OrphansRemove)
	case o.Policy == OrphansKeep && o.After != 0:
		v.bad("orphans.after", "is %v, which is for the policy %s", o.After, OrphansRemove)
	}
}

// positive checks a duration; zero: the duration may be 0.
func (v *validator) positive(field string, d api.Duration, zero bool) {
	if d < 0 || d == 0 && !zero {
		v.bad(field, "is %v: want a positive duration", d)
	}
	if d.D() > 24*time.Hour {
		v.bad(field, "is %v: want 24h or less", d)
	}
}
