package job

import (
	"fmt"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/hostlist"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/flow"
)

// place finds the hosts of the ranks.
func (j *workload) place() (err error) {
	j.ranks, err = hostlist.Parse(j.hosts, fabric.Hosts)
	return err
}

// spec returns the job as the controller gets it.
func (j *workload) spec(state api.JobState) api.JobSpec {
	all := fmt.Sprintf("0-%d", len(j.ranks)-1)
	s := api.JobSpec{Hosts: j.hosts, State: state, Communicators: []api.JobCommunicator{
		{Name: "all", Ranks: all, Pattern: j.pattern},
	}}
	if j.sends {
		s.Communicators = append(s.Communicators, api.JobCommunicator{
			Name: group, Ranks: all, Pattern: api.PatternBroadcast, Multicast: &api.JobMulticast{
				NIC: "{host}" + weightsNIC, ProxyAddress: proxy, DesignatedQPN: designatedQPN,
				QueuePairs: j.pairs,
			}})
	}
	return s
}

// flows returns who writes to whom.
func (j *workload) flows(bytes int) (flows []lab.FlowConfig) {
	if j.pattern == api.PatternAllToAll {
		return lab.AllToAll(j.ranks, bytes)
	}
	for i, from := range j.ranks {
		flows = append(flows, lab.FlowConfig{From: from, To: j.ranks[(i+1)%len(j.ranks)],
			Bytes: bytes})
	}
	return flows
}

// begin starts the traffic: every queue pair writes the same memory again and again. A queue pair
// of a dead host ends, and the others continue.
func (j *workload) begin(w *lab.World) (err error) {
	// Twice the bandwidth-delay product, so that a host fills its links with writes to a single peer.
	c := w.Network.Congestion(j.ranks[0])
	octets := int(2 * float64(c.Rate) / 8 * c.RTT.Seconds())
	octets = octets/lab.MRCMTU*lab.MRCMTU + lab.MRCMTU
	j.mesh, err = w.NewMesh(lab.MeshConfig{Flows: j.flows(octets), Message: octets, Repeat: true,
		Renew: true, QP: flow.QueuePairs(&w.Network)})
	if err != nil {
		return err
	}
	j.meter = flow.NewMeter(w, j.mesh.Flows, c.RTT/2)
	return j.mesh.Start()
}
