package mrc

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/internal/natural"
	words "github.com/weft-sdn/weft/internal/plain"
	"github.com/weft-sdn/weft/topology"
)

// Fabric describes the fabric as a whole.
func (c *Core) Fabric() api.Fabric {
	c.settle()
	f := api.Fabric{
		Mode: c.mode.String(), InSync: c.state.Synced(), Hosts: api.HostCount{All: len(c.hosts.byName)},
		Profiles: api.FabricCount{All: len(c.profiles.all)}, Probes: c.prover.Reported(),
		Counters: c.counters,
	}
	if err := c.state.Failure(); err != nil {
		f.Failure = err.Error()
	}
	for _, h := range c.hosts.byName {
		if h.Connected() {
			f.Hosts.Connected++
		}
		if h.current() {
			f.Hosts.Current++
		}
		countQueuePairs(&f.QPs, &h.queuePairs)
		f.Ports.All += len(h.At)
		f.Ports.Usable += h.Usable().Len()
		for _, e := range h.portErrors.Errors {
			f.Ports.Errors += e.Count
		}
	}
	for _, p := range c.profiles.all {
		if p.outcome.Degraded != "" {
			f.Profiles.Bad++
		}
	}
	if c.state.Fabric() == nil {
		return f
	}
	clos := c.state.Fabric().Clos()
	f.Planes, f.Tiers, f.Leaves = clos.Planes(), clos.Tiers(), len(clos.Leaves())
	f.Links.All, f.Links.Bad = c.state.Links().Count(func(*fabric.Link) bool { return true })
	return f
}

// NodePage returns the switches of the fabric by id, and whether there are more.
func (c *Core) NodePage(page Page) (out []api.Node, more bool) {
	c.settle()
	out = []api.Node{}
	if c.state.Fabric() == nil {
		return out, false
	}
	var nodes []*topology.Node
	for _, n := range c.state.Fabric().Snapshot().Nodes {
		if _, ok := c.state.Fabric().Clos().Tier(n.ID); ok && natural.Compare(string(n.ID),
			page.After) > 0 {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *topology.Node) int { return natural.Compare(a.ID, b.ID) })
	for _, n := range nodes {
		if page.full(len(out)) {
			return out, true
		}
		out = append(out, c.viewNode(n))
	}
	return out, false
}

// Node returns the switch of an id, if it is in the fabric.
func (c *Core) Node(id topology.NodeID) (api.Node, bool) {
	c.settle()
	if c.state.Fabric() == nil {
		return api.Node{}, false
	}
	n := c.state.Fabric().Snapshot().Node(id)
	if n == nil {
		return api.Node{}, false
	}
	if _, ok := c.state.Fabric().Clos().Tier(id); !ok {
		return api.Node{}, false
	}
	return c.viewNode(n), true
}

func (c *Core) viewNode(n *topology.Node) api.Node {
	tier, _ := c.state.Fabric().Clos().Tier(n.ID)
	v := api.Node{ID: n.ID, Spec: adminUp, Status: api.NodeStatus{
		Name: n.Name, Tier: &tier, Planes: append([]int{}, c.state.Fabric().Clos().PlanesOf(n.ID)...),
		Present: c.state.Advertised().Node(n.ID) != nil,
	}}
	s := &v.Status
	if plane := c.state.Fabric().Clos().Plane(n.ID); plane != 0 {
		s.Planes = []int{plane}
	}
	s.Links,
		s.DeniedLinks = c.state.Links().Count(func(l *fabric.Link) bool {
		return l.Local == n.ID || l.Remote == n.ID
	})
	s.Drains = c.drains.views(func(d *drain) bool {
		return d.Node == n.ID || slices.Equal(s.Planes, []int{d.Plane})
	})
	return v
}

// Planes returns the planes of the fabric in order.
func (c *Core) Planes() []api.Plane {
	c.settle()
	out := []api.Plane{}
	if c.state.Fabric() == nil {
		return out
	}
	for plane := 1; plane <= c.state.Fabric().Clos().Planes(); plane++ {
		v := api.Plane{Plane: plane, Spec: adminUp, Status: api.PlaneStatus{
			Drains: c.drains.views(func(d *drain) bool { return d.Plane == plane }),
		}}
		v.Status.Links, v.Status.DeniedLinks = c.state.Links().Count(func(l *fabric.Link) bool {
			return c.state.Fabric().Clos().LinkPlane(l.ID) == plane
		})
		out = append(out, v)
	}
	return out
}

// adminUp is the spec of a resource that no client has written.
var adminUp = api.AdminSpec{Admin: api.AdminUp}

// viewLink describes one direction of a link. Views of a core show the specs of a core without
// client writes; see wanted.
func (c *Core) viewLink(l *fabric.Link) api.Link {
	f, now := c.state.Fabric(), c.state.Advertised()
	v := api.Link{ID: l.ID, Spec: adminUp, Status: api.LinkStatus{
		From: l.Local, FromName: fabric.NameOf(now, l.Local), To: l.Remote,
		ToName: fabric.NameOf(now, l.Remote),
		Plane:  f.Clos().LinkPlane(l.ID), Phase: l.Phase().String(), Cause: l.Cause(),
		Since: c.wall(l.Since()), Sources: now.Link(l.ID).KnownFrom(),
		Drained: l.Drained(), Denied: l.Denied(), Returning: l.Returning(),
		Drains: c.drains.views(func(d *drain) bool { return d.covers(f, l.Edge) }),
	}}
	v.Status.FromPort, v.Status.ToPort = c.state.LinkPorts(l.Link)
	if place, ok := f.Place(l.ID); ok {
		if truth := c.prover.LinkTruth(place, c.wall); truth != (api.LinkTruth{}) {
			v.Status.Truth = &truth
		}
	}
	if until := l.Until(); until > 0 {
		v.Status.Until = c.wall(until)
	}
	return v
}

// Links returns the links of the fabric that paths cross, in fabric order.
func (c *Core) Links() (out []api.Link) {
	links := c.state.Links()
	for i := range int32(links.Len()) {
		if l := links.At(i); len(l.Leaves()) > 0 {
			out = append(out, c.viewLink(l))
		}
	}
	return out
}

// LinkPage returns links by id, and whether there are more.
func (c *Core) LinkPage(f api.LinkFilter, page Page) (out []api.Link, more bool) {
	c.settle()
	out = []api.Link{}
	if c.state.Fabric() == nil {
		return out, false
	}
	order, links := c.state.Fabric().ByID(), c.state.Links()
	first, _ := slices.BinarySearchFunc(order, page.After, func(i int32, after string) int {
		if natural.Compare(string(links.At(i).ID), after) > 0 {
			return 1
		}
		return -1
	})
	for _, i := range order[first:] {
		l := links.At(i)
		if !c.wantsLink(f, l) {
			continue
		}
		if page.full(len(out)) {
			return out, true
		}
		out = append(out, c.viewLink(l))
	}
	return out, false
}

func (c *Core) wantsLink(f api.LinkFilter, l *fabric.Link) bool {
	return (f.Node == "" || c.isCalled(l.Local, f.Node) || c.isCalled(l.Remote, f.Node)) &&
		(f.Plane == 0 || c.state.Fabric().Clos().LinkPlane(l.ID) == f.Plane) &&
		(!f.Denied || l.Denied()) && (!f.Wrong || c.wrong(l))
}

// wrong reports whether a direction of a link is not in use, or is not to be.
func (c *Core) wrong(l *fabric.Link) bool {
	from, to := c.state.LinkPorts(l.Link)
	return l.Denied() || from == "down" || to == "down"
}

// Link returns the link of an id, if paths cross it.
func (c *Core) Link(id topology.LinkID) (api.Link, bool) {
	c.settle()
	if c.state.Fabric() == nil {
		return api.Link{}, false
	}
	i, ok := c.state.Fabric().Place(id)
	if !ok || len(c.state.Links().At(i).Leaves()) == 0 {
		return api.Link{}, false
	}
	return c.viewLink(c.state.Links().At(i)), true
}

// HostState has the state that a host should hold, and the host's progress.
type HostState struct {
	fabric.Host
	// Usable are the ports that peers may send to, Denied those that the host must
	// not send by.
	Usable, Denied hostapi.PortMask
	// Set is the number of the last Set, Applied the number of the last Set that the host has applied.
	Set, Applied uint64
	// Refusal reports why the host does not hold all its state.
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

// HostPage returns hosts by name, and whether there are more. [SetStream] fills in the state of the
// stream to a host.
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
		Name: h.Name, Address: h.Address, Prefixes: h.Prefixes, Ports: c.viewPorts(h),
		ErrorsLeftOut: h.portErrors.LeftOut, Connected: h.Connected(),
		Software: h.hello.Software, Instance: instanceText(h.hello.Instance),
		Versions: api.HostVersions{Wanted: h.seq, Applied: h.applied},
	}
	if h.hello.Instance != 0 {
		v.Capabilities = viewCapabilities(&h.hello.Capabilities)
	}
	if h.state != nil {
		v.EVProfiles, v.EVs = len(h.state.Profiles), h.state.EVCount()
		v.QPHints = api.QPHintsOf(h.state.Hints)
	}
	v.QueuePairs = c.viewQueuePairs(&h.queuePairs)
	return v
}

// countQueuePairs adds those of a host.
func countQueuePairs(n *api.QueuePairCount, q *hostapi.QueuePairs) {
	n.All += q.LeftOut
	for _, g := range q.Groups {
		n.All += g.Count
		n.Failed += g.Failed
		switch {
		case strings.HasPrefix(g.Profile, hostapi.LocalMark):
			n.Local += g.Count
		case g.Profile != "":
			n.Controller += g.Count
		}
		if g.Hints != (hostapi.QPHints{}) {
			n.Hinted += g.Count
		}
	}
}

// viewQueuePairs is what applications have made, nil for nothing.
func (c *Core) viewQueuePairs(q *hostapi.QueuePairs) *api.HostQueuePairs {
	if len(q.Groups) == 0 {
		return nil
	}
	v := &api.HostQueuePairs{Count: q.LeftOut, LeftOut: q.LeftOut}
	peers := make(map[netip.Addr]bool)
	for _, g := range q.Groups {
		v.Count += g.Count
		v.Failed += g.Failed
		peers[g.Peer] = true
		group := api.HostQueuePairGroup{Peer: g.Peer, EVProfile: g.Profile, CCProfile: g.CC,
			Count: g.Count, Failed: g.Failed, Hints: api.QPHintsOf(g.Hints)}
		if peer := c.state.HostAt(g.Peer); peer != nil {
			group.PeerName = peer.Name
		}
		v.Groups = append(v.Groups, group)
	}
	v.Peers = len(peers)
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
		for _, e := range h.portErrors.Errors {
			if e.Port == port {
				st.Errors = append(st.Errors, api.PortError{Source: e.Source, Counter: e.Counter,
					Count: e.Count})
			}
		}
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
		v.Error = words.Error(s.Err)
	}
	v.Versions.Held, v.Versions.Current = viewVersion(s.Applied), s.Current
	for i := range s.Refusals {
		r := &s.Refusals[i]
		v.Refusals = append(v.Refusals, api.HostRefusal{Version: viewVersion(r.Version),
			Code: r.Code.String(), Field: r.Field, Reason: r.Reason})
	}
}

func viewVersion(v hostapi.Version) *api.HostVersion {
	if v == (hostapi.Version{}) {
		return nil
	}
	return &api.HostVersion{Epoch: hexadecimal(v.Epoch), Number: v.Number}
}

// instanceText writes the instance of an agent, "" for none. The instance is a string because it is
// random in all 64 bits, and JSON clients keep only 53 bits of a number.
func instanceText(n uint64) string {
	if n == 0 {
		return ""
	}
	return hexadecimal(n)
}

func hexadecimal(n uint64) string { return fmt.Sprintf("0x%x", n) }

func viewCapabilities(c *hostapi.Capabilities) *api.HostCapabilities {
	v := &api.HostCapabilities{
		ProtocolVersions: c.ProtocolVersions, EVMaxFormats: c.EVMaxFormats,
		EVMaxProfiles: c.EVMaxProfiles, EVMaxCount: c.EVMaxCount,
		EVFreeCount: c.EVFreeCount, EVMaxCountProfile: c.EVMaxCountProfile, EVCountAlign: c.EVCountAlign,
		EVMaxWidth:    c.EVMaxWidth,
		EVFormatModes: []string{}, EVModes: []string{}, EVOpMaxEntries: c.EVOpMaxEntries,
		CCMaxProfiles: c.CCMaxProfiles,
		CCAlgorithms:  append([]string{}, c.CCAlgorithms...), Ports: []int{},
		Options: bitNames(c.OptAttr, optionNames[:]), Transport: bitNames(c.DeviceCap, transportNames[:]),
		MaxMPR: c.MaxMPR, MaxWIMM: c.MaxWIMM, MaxWIMMDest: c.MaxWIMMDest,
		QPHints: c.QPHints,
	}
	for _, m := range [...]hostapi.FormatMode{hostapi.FormatSTEV, hostapi.FormatSRv6,
		hostapi.FormatUDP} {
		if c.HasFormat(m) {
			v.EVFormatModes = append(v.EVFormatModes, m.String())
		}
	}
	for _, m := range [...]hostapi.Mode{hostapi.ModeAuto, hostapi.ModeExplicit,
		hostapi.ModeGenerated} {
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
	{hostapi.OptEVProfileModifyOnline, "evProfileModifyOnline"},
	{hostapi.OptCCProfileModifyOnline, "ccProfileModifyOnline"},
	{hostapi.OptEVEvent, "evEvent"}, {hostapi.OptEVExplicitRange, "evExplicitRange"},
	{hostapi.OptEVEventPreciseDropCount, "evEventPreciseDropCount"}, {hostapi.OptEVProbe, "evProbe"},
}

var transportNames = [...]bitName{
	{hostapi.CapTrimNACK, "trimNack"}, {hostapi.CapDynamicMPR, "dynamicMpr"},
	{hostapi.CapServiceTime, "serviceTime"},
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

// A Page is a part of a list: the first items after a key. Only items of the page are copied.
type Page struct {
	After string // "" is the beginning
	Limit int    // 0 is all
}

func (p Page) full(n int) bool { return p.Limit > 0 && n >= p.Limit }

// isCalled reports whether a node has an id or shows a name.
func (c *Core) isCalled(id topology.NodeID, name string) bool {
	if string(id) == name {
		return true
	}
	f := c.state.Fabric()
	return f != nil && fabric.NameOf(f.Snapshot(), id) == name && name != ""
}

// Probes returns what probes have shown, by profile and EV.
func (c *Core) Probes() []api.EVProbe {
	out, _ := c.ProbePage(api.EVProbeFilter{}, Page{})
	return out
}

// ProbeKey returns the key by which EV probes are ordered and paged.
func ProbeKey(p *api.EVProbe) string { return p.Profile + " " + p.EV }

// ProbePage returns probe results by profile and EV, and whether more follow. The key of a removed
// EV marks its former place.
func (c *Core) ProbePage(f api.EVProbeFilter, page Page) (out []api.EVProbe, more bool) {
	out = []api.EVProbe{}
	name, text, _ := strings.Cut(page.After, " ")
	after, err := hostapi.ParseEV(text)
	resumed := err == nil
	from := c.profiles.after(name)
	if from > 0 && c.profiles.all[from-1].name == name {
		from-- // the rest of its cells
	}
	for _, p := range c.profiles.all[from:] {
		if f.Profile != "" && p.name != f.Profile {
			continue
		}
		var rest *hostapi.EV
		if resumed && p.name == name {
			rest = &after
		}
		for v := range p.probed.Probes(p.name, f, rest, c.wall) {
			if page.full(len(out)) {
				return out, true
			}
			out = append(out, v)
		}
	}
	return out, false
}
