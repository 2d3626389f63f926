package nic

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// A flow holds the NIC's part of a queue pair: its sprayer, and its congestion control unless the
// owner brings congestion control.
type flow struct {
	nic     *NIC
	qp      *mrc.QP
	qpn     uint32
	peer    netip.Addr
	mtu     int
	choice  Choice
	profile *profile // that serves the peer, or was chosen; nil for none
	set     *spray.Set
	window  *nscc.QPCC   // nil: the owner's own
	context *mrc.Context // of window; other flows may have it too
	timed   bool         // timers are the NIC's
}

var (
	_ mrc.Sprayer  = (*flow)(nil)
	_ mrc.Repeater = (*flow)(nil)
)

// CreateQP extends CreateQP of mrc.Host. If Sprayer is nil, the queue pair sprays over the profile
// for its peer, and follows changes by the controller. If Congestion is nil, the queue pair runs
// NSCC with the profile's parameters. If AckTimeout is 0, the NIC sets both timers by the round
// trip that these parameters expect. A configuration with all three fields ignores the controller,
// except denied ports.
func (n *NIC) CreateQP(cfg mrc.QPConfig) (*mrc.QP, error) { return n.CreateChosen(cfg, Choice{}) }

// CreateChosen is CreateQP for a queue pair with chosen profiles. While the NIC lacks the chosen
// profiles, the profiles for the destination serve the queue pair.
func (n *NIC) CreateChosen(cfg mrc.QPConfig, c Choice) (*mrc.QP, error) {
	if cfg.Sprayer != nil && cfg.Congestion != nil && cfg.AckTimeout != 0 {
		return n.Host.CreateQP(cfg)
	}
	f := &flow{nic: n, qpn: cfg.QPN, peer: cfg.RemoteAddr, mtu: cfg.PMTU, timed: cfg.AckTimeout == 0,
		choice: c}
	serving := n.serving(f)
	params, err := n.congestion(n.state, f.cc(serving), f.mtu)
	if err != nil {
		return nil, fmt.Errorf("host %s: QP %#x: %w: %w", n.cfg.Host.Name, f.qpn, verbs.ErrConfig, err)
	}
	if c.CC == NoCC && cfg.Congestion == nil {
		cfg.Congestion = mrc.FixedWindow(params.MaxCwnd)
	}
	if cfg.Congestion == nil {
		if err := n.setContext(f, params); err != nil {
			return nil, fmt.Errorf("host %s: QP %#x: %w: %w", n.cfg.Host.Name, f.qpn, verbs.ErrConfig, err)
		}
		cfg.Congestion = f.context
	}
	if f.timed {
		cfg.AckTimeout, cfg.ProbeTimeout = timers(params)
	}
	if cfg.Sprayer == nil {
		if f.set, err = n.newSet(f, serving); err != nil {
			return nil, err
		}
		cfg.Sprayer = f
	}
	n.serveIntake(f, &cfg)
	if f.qp, err = n.Host.CreateQP(cfg); err != nil {
		return nil, err
	}
	f.profile = serving
	if serving != nil {
		serving.flows++
	}
	n.setPorts(f)
	n.flows = append(n.flows, f)
	// also with all ports up: the peer may remember others, of before the host started
	if n.cfg.PortUpdates {
		n.tellPeer(f.peer)
	}
	return f.qp, nil
}

// DestroyQP is mrc.Host's. The counts of the queue pair stay.
func (n *NIC) DestroyQP(qpn uint32) error {
	if err := n.Host.DestroyQP(qpn); err != nil {
		return err
	}
	if i := slices.IndexFunc(n.flows, func(f *flow) bool { return f.qpn == qpn }); i >= 0 {
		n.flows[i].leave()
		if set := n.flows[i].set; set != nil {
			set.Share(nil) // the others are not to wait for what it has under way
		}
		n.flows = slices.Delete(n.flows, i, i+1)
	}
	return nil
}

// newSet makes the values of a flow to a destination that a profile serves.
func (n *NIC) newSet(f *flow, p *profile) (*spray.Set, error) {
	cfg := n.cfg.Spray
	cfg.Seed = n.seed(f)
	cfg.Notify = f.notify
	cfg.Doubtful = func(i int) bool { return !f.profile.auto() && f.profile.doubtful(i) }
	set, err := spray.New(cfg, n.values(f, p))
	if err != nil {
		return nil, fmt.Errorf("host %s: QP %#x: %w: %w", n.cfg.Host.Name, f.qpn, verbs.ErrConfig, err)
	}
	set.Share(p.shared())
	return set, nil
}

// seed is one of the queue pair's own, on whatever host.
func (n *NIC) seed(f *flow) uint64 {
	h := fnv.New64a()
	a := n.cfg.Host.Addr.As16()
	_, _ = h.Write(binary.BigEndian.AppendUint32(a[:], f.qpn))
	return h.Sum64() ^ n.cfg.Seed
}

// values are what a flow sprays over.
func (n *NIC) values(f *flow, p *profile) spray.Profile {
	if !p.auto() {
		return p.made
	}
	count := n.cfg.AutoEVs
	if p != nil && p.is.Count > 0 {
		count = p.is.Count
	}
	ports := len(n.cfg.Host.Ports)
	drawn := spray.Auto(n.seed(f), max(1, count/ports), ports)
	if p != nil {
		drawn.MinActive = min(p.is.MinActive, len(drawn.EVs))
	}
	return drawn
}

func (n *NIC) setPorts(f *flow) {
	if f.set != nil {
		f.set.SetPorts(n.usable(f.peer))
	}
}

// leave takes the flow out of its profile. The profile keeps the counts of the flow and drops its
// bad values.
func (f *flow) leave() {
	p := f.profile
	if p == nil {
		return
	}
	p.flows--
	if f.set == nil {
		return
	}
	for i, v := range p.evs {
		c, _ := f.set.Counts(i)
		was := p.retired[v]
		if c.Sent+c.Lost > 0 {
			p.retired[v] = counted{was.sent + c.Sent, was.lost + c.Lost}
		}
		if state, _ := f.set.State(i); state == spray.AssumedBad {
			f.nic.recovered(p, i)
		}
	}
}

// notify passes a state change of a value from the flow to the NIC.
func (f *flow) notify(e spray.Event) {
	if f.profile.auto() {
		return // no one knows these values
	}
	if e.Kind == spray.BecameBad {
		f.nic.becameBad(f.profile, e.Index)
	} else {
		f.nic.recovered(f.profile, e.Index)
	}
}

// Next returns the path of a packet. While the NIC waits for its first state, data packets get no
// path; answers do not wait.
func (f *flow) Next(now time.Duration, use mrc.Use, ports packet.PortMask) (mrc.Path, bool) {
	if use == mrc.UseData && f.nic.Waiting() && f.profile == nil {
		return mrc.Path{}, false
	}
	return f.set.Next(now, use, ports)
}

// Again reports whether another packet may take a path.
func (f *flow) Again(id mrc.PathID) bool { return f.set.Again(id) }

// SetWindow sets how many packets the congestion window holds.
func (f *flow) SetWindow(packets int) { f.set.SetWindow(packets) }

// Take returns the ports by which a data packet may leave now.
func (f *flow) Take(free, busy packet.PortMask) packet.PortMask { return f.set.Take(free, busy) }

// Feedback takes the outcome of a packet.
func (f *flow) Feedback(now time.Duration, id mrc.PathID, s mrc.Signal) {
	f.set.Feedback(now, id, s)
}

// Took takes how long a packet took.
func (f *flow) Took(id mrc.PathID, d time.Duration) { f.set.Took(id, d) }

// Probe returns a value in doubt that must be probed now.
func (f *flow) Probe(now time.Duration, ports packet.PortMask) (mrc.Path, bool) {
	return f.set.Probe(now, ports)
}

// NextProbe is when one is.
func (f *flow) NextProbe() (time.Duration, bool) { return f.set.NextProbe() }

// Counts calls yield with the counters of every value that packets were sent with, until it returns
// false: of all queue pairs since the value came into its profile.
func (n *NIC) Counts(yield func(hostapi.EVCount) bool) {
	sums := make(map[*profile]map[hostapi.EV]counted)
	for _, f := range n.flows {
		if f.set == nil || f.profile.auto() {
			continue
		}
		sum := sums[f.profile]
		if sum == nil {
			sum = make(map[hostapi.EV]counted)
			sums[f.profile] = sum
		}
		for i, v := range f.profile.evs {
			if c, _ := f.set.Counts(i); c.Sent+c.Lost > 0 {
				was := sum[v]
				sum[v] = counted{was.sent + c.Sent, was.lost + c.Lost}
			}
		}
	}
	for _, is := range n.given.Profiles {
		p := n.profiles[is.Name]
		for i, v := range p.evs {
			c, r := sums[p][v], p.retired[v]
			if c == (counted{}) && r == (counted{}) || p.first[i] != i {
				continue
			}
			if !yield(hostapi.EVCount{Profile: is.Name, EV: v, Sent: c.sent + r.sent, Lost: c.lost +
				r.lost}) {
				return
			}
		}
	}
}
