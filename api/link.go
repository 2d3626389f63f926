package api

import (
	"github.com/weft-sdn/weft/topology"
	"time"
)

// Link is one direction of a link of the fabric.
type Link struct {
	ID      topology.LinkID `json:"id" doc:"As in the topology."`
	Version uint64          `json:"version" doc:"Changes with every change of the spec; also the ETag. 0: no client has written the spec."`
	Changed time.Time       `json:"changed,omitzero" doc:"When the spec changed last."`
	Spec    AdminSpec       `json:"spec" doc:"Of both directions."`
	Status  LinkStatus      `json:"status"`
	Takes   []Taken         `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (l Link) Intent() (version uint64, spec any) { return l.Version, l.Spec }

// LinkStatus is what the controller reports about one direction of a link.
type LinkStatus struct {
	From      topology.NodeID `json:"from"`
	FromName  string          `json:"fromName,omitempty"`
	To        topology.NodeID `json:"to"`
	ToName    string          `json:"toName,omitempty"`
	Plane     int             `json:"plane,omitempty"`
	Phase     string          `json:"phase" enum:"up,down,held,trying" doc:"held: it is up again, and has to stay so for a while. trying: it waits for probes to come through."`
	FromPort  string          `json:"fromPort,omitempty" enum:"up,down" doc:"The port at its beginning, as its switch says; absent when nothing is known."`
	ToPort    string          `json:"toPort,omitempty" enum:"up,down" doc:"The port at its end, as its switch says; absent when nothing is known."`
	Cause     string          `json:"cause,omitempty" doc:"Why it is not up."`
	Returning bool            `json:"returning,omitempty" doc:"It has not failed: it was drained, or is new, and is probed before it is used."`
	Since     time.Time       `json:"since,omitzero" doc:"When the phase began. Absent without an MRC fabric."`
	Until     time.Time       `json:"until,omitzero" doc:"How long it is held."`
	Sources   []string        `json:"sources,omitempty" doc:"What it is known from, the one that counts first: bgp-ls, network and a name, file, or lldp. Absent when it is no longer there."`
	Denied    bool            `json:"denied" doc:"EVs that cross it are denied."`
	Drained   bool            `json:"drained" doc:"Out of use, in every phase."`
	Truth     *LinkTruth      `json:"truth,omitempty" doc:"What counters and probes say of it, beside what the control plane says: phase, fromPort and toPort. Absent when they say nothing."`
	Drains    []Drain         `json:"drains,omitempty" doc:"What takes it out of use: a drain of the link, of a node at its end, or of its plane."`
}

// LinkTruth has the evidence of counters and probes about one direction of a link, and the
// controller's conclusion.
type LinkTruth struct {
	Counters  *LinkCounters   `json:"counters,omitempty" doc:"Counters of the ports at its ends; absent: none were read."`
	Probes    *LinkProbes     `json:"probes,omitempty" doc:"Probes of hosts to themselves, which cross both directions; absent: no host was asked."`
	Concluded *LinkConclusion `json:"concluded,omitempty" doc:"Absent: nothing speaks against it."`
}

// LinkCounters are counters of the ports at the ends of a link.
type LinkCounters struct {
	Sent     uint64 `json:"sent" doc:"Packets, at its beginning."`
	Received uint64 `json:"received" doc:"Packets, at its end."`
	Missing  uint64 `json:"missing" doc:"Packets sent and not received, but for those under way."`
}

// LinkProbes are probes of hosts to themselves over a link.
type LinkProbes struct {
	Hosts     int       `json:"hosts" doc:"Hosts that probe it."`
	Passed    uint64    `json:"passed" doc:"Probes that came back."`
	Lost      uint64    `json:"lost" doc:"Probes that did not."`
	SetAside  uint64    `json:"setAside" doc:"Probes of unknown fate: their host slept, or its port was down."`
	Dead      int       `json:"dead" doc:"Hosts for which the last probes were all lost."`
	DeadSince time.Time `json:"deadSince,omitzero" doc:"When the first of these was sent."`
	Gap       string    `json:"gap,omitempty" doc:"Why fewer than three hosts probe it."`
}

// LinkConclusion is what the controller concluded about a link.
type LinkConclusion struct {
	Kind      string          `json:"kind,omitempty" enum:"blackHole,grey" doc:"As of a suspect."`
	Node      topology.NodeID `json:"node,omitempty" doc:"The switch at one of its ends that loses packets on all of its links."`
	Direction string          `json:"direction,omitempty" enum:"one,other,both" doc:"What loses packets: this direction, the other one, or both. Absent: not known."`
	Loss      float64         `json:"loss" doc:"Share of lost packets, from 0 to 1."`
	Since     time.Time       `json:"since"`
	Denied    bool            `json:"denied" doc:"EVs over it are denied."`
	Why       string          `json:"why,omitempty" doc:"Why they are not."`
}
