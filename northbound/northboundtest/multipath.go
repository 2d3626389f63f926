package northboundtest

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/kind/kindtest"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/telemetry"
	"github.com/weft-sdn/weft/topology"
)

// Multipath is the core of an MRC fabric at a standstill: it decides as a
// controller does, and time passes only when somebody says so. Its hosts obey at
// once, but for those that are stopped. See [NewFabric] for what the fabric is.
type Multipath struct {
	kindtest.State // its Mu guards all fields
	core           *mrc.Core
	now            time.Duration
	profiles       map[string]api.EVProfile
	cc             *kindtest.Memory[api.CCProfileSpec, api.CCProfile]
	admins         map[mrc.Target]api.Admin
	held           map[string]*hostapi.State
	stubborn       map[string]bool // hosts that apply nothing any more
}

// NewFabric returns a fabric of two planes, each of the leaves a and b (of plane 1
// a1 and b1) and the spines x and y, and plane 1 of the leaf c1 too; and the
// controller of its hosts h1 and h2 at the leaves a, h3 at the leaves b, and h4 at
// c1. h3 takes no generated EVs, and h4 has never connected.
func NewFabric(mode ev.Mode) (*Multipath, *topology.Snapshot) {
	b := topology.NewBuilder()
	for plane := 1; plane <= 2; plane++ {
		id := func(n int) topology.NodeID { return topology.NodeID(fmt.Sprintf("64512:10.0.%d.%d", plane, n)) }
		for i, name := range []string{"a", "b", "x", "y", "c"}[:6-plane] {
			b.SetNode(topology.Node{ID: id(i + 1), Name: fmt.Sprint(name, plane), Loopback: netip.MustParseAddr(fmt.Sprintf("2001:db8:ff:%d::%d", plane, i+1)), ASN: 64512, Protocol: "direct"})
		}
		for i, leaf := range []int{1, 2, 5}[:4-plane] {
			for spine := range 2 {
				up, down := uint32(11+spine), uint32(1+i)
				b.SetLink(topology.Link{Local: id(leaf), Remote: id(spine + 3), LocalID: up, RemoteID: down, IGPMetric: 1})
				b.SetLink(topology.Link{Local: id(spine + 3), Remote: id(leaf), LocalID: down, RemoteID: up, IGPMetric: 1})
			}
		}
	}
	snap := b.Build()
	cfg := mrc.Config{MRC: inventory.DefaultMRC(mode.String()), Epoch: 0xE, Start: Began}
	cfg.CCProfile, cfg.Probes.Rate, cfg.Probes.HostRate = "standard", 200, 100
	cfg.Restore.FirstRound = api.Duration(100 * time.Millisecond)
	core, err := mrc.New(cfg)
	must(err)
	m := &Multipath{
		core: core, profiles: make(map[string]api.EVProfile), State: kindtest.State{Now: Began},
		admins: make(map[mrc.Target]api.Admin), held: make(map[string]*hostapi.State), stubborn: make(map[string]bool),
	}
	m.cc = kindtest.New[api.CCProfileSpec, api.CCProfile](&m.State, mrc.CCKind, func(name string, s *api.CCProfileSpec) error {
		*s = s.Complete()
		return api.ValidateCCProfile(name, s)
	})
	m.cc.InUse, m.cc.Changed = m.inUse, m.tellCC
	core.Tick(0)
	core.SetTopology(snap)
	core.InSync()
	attach := func(n int, planes ...int) (at ev.Attachment) {
		for _, p := range planes {
			at = append(at, topology.NodeID(fmt.Sprintf("64512:10.0.%d.%d", p, n)))
		}
		return at
	}
	for i, at := range []ev.Attachment{attach(1, 1, 2), attach(1, 1, 2), attach(2, 1, 2), attach(5, 1)} {
		ports := make([]uint32, len(at))
		for p := range ports {
			ports[p] = uint32(101 + i)
		}
		must(core.PutHost(mrc.Host{Name: fmt.Sprint("h", i+1), Address: netip.MustParseAddr(fmt.Sprintf("2001:db8:1::%d", i+1)), At: at, LeafPorts: ports}))
	}
	for i := 1; i <= 3; i++ {
		h := Hello(i)
		if i == 3 {
			h.Capabilities.EVModes = hostapi.Modes(hostapi.ModeAuto, hostapi.ModeExplicit)
		}
		must(core.Hello(h.Name, h))
	}
	m.pass(2 * time.Second)
	return m, snap
}

// Hello is what host h1, h2, … of the fabric says first on a stream.
func Hello(n int) *hostapi.Hello {
	caps := ev.Unlimited()
	caps.EVMaxFormats, caps.EVMaxProfiles, caps.EVMaxCount, caps.EVFreeCount, caps.EVMaxCountProfile = 2, 1024, 65536, 65536, 256
	caps.CCMaxProfiles, caps.CCAlgorithms, caps.Ports = 8, []string{hostapi.AlgorithmNSCC}, hostapi.Ports(1, 2)
	caps.DeviceCap, caps.MaxMPR, caps.MaxWIMM, caps.MaxWIMMDest = hostapi.CapTrimNACK|hostapi.CapServiceTime, 8, 64, 64
	return &hostapi.Hello{API: hostapi.API, Name: fmt.Sprint("h", n), Software: "weft test", Instance: uint64(n)<<56 | 1, Capabilities: caps}
}

func must(err error) {
	if err != nil {
		panic(err) // of the test's own making
	}
}

// Pass lets time pass.
func (m *Multipath) Pass(d time.Duration) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.pass(d)
}

// Stop makes a host stop applying updates.
func (m *Multipath) Stop(host string) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.stubborn[host] = true
}

// Start makes a host apply updates again, and those that it missed.
func (m *Multipath) Start(host string) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	delete(m.stubborn, host)
	for _, h := range m.core.Hosts() {
		if h.Name == host {
			m.held[host] = h.State
			must(m.core.Applied(host, h.Set))
		}
	}
	m.settle()
}

// Cut takes the port of a switch down.
func (m *Multipath) Cut(node topology.NodeID, port uint32) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.core.SetPorts(node, map[uint32]bool{port: false})
	m.settle()
}

// Bad makes a host find an EV of a profile bad.
func (m *Multipath) Bad(host, profile, text string) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	v, err := hostapi.ParseEV(text)
	if err != nil {
		return err
	}
	return m.core.EVEvents(host, &hostapi.EVEvents{Events: []hostapi.EVEvent{{Profile: profile, EV: v, State: hostapi.EVAssumedBad}}})
}

// Lossy makes a link lose one of a hundred packets for a while.
func (m *Multipath) Lossy(id topology.LinkID) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	counts := make(map[string]hostapi.EVCount)
	for range 4 {
		m.pass(500 * time.Millisecond)
		for _, h := range m.core.Hosts() {
			if v, _ := m.core.Host(h.Name); !v.Connected {
				continue
			}
			message := &hostapi.EVCounts{}
			for _, p := range m.core.Profiles() {
				if !slices.Contains(p.Hosts, h.Name) || p.Built == nil {
					continue
				}
				for _, e := range evsOf(&p) {
					r, err := p.Built.Route(e)
					if err != nil {
						return err
					}
					key := fmt.Sprint(h.Name, p.Name, e)
					c := counts[key]
					c.Profile, c.EV, c.Sent = p.Name, e, c.Sent+10_000
					if slices.ContainsFunc(r.Hops, func(hop ev.Hop) bool { return hop.Links[0].ID == id }) {
						c.Lost += 100
					}
					counts[key] = c
					message.Counts = append(message.Counts, c)
				}
			}
			if err := m.core.EVCounts(h.Name, message); err != nil {
				return err
			}
		}
	}
	m.pass(500 * time.Millisecond)
	return nil
}

func evsOf(p *mrc.ProfileState) []hostapi.EV {
	if p.Built.Profile.Mode == hostapi.ModeExplicit {
		return p.Built.Profile.EVs
	}
	return p.Built.Profile.Generate(hostapi.Ports(1, 2))
}

// pass and settle expect mu to be held.
func (m *Multipath) pass(d time.Duration) {
	until := m.now + d
	for m.settle(); m.now < until; m.settle() {
		next, ok := m.core.Next()
		m.now = min(until, max(next, m.now+time.Millisecond))
		if !ok {
			m.now = until
		}
		m.core.Tick(m.now)
	}
}

// settle does what the core wants.
func (m *Multipath) settle() {
	for r := m.core.Ready(); !r.Empty(); r = m.core.Ready() {
		for _, s := range r.Sets {
			if !m.stubborn[s.Host] {
				m.held[s.Host] = s.State
				must(m.core.Applied(s.Host, s.Seq))
			}
		}
		for _, p := range r.Probes {
			rtt := 10*time.Microsecond + time.Duration(p.Request.EV.Port)*time.Microsecond
			must(m.core.ProbeResult(p.Host, &hostapi.ProbeResult{
				ID: p.Request.ID, Sent: p.Request.Count, Received: p.Request.Count, RTTMin: rtt, RTTMean: rtt + time.Microsecond/2, RTTMax: rtt + time.Microsecond,
				Port: p.Request.EV.Port,
			}))
		}
	}
}

func (m *Multipath) next() uint64 {
	m.Version++
	return m.Version
}

func missing(format string, args ...any) error {
	return &api.Error{Code: api.CodeNotFound, Message: fmt.Sprintf(format, args...)}
}

// Fabric returns the state of the fabric.
func (m *Multipath) Fabric(context.Context) (api.Fabric, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.core.Fabric(), nil
}

// Uplinks returns the links up from tier 0.
func (m *Multipath) Uplinks(context.Context, any) (out []telemetry.Uplink, key any, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	for _, l := range m.core.Uplinks() {
		out = append(out, telemetry.Uplink(l))
	}
	return out, nil, nil
}

// StreamCounts returns zeros: there are no streams.
func (m *Multipath) StreamCounts(context.Context) (n mrc.StreamCounts, _ error) { return n, nil }

// EVProfiles returns a page of profiles.
func (m *Multipath) EVProfiles(_ context.Context, f mrc.ProfileFilter, p mrc.Page) ([]api.EVProfile, bool, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	items, more := m.core.ProfilePage(f, p)
	out := make([]api.EVProfile, len(items))
	for i := range items {
		out[i] = m.wanted(items[i].Name)
		out[i].Status = items[i].View()
	}
	return out, more, nil
}

// wanted is a profile without its status.
func (m *Multipath) wanted(name string) api.EVProfile {
	p := m.profiles[name]
	p.Name = name
	return p
}

func (m *Multipath) profile(name string) (api.EVProfile, mrc.ProfileState, error) {
	st, ok := m.core.Profile(name)
	if !ok {
		return api.EVProfile{}, st, missing("there is no EV profile %q", name)
	}
	p := m.wanted(name)
	p.Status = st.View()
	p.Status.EVs = slices.Collect(st.EVs())
	return p, st, nil
}

// EVProfile returns a profile.
func (m *Multipath) EVProfile(_ context.Context, name string) (api.EVProfile, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	p, _, err := m.profile(name)
	return p, err
}

// EVs returns EVs of a profile.
func (m *Multipath) EVs(_ context.Context, name string, f mrc.EVFilter, limit int) ([]api.EV, bool, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	_, st, err := m.profile(name)
	if err != nil {
		return nil, false, err
	}
	out, more := st.EVPage(f, limit)
	return out, more, nil
}

// EVPath returns the path of an EV.
func (m *Multipath) EVPath(_ context.Context, name string, e hostapi.EV) (api.EVPath, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	_, st, err := m.profile(name)
	if err != nil {
		return api.EVPath{}, err
	}
	return st.Path(e)
}

// PutEVProfile overrides a profile.
func (m *Multipath) PutEVProfile(_ context.Context, name string, spec api.EVProfileSpec, pre resource.Precondition) (api.EVProfile, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	p, st, err := m.profile(name)
	if err == nil {
		err = pre.Check(fmt.Sprintf("EV profile %q", name), p.Version)
	}
	if err != nil || p.Version != 0 && p.Spec == spec {
		return p, err
	}
	env := api.EVProfileEnv{HasCCProfile: func(name string) bool { _, ok := m.cc.Items[name]; return ok }}
	if spec.MaxEVs == 0 && st.Built != nil {
		env.Count = st.Built.Profile.Count
	}
	if err := api.ValidateEVProfile(&spec, env); err != nil {
		return p, err
	}
	if pre.Trial != nil {
		p.Spec = spec
		return p, nil
	}
	if err := m.core.SetOverride(name, override(spec)); err != nil {
		return p, &api.Error{Code: api.CodeNotPlannable, Message: err.Error()}
	}
	created := p.Created
	if created.IsZero() {
		created = Began
	}
	m.profiles[name] = api.EVProfile{Name: name, Version: m.next(), Created: created, Spec: spec}
	m.settle()
	p, _, err = m.profile(name)
	return p, err
}

func override(s api.EVProfileSpec) mrc.Override {
	return mrc.Override{Mode: s.Mode.HostMode(), MaxEVs: s.MaxEVs, MinActive: s.MinActive, CC: s.CCProfile}
}

// DeleteEVProfile makes a profile what the configuration says.
func (m *Multipath) DeleteEVProfile(_ context.Context, name string, pre resource.Precondition) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	p, _, err := m.profile(name)
	if err == nil {
		err = pre.Check(fmt.Sprintf("EV profile %q", name), p.Version)
	}
	if err != nil || pre.Trial != nil {
		return err
	}
	delete(m.profiles, name)
	err = m.core.SetOverride(name, mrc.Override{})
	m.settle()
	return err
}

// Kinds returns the kinds of resources.
func (m *Multipath) Kinds() []*kind.Kind { return []*kind.Kind{m.cc.Bound()} }

// inUse refuses the deletion of a CC profile that is in use.
func (m *Multipath) inUse(name string) error {
	for _, by := range slices.Sorted(maps.Keys(m.profiles)) {
		if m.profiles[by].Spec.CCProfile == name {
			return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("CC profile %q is that of EV profile %q", name, by)}
		}
	}
	return nil
}

func (m *Multipath) tellCC() {
	var all []*hostapi.CCProfile
	for _, p := range m.cc.Items {
		all = append(all, p.Spec.Host(p.Name))
	}
	m.core.SetCC(all)
	m.settle()
}

// fill fills in what is wanted of a host's ports, and what its stream says.
func (m *Multipath) fill(h *api.Host) {
	for i := range h.Ports {
		p := &h.Ports[i]
		if a, ok := m.admins[mrc.Target{Host: h.Name, Port: p.Port}]; ok {
			p.Version, p.Changed, p.Spec = a.Version, a.Changed, a.Spec
		}
	}
	version := func(n uint64) hostapi.Version { return hostapi.Version{Epoch: 0xE, Number: n} }
	var s mrc.Stream
	if h.Instance != "" {
		s.Since, s.Applied, s.Current = Began, version(h.Versions.Applied), h.Versions.Applied == h.Versions.Wanted
	}
	if m.stubborn[h.Name] {
		s.Refusals = []hostapi.Refused{{Version: version(h.Versions.Wanted), Code: hostapi.CodeBusy, Field: "set_profiles[a1:b1]", Reason: "the device is busy"}}
	}
	mrc.SetStream(h, &s)
}

// Hosts returns a page of hosts.
func (m *Multipath) Hosts(_ context.Context, p mrc.Page) (out []api.Host, more bool, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	out, more = m.core.HostPage(p)
	for i := range out {
		m.fill(&out[i])
	}
	return out, more, nil
}

// Host returns a host.
func (m *Multipath) Host(_ context.Context, name string) (api.Host, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	h, ok := m.core.Host(name)
	if !ok {
		return h, missing("there is no host %q", name)
	}
	m.fill(&h)
	return h, nil
}
