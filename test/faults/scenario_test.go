package faults

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

const (
	groupName     = "g"
	designatedQPN = 0x00d0d0
	pmtu          = 256
	cnpWindow     = 2 * time.Millisecond
	// limit is the virtual time in which a transfer must be over, whatever happens.
	limit = 120 * time.Second
)

var (
	proxy  = netip.MustParseAddr("2001:db8:ffff::1")
	proxy4 = netip.MustParseAddr("10.99.0.1")
)

// redundant is Figure 1 with every edge behind both N4 and N5, so that either may die, and three
// more receivers, one of them at the source's own switch.
func redundant() lab.Network {
	n := lab.Figure1()
	n.Name = "redundant"
	n.Hosts = append(n.Hosts, lab.Host{Name: "R6"}, lab.Host{Name: "R7"}, lab.Host{Name: "R8"})
	n.Links = append(n.Links,
		lab.Link{A: "N4", B: "N3"}, lab.Link{A: "N5", B: "N1"},
		lab.Link{A: "N2", B: "R6"}, lab.Link{A: "N6", B: "R7"}, lab.Link{A: "N1", B: "R8"})
	return n
}

// toIPv4 gives hosts IPv4 addresses, and an IPv6 address to encapsulate from.
func toIPv4(n *lab.Network) {
	for i := range n.Hosts {
		n.Hosts[i].Address = netip.AddrFrom4([4]byte{10, 1, byte(i), 1})
		n.Hosts[i].IPv6 = netip.MustParseAddr(fmt.Sprintf("2001:db8:4:%x::1", i))
	}
}

// admit attaches the intruders.
func admit(n *lab.Network) {
	for _, i := range intruders {
		n.Hosts = append(n.Hosts, lab.Host{Name: i[1]})
		n.Links = append(n.Links, lab.Link{A: i[0], B: i[1], Delay: 5 * time.Microsecond})
	}
}

// A scenario is one run.
type scenario struct {
	rng     *rand.Rand
	world   *lab.World
	control *lab.Control
	group   *lab.Group
	cnps    *cnpSpacing
	hostile *hostile
	open    bool // see options
	spec    api.MulticastGroupSpec
	message int
	// progress is the acknowledged part of the data, from 0 to 1.
	progress func() float64
	strikes  []strike // still to come
	changes  int      // of membership, under way
	story    []string // what was done, for the report of a failure
	broken   error
}

// A strike is an event at a given part of acknowledged data.
type strike struct {
	at float64
	f  func()
}

// when schedules an event for the acknowledgment of a part of the data, from 0 to 1, so that the
// event falls in the middle of the transfer at any speed.
func (s *scenario) when(progress float64, f func()) {
	s.strikes = append(s.strikes, strike{progress, f})
}

// strike lets happen what is due. A change of membership goes on alone.
func (s *scenario) strike() {
	for i := 0; i < len(s.strikes); i++ {
		if due := s.strikes[i]; s.progress() >= due.at {
			s.strikes = slices.Delete(s.strikes, i, i+1)
			i--
			due.f()
		}
	}
}

func (s *scenario) tell(format string, args ...any) {
	s.story = append(s.story, fmt.Sprintf("%v ", s.world.Now())+fmt.Sprintf(format, args...))
}

// options of a scenario.
type options struct {
	mode  api.GroupMode
	send  bool          // SEND instead of WRITE
	evict time.Duration // receivers that stall for so long are taken out; 0: never
	open  bool          // the ports of intruders count as ports inside the domain
	ipv4  bool          // addresses of group and hosts; there are no intruders
}

// newScenario builds the fabric of a seed, programs it, and has the source ready to send.
func newScenario(seed uint64, cache *p4rt.Cache, o options) (*scenario, error) {
	s := &scenario{rng: rand.New(rand.NewPCG(seed, 1))}
	network := redundant()
	for i := range network.Links {
		network.Links[i].Delay = time.Duration(1+s.rng.IntN(20)) * time.Microsecond
	}
	group := proxy
	if o.ipv4 {
		group = proxy4
		toIPv4(&network)
	} else {
		admit(&network)
	}
	var err error
	if s.world, err = lab.NewWorld(network, lab.Options{Seed: seed, Cache: cache}); err != nil {
		return nil, err
	}
	if s.control, err = lab.NewControl(s.world, lab.DefaultLatencies()); err != nil {
		return nil, err
	}
	if err := s.control.Start(); err != nil {
		return nil, err
	}

	qp := rc.DefaultQPConfig()
	qp.PMTU = pmtu
	qp.Window = 8 << s.rng.IntN(3)
	qp.AckEvery = s.rng.IntN(2) * 4
	qp.LocalAckTimeout = 9 // 2.1 ms
	initial := uint32(s.rng.IntN(1 << 24))
	if s.rng.IntN(2) == 0 {
		initial = packet.PSNAdd(0, -1-s.rng.IntN(100)) // about to wrap
	}
	s.message = pmtu * (1 + s.rng.IntN(6))
	size := s.message * ((160+s.rng.IntN(80))/(s.message/pmtu) + 1)
	members := []string{"R1", "R2", "R3", "R4", "R5"}
	if seed%2 == 1 {
		members = append(members, "R7") // N6 is a bud node
	}
	s.group, err = s.world.NewGroup(lab.GroupConfig{
		Proxy: group, DesignatedQPN: designatedQPN, Source: "S1", Receivers: members,
		InitialPSN: initial, QP: qp, Memory: size, Send: o.send, ListEdges: seed%3 == 0,
	})
	if err != nil {
		return nil, err
	}
	s.progress = s.group.Progress
	s.cnps = &cnpSpacing{world: s.world}
	s.world.AddTap(s.cnps)
	s.spec = api.MulticastGroupSpec{
		ProxyAddress: group, DesignatedQPN: designatedQPN, InitialPSN: initial, Mode: o.mode,
		Source: api.GroupSource{Address: s.group.Source.Config().Addr,
			QPN: s.group.SourceQP.Config().QPN},
		CNPWindow: api.Duration(cnpWindow), EvictAfter: api.Duration(o.evict),
	}
	s.control.Events = func(e api.Event) {
		if e.Type == api.EventReceiverEvicted {
			s.evicted()
		}
	}
	if s.rng.IntN(2) == 0 {
		s.spec.Objective = api.ObjectiveCost
	}
	for _, r := range s.group.Receivers {
		s.spec.Receivers = append(s.spec.Receivers, api.GroupReceiver{Address: r.Host.Config().Addr,
			QPN: r.QP.Config().QPN})
	}
	s.world.Run(time.Second, s.connected)
	if err := s.put(); err != nil {
		return nil, err
	}
	if !s.world.Run(s.world.Now()+time.Second, s.programmed) {
		return nil, fmt.Errorf("the group was not programmed: %v", s.status())
	}

	if o.mode == api.ModeInband {
		if err := s.group.Encapsulate(s.status().Tree); err != nil {
			return nil, err
		}
	}
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(s.rng.Uint32())
	}
	if err := s.group.Write(data, s.message); err != nil {
		return nil, err
	}
	if o.send {
		s.take()
	}
	if s.open = o.open; s.open {
		if err := s.admitted(); err != nil {
			return nil, err
		}
	}
	if o.ipv4 {
		return s, nil
	}
	return s, s.intrude(seed)
}

// runPrograms has every packet run the program of a switch, until the switch restarts: recording
// paths takes a third of the time of a run, and no later packet of the run pays it back.
func (s *scenario) runPrograms() {
	for _, sw := range s.world.Network.Switches {
		n, err := s.world.Switch(sw.Name)
		if s.must(err); err == nil {
			n.Device().Switch().FollowPaths(false)
		}
	}
}

// take has every receiver post a few buffers now and then: often too late, so that it answers RNR.
func (s *scenario) take() {
	for _, r := range s.group.Receivers {
		s.must(s.group.Take(r, s.rng.IntN(8)))
	}
	s.world.After(s.between(100*time.Microsecond, 2*time.Millisecond), s.take)
}

// connected reports whether every running switch is programmed and no work remains.
func (s *scenario) connected() bool {
	if s.control.Core() == nil {
		return false
	}
	for _, sw := range s.control.Core().Switches() {
		if !sw.Synced {
			return false
		}
	}
	return true
}

func (s *scenario) put() error {
	return s.control.Change(func(core *controller.Core) error {
		_, _, err := core.Groups().Put(groupName, s.spec.Clone(), resource.Precondition{})
		return err
	})
}

func (s *scenario) status() *api.MulticastGroupStatus {
	if s.control.Core() == nil {
		return nil
	}
	g, err := s.control.Core().Groups().Get(groupName)
	if err != nil {
		return nil
	}
	return &g.Status
}

func (s *scenario) programmed() bool {
	if s.control.Core() == nil {
		return false
	}
	g, err := s.control.Core().Groups().Get(groupName)
	if err != nil || g.Status.ObservedVersion != g.Version {
		return false
	}
	c := g.Status.Condition(api.Programmed)
	return c != nil && c.Status
}

// noise gives every wire faults.
func (s *scenario) noise(loss float64) {
	for _, w := range s.world.Wires() {
		w.Faults = lab.Faults{
			Loss: loss * s.rng.Float64(), Duplicate: 0.02 * s.rng.Float64(),
			Reorder: 0.1 * s.rng.Float64(), Jitter: time.Duration(s.rng.IntN(40)) * time.Microsecond,
			Mark: 0.02 * s.rng.Float64(), Corrupt: 0.005 * s.rng.Float64(),
		}
	}
}

// run lets the transfer come to its end.
func (s *scenario) run() error {
	var failed error
	done := s.world.Run(limit, func() bool {
		failed = s.group.Pump()
		s.strike()
		return failed != nil || s.broken != nil || s.group.Done() && s.changes == 0
	})
	if s.broken != nil {
		return s.broken
	}
	if failed != nil {
		return failed
	}
	if err := s.control.Err(); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	if early, first := s.group.EarlyAcks(); early > 0 {
		return fmt.Errorf("%d early ACKs, the first at %s", early, first)
	}
	if !done {
		return fmt.Errorf("not done after %v of virtual time: source waits for PSN %#06x, status %+v",
			s.world.Now(), s.group.SourceQP.UnackedPSN(), s.status())
	}
	if corrupt := s.group.Corrupt(); len(corrupt) > 0 {
		return fmt.Errorf("memory of %v is not the source's", corrupt)
	}
	if len(s.strikes) > 0 {
		return fmt.Errorf("the transfer was over before %d of the faults", len(s.strikes))
	}
	return s.cnps.err
}

// switchClock is the resolution of a switch's timestamps.
const switchClock = time.Microsecond

// cnpSpacing checks that the source's switch sends at most one CNP a window.
type cnpSpacing struct {
	world    *lab.World
	last     time.Duration
	restarts int
	sent     int
	err      error
}

// Sent implements lab.Tap.
func (c *cnpSpacing) Sent(now time.Duration, w *lab.Wire, frame []byte) {
	if w.To != "S1" {
		return
	}
	p, _, err := packet.ParseRoCE(frame)
	if err != nil || p.BTH.Opcode != packet.OpCongestionNotification {
		return
	}
	n6, _ := c.world.Switch("N6")
	if c.sent > 0 && c.restarts == n6.Restarts && now-c.last < cnpWindow-switchClock && c.err == nil {
		c.err = fmt.Errorf("two CNPs to the source within %v, at %v and %v, want one in %v", now-c.last,
			c.last, now, cnpWindow)
	}
	c.last, c.restarts = now, n6.Restarts
	c.sent++
}

// Arrived implements lab.Tap.
func (c *cnpSpacing) Arrived(time.Duration, *lab.Wire, []byte) {}
