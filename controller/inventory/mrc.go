package inventory

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// MRC defines how the hosts of the network spray their packets over its paths (OCP
// MRC 1.0). Without a mode the network has no MRC, and the rest means nothing.
type MRC struct {
	Mode      string        `yaml:"mode" doc:"how packets carry their path: 'ecmp' (switches choose by a hash), 'stev' (structured EVs), 'usid-f3216', 'usid-f1616', 'usid-srh', 'usid-structured' (SRv6). A change of mode changes all EVs: hosts cannot send until they have applied the new ones" default:"required"`
	Block     netip.Prefix  `yaml:"block" doc:"block of the uSIDs" default:"that of the locators, or '5f00:100::/32', with F1616 5f00::/16"`
	Hops      string        `yaml:"hops" doc:"what a uSID names: 'links', a uA each, which distinguishes parallel links; or 'nodes', a uN each, as always with 'usid-structured'"`
	Numbering []TierNumbers `yaml:"numbering,omitempty" doc:"where the uSIDs of 'usid-structured' have plane and index, a tier each, T0s first ([mrc.md](mrc.md#structured-usids))" default:"15 planes of 3 tiers of 1,024 switches"`
	Planes    string        `yaml:"planes" doc:"the definition of a plane: 'components', the connected parts of the network; or 'admin-groups', the lowest bit of a link's administrative group"`
	Profiles  string        `yaml:"profiles" doc:"which pairs of racks have EV profiles: 'all'; or 'jobs', those of which hosts talk to each other in a [job](jobs.md#profiles-of-the-pairs-that-talk) that has not ended, and those that clients have written. Hosts that talk outside of jobs have no EVs then"`

	MaxEVs    int    `yaml:"maxEvs" doc:"EVs of a profile"`
	MinActive int    `yaml:"minActive" doc:"EVs that a host keeps active when it finds paths bad by itself" default:"a quarter"`
	Explicit  bool   `yaml:"explicit" doc:"list EVs explicitly, also where hosts could generate them" default:"false"`
	CCProfile string `yaml:"ccProfile" doc:"name of the CC profile of queue pairs whose EV profile names none; while that profile does not exist, devices use their own parameters" default:"none"`

	Listen     string       `yaml:"listen" doc:"address:port for the streams of hosts" default:"nowhere"`
	TLS        *TLS         `yaml:"tls" doc:"PEM files 'cert' and 'key' of the controller, and 'ca' that signs hosts' certificates; without it hosts are not authenticated" default:"plain text"`
	Counts     api.Duration `yaml:"counts" doc:"interval of a host's reports of packets by EV; 0: none"`
	LinkCounts api.Duration `yaml:"linkCounts" doc:"interval at which port counters of switches are read; 0: never"`

	Classes  Classes    `yaml:"classes"`
	ICMP     ICMPErrors `yaml:"icmpErrors"`
	Restore  Restore    `yaml:"restore"`
	Suspects Suspects   `yaml:"suspects"`
	Probes   Probes     `yaml:"probes"`
}

// TierNumbers defines the bit positions of plane and index in the uSIDs of a tier's switches; see
// [ev.TierNumbers].
type TierNumbers struct {
	Base       uint16 `yaml:"base" doc:"the bits that all uSIDs of the tier have alike" default:"0"`
	PlaneShift uint8  `yaml:"planeShift" doc:"lowest bit and width of the plane, from 1" default:"0"`
	PlaneBits  uint8  `yaml:"planeBits" doc:"lowest bit and width of the plane, from 1" default:"required"`
	IndexShift uint8  `yaml:"indexShift" doc:"lowest bit and width of the index" default:"0"`
	IndexBits  uint8  `yaml:"indexBits" doc:"lowest bit and width of the index" default:"required"`
}

// On reports whether the network has MRC.
func (m *MRC) On() bool { return m.Mode != "" }

// RoutesIPv4 reports whether switches route packets to IPv4 hosts, so that these may speak MRC:
// where an entropy value is no more than the UDP source port (OCP MRC 1.0, §9.1), and all switches
// run P4.
func (inv *Inventory) RoutesIPv4() bool {
	return inv.MRC.Mode == ev.ModeECMP.String() && !slices.ContainsFunc(inv.Switches,
		func(s Switch) bool { return s.WithoutP4() })
}

// ICMPErrors bound the ICMPv6 errors that a switch sends (RFC 4443, section 2.4
// f): one an interval on average, and Burst of them at once.
type ICMPErrors struct {
	Interval api.Duration `yaml:"interval" doc:"ICMPv6 errors of a switch: average interval, and burst. An interval of 0: none"`
	Burst    int          `yaml:"burst" doc:"ICMPv6 errors of a switch: average interval, and burst. An interval of 0: none"`
}

// Restore defines when a link that was down is used again.
type Restore struct {
	Hold       api.Duration `yaml:"hold" doc:"back-off of a returning link or port of a host; doubled with every failure up to 'maxHold', and reset after 'calm' without one"`
	MaxHold    api.Duration `yaml:"maxHold" doc:"back-off of a returning link or port of a host; doubled with every failure up to 'maxHold', and reset after 'calm' without one"`
	Calm       api.Duration `yaml:"calm" doc:"back-off of a returning link or port of a host; doubled with every failure up to 'maxHold', and reset after 'calm' without one"`
	Every      api.Duration `yaml:"every" doc:"interval at which restored links are sent to hosts"`
	FirstRound api.Duration `yaml:"firstRound" doc:"longest wait, after a start, for probes over all links before hosts with an earlier controller's state get a new one"`
	Linger     api.Duration `yaml:"linger" doc:"time after the last host has applied the denial, and the last switch its routes, until the link counts as drained"`
}

// Suspects defines what becomes of links that lose packets without being down.
type Suspects struct {
	Deny           bool         `yaml:"deny" doc:"deny links that lose packets, while hosts have other paths; otherwise they are only reported. What one host reports is not enough for a link that other hosts use: without its reports the others must show the loss, or counters of switches" default:"false"`
	DenyBlackHoles bool         `yaml:"denyBlackHoles" doc:"deny links and switches that return none of the probes that hosts send to themselves, while hosts have other paths"`
	DenyLoss       float64      `yaml:"denyLoss" doc:"least share of lost packets for a denial"`
	Every          api.Duration `yaml:"every" doc:"interval of the analysis, and the confidence needed to name a link"`
	Confidence     float64      `yaml:"confidence" doc:"interval of the analysis, and the confidence needed to name a link"`
	Hold           api.Duration `yaml:"hold" doc:"duration of such a denial; doubled when the link is found bad again"`
	MaxHold        api.Duration `yaml:"maxHold" doc:"duration of such a denial; doubled when the link is found bad again"`
	Probes         int          `yaml:"probes" doc:"successful probes in a row before the link is used again"`
}

// Probes bound the EV probes that hosts are asked for.
type Probes struct {
	Rate        int          `yaml:"rate" doc:"EV probes a second, of all hosts and of each; 0: no probes, and links return after a time"`
	HostRate    int          `yaml:"hostRate" doc:"EV probes a second, of all hosts and of each; 0: no probes, and links return after a time"`
	Timeout     api.Duration `yaml:"timeout" doc:"timeout of a probe"`
	Self        int          `yaml:"self" doc:"probes a second that each host sends to itself through its switches, in the modes with uSIDs; 0, or a 'rate' of 0: none"`
	SelfTimeout api.Duration `yaml:"selfTimeout" doc:"timeout of such a probe: a few round trips, and what a host may be late"`
	DSCP        *uint8       `yaml:"dscp" doc:"codepoint of probes" default:"that of control packets"`
}

// DefaultMRC returns the configuration of a network that sets only the mode of MRC. The mode ""
// means a network without MRC.
func DefaultMRC(mode string) MRC {
	ms := func(n int) api.Duration { return api.Duration(time.Duration(n) * time.Millisecond) }
	return MRC{
		Mode: mode, Hops: "links", Planes: "components", Profiles: profileRules[0],
		MaxEVs: ev.DefaultMaxEVs, Counts: ms(1000), LinkCounts: ms(1000),
		Classes: DefaultClasses(), ICMP: ICMPErrors{Interval: ms(10), Burst: 10},
		Restore: Restore{Hold: ms(1000), MaxHold: ms(60_000), Calm: ms(300_000), Every: ms(100),
			FirstRound: ms(10_000), Linger: ms(50)},
		Suspects: Suspects{DenyBlackHoles: true, DenyLoss: 1e-3, Every: ms(500), Confidence: 0.99,
			Hold:    ms(30_000),
			MaxHold: ms(1_800_000), Probes: 512},
		Probes: Probes{Rate: 2000, HostRate: 100, Timeout: ms(100),
			Self: 200, SelfTimeout: ms(2)},
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

// SelfProbes reports whether hosts send probes to themselves.
func (m *MRC) SelfProbes() bool {
	mode, _ := ev.ParseMode(m.Mode)
	return m.Probes.On() && m.Probes.Self > 0 && mode.SRv6()
}

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
