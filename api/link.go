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
	Takes   []Taken         `json:"takes,omitempty" doc:"Of a dry run: what the write would take from other resources, 100 at most."`
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
	Drained   bool            `json:"drained" doc:"It is not to be used, whatever its phase."`
	Drains    []Drain         `json:"drains,omitempty" doc:"What takes it out of use: a drain of the link, of a node at its end, or of its plane."`
}
