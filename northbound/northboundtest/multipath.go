package northboundtest

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/telemetry"
	"github.com/weft-sdn/weft/topology"
)

// Multipath is the core of an MRC fabric at a standstill: Multipath decides as a controller does,
// and time passes only by a call. Its hosts obey at once, but for stopped hosts. [NewFabric]
// describes the fabric.
type Multipath struct {
	kinds []*kind.Kind

	// mu guards the fields below it.
	mu       sync.Mutex
	core     *mrc.Core
	now      time.Duration
	stubborn map[string]bool // hosts that apply nothing any more
}

// NewFabric returns a fabric of two planes, each of the leaves a and b (of plane 1
// a1 and b1) and the spines x and y, and plane 1 of the leaf c1 too; and the
// controller of its hosts h1 and h2 at the leaves a, h3 at the leaves b, and h4 at
// c1. h3 takes no generated EVs, and h4 has never connected.
func NewFabric(mode ev.Mode) (*Multipath, *topology.Snapshot) {
	b := topology.NewBuilder()
	for plane := 1; plane <= 2; plane++ {
		id := func(n int) topology.NodeID {
			return topology.NodeID(fmt.Sprintf("64512:10.0.%d.%d", plane, n))
		}
		for i, name := range []string{"a", "b", "x", "y", "c"}[:6-plane] {
			b.SetNode(topology.Node{ID: id(i + 1), Name: fmt.Sprint(name, plane),
				Loopback: netip.MustParseAddr(fmt.Sprintf("2001:db8:ff:%d::%d", plane, i+1)), ASN: 64512,
				Protocol: "direct"})
		}
		for i, leaf := range []int{1, 2, 5}[:4-plane] {
			for spine := range 2 {
				up, down := uint32(11+spine), uint32(1+i)
				b.SetLink(topology.Link{Local: id(leaf), Remote: id(spine + 3), LocalID: up, RemoteID: down,
					IGPMetric: 1})
				b.SetLink(topology.Link{Local: id(spine + 3), Remote: id(leaf), LocalID: down, RemoteID: up,
					IGPMetric: 1})
			}
		}
	}
	snap := b.Build()
	cfg := mrc.Config{MRC: inventory.DefaultMRC(mode.String()), Epoch: 0xE, Start: Began}
	cfg.CCProfile, cfg.Probes.Rate, cfg.Probes.HostRate = "standard", 200, 100
	cfg.Restore.FirstRound = api.Duration(100 * time.Millisecond)
	core, err := mrc.New(cfg)
	must(err)
	m := &Multipath{core: core, stubborn: make(map[string]bool)}
	m.kinds, err = mrc.Offer(core, func() time.Time { return Began }, m)
	must(err)
	core.Tick(0)
	core.SetTopology(snap)
	core.InSync()
	attach := func(n int, planes ...int) (at ev.Attachment) {
		for _, p := range planes {
			at = append(at, topology.NodeID(fmt.Sprintf("64512:10.0.%d.%d", p, n)))
		}
		return at
	}
	for i, at := range []ev.Attachment{attach(1, 1, 2), attach(1, 1, 2), attach(2, 1, 2),
		attach(5, 1)} {
		ports := make([]uint32, len(at))
		for p := range ports {
			ports[p] = uint32(101 + i)
		}
		must(core.PutHost(fabric.Host{Name: fmt.Sprint("h", i+1),
			Address: netip.MustParseAddr(fmt.Sprintf("2001:db8:1::%d", i+1)), At: at, LeafPorts: ports}))
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
	caps.EVMaxFormats, caps.EVMaxProfiles, caps.EVMaxCount, caps.EVFreeCount,
		caps.EVMaxCountProfile = 2, 1024, 65536, 65536, 256
	caps.CCMaxProfiles, caps.CCAlgorithms, caps.Ports = 8, []string{hostapi.AlgorithmNSCC},
		hostapi.Ports(1, 2)
	caps.DeviceCap, caps.MaxMPR, caps.MaxWIMM,
		caps.MaxWIMMDest = hostapi.CapTrimNACK|hostapi.CapServiceTime, 8, 64, 64
	return &hostapi.Hello{API: hostapi.API, Name: fmt.Sprint("h", n), Software: "weft test",
		Instance: uint64(n)<<56 | 1, Capabilities: caps}
}

func must(err error) {
	if err != nil {
		panic(err) // of the test's own making
	}
}

// Pass lets time pass.
func (m *Multipath) Pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pass(d)
}

// Stop makes a host stop applying updates.
func (m *Multipath) Stop(host string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stubborn[host] = true
}

// Start makes a host apply updates again, and those that it missed.
func (m *Multipath) Start(host string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.stubborn, host)
	for _, h := range m.core.Hosts() {
		if h.Name == host {
			must(m.core.Applied(host, h.Set))
		}
	}
	m.settle()
}

// Cut takes the port of a switch down.
func (m *Multipath) Cut(node topology.NodeID, port uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.core.SetPorts(node, map[uint32]bool{port: false})
	m.settle()
}

// Mend takes the port of a switch up again.
func (m *Multipath) Mend(node topology.NodeID, port uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.core.SetPorts(node, map[uint32]bool{port: true})
	m.settle()
}

// Bad makes a host find an EV of a profile bad.
func (m *Multipath) Bad(host, profile, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, err := hostapi.ParseEV(text)
	if err != nil {
		return err
	}
	return m.core.EVEvents(host, &hostapi.EVEvents{Events: []hostapi.EVEvent{{Profile: profile, EV: v,
		State: hostapi.EVAssumedBad}}})
}

// Lossy makes a link lose one of a hundred packets for a while.
func (m *Multipath) Lossy(id topology.LinkID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
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
				must(m.core.Applied(s.Host, s.Seq))
			}
		}
		for _, p := range r.Probes {
			rtt := 10*time.Microsecond + time.Duration(p.Request.EV.Port)*time.Microsecond
			must(m.core.ProbeResult(p.Host, &hostapi.ProbeResult{
				ID: p.Request.ID, Sent: p.Request.Count, Received: p.Request.Count, RTTMin: rtt,
				RTTMean: rtt + time.Microsecond/2, RTTMax: rtt + time.Microsecond,
				Port: p.Request.EV.Port,
			}))
		}
	}
}

// Kinds returns the kinds of the core, as a controller offers them.
func (m *Multipath) Kinds() []*kind.Kind { return m.kinds }

// Fabric returns the state of the fabric.
func (m *Multipath) Fabric(context.Context) (api.Fabric, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.core.Fabric(), nil
}

// StreamCounts returns zeros: there are no streams.
func (m *Multipath) StreamCounts(context.Context) (n mrc.StreamCounts, _ error) { return n, nil }

// Uplinks returns the links up from tier 0.
func (m *Multipath) Uplinks(context.Context, any) (out []telemetry.Uplink, key any, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.core.Uplinks() {
		out = append(out, telemetry.Uplink(l))
	}
	return out, nil, nil
}

// Read implements [mrc.Serializer].
func (m *Multipath) Read(_ context.Context, f func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	return nil
}

// Change implements [mrc.Serializer].
func (m *Multipath) Change(
	_ context.Context, _ resource.Precondition, _ func() (uint64, any), f func() error,
) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.settle()
	return f()
}

// Stream implements [mrc.Serializer].
func (m *Multipath) Stream(host string) (s mrc.Stream, ok bool) {
	h, ok := m.core.Host(host)
	version := func(n uint64) hostapi.Version { return hostapi.Version{Epoch: 0xE, Number: n} }
	if h.Instance != "" {
		s.Since, s.Applied = Began, version(h.Versions.Applied)
		s.Current = h.Versions.Applied == h.Versions.Wanted
	}
	if m.stubborn[host] {
		s.Refusals = []hostapi.Refused{{Version: version(h.Versions.Wanted), Code: hostapi.CodeBusy,
			Field: "set_profiles[a1:b1]", Reason: "the device is busy"}}
	}
	return s, ok
}
