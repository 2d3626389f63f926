package mrchost

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/nic"
)

// Report is what a host did.
type Report struct {
	Host       string                 `json:"host"`
	Transport  string                 `json:"transport"`
	Seconds    float64                `json:"seconds"`
	Written    uint64                 `json:"written"`  // octets acknowledged
	Received   uint64                 `json:"received"` // octets of payload executed
	Controller *ControllerReport      `json:"controller,omitempty"`
	Profiles   []ProfileReport        `json:"profiles,omitempty"`
	QPHints    *api.QPHints           `json:"qpHints,omitempty"` // of the jobs on the host
	Writes     []hostrun.WriteReport  `json:"writes,omitempty"`
	Regions    []hostrun.RegionReport `json:"regions,omitempty"`
	QueuePairs []QueuePairReport      `json:"queuePairs"`
	Counters   hostrun.HostCounters   `json:"counters"`
	// Memory describes applications' memory; nil without applications.
	Memory *MemoryReport `json:"memory,omitempty"`
}

// MemoryReport counts accesses to memory of applications that has not answered at once.
type MemoryReport struct {
	Waits   uint64 `json:"waits"`   // that the NIC has not waited for
	GivenUp uint64 `json:"givenUp"` // whose application has lost its queue pairs
}

// ControllerReport is the stream from the controller at the end.
type ControllerReport struct {
	Connected bool   `json:"connected"`
	Version   string `json:"version"`           // that the host holds
	Error     string `json:"error,omitempty"`   // why there is no stream
	Refused   string `json:"refused,omitempty"` // what the host would not take last
}

// ProfileReport is an EV profile that the host holds, and what was sent by it.
type ProfileReport struct {
	Name   string `json:"name"`
	Mode   string `json:"mode"`
	EVs    int    `json:"evs"`
	Used   int    `json:"used"` // EVs that packets were sent with
	Denied int    `json:"denied"`
	Sent   uint64 `json:"sent"` // packets
	Lost   uint64 `json:"lost"`
}

// QueuePairReport counts the packets of a queue pair.
type QueuePairReport struct {
	QPN    uint32 `json:"qpn"`
	Failed bool   `json:"failed"`

	RequestsSent   uint64 `json:"requestsSent"`
	RequestsResent uint64 `json:"requestsResent"`
	SACKsReceived  uint64 `json:"sacksReceived"`
	NACKsReceived  uint64 `json:"nacksReceived"`
	AcksReceived   uint64 `json:"acksReceived"`
	NAKsReceived   uint64 `json:"naksReceived"`
	Timeouts       uint64 `json:"timeouts"`
	SACKLosses     uint64 `json:"sackLosses"`
	ProbeLosses    uint64 `json:"probeLosses"`
	ProbesSent     uint64 `json:"probesSent"`
	ProbesAnswered uint64 `json:"probesAnswered"`

	RequestsReceived uint64 `json:"requestsReceived"`
	PayloadReceived  uint64 `json:"payloadReceived"`
	Duplicates       uint64 `json:"duplicates"`
	Trimmed          uint64 `json:"trimmed"`
	MaxOutOfOrder    int    `json:"maxOutOfOrder"`
	CEReceived       uint64 `json:"ceReceived"`
	SACKsSent        uint64 `json:"sacksSent"`
	NACKsSent        uint64 `json:"nacksSent"`
	AcksSent         uint64 `json:"acksSent"`
	NAKsSent         uint64 `json:"naksSent"`
	AnswersNotSent   uint64 `json:"answersNotSent"` // for lack of a path
	// SendWindow is the packets that the peer takes beyond the last acknowledged one, MPR those that
	// the host takes, in units of 128.
	SendWindow int `json:"sendWindow"`
	MPR        int `json:"mpr"`
	// Of NACKs, those for a resource that the responder lacked; of SACKs, those with a penalty.
	ResourceNACKsReceived uint64 `json:"resourceNacksReceived"`
	ResourceNACKsSent     uint64 `json:"resourceNacksSent"`
	PenaltiesReceived     uint64 `json:"penaltiesReceived"`
	PenaltiesSent         uint64 `json:"penaltiesSent"`
	// Ports lists the ports that lead to the peer, as far as both ends report.
	Ports []int `json:"ports"`

	WritesImmediate int `json:"writesImmediate"`
	// the data of the first 1,024 of these, in their order
	Immediates []uint32 `json:"immediates,omitempty"`
}

// report also saves the regions that are to be saved.
func (r *runner) report() (*Report, error) {
	n, c := r.Counts(), r.nic.Counters()
	out := &Report{
		Host: r.cfg.Name, Transport: Transport, Seconds: hostrun.Seconds(n.SinceStart),
		Written: n.Written, Received: n.Received,
		Profiles: profiles(r.nic), QPHints: api.QPHintsOf(r.nic.State().Hints), Writes: r.Writes(n),
		Counters: hostrun.HostCounters{
			FramesReceived: c.FramesReceived, OctetsReceived: c.OctetsReceived, FramesSent: c.FramesSent,
			OctetsSent: c.OctetsSent, Refused: c.Refused.Map(),
		},
	}
	out.Memory = r.door.memory()
	r.CountDrops(&out.Counters)
	var err error
	out.Regions, err = r.SaveRegions()
	for _, q := range r.queues {
		out.QueuePairs = append(out.QueuePairs, queuePairReport(r.nic, q))
	}
	return out, err
}

// stream is how the stream is; nil without a controller.
func (r *runner) stream() *ControllerReport {
	if r.agent == nil {
		return nil
	}
	s := r.agent.Status()
	c := &ControllerReport{Connected: s.Connected, Version: s.Version.String()}
	if s.Err != nil {
		c.Error = s.Err.Error()
	}
	if s.Refused != nil {
		c.Refused = s.Refused.Error().Error()
	}
	return c
}

// profiles reports the profiles that the NIC holds.
func profiles(n *nic.NIC) []ProfileReport {
	sums := make(map[string]*ProfileReport)
	n.Counts(func(c hostapi.EVCount) bool {
		s := sums[c.Profile]
		if s == nil {
			s = &ProfileReport{}
			sums[c.Profile] = s
		}
		s.Used++
		s.Sent += c.Sent
		s.Lost += c.Lost
		return true
	})
	var out []ProfileReport
	for _, p := range n.State().Profiles {
		r := ProfileReport{Name: p.Name, Mode: p.Mode.String(), EVs: p.Count, Denied: len(p.Denied)}
		if s := sums[p.Name]; s != nil {
			r.Used, r.Sent, r.Lost = s.Used, s.Sent, s.Lost
		}
		out = append(out, r)
	}
	return out
}

func queuePairReport(n *nic.NIC, q *connection) QueuePairReport {
	c := q.Counters()
	ports := []int{}
	for port := range n.Config().Ports {
		if both := n.Ports() & n.PeerPorts(q.Config().RemoteAddr); both.Has(port + 1) {
			ports = append(ports, port+1)
		}
	}
	return QueuePairReport{
		SendWindow: q.SendWindow(), MPR: q.MPR(), Ports: ports,
		ResourceNACKsReceived: c.ResourceNACKsReceived, ResourceNACKsSent: c.ResourceNACKsSent,
		PenaltiesReceived: c.PenaltiesReceived, PenaltiesSent: c.PenaltiesSent,
		QPN: q.Config().QPN, Failed: q.Failed(),
		RequestsSent: c.RequestsSent, RequestsResent: c.RequestsResent, SACKsReceived: c.SACKsReceived,
		NACKsReceived: c.NACKsReceived,
		AcksReceived:  c.AcksReceived, NAKsReceived: c.NAKsReceived, Timeouts: c.Timeouts,
		SACKLosses: c.SACKLosses, ProbeLosses: c.ProbeLosses,
		ProbesSent: c.ProbesSent, ProbesAnswered: c.ProbesAnswered,
		RequestsReceived: c.RequestsReceived, PayloadReceived: c.PayloadReceived,
		Duplicates: c.Duplicates, Trimmed: c.Trimmed, MaxOutOfOrder: c.MaxOOO,
		CEReceived: c.CEReceived, SACKsSent: c.SACKsSent, NACKsSent: c.NACKsSent, AcksSent: c.AcksSent,
		NAKsSent: c.NAKsSent, AnswersNotSent: c.NoPath,
		WritesImmediate: q.received, Immediates: q.immediates,
	}
}
