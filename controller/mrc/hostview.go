package mrc

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/internal/natural"
)

// HostState is what a host is to hold, and how far it is.
type HostState struct {
	fabric.Host
	// Usable are the ports that peers may send to, Denied those that the host must
	// not send by.
	Usable, Denied hostapi.PortMask
	// Set is the number of the last Set, Applied of the last that the host holds.
	Set, Applied uint64
	// Refusal is why it does not hold all that it is to hold.
	Refusal string
	State   *hostapi.State
}

// Hosts returns what the hosts are to hold, by name.
func (c *Core) Hosts() []HostState {
	c.settle()
	out := make([]HostState, 0, len(c.hosts.byName))
	for _, name := range slices.SortedFunc(maps.Keys(c.hosts.byName), natural.Compare) {
		h := c.hosts.byName[name]
		out = append(out, HostState{
			Host: h.Attached.Host, Usable: h.Usable(), Denied: h.Denied(), Set: h.seq, Applied: h.applied,
			Refusal: h.refusal, State: h.state,
		})
	}
	return out
}

// HostPage returns hosts by name, and whether there are more. What the stream to a host says
// [SetStream] fills in.
func (c *Core) HostPage(page Page) (out []api.Host, more bool) {
	c.settle()
	names := make([]string, 0, len(c.hosts.byName))
	for name := range c.hosts.byName {
		if natural.Compare(name, page.After) > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, natural.Compare)
	if page.full(len(names)) && len(names) > page.Limit {
		names, more = names[:page.Limit], true
	}
	out = make([]api.Host, 0, len(names))
	for _, name := range names {
		out = append(out, c.viewHost(c.hosts.byName[name]))
	}
	return out, more
}

// Host returns the host of a name; see [Core.HostPage].
func (c *Core) Host(name string) (api.Host, bool) {
	c.settle()
	h := c.hosts.byName[name]
	if h == nil {
		return api.Host{}, false
	}
	return c.viewHost(h), true
}

func (c *Core) viewHost(h *host) api.Host {
	v := api.Host{
		Name: h.Name, Address: h.Address, Prefixes: h.Prefixes, Ports: c.viewPorts(h), Connected: h.Connected(),
		Software: h.hello.Software, Instance: instanceText(h.hello.Instance), Versions: api.HostVersions{Wanted: h.seq, Applied: h.applied},
	}
	if h.hello.Instance != 0 {
		v.Capabilities = viewCapabilities(&h.hello.Capabilities)
	}
	if h.state != nil {
		v.EVProfiles, v.EVs = len(h.state.Profiles), h.state.EVCount()
	}
	return v
}

func (c *Core) viewPorts(h *host) []api.HostPort {
	out := []api.HostPort{}
	for i := range h.At {
		port := uint8(i + 1)
		st, ok := h.Port(port)
		if !ok {
			continue
		}
		st.LeafName = fabric.NameOf(c.state.Advertised(), st.Leaf)
		st.Drains = c.drains.views(func(d *drain) bool { return d.Host == h.Name && d.Port == port })
		out = append(out, api.HostPort{Port: port, Spec: adminUp, Status: st})
	}
	return out
}

// SetStream fills in what the stream to a host says of it.
func SetStream(v *api.Host, s *Stream) {
	if v.Since = s.Since; !v.Since.IsZero() {
		v.Since = v.Since.UTC()
	}
	if s.Err != nil {
		v.Error = s.Err.Error()
	}
	v.Versions.Held, v.Versions.Current = viewVersion(s.Applied), s.Current
	for i := range s.Refusals {
		r := &s.Refusals[i]
		v.Refusals = append(v.Refusals, api.HostRefusal{Version: viewVersion(r.Version), Code: r.Code.String(), Field: r.Field, Reason: r.Reason})
	}
}

func viewVersion(v hostapi.Version) *api.HostVersion {
	if v == (hostapi.Version{}) {
		return nil
	}
	return &api.HostVersion{Epoch: hexadecimal(v.Epoch), Number: v.Number}
}

// instanceText writes the instance of an agent, "" for none. It is random in all its 64
// bits, of which JSON clients keep 53 of a number.
func instanceText(n uint64) string {
	if n == 0 {
		return ""
	}
	return hexadecimal(n)
}

func hexadecimal(n uint64) string { return fmt.Sprintf("0x%x", n) }

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
