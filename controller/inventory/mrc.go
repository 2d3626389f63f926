package inventory

import (
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// MRC defines how the hosts of the network spray their packets over its paths (OCP
// MRC 1.0). Without a mode the network has no MRC, and the rest means nothing.
type MRC struct {
	// Mode is how packets say their path: ecmp, stev, usid-f3216, usid-f1616, usid-srh or
	// usid-structured.
	Mode string `yaml:"mode"`
	// Block of the uSIDs; default that of the locators, or else of RFC 9602.
	Block netip.Prefix `yaml:"block"`
	// Hops is what uSIDs stand for: links (default) or nodes.
	Hops string `yaml:"hops"`
	// Numbering of the uSIDs of mode usid-structured, T0s first; default that of
	// ev.DefaultNumbering.
	Numbering []TierNumbers `yaml:"numbering,omitempty"`
	// Planes is what makes a plane: components (default), the connected parts of
	// the network; or admin-groups, the lowest bit of a link's administrative group.
	Planes string `yaml:"planes"`
	// Profiles is which pairs of racks have EV profiles: all (default), or jobs, those of which hosts
	// talk to each other in a job.
	Profiles string `yaml:"profiles"`

	// MaxEVs of a profile; default 128. MinActive of them a host leaves active by
	// itself; 0: a quarter. Explicit keeps EVs from being generated where they
	// could be.
	MaxEVs    int  `yaml:"maxEvs"`
	MinActive int  `yaml:"minActive"`
	Explicit  bool `yaml:"explicit"`
	// CCProfile is the name of the CC profile of all queue pairs whose EV profile
	// has no other; while there is none of that name, and by default, devices choose.
	CCProfile string `yaml:"ccProfile"`

	// Listen is address:port for the streams of hosts. TLS has Cert, Key and CA;
	// without it hosts are who they say.
	Listen string `yaml:"listen"`
	TLS    *TLS   `yaml:"tls"`
	// Counts is the pause between a host's reports of what its EVs carried, 0: none;
	// LinkCounts that between the readings of the counters of switches' ports, 0:
	// they are not read. Default 1s each.
	Counts     api.Duration `yaml:"counts"`
	LinkCounts api.Duration `yaml:"linkCounts"`

	Classes  Classes    `yaml:"classes"`
	ICMP     ICMPErrors `yaml:"icmpErrors"`
	Restore  Restore    `yaml:"restore"`
	Suspects Suspects   `yaml:"suspects"`
	Probes   Probes     `yaml:"probes"`
}

// TierNumbers are where the uSIDs of the switches of a tier have plane and index; see
// [ev.TierNumbers].
type TierNumbers struct {
	Base       uint16 `yaml:"base"`
	PlaneShift uint8  `yaml:"planeShift"`
	PlaneBits  uint8  `yaml:"planeBits"`
	IndexShift uint8  `yaml:"indexShift"`
	IndexBits  uint8  `yaml:"indexBits"`
}

// On reports whether the network has MRC.
func (m *MRC) On() bool { return m.Mode != "" }

// ICMPErrors bound the ICMPv6 errors that a switch sends (RFC 4443, section 2.4
// f): one an interval on average, and Burst of them at once.
type ICMPErrors struct {
	Interval api.Duration `yaml:"interval"` // default 10ms; 0: none are sent
	Burst    int          `yaml:"burst"`    // default 10
}

// Restore defines when what was down is used again.
type Restore struct {
	// Hold is how long a link or a host's port must be up before it is tried;
	// default 1s. It doubles with every failure up to MaxHold, default 1m, and is
	// Hold again after Calm without one, default 5m.
	Hold    api.Duration `yaml:"hold"`
	MaxHold api.Duration `yaml:"maxHold"`
	Calm    api.Duration `yaml:"calm"`
	// Every is how often hosts are notified of what is restored. Default 100ms.
	Every api.Duration `yaml:"every"`
	// FirstRound bounds the wait for probes over all links after a start, before
	// hosts that hold what an earlier controller told them get something new.
	// Default 10s.
	FirstRound api.Duration `yaml:"firstRound"`
	// Linger is how long a drained link continues after the last host has applied
	// the denial, for packets on their way. Default 50ms.
	Linger api.Duration `yaml:"linger"`
}

// Suspects defines what becomes of links that lose packets without being down.
type Suspects struct {
	// Deny makes the controller deny links that lose as many as DenyLoss of their
	// packets (of 1, default 0.001), as long as hosts have other paths; by
	// default they are only named.
	Deny     bool    `yaml:"deny"`
	DenyLoss float64 `yaml:"denyLoss"`
	// Every is how often the evidence is looked at. Default 500ms.
	Every api.Duration `yaml:"every"`
	// Confidence is the least that a link is named with, of 1. Default 0.99.
	Confidence float64 `yaml:"confidence"`
	// Hold is how long a denied link stays so, default 30s; it doubles up to
	// MaxHold, default 30m, when it is found bad again. Then as many as Probes probes
	// in a row must come through, default 512.
	Hold    api.Duration `yaml:"hold"`
	MaxHold api.Duration `yaml:"maxHold"`
	Probes  int          `yaml:"probes"`
}

// Probes bound the EV probes that hosts are asked for.
type Probes struct {
	// Rate and HostRate are probes a second, of all hosts and of each; 0: there
	// are none, and links are restored by time alone. Defaults 2000 and 100.
	Rate     int `yaml:"rate"`
	HostRate int `yaml:"hostRate"`
	// Timeout is what a host waits for an answer. Default 100ms.
	Timeout api.Duration `yaml:"timeout"`
	// DSCP of probes. Default that of control packets.
	DSCP *uint8 `yaml:"dscp"`
}

// DefaultMRC returns the configuration of a network that says no more of MRC than its mode, of
// which "" is none: that network has no MRC.
func DefaultMRC(mode string) MRC {
	ms := func(n int) api.Duration { return api.Duration(time.Duration(n) * time.Millisecond) }
	return MRC{
		Mode: mode, Hops: "links", Planes: "components", Profiles: profileRules[0],
		MaxEVs: ev.DefaultMaxEVs, Counts: ms(1000), LinkCounts: ms(1000),
		Classes: DefaultClasses(), ICMP: ICMPErrors{Interval: ms(10), Burst: 10},
		Restore: Restore{Hold: ms(1000), MaxHold: ms(60_000), Calm: ms(300_000), Every: ms(100),
			FirstRound: ms(10_000), Linger: ms(50)},
		Suspects: Suspects{DenyLoss: 1e-3, Every: ms(500), Confidence: 0.99, Hold: ms(30_000),
			MaxHold: ms(1_800_000), Probes: 512},
		Probes: Probes{Rate: 2000, HostRate: 100, Timeout: ms(100)},
	}
}

var (
	hopKinds   = []string{ev.HopLinks: "links", ev.HopNodes: "nodes"}
	planeRules = []string{topology.PlanesByComponent: "components",
		topology.PlanesByAdminGroup: "admin-groups"}
	profileRules = []string{"all", "jobs"}
)

// ProfilesOfJobs reports whether only pairs of racks that talk in a job have EV profiles.
func (m *MRC) ProfilesOfJobs() bool { return m.Profiles == profileRules[1] }

// On reports whether hosts are asked for probes.
func (p *Probes) On() bool { return p.Rate != 0 && p.HostRate != 0 }

// ProbeDSCP returns the DSCP of probes.
func (m *MRC) ProbeDSCP() uint8 {
	if m.Probes.DSCP != nil {
		return *m.Probes.DSCP
	}
	return m.Classes.DSCP.Control
}

// Format is how EVs are laid out; m must be valid.
func (m *MRC) Format() ev.Format {
	mode, _ := ev.ParseMode(m.Mode)
	f := ev.Format{Mode: mode, Block: m.Block}
	if m.Hops == hopKinds[ev.HopNodes] {
		f.Hops = ev.HopNodes
	}
	for _, n := range m.Numbering {
		f.Numbering = append(f.Numbering, ev.TierNumbers(n))
	}
	return f
}

// PlaneRule is what makes a plane; m must be valid.
func (m *MRC) PlaneRule() topology.PlaneRule {
	if m.Planes == planeRules[topology.PlanesByAdminGroup] {
		return topology.PlanesByAdminGroup
	}
	return topology.PlanesByComponent
}
