package northbound

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/hostapi"
)

// instanceText writes the instance of an agent, "" for none. It is random in all its 64
// bits, of which JSON clients keep 53 of a number.
func instanceText(n uint64) string {
	if n == 0 {
		return ""
	}
	return hexadecimal(n)
}

func (s *Server) viewHost(h *mrc.HostResource) api.Host {
	v := api.Host{
		Name: h.Name, Address: h.Address, Prefixes: h.Prefixes, Ports: s.viewPorts(h), Connected: h.Connected, Since: utc(h.Session.Since),
		Error: h.Session.Err, Software: h.Hello.Software, Instance: instanceText(h.Hello.Instance),
		Versions: api.HostVersions{Held: viewVersion(h.Session.Held), Current: h.Session.Current, Wanted: h.Set, Applied: h.Applied},
	}
	if h.Hello.Instance != 0 {
		v.Capabilities = viewCapabilities(&h.Hello.Capabilities)
	}
	for i := range h.Session.Refusals {
		r := &h.Session.Refusals[i]
		v.Refusals = append(v.Refusals, api.HostRefusal{Version: viewVersion(r.Version), Code: r.Code.String(), Field: r.Field, Reason: r.Reason})
	}
	if h.State != nil {
		v.EVProfiles, v.EVs = len(h.State.Profiles), h.State.EVCount()
	}
	return v
}

func viewVersion(v hostapi.Version) *api.HostVersion {
	if v == (hostapi.Version{}) {
		return nil
	}
	return &api.HostVersion{Epoch: hexadecimal(v.Epoch), Number: v.Number}
}

func viewCapabilities(c *hostapi.Capabilities) *api.HostCapabilities {
	v := &api.HostCapabilities{
		ProtocolVersions: c.ProtocolVersions, EVMaxFormats: c.EVMaxFormats, EVMaxProfiles: c.EVMaxProfiles, EVMaxCount: c.EVMaxCount,
		EVFreeCount: c.EVFreeCount, EVMaxCountProfile: c.EVMaxCountProfile, EVCountAlign: c.EVCountAlign, EVMaxWidth: c.EVMaxWidth,
		EVFormatModes: []string{}, EVModes: []string{}, EVOpMaxEntries: c.EVOpMaxEntries, CCMaxProfiles: c.CCMaxProfiles,
		CCAlgorithms: append([]string{}, c.CCAlgorithms...), Ports: []int{},
		Options: bitNames(c.OptAttr, optionNames[:]), Transport: bitNames(c.DeviceCap, transportNames[:]),
		MaxMPR: c.MaxMPR, MaxWIMM: c.MaxWIMM, MaxWIMMDest: c.MaxWIMMDest,
	}
	for _, m := range [...]hostapi.FormatMode{hostapi.FormatSTEV, hostapi.FormatSRv6, hostapi.FormatUDP} {
		if c.HasFormat(m) {
			v.EVFormatModes = append(v.EVFormatModes, m.String())
		}
	}
	for _, m := range [...]hostapi.Mode{hostapi.ModeAuto, hostapi.ModeExplicit, hostapi.ModeGenerated} {
		if c.HasMode(m) {
			v.EVModes = append(v.EVModes, m.String())
		}
	}
	for port := 1; port <= hostapi.MaxPort; port++ {
		if c.Ports.Has(port) {
			v.Ports = append(v.Ports, port)
		}
	}
	return v
}

// bitName is what a bit of a set stands for.
type bitName struct {
	bit  uint32
	name string
}

var optionNames = [...]bitName{
	{hostapi.OptEVProfileModifyOnline, "evProfileModifyOnline"}, {hostapi.OptCCProfileModifyOnline, "ccProfileModifyOnline"},
	{hostapi.OptEVEvent, "evEvent"}, {hostapi.OptEVExplicitRange, "evExplicitRange"},
	{hostapi.OptEVEventPreciseDropCount, "evEventPreciseDropCount"}, {hostapi.OptEVProbe, "evProbe"},
}

var transportNames = [...]bitName{
	{hostapi.CapTrimNACK, "trimNack"}, {hostapi.CapDynamicMPR, "dynamicMpr"}, {hostapi.CapServiceTime, "serviceTime"},
}

// bitNames names the bits of a set; those without a name are in hexadecimal.
func bitNames(set uint32, names []bitName) []string {
	out := []string{}
	for _, n := range names {
		if set&n.bit != 0 {
			out, set = append(out, n.name), set&^n.bit
		}
	}
	if set != 0 {
		out = append(out, hexadecimal(uint64(set)))
	}
	return out
}
