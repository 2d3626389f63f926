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

	SliceBits    uint8        `yaml:"sliceBits" doc:"number of low bits of the outer flow label that carry the slice id, the same on all switches; 1 to 16"`
	DSCP         uint8        `yaml:"dscp" doc:"codepoint of PFC frames in tunnels and of probes; they have the highest priority. With 'mrc', not one of its classes"`
	Quanta       uint16       `yaml:"quanta" doc:"length of the pauses that switches send, in 512 bit times"`
	MTU          uint64       `yaml:"mtu" doc:"largest frame in octets; headroom has room for one each way"`
	WANQueue     uint64       `yaml:"wanQueue" doc:"octets that may wait at each node between the ends of a tunnel and arrive after a pause"`
	Share        uint64       `yaml:"share" doc:"highest XOFF, in percent of the buffer"`
	RTT          api.Duration `yaml:"rtt" doc:"round trip of tunnels that is neither measured nor advertised, and of hosts' links"`
	HostRTT      api.Duration `yaml:"hostRtt" doc:"round trip of tunnels that is neither measured nor advertised, and of hosts' links"`
	Rate         uint64       `yaml:"rate" doc:"rate, in bit/s, of links that advertise none"`
	ProbeEvery   api.Duration `yaml:"probeEvery" doc:"interval of a tunnel's probes; time after four round trips at which a probe is lost; lost probes in a row that make a lost tunnel"`
	ProbeTimeout api.Duration `yaml:"probeTimeout" doc:"interval of a tunnel's probes; time after four round trips at which a probe is lost; lost probes in a row that make a lost tunnel"`
	ProbeLoss    int          `yaml:"probeLoss" doc:"interval of a tunnel's probes; time after four round trips at which a probe is lost; lost probes in a row that make a lost tunnel"`
	QueryEvery   api.Duration `yaml:"queryEvery" doc:"interval at which the state of queues is read"`
	Watchdog     string       `yaml:"watchdog" doc:"action on a storm: 'release' the queue, 'drop' its packets, or only 'report' it"`
	Learn        api.Duration `yaml:"learn" doc:"time before a switch reports the same segment list again (scenario 2)"`
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
	number("pfc.defaults.buffer", p.Defaults.Buffer, api.MinPFCBuffer, api.MaxPFCBuffer)
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
		v.bad("pfc.watchdog", "is %q: want %s, %s or %s", p.Watchdog, WatchdogRelease, WatchdogDrop,
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
