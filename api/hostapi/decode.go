package hostapi

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	pb "github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// DecodeUp reads a host's message. The error is a *FieldError.
func DecodeUp(m *pb.HostMessage) (Up, error) {
	up, err := decodeUp(m)
	if err != nil {
		return nil, err
	}
	return up, nil
}

func decodeUp(m *pb.HostMessage) (Up, *FieldError) {
	switch m := m.GetMessage().(type) {
	case *pb.HostMessage_Hello:
		h, err := decodeHello(m.Hello)
		return h, in(err, "hello")
	case *pb.HostMessage_Applied:
		v, err := decodeVersion("version", m.Applied.GetVersion(), true)
		return &Applied{Version: v}, in(err, "applied")
	case *pb.HostMessage_Refused:
		r, err := decodeRefused(m.Refused)
		return r, in(err, "refused")
	case *pb.HostMessage_EvEvents:
		e, err := decodeEvents(m.EvEvents)
		return e, in(err, "ev_events")
	case *pb.HostMessage_EvCounts:
		c, err := decodeCounts(m.EvCounts)
		return c, in(err, "ev_counts")
	case *pb.HostMessage_ProbeResult:
		r, err := decodeResult(m.ProbeResult)
		return r, in(err, "probe_result")
	case *pb.HostMessage_PortStatus:
		up := PortMask(m.PortStatus.GetUp())
		return &PortStatus{Up: up}, in(up.check("up"), "port_status")
	case *pb.HostMessage_QueuePairs:
		q, err := decodeQueuePairs(m.QueuePairs)
		return q, in(err, "queue_pairs")
	case *pb.HostMessage_PortErrors:
		e, err := decodePortErrors(m.PortErrors)
		return e, in(err, "port_errors")
	case *pb.HostMessage_SelfProbeCounts:
		c, err := decodeSelfProbeCounts(m.SelfProbeCounts)
		return c, in(err, "self_probe_counts")
	}
	return nil, invalid("message",
		"none that this version knows, want hello, applied, refused, ev_events, ev_counts, "+
			"probe_result, port_status, queue_pairs, self_probe_counts or port_errors")
}

func in(err *FieldError, field string) *FieldError {
	if err == nil {
		return nil
	}
	return err.within("%s", field)
}

func decodeHello(m *pb.Hello) (*Hello, *FieldError) {
	if m.GetApi() == 0 {
		return nil, invalid("api", "0, want %d", API)
	}
	if err := checkHost("name", m.GetName()); err != nil {
		return nil, err
	}
	if s := m.GetSoftware(); len(s) > MaxSoftware || !printable(s) {
		return nil, invalid("software", "%.32q, want at most %d printable octets", s, MaxSoftware)
	}
	if m.GetInstance() == 0 {
		return nil, invalid("instance", "0, want another number after every start")
	}
	v, err := decodeVersion("version", m.GetVersion(), false)
	if err != nil {
		return nil, err
	}
	c, err := decodeCapabilities(m.GetCapabilities())
	if err != nil {
		return nil, err.within("capabilities")
	}
	return &Hello{
		API: m.GetApi(), Name: m.GetName(), Software: m.GetSoftware(), Instance: m.GetInstance(),
		Capabilities: c, Version: v,
	}, nil
}

func decodeVersion(field string, m *pb.Version, needed bool) (Version, *FieldError) {
	if m == nil && !needed {
		return Version{}, nil
	}
	if m.GetEpoch() == 0 || m.GetNumber() == 0 {
		return Version{}, invalid(field, "epoch %x, number %d, want both above 0", m.GetEpoch(),
			m.GetNumber())
	}
	return Version{Epoch: m.GetEpoch(), Number: m.GetNumber()}, nil
}

func decodeCapabilities(m *pb.Capabilities) (Capabilities, *FieldError) {
	if m == nil {
		return Capabilities{}, invalid("", "none, want the attributes of the device")
	}
	number := func(n uint32) int { return int(min(n, math.MaxInt32)) }
	c := Capabilities{
		ProtocolVersions: m.GetMrcCtlProtocolVersion(), EVMaxFormats: number(m.GetEvMaxFmtProfiles()),
		EVMaxProfiles: number(m.GetEvMaxProfiles()),
		EVMaxCount:    number(m.GetEvMaxCount()), EVFreeCount: number(m.GetEvFreeCount()),
		EVMaxCountProfile: number(m.GetEvMaxCountProfile()),
		EVCountAlign:      number(m.GetEvCountAlign()), EVMaxWidth: number(m.GetEvMaxWidth()),
		EVFormatModes: m.GetEvFmtModeMask(),
		EVModes:       m.GetEvModeMask(), EVOpMaxEntries: number(m.GetEvOpMaxEntries()),
		CCMaxProfiles: number(m.GetCcMaxProfiles()),
		CCAlgorithms:  slices.Clone(m.GetCcAlgorithms()), Ports: PortMask(m.GetPhyPortMask()),
		OptAttr: m.GetOptAttr(), DeviceCap: m.GetDeviceCap(),
		MaxMPR: number(m.GetMaxMpr()), MaxWIMM: number(m.GetMaxWimm()),
		MaxWIMMDest: number(m.GetMaxWimmDest()), QPHints: m.GetQpHints(),
		SelfProbes: m.GetSelfProbes(),
	}
	return c, c.validate()
}

func decodeRefused(m *pb.Refused) (*Refused, *FieldError) {
	v, err := decodeVersion("version", m.GetVersion(), true)
	if err != nil {
		return nil, err
	}
	code := m.GetCode()
	if code < pb.Refused_CODE_INVALID || code > pb.Refused_CODE_DEVICE {
		return nil, invalid("code", "%d, want %d to %d", code, pb.Refused_CODE_INVALID,
			pb.Refused_CODE_DEVICE)
	}
	for _, text := range []struct{ field, value string }{{"field", m.GetField()},
		{"reason", m.GetReason()}} {
		if len(text.value) > MaxReason {
			return nil, invalid(text.field, "%d octets, want at most %d", len(text.value), MaxReason)
		}
	}
	return &Refused{Version: v, Code: Code(code), Field: m.GetField(), Reason: m.GetReason()}, nil
}

func decodeEvents(m *pb.EvEvents) (*EVEvents, *FieldError) {
	out := &EVEvents{Dropped: m.GetDropped(), Events: make([]EVEvent, 0, len(m.GetEvents()))}
	for i, e := range m.GetEvents() {
		v, err := decodeEV(e.GetEv())
		if err == nil {
			err = checkName("profile", e.GetProfile())
		} else {
			err = err.within("ev")
		}
		if s := e.GetState(); err == nil && s != pb.EvState_EV_STATE_ASSUMED_BAD &&
			s != pb.EvState_EV_STATE_GOOD {
			err = invalid("state", "%d, want ASSUMED_BAD or GOOD", s)
		}
		if err != nil {
			return nil, err.within("events[%d]", i)
		}
		out.Events = append(out.Events, EVEvent{Profile: e.GetProfile(), EV: v,
			State: EVState(e.GetState())})
	}
	return out, nil
}

func decodeCounts(m *pb.EvCounts) (*EVCounts, *FieldError) {
	out := &EVCounts{Counts: make([]EVCount, 0, len(m.GetCounts()))}
	for i, c := range m.GetCounts() {
		v, err := decodeEV(c.GetEv())
		if err == nil {
			err = checkName("profile", c.GetProfile())
		} else {
			err = err.within("ev")
		}
		if err != nil {
			return nil, err.within("counts[%d]", i)
		}
		out.Counts = append(out.Counts, EVCount{Profile: c.GetProfile(), EV: v, Sent: c.GetSent(),
			Lost: c.GetLost()})
	}
	return out, nil
}

func decodeResult(m *pb.ProbeResult) (*ProbeResult, *FieldError) {
	switch {
	case m.GetSent() > MaxProbes:
		return nil, invalid("sent", "%d, want at most %d", m.GetSent(), MaxProbes)
	case m.GetReceived() > m.GetSent():
		return nil, invalid("received", "%d, want at most sent, %d", m.GetReceived(), m.GetSent())
	case m.GetPort() > MaxPort:
		return nil, invalid("port", "%d, want at most %d", m.GetPort(), MaxPort)
	case len(m.GetError()) > MaxReason:
		return nil, invalid("error", "%d octets, want at most %d", len(m.GetError()), MaxReason)
	}
	out := &ProbeResult{
		ID: m.GetId(), Sent: int(m.GetSent()), Received: int(m.GetReceived()),
		ServiceTimeAdjusted: m.GetServiceTimeAdjusted(), Port: uint8(m.GetPort()),
		Err: m.GetError(),
	}
	for _, d := range []struct {
		field string
		value uint64
		to    *time.Duration
	}{{"rtt_min_ns", m.GetRttMinNs(), &out.RTTMin}, {"rtt_mean_ns", m.GetRttMeanNs(), &out.RTTMean},
		{"rtt_max_ns", m.GetRttMaxNs(), &out.RTTMax}} {
		if d.value > uint64(time.Hour) {
			return nil, invalid(d.field, "%d, want at most an hour", d.value)
		}
		*d.to = time.Duration(d.value)
	}
	if out.RTTMin > out.RTTMean || out.RTTMean > out.RTTMax {
		return nil, invalid("rtt_mean_ns", "%v, want it between %v and %v", out.RTTMean, out.RTTMin,
			out.RTTMax)
	}
	return out, nil
}

// decode reads one part of an update. decode sets the version if the part has a version, so that
// the host can refuse the update.
func (u *Update) decode(m *pb.Update) (err *FieldError) {
	if u.Version, err = decodeVersion("version", m.GetVersion(), true); err != nil {
		return err
	}
	if u.Base, err = decodeVersion("base", m.GetBase(), false); err != nil {
		return err
	}
	d := &u.Delta
	for i, p := range m.GetSetProfiles() {
		profile, err := decodeProfile(p)
		if err != nil {
			return err.within("set_profiles[%s]", label(p.GetName(), i))
		}
		d.SetProfiles = append(d.SetProfiles, profile)
	}
	d.RemoveProfiles = slices.Clone(m.GetRemoveProfiles())
	for i, c := range m.GetChangeProfiles() {
		change, err := decodeChange(c)
		if err != nil {
			return err.within("change_profiles[%s]", label(c.GetName(), i))
		}
		d.Change = append(d.Change, change)
	}
	for i, c := range m.GetSetCcProfiles() {
		cc, err := decodeCC(c)
		if err != nil {
			return err.within("set_cc_profiles[%s]", label(c.GetName(), i))
		}
		d.SetCC = append(d.SetCC, cc)
	}
	d.RemoveCC = slices.Clone(m.GetRemoveCcProfiles())
	if m.DeniedPorts != nil {
		ports := PortMask(m.GetDeniedPorts())
		d.DeniedPorts = &ports
	}
	if m.Wire != nil {
		w, err := decodeWire(m.Wire)
		if err != nil {
			return err.within("wire")
		}
		d.Wire = &w
	}
	if h := m.QpHints; h != nil {
		hints := decodeHints(h)
		d.Hints = &hints
	}
	for i, p := range m.GetSetPeers() {
		a, err := decodeAddress("address", p.GetAddress())
		if err != nil {
			return err.within("set_peers[%d]", i)
		}
		d.SetPeers = append(d.SetPeers, PeerPorts{Peer: a, Ports: PortMask(p.GetPorts())})
	}
	for i, b := range m.GetRemovePeers() {
		a, err := decodeAddress(fmt.Sprintf("remove_peers[%d]", i), b)
		if err != nil {
			return err
		}
		d.RemovePeers = append(d.RemovePeers, a)
	}
	return nil
}

func decodeWire(m *pb.Wire) (w Wire, err *FieldError) {
	if m.GetUdpPort() > math.MaxUint16 {
		return w, invalid("udp_port", "%d, want 1 to %d", m.GetUdpPort(), math.MaxUint16)
	}
	w.UDPPort = uint16(m.GetUdpPort())
	for _, f := range []struct {
		name  string
		value uint32
		to    *uint8
	}{
		{"dscp_no_trim", m.GetDscpNoTrim(), &w.NoTrim}, {"dscp_trimmable", m.GetDscpTrimmable(),
			&w.Trimmable},
		{"dscp_trimmable_retx", m.GetDscpTrimmableRetx(), &w.TrimmableRetx},
		{"dscp_trimmed", m.GetDscpTrimmed(), &w.Trimmed},
		{"dscp_trimmed_lasthop", m.GetDscpTrimmedLasthop(), &w.TrimmedLastHop},
		{"dscp_control", m.GetDscpControl(), &w.Control},
	} {
		if f.value > maxDSCP {
			return w, invalid(f.name, "%d, want at most %d", f.value, maxDSCP)
		}
		*f.to = uint8(f.value)
	}
	return w, nil
}

// label returns a name for a field path: the name, or the index if the name is invalid.
func label(name string, i int) string {
	if validName(name, ":/") {
		return name
	}
	return fmt.Sprint(i)
}

func decodeAddress(field string, b []byte) (netip.Addr, *FieldError) {
	a, ok := netip.AddrFromSlice(b)
	if !ok || !isAddress(a) {
		return a, invalid(field, "%x, want an IPv6 address of 16 octets or an IPv4 address of 4",
			b[:min(len(b), 16)])
	}
	return a, nil
}

func decodeEV(m *pb.Ev) (EV, *FieldError) {
	var v EV
	if n := len(m.GetValue()); n > EVBytes {
		return v, invalid("value", "%d octets, want at most %d", n, EVBytes)
	}
	if m.GetPort() > MaxPort {
		return v, invalid("port", "%d, want at most %d", m.GetPort(), MaxPort)
	}
	copy(v.Value[:], m.GetValue())
	v.Port = uint8(m.GetPort())
	return v, nil
}

func decodeEVs(field string, m *pb.EvList) ([]EV, *FieldError) {
	n, octets := len(m.GetPorts()), int(min(m.GetOctets(), math.MaxInt32))
	switch {
	case n == 0 && len(m.GetValues()) == 0:
		return nil, nil
	case n > MaxProfileEVs:
		return nil, invalid(field, "%d, want at most %d", n, MaxProfileEVs)
	case octets < 1 || octets > EVBytes:
		return nil, invalid(field+".octets", "%d, want 1 to %d", m.GetOctets(), EVBytes)
	case len(m.GetValues()) != n*octets:
		return nil, invalid(field+".values", "%d octets, want %d: %d for each of %d ports",
			len(m.GetValues()), n*octets, octets, n)
	}
	out := make([]EV, n)
	for i, port := range m.GetPorts() {
		if port > MaxPort {
			return nil, invalid(fmt.Sprintf("%s[%d].port", field, i), "%d, want at most %d", port, MaxPort)
		}
		copy(out[i].Value[:], m.GetValues()[i*octets:(i+1)*octets])
		out[i].Port = port
	}
	return out, nil
}

func decodeFormat(m *pb.EvFormat) (Format, *FieldError) {
	if mode := m.GetMode(); mode < 0 || mode > math.MaxUint8 {
		return Format{}, unsupported("mode", "%d, want STEV, SRV6 or UDP", mode)
	}
	if n := len(m.GetFieldWidths()); n > MaxFields {
		return Format{}, invalid("field_widths", "%d, want at most %d", n, MaxFields)
	}
	f := Format{Mode: FormatMode(m.GetMode())}
	for i, w := range m.GetFieldWidths() {
		if w > math.MaxUint8 {
			return f, invalid(fmt.Sprintf("field_widths[%d]", i), "%d, want 1 to 255 bits", w)
		}
		f.Widths = append(f.Widths, uint8(w))
	}
	return f, nil
}

func decodeProfile(m *pb.EvProfile) (*Profile, *FieldError) {
	p := &Profile{Name: m.GetName(), MinActive: int(m.GetMinActive()), Events: m.GetEvents(),
		CC: m.GetCcProfile()}
	switch m.GetMode() {
	case pb.EvProfile_MODE_AUTO, pb.EvProfile_MODE_EXP, pb.EvProfile_MODE_GEN:
		p.Mode = Mode(m.GetMode())
	default:
		return nil, unsupported("mode", "%d, want AUTO, EXP or GEN", m.GetMode())
	}
	var err *FieldError
	if p.Format, err = decodeFormat(m.GetFormat()); err != nil {
		return nil, err.within("format")
	}
	if mode := m.GetFormat().GetMode(); mode > pb.EvFormat_MODE_UDP {
		return nil, unsupported("format.mode", "%d, want STEV, SRV6 or UDP", mode)
	}
	if m.GetCount() > MaxProfileEVs {
		return nil, invalid("count", "%d, want at most %d", m.GetCount(), MaxProfileEVs)
	}
	p.Count = int(m.GetCount())
	if n := len(m.GetFields()); n > MaxFields {
		return nil, invalid("fields", "%d, want at most %d", n, MaxFields)
	}
	for i, f := range m.GetFields() {
		if f.GetWidth() > math.MaxUint8 {
			return nil, invalid(fmt.Sprintf("fields[%d].width", i), "%d, want 1 to 255 bits", f.GetWidth())
		}
		p.Fields = append(p.Fields, Field{
			Width: uint8(f.GetWidth()), InitVal: f.GetInitVal(), MinVal: f.GetMinVal(),
			MaxVal: f.GetMaxVal(), Mask: f.GetMask(),
		})
	}
	if p.EVs, err = decodeEVs("evs", m.GetEvs()); err != nil {
		return nil, err
	}
	if p.Denied, err = decodeEVs("denied", m.GetDenied()); err != nil {
		return nil, err
	}
	slices.SortFunc(p.Denied, EV.Compare)
	if n := len(m.GetDestinations()); n > MaxDestinations {
		return nil, invalid("destinations", "%d, want at most %d", n, MaxDestinations)
	}
	for i, d := range m.GetDestinations() {
		a, err := decodeAddress("address", d.GetAddress())
		if err == nil && d.GetLength() > 128 {
			err = invalid("length", "%d, want at most 128", d.GetLength())
		}
		if err != nil {
			return nil, err.within("destinations[%d]", i)
		}
		p.Destinations = append(p.Destinations, netip.PrefixFrom(a, int(d.GetLength())))
	}
	return p, nil
}

func decodeChange(m *pb.EvProfileChange) (c ProfileChange, err *FieldError) {
	c.Name = m.GetName()
	evs, err := decodeEVs("replacements", m.GetReplacements())
	if err != nil {
		return c, err
	}
	if len(m.GetReplace()) != len(evs) {
		return c, invalid("replace", "%d places, want as many as replacements, %d", len(m.GetReplace()),
			len(evs))
	}
	for i, place := range m.GetReplace() {
		if place >= MaxProfileEVs {
			return c, invalid(fmt.Sprintf("replace[%d]", i), "%d, want less than %d", place, MaxProfileEVs)
		}
		c.Replace = append(c.Replace, Replacement{Index: int(place), EV: evs[i]})
	}
	if c.Allow, err = decodeEVs("allow", m.GetAllow()); err != nil {
		return c, err
	}
	c.Deny, err = decodeEVs("deny", m.GetDeny())
	return c, err
}

func decodeCC(m *pb.CcProfile) (*CCProfile, *FieldError) {
	n := m.GetNscc()
	if n == nil {
		return nil, unsupported("config", "none that this version knows, want nscc")
	}
	if n.GetQaGate() > math.MaxUint8 {
		return nil, invalid("nscc.qa_gate", "%d, want at most 31", n.GetQaGate())
	}
	return &CCProfile{Name: m.GetName(), Algorithm: m.GetAlgorithm(), NSCC: NSCC{
		DisableQA: n.GetDisableQa(), AdjustBytesThreshold: n.GetAdjustBytesThreshold(),
		AdjustPeriodThreshold: time.Duration(n.GetAdjustPeriodThresholdNs()),
		BaseRTT:               time.Duration(n.GetBaseRttNs()),
		Eta:                   n.GetEta(), FI: n.GetFi(), FIScale: n.GetFiScale(), Gamma: n.GetGamma(),
		MaxMDJump: n.GetMaxMdJump(), MaxCwnd: n.GetMaxCwnd(),
		QAGate: uint8(n.GetQaGate()), QAThreshold: time.Duration(n.GetQaThresholdNs()),
		TargetDelay: time.Duration(n.GetTargetDelayNs()),
		Alpha:       n.GetAlpha(), DelayWeight: n.GetDelayWeight(), MinCwnd: n.GetMinCwnd(),
		FastDelay:   time.Duration(n.GetFastDelayNs()),
		DelayRelief: n.GetDelayRelief(), NACKDelay: time.Duration(n.GetNackDelayNs()),
	}}, nil
}

// DecodeWelcome reads a controller's first message. The error is a *FieldError.
func DecodeWelcome(m *pb.Welcome) (*Welcome, error) {
	if m.GetMaxEvents() == 0 || m.GetMaxCounts() == 0 || m.GetMaxMessageRate() == 0 {
		return nil, invalid("welcome",
			"max_events %d, max_counts %d, max_message_rate %d, want all above 0",
			m.GetMaxEvents(), m.GetMaxCounts(), m.GetMaxMessageRate())
	}
	number := func(n uint32) int { return int(min(n, math.MaxInt32)) }
	w := &Welcome{
		Software: m.GetSoftware(), MaxEvents: number(m.GetMaxEvents()),
		MaxCounts: number(m.GetMaxCounts()), MaxMessageRate: number(m.GetMaxMessageRate()),
		MaxGroups:     number(m.GetMaxQueuePairGroups()),
		MaxPortErrors: number(m.GetMaxPortErrors()),
	}
	if ms := m.GetCountsIntervalMs(); ms > 0 {
		w.CountsInterval = time.Duration(min(ms, uint64(time.Hour/time.Millisecond))) * time.Millisecond
	}
	return w, nil
}

// DecodeProbe reads a probe request. The error is a *FieldError; the probe has its ID even so.
func DecodeProbe(m *pb.ProbeRequest) (*Probe, error) {
	p := &Probe{ID: m.GetId()}
	if err := p.decode(m); err != nil {
		return p, err
	}
	return p, p.Validate()
}

func (p *Probe) decode(m *pb.ProbeRequest) (err *FieldError) {
	if len(m.GetSource()) > 0 {
		if p.Source, err = decodeAddress("source", m.GetSource()); err != nil {
			return err
		}
	}
	if p.Destination, err = decodeAddress("destination", m.GetDestination()); err != nil {
		return err
	}
	if p.Format, err = decodeFormat(m.GetFormat()); err != nil {
		return err.within("format")
	}
	if p.EV, err = decodeEV(m.GetEv()); err != nil {
		return err.within("ev")
	}
	if m.GetDscp() > 63 {
		return invalid("dscp", "%d, want 0 to 63", m.GetDscp())
	}
	p.DSCP = uint8(m.GetDscp())
	if m.GetCount() > MaxProbes {
		return invalid("count", "%d, want 1 to %d", m.GetCount(), MaxProbes)
	}
	p.Count = int(m.GetCount())
	if m.GetIntervalNs() > uint64(MaxProbeTime) || m.GetTimeoutNs() > uint64(MaxProbeTime) {
		return invalid("timeout_ns", "%d and interval_ns %d, want at most %v", m.GetTimeoutNs(),
			m.GetIntervalNs(), MaxProbeTime)
	}
	p.Interval, p.Timeout = time.Duration(m.GetIntervalNs()), time.Duration(m.GetTimeoutNs())
	return nil
}
