package service

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/telemetry"
	"github.com/weft-sdn/weft/topology"
)

// statesPerSecond bounds how many groups the controller asks a switch about in a second, so
// telemetry leaves room on the switch's CPU port: the sources of more groups at one switch are
// asked less often.
const statesPerSecond = 256

// answering bounds the wait for the answers of switches, beyond the state timeout of the
// controller.
const answering = 10 * time.Second

// readGroups has the telemetry know what multicast groups do, until ctx ends.
func (p *planner) readGroups(ctx context.Context, st *telemetry.Store) {
	progress := make(map[string]*groupProgress)
	interval := sampleInterval
	for wait := time.NewTicker(interval); ; {
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
		bounded, cancel := context.WithTimeout(ctx, answering)
		samples, err := p.controller.GroupSamples(bounded)
		cancel()
		if err != nil {
			continue // the next round shows a gap
		}
		now := time.Now()
		st.TakeReadings(telemetry.Group, interval, groupReadings(progress, samples,
			func(sw string, port uint32) bool {
				return arrived(st, sw, port, interval, now) >= psns
			}))
		if next := groupInterval(samples); next != interval {
			interval = next
			wait.Reset(interval)
		}
	}
}

// groupInterval returns how often groups can be asked.
func groupInterval(samples []controller.GroupSample) time.Duration {
	roots, most := make(map[string]int), 0
	for i := range samples {
		roots[samples[i].Switch]++
		most = max(most, roots[samples[i].Switch])
	}
	return sampleInterval * time.Duration(max(1, (most+statesPerSecond-1)/statesPerSecond))
}

// psns is the number of PSNs; a PSN has 24 bits.
const psns = 1 << 24

// arrived returns how many packets a port may have received in an interval, at the rate of its
// busiest recent second; 0: unknown.
func arrived(st *telemetry.Store, sw string, port uint32, interval time.Duration,
	now time.Time) float64 {
	h, err := st.History(telemetry.Query{
		Kind: telemetry.Port, Name: fmt.Sprintf("%s/%d", sw, port), Metrics: []string{"inPackets"},
		Since: now.Add(-interval - 3*time.Second), Until: now, Step: time.Second,
	}, now)
	if err != nil || len(h.Series) == 0 {
		return 0
	}
	most := 0.0
	for _, v := range h.Series[0].Values {
		if v > most { // false of NaN
			most = v
		}
	}
	return most * interval.Seconds()
}

// groupReadings converts samples to readings, with the earlier state of the groups, which it
// updates. fast reports whether a port receives so many packets that PSNs wrap between two samples.
func groupReadings(progress map[string]*groupProgress, samples []controller.GroupSample,
	fast func(sw string, port uint32) bool) []telemetry.Reading {
	all := make([]telemetry.Reading, 0, len(samples))
	there := make(map[string]bool, len(samples))
	for i := range samples {
		s := &samples[i]
		there[s.Group] = true
		if s.At.IsZero() {
			continue
		}
		g := progress[s.Group]
		if g == nil {
			g = &groupProgress{psn: -1}
			progress[s.Group] = g
		}
		all = append(all, telemetry.Reading{Name: s.Group, At: s.At, Values: []gnmi.Count{
			telemetry.GroupAcked:   g.take(s, fast(s.Switch, s.Port)),
			telemetry.GroupCNPs:    {Value: uint64(s.CNPs), OK: true},
			telemetry.GroupStalled: {Value: uint64(s.Stalled), OK: true},
		}})
	}
	for name := range progress {
		if !there[name] {
			delete(progress, name)
		}
	}
	return all
}

// groupProgress counts the packets of a group that were acknowledged to its source.
type groupProgress struct {
	root  string
	epoch uint32
	psn   int64
	acked uint64
}

// take returns the count; it is not known before the first packet of an epoch at a root, nor when
// PSNs wrap too fast.
func (g *groupProgress) take(s *controller.GroupSample, fast bool) gnmi.Count {
	known := !fast && g.psn >= 0 && s.PSN >= 0 && g.root == s.Switch && g.epoch == s.Epoch
	if known {
		g.acked += uint64(s.PSN-g.psn) % psns
	}
	// With one that is not known the next begins anew: what lies between is a gap.
	g.root, g.epoch, g.psn = s.Switch, s.Epoch, s.PSN
	return gnmi.Count{Value: g.acked, OK: known}
}

// readTunnels gives probe results of PFC tunnels to the telemetry, until ctx ends.
func (p *planner) readTunnels(ctx context.Context, st *telemetry.Store) {
	every(ctx, sampleInterval, func() {
		samples, err := p.controller.TunnelSamples(ctx)
		if err != nil {
			return
		}
		all := make([]telemetry.Reading, len(samples))
		for i := range samples {
			s := &samples[i]
			down := uint64(0)
			if s.Down {
				down = 1
			}
			all[i] = telemetry.Reading{Name: s.Tunnel, At: time.Now(), Values: []gnmi.Count{
				telemetry.TunnelSent: {Value: s.Sent, OK: true}, telemetry.TunnelLost: {Value: s.Lost,
					OK: true},
				telemetry.TunnelRTT: {Value: uint64(s.RTT), OK: s.RTT > 0}, telemetry.TunnelDown: {Value: down,
					OK: s.Probed},
			}}
		}
		st.TakeReadings(telemetry.Tunnel, sampleInterval, all)
	})
}

// readProfiles has the telemetry know what EV profiles carry, until ctx ends: as often as hosts
// report it.
func (p *planner) readProfiles(ctx context.Context, st *telemetry.Store, counts time.Duration) {
	interval := max(counts, sampleInterval)
	every(ctx, interval, func() {
		samples, err := p.multipath.Samples(ctx)
		if err != nil {
			return
		}
		all := make([]telemetry.Reading, len(samples))
		for i := range samples {
			s := &samples[i]
			gauge := func(n int) gnmi.Count { return gnmi.Count{Value: uint64(n), OK: true} }
			all[i] = telemetry.Reading{Name: s.Name, At: time.Now(), Values: []gnmi.Count{
				telemetry.ProfileSent: {Value: s.Sent, OK: counts > 0}, telemetry.ProfileLost: {Value: s.Lost,
					OK: counts > 0},
				telemetry.ProfileActive: gauge(s.Active), telemetry.ProfileDenied: gauge(s.Denied),
				telemetry.ProfileAssumedBad: gauge(s.AssumedBad),
			}}
		}
		st.TakeReadings(telemetry.EVProfile, interval, all)
	})
}

// jobsPeriod lies between looks at which ports jobs use.
const jobsPeriod = 5 * time.Second

// readFabric has the telemetry know what ports do together, until ctx ends.
func (p *planner) readFabric(ctx context.Context, st *telemetry.Store) {
	sums, inner := telemetry.NewSums(st), make(innerPorts)
	var topo *topology.Snapshot
	var uplinks []telemetry.Uplink
	var key any
	var jobs controller.JobPorts
	var asked time.Time
	every(ctx, sampleInterval, func() {
		if p.multipath != nil {
			all, next, err := p.multipath.Uplinks(ctx, key)
			if err == nil && next != key {
				uplinks, key = make([]telemetry.Uplink, len(all)), next
				for i, l := range all {
					uplinks[i] = telemetry.Uplink(l)
				}
			}
		}
		inv := p.controller.Inventory()
		if now := p.controller.Topology(); now != topo {
			switches, err := p.controller.Switches(ctx)
			if err != nil {
				return
			}
			inner.learn(now, switches, inv)
			topo = now
		}
		names := make([]string, 0, len(inv.Switches))
		for i := range inv.Switches {
			if inv.Switches[i].Managed() {
				names = append(names, inv.Switches[i].Name)
			}
		}
		now := time.Now()
		if now.Sub(asked) >= jobsPeriod {
			if all, err := p.controller.JobPorts(ctx); err == nil {
				jobs, asked = all, now
			}
		}
		sums.Take(names, inner.leads, uplinks, jobs, now)
	})
}

// innerPorts are the ports that lead to other switches, by switch. Links that have left the
// topology keep theirs: they do not lead to hosts now.
type innerPorts map[string]map[uint32]bool

func (in innerPorts) leads(sw string, port uint32) bool { return in[sw][port] }

// learn adds the ports of the links of a topology.
func (in innerPorts) learn(topo *topology.Snapshot, switches []api.SwitchStatus,
	inv *inventory.Inventory) {
	names := make(map[string]string, len(switches)) // by node
	for i := range switches {
		names[switches[i].Node] = switches[i].Name
	}
	for _, l := range topo.Links {
		if sw := inv.Switch(names[string(l.Local)]); sw != nil {
			if in[sw.Name] == nil {
				in[sw.Name] = make(map[uint32]bool)
			}
			in[sw.Name][sw.Port(l.LocalID, l.LocalPort)] = true
		}
	}
}

// judgePlanes returns the judge of the planes of the MRC fabric, by the telemetry of the API.
func (p *planner) judgePlanes(served *northbound.Config, log *slog.Logger) *telemetry.Planes {
	p.planes = telemetry.NewPlanes(telemetry.PlanesConfig{
		Store: served.Telemetry, Now: served.Now, Log: log,
		Uplinks: func(ctx context.Context, known any) ([]telemetry.Uplink, any, error) {
			all, key, err := p.multipath.Uplinks(ctx, known)
			out := make([]telemetry.Uplink, len(all))
			for i, l := range all {
				out[i] = telemetry.Uplink(l)
			}
			return out, key, err
		},
	})
	return p.planes
}

// every calls do at each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}
