package inventory

import (
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/topology"
)

// PFC are the settings of tenants over SRv6 and of their PFC policies.
type PFC struct {
	Defaults api.PFCDefaults `yaml:"defaults"`

	// SliceBits are how many low bits of the outer flow label are the slice's id,
	// alike on all switches. Default 12.
	SliceBits uint8 `yaml:"sliceBits"`
	// DSCP of PFC frames in tunnels and of probes, which have the highest
	// priority everywhere. Default 56 (CS7).
	DSCP uint8 `yaml:"dscp"`
	// Quanta of the pauses that switches send, each 512 bit times. Default 65535.
	Quanta uint16 `yaml:"quanta"`
	// MTU is the largest frame, in octets; WANQueue what may wait at each node
	// between the ends of a tunnel. Defaults 9216 and 131072.
	MTU      uint64 `yaml:"mtu"`
	WANQueue uint64 `yaml:"wanQueue"`
	// Share, in percent, is the part of a buffer above which a queue is never
	// filled before it stops its upstream. Default 75.
	Share uint64 `yaml:"share"`
	// RTT of tunnels and HostRTT of hosts' links are assumed as long as nothing is
	// measured or advertised, and Rate, in bit/s, of links that do not advertise
	// theirs. Defaults 100ms, 20us, 100 Gbit/s.
	RTT     api.Duration `yaml:"rtt"`
	HostRTT api.Duration `yaml:"hostRtt"`
	Rate    uint64       `yaml:"rate"`
	// ProbeEvery is the pause between two probes of a tunnel; one is lost after
	// ProbeTimeout and four round trips, and so is the tunnel after ProbeLoss of
	// them in a row. Defaults 100ms, 100ms, 3.
	ProbeEvery   api.Duration `yaml:"probeEvery"`
	ProbeTimeout api.Duration `yaml:"probeTimeout"`
	ProbeLoss    int          `yaml:"probeLoss"`
	// QueryEvery is how often switches are asked for the state of queues. Default
	// 1s.
	QueryEvery api.Duration `yaml:"queryEvery"`
	// Watchdog is what becomes of a queue that is paused for longer than its PFC
	// policy allows and sends nothing: release (default), drop or report.
	Watchdog string `yaml:"watchdog"`
	// Learn is how long a switch does not report a segment list again (scenario
	// 2). Default 1s.
	Learn api.Duration `yaml:"learn"`
}

// The watchdog's actions.
const (
	WatchdogRelease = "release"
	WatchdogDrop    = "drop"
	WatchdogReport  = "report"
)

func defaultPFC() PFC {
	d := tunnel.Defaults()
	s := d.Sizing
	return PFC{
		Defaults: api.StandardPFCDefaults(), SliceBits: 12, DSCP: 56,
		Quanta: s.Quanta, MTU: s.MTU, WANQueue: s.WANQueue, Share: s.Share, RTT: api.Duration(s.RTT),
		HostRTT: api.Duration(s.HostRTT), Rate: s.Rate,
		ProbeEvery: api.Duration(d.ProbeEvery), ProbeTimeout: api.Duration(d.ProbeTimeout),
		ProbeLoss: d.ProbeLoss, QueryEvery: api.Duration(d.QueryEvery),
		Watchdog: WatchdogRelease, Learn: api.Duration(time.Second),
	}
}

// MaxSlice is the highest slice id.
func (p *PFC) MaxSlice() uint32 { return 1<<p.SliceBits - 1 }

// PFCConfig returns what the core of PFC starts with.
func (inv *Inventory) PFCConfig() tunnel.Config {
	p, c := &inv.PFC, tunnel.Defaults()
	c.Behaviors = inv.SIDs.PFCBehaviors()
	c.Sizing = tunnel.Sizing{
		Quanta: p.Quanta, RTT: p.RTT.D(), HostRTT: p.HostRTT.D(), Rate: p.Rate, WANQueue: p.WANQueue,
		MTU: p.MTU, Share: p.Share,
	}
	c.ProbeEvery, c.ProbeTimeout, c.ProbeLoss, c.QueryEvery = p.ProbeEvery.D(), p.ProbeTimeout.D(),
		p.ProbeLoss, p.QueryEvery.D()
	c.Drain = inv.Intervals.Drain.D()
	return c
}

// PFCBehaviors returns the endpoint behaviors of the PFC draft.
func (s *SIDs) PFCBehaviors() topology.PFCBehaviors {
	b := func(n uint16) topology.Behavior { return topology.Behavior(n) }
	return topology.PFCBehaviors{
		End: b(s.EndPFC), EndX: b(s.EndXPFC), EndXPSP: b(s.EndXPFCPSP), EndXUSP: b(s.EndXPFCUSP),
		EndXPSPUSP: b(s.EndXPFCPSPUSP), EndXUSD: b(s.EndXPFCUSD),
	}
}

// maxSliceBits leaves four bits of the flow label to distinguish flows.
const maxSliceBits = 16

func (v *validator) pfc() {
	p := &v.inv.PFC
	number := func(field string, n, least, most uint64) {
		if n < least || n > most {
			v.bad(field, "is %d: want %d to %d", n, least, most)
		}
	}
	number("pfc.sliceBits", uint64(p.SliceBits), 1, maxSliceBits)
	number("pfc.dscp", uint64(p.DSCP), 0, 63)
	number("pfc.quanta", uint64(p.Quanta), 1, 1<<16-1)
	number("pfc.mtu", p.MTU, 1280, 1<<16-1)
	number("pfc.wanQueue", p.WANQueue, 0, 1<<34)
	number("pfc.share", p.Share, 1, 100)
	number("pfc.rate", p.Rate, 1, 1<<42)
	number("pfc.defaults.buffer", p.Defaults.Buffer, 1, 1<<34)
	if d := v.inv.MRC.Classes.DSCP; v.inv.MRC.On() &&
		slices.Contains([]uint8{d.NoTrim, d.Trimmable, d.TrimmableRetx, d.Trimmed, d.TrimmedLastHop,
			d.Control}, p.DSCP) {
		v.bad("pfc.dscp", "is %d, that of a class of mrc.classes.dscp", p.DSCP)
	}
	v.count("pfc.probeLoss", p.ProbeLoss, 1, 1000)
	v.positive("pfc.defaults.maxPause", p.Defaults.MaxPause, false)
	v.positive("pfc.rtt", p.RTT, false)
	v.positive("pfc.hostRtt", p.HostRTT, false)
	v.positive("pfc.probeEvery", p.ProbeEvery, false)
	v.positive("pfc.probeTimeout", p.ProbeTimeout, false)
	v.positive("pfc.queryEvery", p.QueryEvery, false)
	v.positive("pfc.learn", p.Learn, false)
	if p.Watchdog != WatchdogRelease && p.Watchdog != WatchdogDrop && p.Watchdog != WatchdogReport {
		v.bad("pfc.watchdog", "%q is not one of %s, %s and %s", p.Watchdog, WatchdogRelease, WatchdogDrop,
			WatchdogReport)
	}
	seen := map[uint16]string{v.inv.SIDs.EndMT: "endMt"}
	s := &v.inv.SIDs
	for _, c := range []struct {
		name string
		code uint16
	}{{"endPfc", s.EndPFC}, {"endXPfc", s.EndXPFC}, {"endXPfcPsp", s.EndXPFCPSP},
		{"endXPfcUsp", s.EndXPFCUSP}, {"endXPfcPspUsp", s.EndXPFCPSPUSP}, {"endXPfcUsd", s.EndXPFCUSD}} {
		if other, twice := seen[c.code]; twice {
			v.bad("sids."+c.name, "is %#x, that of %s", c.code, other)
		}
		seen[c.code] = c.name
		if c.code == 0 {
			v.bad("sids."+c.name, "is 0")
		}
	}
}
