package hostapi

import (
	"net/netip"

	"google.golang.org/protobuf/proto"

	pb "github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// PartBytes is the size at which Parts begins another part.
const PartBytes = 256 << 10

// EncodeUp is a host's message as it travels.
func EncodeUp(m Up) *pb.HostMessage {
	switch m := m.(type) {
	case *Hello:
		return &pb.HostMessage{Message: &pb.HostMessage_Hello{Hello: &pb.Hello{
			Api: m.API, Name: m.Name, Software: m.Software, Instance: m.Instance,
			Capabilities: encodeCapabilities(&m.Capabilities),
			Version:      encodeVersion(m.Version),
		}}}
	case *Applied:
		return &pb.HostMessage{
			Message: &pb.HostMessage_Applied{Applied: &pb.Applied{Version: encodeVersion(m.Version)}}}
	case *Refused:
		return &pb.HostMessage{Message: &pb.HostMessage_Refused{Refused: &pb.Refused{
			Version: encodeVersion(m.Version), Code: pb.Refused_Code(m.Code), Field: m.Field,
			Reason: m.Reason,
		}}}
	case *EVEvents:
		out := &pb.EvEvents{Dropped: m.Dropped}
		for _, e := range m.Events {
			out.Events = append(out.Events, &pb.EvEvent{Profile: e.Profile, Ev: encodeEV(e.EV),
				State: pb.EvState(e.State)})
		}
		return &pb.HostMessage{Message: &pb.HostMessage_EvEvents{EvEvents: out}}
	case *EVCounts:
		out := &pb.EvCounts{}
		for _, c := range m.Counts {
			out.Counts = append(out.Counts, &pb.EvCount{Profile: c.Profile, Ev: encodeEV(c.EV), Sent: c.Sent,
				Lost: c.Lost})
		}
		return &pb.HostMessage{Message: &pb.HostMessage_EvCounts{EvCounts: out}}
	case *ProbeResult:
		return &pb.HostMessage{Message: &pb.HostMessage_ProbeResult{ProbeResult: &pb.ProbeResult{
			Id: m.ID, Sent: uint32(m.Sent), Received: uint32(m.Received), RttMinNs: uint64(m.RTTMin),
			RttMeanNs: uint64(m.RTTMean),
			RttMaxNs:  uint64(m.RTTMax), ServiceTimeAdjusted: m.ServiceTimeAdjusted, Port: uint32(m.Port),
			Error: m.Err,
		}}}
	case *PortStatus:
		return &pb.HostMessage{Message: &pb.HostMessage_PortStatus{PortStatus: &pb.PortStatus{Up: uint32(
			m.Up)}}}
	case *QueuePairs:
		return &pb.HostMessage{Message: &pb.HostMessage_QueuePairs{QueuePairs: encodeQueuePairs(m)}}
	case *SelfProbeCounts:
		return &pb.HostMessage{Message: &pb.HostMessage_SelfProbeCounts{
			SelfProbeCounts: encodeSelfProbeCounts(m)}}
	case *PortErrors:
		return &pb.HostMessage{Message: &pb.HostMessage_PortErrors{PortErrors: encodePortErrors(m)}}
	}
	return &pb.HostMessage{}
}

// EncodeDown is a controller's message as it travels; an update may take several.
func EncodeDown(m Down) []*pb.ControllerMessage {
	switch m := m.(type) {
	case *Welcome:
		return []*pb.ControllerMessage{{Message: &pb.ControllerMessage_Welcome{Welcome: &pb.Welcome{
			Software: m.Software, MaxEvents: uint32(m.MaxEvents), MaxCounts: uint32(m.MaxCounts),
			MaxMessageRate:     uint32(m.MaxMessageRate),
			CountsIntervalMs:   uint64(m.CountsInterval.Milliseconds()),
			MaxQueuePairGroups: uint32(m.MaxGroups), MaxPortErrors: uint32(m.MaxPortErrors),
		}}}}
	case *Update:
		parts := Parts(m, PartBytes)
		out := make([]*pb.ControllerMessage, len(parts))
		for i, p := range parts {
			out[i] = &pb.ControllerMessage{Message: &pb.ControllerMessage_Update{Update: p}}
		}
		return out
	case *Probe:
		probe := &pb.ProbeRequest{
			Id: m.ID, Destination: m.Destination.AsSlice(), Format: encodeFormat(m.Format),
			Ev: encodeEV(m.EV), Dscp: uint32(m.DSCP),
			Count: uint32(m.Count), IntervalNs: uint64(m.Interval), TimeoutNs: uint64(m.Timeout),
		}
		if m.Source != (netip.Addr{}) {
			probe.Source = m.Source.AsSlice()
		}
		return []*pb.ControllerMessage{{Message: &pb.ControllerMessage_ProbeRequest{ProbeRequest: probe}}}
	case *SelfProbes:
		return []*pb.ControllerMessage{{Message: &pb.ControllerMessage_SelfProbes{
			SelfProbes: encodeSelfProbes(m)}}}
	}
	return nil
}

// Parts splits an update into parts for the stream: at least one part, each of at most `limit`
// octets, unless a single item exceeds the limit.
func Parts(u *Update, limit int) []*pb.Update {
	version, base := encodeVersion(u.Version), encodeVersion(u.Base)
	var parts []*pb.Update
	var part *pb.Update
	size := limit
	// in is the part for an item of a size.
	in := func(n int) *pb.Update {
		if size += n + 8; part == nil || size > limit {
			part = &pb.Update{Version: version, Base: base, Part: uint32(len(parts))}
			parts = append(parts, part)
			size = n + 8
		}
		return part
	}
	in(0).DeniedPorts = (*uint32)(u.Delta.DeniedPorts)
	if w := u.Delta.Wire; w != nil {
		part.Wire = encodeWire(w)
	}
	if h := u.Delta.Hints; h != nil {
		part.QpHints = encodeHints(*h)
	}
	for _, p := range u.Delta.SetProfiles {
		m := encodeProfile(p)
		to := in(proto.Size(m))
		to.SetProfiles = append(to.SetProfiles, m)
	}
	for _, name := range u.Delta.RemoveProfiles {
		to := in(len(name))
		to.RemoveProfiles = append(to.RemoveProfiles, name)
	}
	for i := range u.Delta.Change {
		m := encodeChange(&u.Delta.Change[i])
		to := in(proto.Size(m))
		to.ChangeProfiles = append(to.ChangeProfiles, m)
	}
	for _, c := range u.Delta.SetCC {
		m := encodeCC(c)
		to := in(proto.Size(m))
		to.SetCcProfiles = append(to.SetCcProfiles, m)
	}
	for _, name := range u.Delta.RemoveCC {
		to := in(len(name))
		to.RemoveCcProfiles = append(to.RemoveCcProfiles, name)
	}
	for _, p := range u.Delta.SetPeers {
		to := in(24)
		to.SetPeers = append(to.SetPeers, &pb.PeerPorts{Address: p.Peer.AsSlice(),
			Ports: uint32(p.Ports)})
	}
	for _, a := range u.Delta.RemovePeers {
		to := in(16)
		to.RemovePeers = append(to.RemovePeers, a.AsSlice())
	}
	part.Last = true
	return parts
}

func encodeWire(w *Wire) *pb.Wire {
	return &pb.Wire{
		UdpPort: uint32(w.UDPPort), DscpNoTrim: uint32(w.NoTrim), DscpTrimmable: uint32(w.Trimmable),
		DscpTrimmableRetx: uint32(w.TrimmableRetx),
		DscpTrimmed:       uint32(w.Trimmed), DscpTrimmedLasthop: uint32(w.TrimmedLastHop),
		DscpControl: uint32(w.Control),
	}
}

func encodeVersion(v Version) *pb.Version {
	if v == (Version{}) {
		return nil
	}
	return &pb.Version{Epoch: v.Epoch, Number: v.Number}
}

func encodeCapabilities(c *Capabilities) *pb.Capabilities {
	return &pb.Capabilities{
		MrcCtlProtocolVersion: c.ProtocolVersions, EvMaxFmtProfiles: uint32(c.EVMaxFormats),
		EvMaxProfiles: uint32(c.EVMaxProfiles),
		EvMaxCount:    uint32(c.EVMaxCount), EvFreeCount: uint32(c.EVFreeCount),
		EvMaxCountProfile: uint32(c.EVMaxCountProfile),
		EvCountAlign:      uint32(c.EVCountAlign), EvMaxWidth: uint32(c.EVMaxWidth),
		EvFmtModeMask: c.EVFormatModes, EvModeMask: c.EVModes,
		EvOpMaxEntries: uint32(c.EVOpMaxEntries), CcMaxProfiles: uint32(c.CCMaxProfiles),
		CcAlgorithms: c.CCAlgorithms,
		PhyPortMask:  uint32(c.Ports), OptAttr: c.OptAttr, DeviceCap: c.DeviceCap,
		MaxMpr: uint32(c.MaxMPR), MaxWimm: uint32(c.MaxWIMM),
		MaxWimmDest: uint32(c.MaxWIMMDest), QpHints: c.QPHints, SelfProbes: c.SelfProbes,
	}
}

func encodeEV(v EV) *pb.Ev {
	return &pb.Ev{Value: v.Value[:(v.Bits()+7)/8], Port: uint32(v.Port)}
}

func encodeEVs(list []EV) *pb.EvList {
	if len(list) == 0 {
		return nil
	}
	octets := 1
	for i := range list {
		octets = max(octets, (list[i].Bits()+7)/8)
	}
	out := &pb.EvList{Octets: uint32(octets), Values: make([]byte, 0, octets*len(list)),
		Ports: make([]byte, len(list))}
	for i := range list {
		out.Values = append(out.Values, list[i].Value[:octets]...)
		out.Ports[i] = list[i].Port
	}
	return out
}

func encodeFormat(f Format) *pb.EvFormat {
	out := &pb.EvFormat{Mode: pb.EvFormat_Mode(f.Mode)}
	for _, w := range f.Widths {
		out.FieldWidths = append(out.FieldWidths, uint32(w))
	}
	return out
}

func encodeProfile(p *Profile) *pb.EvProfile {
	out := &pb.EvProfile{
		Name: p.Name, Format: encodeFormat(p.Format), Mode: pb.EvProfile_Mode(p.Mode),
		Count: uint32(p.Count), Evs: encodeEVs(p.EVs),
		Denied: encodeEVs(p.Denied), MinActive: uint32(p.MinActive), Events: p.Events, CcProfile: p.CC,
	}
	for _, f := range p.Fields {
		out.Fields = append(out.Fields, &pb.EvField{
			Width: uint32(f.Width), InitVal: f.InitVal, MinVal: f.MinVal, MaxVal: f.MaxVal, Mask: f.Mask,
		})
	}
	for _, d := range p.Destinations {
		out.Destinations = append(out.Destinations, &pb.Prefix{Address: d.Addr().AsSlice(),
			Length: uint32(d.Bits())})
	}
	return out
}

func encodeChange(c *ProfileChange) *pb.EvProfileChange {
	out := &pb.EvProfileChange{Name: c.Name, Allow: encodeEVs(c.Allow), Deny: encodeEVs(c.Deny)}
	evs := make([]EV, len(c.Replace))
	for i, r := range c.Replace {
		out.Replace, evs[i] = append(out.Replace, uint32(r.Index)), r.EV
	}
	out.Replacements = encodeEVs(evs)
	return out
}

func encodeCC(c *CCProfile) *pb.CcProfile {
	n := &c.NSCC
	return &pb.CcProfile{Name: c.Name, Algorithm: c.Algorithm,
		Config: &pb.CcProfile_Nscc{Nscc: &pb.Nscc{
			DisableQa: n.DisableQA, AdjustBytesThreshold: n.AdjustBytesThreshold,
			AdjustPeriodThresholdNs: uint32(n.AdjustPeriodThreshold),
			BaseRttNs:               uint32(n.BaseRTT), Eta: n.Eta, Fi: n.FI, FiScale: n.FIScale,
			Gamma:     n.Gamma,
			MaxMdJump: n.MaxMDJump, MaxCwnd: n.MaxCwnd,
			QaGate: uint32(n.QAGate), QaThresholdNs: uint32(n.QAThreshold),
			TargetDelayNs: uint32(n.TargetDelay), Alpha: n.Alpha,
			DelayWeight: n.DelayWeight, MinCwnd: n.MinCwnd, FastDelayNs: uint32(n.FastDelay),
			DelayRelief: n.DelayRelief,
			NackDelayNs: uint32(n.NACKDelay),
		}}}
}
