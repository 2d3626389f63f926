package device

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/clib"
	"github.com/weft-sdn/weft/internal/wholefile"
)

// Control has a NIC hold what the controller sends by the library of the NIC's vendor (mrc_ctl.h,
// table "By mrc_ctl.h" of docs/host-api.md). It is the endpoint of an agent.
type Control struct {
	lib  Caller
	at   *opened
	file string
	log  *slog.Logger

	mu      sync.Mutex
	report  Reporter
	formats map[string]*slot[*hostapi.Profile] // one with the format
	evs     map[string]*slot[*hostapi.Profile]
	ccs     map[string]*slot[*hostapi.CCProfile]
	ports   map[int]bool // those that are enabled, as far as known
	saved   []byte
	state   *hostapi.State // that the device holds
	request uint16         // id of the last probe
}

// Reporter takes what a device sees.
type Reporter interface {
	EVEvent(hostapi.EVEvent)
	EventsDropped(n uint64)
}

// slot is the place of a profile in the device.
type slot[T any] struct {
	id    uint64
	is    T    // nil: none
	known bool // is is what the device holds; else the device is asked first
}

// numbers are the ids of profiles by their names, which the file keeps over an end of the agent:
// applications go on with them.
type numbers struct {
	Formats    map[string]uint64 `json:"formats"`
	Profiles   map[string]uint64 `json:"profiles"`
	CCProfiles map[string]uint64 `json:"ccProfiles"`
}

// NewControl opens the device of a name, or the first with MRC. File keeps the ids of profiles.
func NewControl(lib Caller, name, file string, log *slog.Logger) (*Control, error) {
	at, err := openDevice(lib, name)
	if err != nil {
		return nil, fmt.Errorf("mrc_ctl: %w", err)
	}
	d := &Control{lib: lib, at: at, file: file, log: log, ports: make(map[int]bool),
		state: &hostapi.State{}}
	var n numbers
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("ids of profiles: %s: %w", file, err)
	}
	d.saved = text
	d.formats, d.evs, d.ccs = slots[*hostapi.Profile](n.Formats), slots[*hostapi.Profile](n.Profiles),
		slots[*hostapi.CCProfile](n.CCProfiles)
	return d, nil
}

func slots[T any](ids map[string]uint64) map[string]*slot[T] {
	out := make(map[string]*slot[T], len(ids))
	for name, id := range ids {
		out[name] = &slot[T]{id: id}
	}
	return out
}

func idsOf[T any](slots map[string]*slot[T]) map[string]uint64 {
	out := make(map[string]uint64, len(slots))
	for name, s := range slots {
		out[name] = s.id
	}
	return out
}

// save writes the ids when they have changed.
func (d *Control) save() error {
	text, err := json.Marshal(numbers{idsOf(d.formats), idsOf(d.evs), idsOf(d.ccs)})
	if err != nil || string(text) == string(d.saved) {
		return err
	}
	if err := wholefile.Put(d.file, text); err != nil {
		return err
	}
	d.saved = text
	return nil
}

// place returns the slot of a name; a new profile gets the least id whose profile in the device is
// INIT, or can become INIT.
func place[T any](d *Control, slots map[string]*slot[T], k kind, name string,
	most int) (*slot[T], error) {
	if s := slots[name]; s != nil {
		return s, nil
	}
	taken := make(map[uint64]bool, len(slots))
	for _, s := range slots {
		taken[s.id] = true
	}
	var last error
	for id := uint64(1); id <= uint64(most); id++ {
		if taken[id] {
			continue
		}
		if err := d.takeDown(k, id); err != nil {
			last = err // somebody uses it
			continue
		}
		slots[name] = &slot[T]{id: id, known: true}
		return slots[name], nil
	}
	return nil, cmp.Or(last, fmt.Errorf("all %d ids are taken", most))
}

// takeDown makes a profile INIT.
func (d *Control) takeDown(k kind, id uint64) error {
	state, err := d.stateOfProfile(k, id)
	if err != nil {
		return err
	}
	return d.takeDownFrom(k, id, state)
}

// takeDownFrom is takeDown of a profile whose state is known.
func (d *Control) takeDownFrom(k kind, id uint64, state uint32) error {
	if state == stateOnline {
		if err := d.toState(k, id, stateOffline); err != nil {
			return err
		}
	}
	if state == stateInit {
		return nil
	}
	return d.toState(k, id, stateInit)
}

// kind has the functions of a kind of profiles.
type kind struct{ modify, query string }

var (
	formats    = kind{"mrc_ctl_modify_ev_fmt_profile", "mrc_ctl_query_ev_fmt_profile"}
	evProfiles = kind{"mrc_ctl_modify_ev_profile", "mrc_ctl_query_ev_profile"}
	ccProfiles = kind{"mrc_ctl_modify_cc_profile", "mrc_ctl_query_cc_profile"}
)

// Report has events go to r from now on.
func (d *Control) Report(r Reporter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.report = r
}

// Capabilities implements [agent.Endpoint].
func (d *Control) Capabilities() hostapi.Capabilities { return d.at.is }

// Counts implements [agent.Endpoint]: mrc_ctl.h has no counters of EVs.
func (d *Control) Counts(func(hostapi.EVCount) bool) {}

// Apply implements [agent.Endpoint]. It makes the device hold c.To, whatever the device holds, and
// if that fails, what was there before: what is not known then is asked for at the next Apply.
func (d *Control) Apply(c agent.Change) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	from := d.state
	err := d.hold(c.To)
	if err == nil {
		d.state = c.To
		d.clean(c.To)
		return nil
	}
	if undo := d.hold(from); undo != nil {
		d.log.Error("the device holds a part of an update", "reason", err, "undo", undo)
	} else {
		d.clean(from)
	}
	return err
}

// hold makes the device hold a state. CC profiles come first and go last.
func (d *Control) hold(s *hostapi.State) error {
	for _, p := range s.CC {
		c, err := place(d, d.ccs, ccProfiles, p.Name, d.at.is.CCMaxProfiles)
		if err == nil {
			err = d.holdCC(c, p)
		}
		if err != nil {
			return refused("set_cc_profiles["+p.Name+"]", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.evs)) {
		if s.Profile(name) == nil {
			if err := d.holdEVs(d.evs[name], nil); err != nil {
				return refused("remove_profiles["+name+"]", err)
			}
		}
	}
	for _, p := range s.Profiles {
		e, err := place(d, d.evs, evProfiles, p.Name, d.at.is.EVMaxProfiles)
		if err == nil {
			err = d.holdEVs(e, p)
		}
		if err != nil {
			return refused("set_profiles["+p.Name+"]", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.ccs)) {
		if s.CCProfile(name) == nil {
			if err := d.holdCC(d.ccs[name], nil); err != nil {
				return refused("remove_cc_profiles["+name+"]", err)
			}
		}
	}
	for port := 1; port <= hostapi.MaxPort; port++ {
		on := !s.DeniedPorts.Has(port)
		if was, known := d.ports[port]; !d.at.is.Ports.Has(port) || known && was == on {
			continue
		}
		delete(d.ports, port)
		value := uint32(0)
		if on {
			value = 1
		}
		if err := call(d.lib, "mrc_ctl_modify_port", d.at.context, port, memory(value),
			portState); err != nil {
			return refused("denied_ports", err)
		}
		d.ports[port] = on
	}
	if err := d.save(); err != nil {
		return refused("set_profiles", err)
	}
	return nil
}

// refused is the error of a field that the device did not take.
func refused(field string, err error) error {
	code := hostapi.CodeDevice
	switch {
	case errors.Is(err, syscall.EBUSY):
		code = hostapi.CodeBusy
	case errors.Is(err, syscall.E2BIG), errors.Is(err, syscall.ENOTSUP):
		code = hostapi.CodeUnsupported
	}
	return &hostapi.FieldError{Code: code, Field: field, Reason: err.Error()}
}

// clean forgets slots of what s lacks, and formats that no profile uses.
func (d *Control) clean(s *hostapi.State) {
	used := make(map[string]bool)
	for _, p := range s.Profiles {
		used[formatName(p)] = true
	}
	for name, f := range d.formats {
		if used[name] {
			continue
		}
		err := d.takeDown(formats, f.id)
		if f.known = false; err != nil {
			d.log.Warn("the device keeps a format that no profile uses", "reason", err)
			continue
		}
		delete(d.formats, name)
	}
	maps.DeleteFunc(d.evs, func(_ string, e *slot[*hostapi.Profile]) bool {
		return e.known && e.is == nil
	})
	maps.DeleteFunc(d.ccs, func(_ string, c *slot[*hostapi.CCProfile]) bool {
		return c.known && c.is == nil
	})
	if err := d.save(); err != nil {
		d.log.Error("the ids of profiles are not kept", "reason", err)
	}
}

// holdCC makes a slot hold a CC profile; nil is none.
func (d *Control) holdCC(c *slot[*hostapi.CCProfile], p *hostapi.CCProfile) error {
	if c.known && (c.is == p || c.is != nil && p != nil && *c.is == *p) {
		return nil
	}
	c.known = false
	if p == nil {
		err := d.takeDown(ccProfiles, c.id)
		c.is, c.known = nil, err == nil
		return err
	}
	state, err := d.stateOfProfile(ccProfiles, c.id)
	if err != nil {
		return err
	}
	n := &p.NSCC
	var disable uint8
	if n.DisableQA {
		disable = 1
	}
	m := memory(ccAttr{State: stateOffline})
	m.Points = map[int]*clib.Memory{
		ccAlgorithmAt: {Octets: append([]byte(p.Algorithm), 0)},
		ccConfigAt: memory(nsccConfig{DisableQA: disable, AdjustBytesThreshold: n.AdjustBytesThreshold,
			AdjustPeriodThreshold: uint32(n.AdjustPeriodThreshold), BaseRTT: uint32(n.BaseRTT), Eta: n.Eta,
			FI: n.FI, FIScale: n.FIScale, Gamma: n.Gamma, MaxMDJump: n.MaxMDJump, MaxCwnd: n.MaxCwnd,
			QAGate: n.QAGate, QAThreshold: uint32(n.QAThreshold), TargetDelay: uint32(n.TargetDelay)})}
	mask := maskState | ccAlgorithm | ccConfig
	if state == stateOnline && d.at.is.OptAttr&hostapi.OptCCProfileModifyOnline != 0 {
		mask = ccConfig
	} else if err := d.takeDownFrom(ccProfiles, c.id, state); err != nil {
		return err
	}
	if err := call(d.lib, ccProfiles.modify, d.at.context, c.id, m, mask); err != nil {
		return err
	}
	if mask&maskState != 0 {
		if err := d.toState(ccProfiles, c.id, stateOnline); err != nil {
			return err
		}
	}
	c.is, c.known = p, true
	return nil
}

// format returns the id of the format of a profile, which is ONLINE then.
func (d *Control) format(p *hostapi.Profile) (uint64, error) {
	f, err := place(d, d.formats, formats, formatName(p), d.at.is.EVMaxFormats)
	if err != nil || f.known && f.is != nil {
		return f.idOr0(), err
	}
	state, err := d.stateOfProfile(formats, f.id)
	if err != nil {
		return 0, err
	}
	if state == stateOnline && !f.known && d.holdsFormat(f.id, p) {
		f.is, f.known = p, true
		return f.id, nil
	}
	f.known = false
	if err := d.takeDownFrom(formats, f.id, state); err != nil {
		return 0, err
	}
	m := memory(formatAttr{State: stateOffline, Mode: modeNumber(p.Format.Mode),
		Fields: operation{Op: opFields, Count: int32(len(p.Format.Widths))}})
	m.Points = map[int]*clib.Memory{formatFieldsAt: {Octets: slices.Clone(p.Format.Widths)}}
	if err := call(d.lib, formats.modify, d.at.context, f.id, m,
		maskState|formatMode|formatOp); err != nil {
		return 0, err
	}
	if err := d.toState(formats, f.id, stateOnline); err != nil {
		return 0, err
	}
	f.is, f.known = p, true
	return f.id, nil
}

func (s *slot[T]) idOr0() uint64 {
	if s == nil {
		return 0
	}
	return s.id
}

// holdsFormat reports whether the device has the format of a profile under an id.
func (d *Control) holdsFormat(id uint64, p *hostapi.Profile) bool {
	widths := &clib.Memory{Octets: make([]byte, hostapi.MaxFields)}
	m := memory(formatAttr{Fields: operation{Op: opQueryFields, Count: int32(len(widths.Octets))}})
	m.Points = map[int]*clib.Memory{formatFieldsAt: widths}
	if call(d.lib, formats.query, d.at.context, id, m, formatMode|formatOp) != nil {
		return false
	}
	var a formatAttr
	into(m, &a)
	return a.Mode == modeNumber(p.Format.Mode) &&
		slices.Equal(widths.Octets[:a.Fields.Count], p.Format.Widths)
}

// holdEVs makes a slot hold an EV profile; nil is none. A profile that differs in EVs and denials
// alone changes in place, so that EVs that stay keep their states.
func (d *Control) holdEVs(e *slot[*hostapi.Profile], p *hostapi.Profile) error {
	if e.known && e.is == p {
		return nil
	}
	if !e.known {
		want := p
		if want == nil {
			want = &hostapi.Profile{Mode: hostapi.ModeAuto}
		}
		var bad []hostapi.EV
		var err error
		if want.Mode != hostapi.ModeAuto {
			if _, err = d.format(want); err != nil {
				return err
			}
		}
		if e.is, bad, err = d.queryEVs(e.id, want); err != nil {
			return err
		}
		for _, v := range bad {
			if p != nil && d.report != nil {
				d.report.EVEvent(hostapi.EVEvent{Profile: p.Name, EV: v, State: hostapi.EVAssumedBad})
			}
		}
	}
	var err error
	if was := e.is; was != nil && p != nil && d.mayStay(was, p) {
		err = d.change(e.id, was, p)
	} else if err = d.takeDown(evProfiles, e.id); err == nil && p != nil {
		err = d.create(e.id, p)
	}
	e.is, e.known = p, err == nil
	return err
}

// mayStay reports whether a profile can become another one while it is ONLINE.
func (d *Control) mayStay(was, p *hostapi.Profile) bool {
	if was.Mode != p.Mode || was.Count != p.Count || was.MinActive != p.MinActive ||
		!was.Format.Equal(p.Format) || !slices.Equal(was.Fields, p.Fields) {
		return false
	}
	return d.at.is.OptAttr&hostapi.OptEVProfileModifyOnline != 0 ||
		was.Events == p.Events && slices.Equal(was.EVs, p.EVs)
}

// change changes EVs, denials and events of a profile that is ONLINE: denials come first.
func (d *Control) change(id uint64, was, p *hostapi.Profile) error {
	if was.Events != p.Events {
		if err := d.modifyEVs(id, evEventMask, evAttr{EventMask: eventMask(p)}, nil, nil); err != nil {
			return err
		}
	}
	var deny, allow, replace []evEntry
	gone := make(map[hostapi.EV]int)
	for _, v := range was.EVs {
		gone[v]++
	}
	var added []hostapi.EV
	for _, v := range p.EVs {
		if gone[v]--; gone[v] < 0 {
			added = append(added, v)
		}
	}
	for _, v := range was.EVs {
		if gone[v] > 0 {
			gone[v]--
			replace = append(replace, evEntry{EV: v, New: added[0],
				State: stateFor(p, added[0])})
			added = added[1:]
		}
	}
	for _, v := range p.Denied {
		if !was.IsDenied(v) {
			deny = append(deny, evEntry{EV: v, State: stateFor(p, v), Flags: allCopies})
		}
	}
	for _, v := range was.Denied {
		if !p.IsDenied(v) && p.Has(v) {
			allow = append(allow, evEntry{EV: v, State: stateFor(p, v), Flags: allCopies})
		}
	}
	if p.Mode == hostapi.ModeExplicit { // those that come by replacement are denied there
		deny = slices.DeleteFunc(deny, func(e evEntry) bool { return !was.Has(e.EV) })
	}
	return errors.Join(d.operate(id, p, opModifyState, deny), d.operate(id, p, opReplace, replace),
		d.operate(id, p, opModifyState, allow))
}

// stateFor is the state that a profile gives an EV.
func stateFor(p *hostapi.Profile, v hostapi.EV) uint32 {
	if p.IsDenied(v) {
		return stateOf(hostapi.EVDenied)
	}
	return stateOf(hostapi.EVGood)
}

func eventMask(p *hostapi.Profile) int32 {
	if !p.Events {
		return 0
	}
	return int32(stateOf(hostapi.EVGood) | stateOf(hostapi.EVAssumedBad))
}

// operate carries out an operation in batches that the device takes. The device need not have the
// EVs that a profile of mode GEN denies.
func (d *Control) operate(id uint64, p *hostapi.Profile, op uint32, entries []evEntry) error {
	most := d.at.is.EVOpMaxEntries
	if most <= 0 {
		most = math.MaxInt32
	}
	if p.Mode == hostapi.ModeGenerated {
		most = 1
	}
	for part := range slices.Chunk(entries, most) {
		err := d.modifyEVs(id, evOp, evAttr{EVs: operation{Op: op}}, part, nil)
		if err != nil && (p.Mode != hostapi.ModeGenerated || !errors.Is(err, syscall.ENOENT)) {
			return err
		}
	}
	return nil
}

// create configures a profile that is in state INIT.
func (d *Control) create(id uint64, p *hostapi.Profile) error {
	a := evAttr{State: stateOffline, Mode: modeNumber(p.Mode), Count: uint32(p.Count),
		MinActive: uint32(p.MinActive), EventMask: eventMask(p)}
	mask := maskState | evMode | evCount | evMinActive | evEventMask
	if p.Mode != hostapi.ModeAuto {
		var err error
		if a.Format, err = d.format(p); err != nil {
			return err
		}
		a.Fields.Op = opFields
		mask |= evFormat | evFieldsOp
	}
	if err := d.modifyEVs(id, mask, a, nil, fields(p)); err != nil {
		return err
	}
	var entries []evEntry
	op := uint32(opReplace)
	switch p.Mode {
	case hostapi.ModeExplicit:
		for _, v := range p.EVs {
			entries = append(entries, evEntry{New: v, State: stateFor(p, v)})
		}
	case hostapi.ModeGenerated:
		op = opModifyState
		for _, v := range p.Denied {
			entries = append(entries, evEntry{EV: v, State: stateFor(p, v)})
		}
	}
	if err := d.operate(id, p, op, entries); err != nil {
		return err
	}
	return d.toState(evProfiles, id, stateOnline)
}

// Probe implements [agent.Endpoint]: all probes of the request leave together.
func (d *Control) Probe(p *hostapi.Probe, done func(hostapi.ProbeResult)) {
	go func() { done(d.probe(p)) }()
}

func (d *Control) probe(p *hostapi.Probe) (r hostapi.ProbeResult) {
	source := p.Source
	if !source.IsValid() {
		source = d.at.gid
	}
	requests, answers := make([]endpointRequest, p.Count), make([]endpointAnswer, p.Count)
	d.mu.Lock()
	for i := range requests {
		d.request++
		requests[i] = endpointRequest{ID: d.request, From: source.As16(), To: p.Destination.As16(),
			Mode: modeNumber(p.Format.Mode), EV: p.EV}
	}
	d.mu.Unlock()
	m, count := memory(answers), memory(int32(0))
	err := call(d.lib, "mrc_ctl_ep_batch_send_wait", d.at.context, int(p.DSCP), 0, memory(requests),
		p.Count, int(min(p.Timeout, math.MaxUint32)), m, count)
	if err != nil && !errors.Is(err, syscall.ETIMEDOUT) {
		return hostapi.ProbeResult{Err: err.Error()}
	}
	into(m, answers)
	var came int32
	into(count, &came)
	r.Sent, r.RTTMin = p.Count, math.MaxInt64
	for _, a := range answers[:came] {
		rtt := time.Duration(a.RTT)
		r.Received++
		r.RTTMin, r.RTTMax = min(r.RTTMin, rtt), max(r.RTTMax, rtt)
		r.RTTMean += rtt / time.Duration(came)
		r.ServiceTimeAdjusted, r.Port = a.Adjusted != 0, a.Port
	}
	if came == 0 {
		r.RTTMin = 0
	}
	return r
}

// Watch reports EV events until the library fails, and returns why; nil for a device without them.
func (d *Control) Watch() error {
	if d.at.is.OptAttr&hostapi.OptEVEvent == 0 {
		return nil
	}
	const room = 1024
	out, cq, given := memory(uint64(0)), uint64(0), memory([2]uint64{})
	if err := call(d.lib, "mrc_create_comp_channel", d.at.context, out); err != nil {
		return err
	}
	var channel uint64
	into(out, &channel)
	cq, err := address(d.lib, "mrc_ctl_create_ev_event_cq", d.at.context, room, 0, channel, 0)
	if err != nil {
		return err
	}
	for {
		if err := call(d.lib, "mrc_req_notify_cq", cq, 0); err != nil {
			return err
		}
		for {
			events := make([]evEvent, 64)
			m := memory(events)
			n, _, err := d.lib.Call("mrc_ctl_poll_ev_event", cq, len(events), m)
			if err == nil && int32(n) < 0 {
				err = syscall.Errno(-int32(n))
			}
			if err != nil {
				return fmt.Errorf("mrc_ctl_poll_ev_event: %w", err)
			}
			if n == 0 {
				break
			}
			into(m, events)
			d.tell(events[:n])
		}
		if err := call(d.lib, "mrc_get_cq_event", channel, given, &clib.Memory{
			Octets: make([]byte, 8)}); err != nil {
			return err
		}
		if _, _, err := d.lib.Call("mrc_ack_cq_events", cq, 1); err != nil {
			return err
		}
	}
}

// tell reports events of profiles that the device holds.
func (d *Control) tell(events []evEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.report == nil {
		return
	}
	names := make(map[uint64]string, len(d.evs))
	for name, e := range d.evs {
		names[e.id] = name
	}
	for _, x := range events {
		if x.Dropped > 0 {
			d.report.EventsDropped(uint64(x.Dropped))
		}
		state := hostapi.EVGood
		if x.State == stateOf(hostapi.EVAssumedBad) {
			state = hostapi.EVAssumedBad
		}
		if name := names[x.Profile]; name != "" {
			d.report.EVEvent(hostapi.EVEvent{Profile: name, EV: x.EV, State: state})
		}
	}
}

// IDs returns the ids of an EV profile and a CC profile in the device; 0: it has none of the name.
func (d *Control) IDs(profile, cc string) (ev, ccID uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.evs[profile].idOr0(), d.ccs[cc].idOr0()
}
