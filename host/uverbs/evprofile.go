//go:build linux

package uverbs

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/nic"
)

// clone is a copy that shares nothing that changes.
func (e *evProfile) clone() *evProfile {
	n := *e
	n.EVs, n.Denied = slices.Clone(e.EVs), slices.Clone(e.Denied)
	return &n
}

// Attributes of EV profiles that requests may have.
const (
	evsAttributes = evsMode | evsFormat | evsCount | evsMinActive | evsEventMask | evsEntries |
		evsFields
	// of one that is ONLINE
	evsOnline = evsEventMask | evsEntries | evsFields
	// required for a profile of any mode but AUTO
	evsNeeded = evsMode | evsFormat | evsCount | evsFields
)

// modifyEVs executes mrc_ctl_modify_ev_profile: completely or not at all, except for entries:
// modifyEVs applies the entries before the first entry that fails.
func (c *profiles) modifyEVs(m *ctlEVs, entries []ctlEntry, fields []ctlField) error {
	if !localID(m.ID) {
		return c.modifyGivenEVs(m, entries)
	}
	next := &evProfile{}
	if was := c.evs[m.ID]; was != nil {
		next = was.clone()
	}
	to, err := begin(next.State, m.Mask, m.CurState, m.State, &m.Vendor)
	if err != nil {
		return err
	}
	if err := c.mayModify(next, m, to); err != nil {
		return err
	}
	if to == profileInit {
		return put(c, c.evs, m.ID, nil)
	}
	if err := c.takeAttributes(next, m, fields); err != nil {
		return err
	}
	var failed error
	revived := c.takeEntries(next, m, entries, &failed)
	if failed == nil {
		next.State = to
	}
	if err := put(c, c.evs, m.ID, next); err != nil {
		return err
	}
	for _, v := range revived {
		c.server.cfg.NIC.Revive(nic.LocalName(m.ID), v)
	}
	return failed
}

// mayModify reports why a request does not fit the state of a profile.
func (c *profiles) mayModify(e *evProfile, m *ctlEVs, to uint32) error {
	attributes := m.Mask & evsAttributes
	if m.Mask&^(evsAttributes|maskAll) != 0 {
		return unix.EINVAL
	}
	switch e.State {
	case profileInit:
		need := uint32(evsNeeded)
		if m.Mode == modeAuto {
			need = evsMode
		}
		switch {
		case to == profileInit && attributes != 0,
			to == profileOffline && attributes&need != need,
			to == profileOffline && attributes&evsEntries != 0:
			return unix.EINVAL
		case to == profileOffline && len(c.evs) >= maxLocalProfiles:
			return unix.ENOMEM
		}
	case profileOffline:
		if to == profileInit && attributes != 0 {
			return unix.EINVAL
		}
	case profileOnline:
		if attributes&^evsOnline != 0 || to == profileOffline && attributes != 0 {
			return unix.EINVAL
		}
		if to == profileOffline && c.server.users(evChoice, m.ID) > 0 {
			return unix.EBUSY
		}
	}
	if attributes&evsEntries != 0 && attributes&evsFields != 0 {
		return unix.EINVAL
	}
	return nil
}

// takeAttributes overwrites what the mask names, but for entries.
func (c *profiles) takeAttributes(e *evProfile, m *ctlEVs, fields []ctlField) error {
	if m.Mask&evsMode != 0 {
		mode := modeOf[hostapi.Mode](m.Mode)
		if mode == 0 {
			return unix.EINVAL
		}
		if mode != e.Mode {
			e.Mode, e.EVs, e.Denied = mode, nil, nil
		}
	}
	if m.Mask&evsFormat != 0 {
		e.Format = m.Format
	}
	if m.Mask&evsCount != 0 {
		if err := c.resize(e, m.Count); err != nil {
			return err
		}
	}
	if m.Mask&evsMinActive != 0 {
		e.MinActive = m.MinActive
	}
	if m.Mask&evsEventMask != 0 {
		if m.EventMask&^(evGood|evAssumedBad) != 0 {
			return unix.EINVAL
		}
		e.EventMask = m.EventMask
	}
	if m.Mask&evsFields != 0 {
		if m.Op != opModifyFields || e.Mode == hostapi.ModeAuto {
			return unix.EINVAL
		}
		e.Fields = fieldsOf(fields)
	}
	if e.MinActive > e.Count {
		return unix.EINVAL
	}
	if e.Mode == hostapi.ModeAuto {
		e.Fields, e.EVs, e.Denied, e.Format = nil, nil, nil, 0
		return nil
	}
	if e.Mode == hostapi.ModeExplicit && len(e.EVs) != int(e.Count) {
		e.EVs = append(e.EVs, make([]hostapi.EV, int(e.Count)-len(e.EVs))...)
	}
	if m.Mask&(evsFormat|evsFields|evsMode|evsCount) == 0 {
		return nil
	}
	return c.checkLayout(e)
}

// resize changes the number of EVs.
func (c *profiles) resize(e *evProfile, count uint32) error {
	is := c.server.cfg.NIC.Capabilities()
	if int64(count) > int64(is.EVMaxCountProfile) || int(count)-int(e.Count) > c.free() {
		return unix.E2BIG
	}
	if e.Mode != hostapi.ModeAuto && count == 0 {
		return unix.EINVAL
	}
	e.Count = count
	if len(e.EVs) > int(count) {
		e.EVs = e.EVs[:count:count]
		e.Denied = slices.DeleteFunc(e.Denied, func(v hostapi.EV) bool {
			return !slices.Contains(e.EVs, v)
		})
	}
	return nil
}

func fieldsOf(fields []ctlField) (out []hostapi.Field) {
	for _, f := range fields {
		out = append(out, hostapi.Field{Width: uint8(min(f.Width, 255)), InitVal: f.Init, MinVal: f.Min,
			MaxVal: f.Max, Mask: f.Mask})
	}
	return out
}

// checkLayout checks fields against the format, which must be ONLINE, and EVs against the fields.
func (c *profiles) checkLayout(e *evProfile) error {
	f := c.formats[e.Format]
	if f == nil || f.State != profileOnline {
		return unix.EINVAL
	}
	if len(e.Fields) > len(f.Is.Widths) {
		return unix.E2BIG
	}
	p := hostapi.Profile{Name: "local", Format: f.Is, Mode: hostapi.ModeGenerated, Fields: e.Fields,
		Count: 1}
	if len(e.Fields) == 0 && e.Mode == hostapi.ModeExplicit { // EVs lie in packets as they are
		p.Mode, p.EVs = hostapi.ModeExplicit, []hostapi.EV{{Port: 1}}
	}
	if p.Validate() != nil {
		return unix.EINVAL
	}
	for _, v := range e.EVs {
		if v.Bits() > p.Bits() {
			return unix.EINVAL
		}
	}
	e.Denied = slices.DeleteFunc(e.Denied, func(v hostapi.EV) bool {
		return e.Mode == hostapi.ModeGenerated && !p.Has(v)
	})
	return nil
}

// takeEntries carries out the operation on entries, and returns the EVs that are to be GOOD
// whatever queue pairs found.
func (c *profiles) takeEntries(e *evProfile, m *ctlEVs, entries []ctlEntry,
	failed *error) (revived []hostapi.EV) {
	if m.Mask&evsEntries == 0 {
		return nil
	}
	f := c.formats[e.Format]
	if f == nil || m.Op > opModifyState || e.Mode == hostapi.ModeAuto {
		*failed = unix.EINVAL
		return nil
	}
	p := &hostapi.Profile{Name: nic.LocalName(m.ID), Format: f.Is, Mode: e.Mode, Fields: e.Fields,
		Count: int(e.Count)}
	if e.Mode == hostapi.ModeGenerated {
		e.EVs = p.Generate(c.server.cfg.NIC.Capabilities().Ports)
		defer func() { e.EVs = nil }()
	}
	for i := range entries {
		x := &entries[i]
		var v hostapi.EV
		if m.Op == opReplaceEV {
			v, *failed = c.replace(e, p, x)
		} else {
			v, *failed = x.of(), e.setState(x)
		}
		if *failed != nil {
			return revived
		}
		if x.State == evGood {
			revived = append(revived, v)
		}
	}
	return revived
}

// of returns the EV of an entry.
func (x *ctlEntry) of() hostapi.EV { return hostapi.EV{Value: x.EV, Port: uint8(x.Port)} }

// replace replaces an EV by a new EV. Equal EVs share one state.
func (c *profiles) replace(e *evProfile, p *hostapi.Profile, x *ctlEntry) (hostapi.EV, error) {
	was, now := x.of(), hostapi.EV{Value: x.To, Port: uint8(x.ToPort)}
	if e.Mode != hostapi.ModeExplicit || x.Port > hostapi.MaxPort || x.ToPort > hostapi.MaxPort ||
		x.Flags&^uint32(allCopies) != 0 || x.State != evGood && x.State != evDenied ||
		now.Bits() > p.Bits() || !c.server.cfg.NIC.Capabilities().Ports.Has(int(now.Port)) {
		return now, unix.EINVAL
	}
	at := slices.Index(e.EVs, was)
	if at < 0 {
		return now, unix.ENOENT
	}
	for ; at >= 0; at = slices.Index(e.EVs, was) {
		e.EVs[at] = now
		if x.Flags&allCopies == 0 || was == now {
			break
		}
	}
	if !slices.Contains(e.EVs, was) {
		e.deny(was, false)
	}
	e.deny(now, x.State == evDenied)
	return now, nil
}

// setState denies or allows an EV.
func (e *evProfile) setState(x *ctlEntry) error {
	v := x.of()
	if x.Port > hostapi.MaxPort || x.State != evGood && x.State != evDenied {
		return unix.EINVAL
	}
	if v == (hostapi.EV{}) || !slices.Contains(e.EVs, v) {
		return unix.ENOENT
	}
	e.deny(v, x.State == evDenied)
	return nil
}

// deny notes whether an EV is denied.
func (e *evProfile) deny(v hostapi.EV, denied bool) {
	at, found := slices.BinarySearchFunc(e.Denied, v, hostapi.EV.Compare)
	switch {
	case denied && !found:
		e.Denied = slices.Insert(e.Denied, at, v)
	case !denied && found:
		e.Denied = slices.Delete(e.Denied, at, at+1)
	}
}

// modifyGivenEVs changes EVs of a profile of the controller's, which it may with local control
// until the controller next writes the profile.
func (c *profiles) modifyGivenEVs(m *ctlEVs, entries []ctlEntry) error {
	p := c.givenEVs(m.ID)
	const may = evsEntries | maskCurState
	if p == nil || !c.server.cfg.LocalControl || m.Mask&^uint32(may) != 0 {
		return c.refuseGiven(p != nil)
	}
	if m.Mask&maskCurState != 0 && m.CurState != profileOnline || m.Op != opModifyState {
		return unix.EINVAL
	}
	evs, _, _ := c.server.cfg.NIC.EVs(p.Name)
	e := &evProfile{Mode: p.Mode, EVs: evs, Denied: slices.Clone(p.Denied)}
	var failed error
	var revived []hostapi.EV
	for i := range entries {
		if failed = e.setState(&entries[i]); failed != nil {
			break
		}
		if entries[i].State == evGood {
			revived = append(revived, entries[i].of())
		}
	}
	state := *c.given()
	state.Profiles = slices.Clone(state.Profiles)
	state.Profiles[slices.Index(state.Profiles, p)] = p.WithDenied(e.Denied)
	if err := errnoOf(c.server.cfg.NIC.Apply(&state)); err != nil {
		return err
	}
	for _, v := range revived {
		c.server.cfg.NIC.Revive(p.Name, v)
	}
	return failed
}

// queryEVs carries out mrc_ctl_query_ev_profile: what the operation asks for follows the message.
func (c *profiles) queryEVs(m *ctlEVs, asked []ctlEntry) ([]any, error) {
	out := *m
	out.Entries, out.Fields, out.Total, out.Vendor = 0, 0, 0, [128]byte{}
	name, fields := nic.LocalName(m.ID), []hostapi.Field(nil)
	var evs []hostapi.EV
	var states []hostapi.EVState
	if p := c.givenEVs(m.ID); p != nil {
		name, fields = p.Name, p.Fields
		out.State, out.Mode, out.Count, out.MinActive = profileOnline, modeNumber(p.Mode),
			uint32(p.Count), uint32(p.MinActive)
		out.Format, out.EventMask = 0, 0
		if p.Mode != hostapi.ModeAuto {
			out.Format = formatID(p.Format)
		}
		if p.Events {
			out.EventMask = evGood | evAssumedBad
		}
	} else if !localID(m.ID) {
		return nil, unix.EINVAL
	} else {
		e := c.evs[m.ID]
		if e == nil {
			e = &evProfile{}
		}
		fields = e.Fields
		out.State, out.Mode, out.Count, out.MinActive, out.EventMask, out.Format = e.State, 0, e.Count,
			e.MinActive, e.EventMask, e.Format
		if e.Mode != 0 {
			out.Mode = modeNumber(e.Mode)
		}
		evs, states = c.offline(m.ID, e)
	}
	if online, known, ok := c.server.cfg.NIC.EVs(name); ok {
		evs, states = online, known
	}
	out.CurState = out.State
	switch {
	case m.Mask&evsEntries != 0 && m.Mask&evsFields != 0:
		return nil, unix.EINVAL
	case m.Mask&evsFields != 0 && m.Op == opQueryFields:
		out.Fields = uint32(len(fields))
		messages := []any{&out}
		for _, f := range fields {
			messages = append(messages, &ctlField{uint32(f.Width), f.InitVal, f.MinVal, f.MaxVal, f.Mask})
		}
		return messages, nil
	case m.Mask&evsEntries != 0 && m.Op == opQueryState:
		return queryStates(&out, asked, evs, states)
	case m.Mask&evsEntries != 0 && m.Op == opQueryArray:
		out.Total = uint32(len(evs))
		messages := []any{&out}
		for i := int(min(m.First, out.Total)); i < len(evs) && out.Entries < maxEntries; i++ {
			messages = append(messages, &ctlEntry{EV: evs[i].Value, Port: uint32(evs[i].Port),
				State: stateNumber(states[i])})
			out.Entries++
		}
		return messages, nil
	case m.Mask&(evsEntries|evsFields) != 0:
		return nil, unix.EINVAL
	}
	return []any{&out}, nil
}

func queryStates(out *ctlEVs, asked []ctlEntry, evs []hostapi.EV,
	states []hostapi.EVState) ([]any, error) {
	messages := []any{out}
	for i := range asked {
		at := slices.Index(evs, asked[i].of())
		if at < 0 || asked[i].Port > hostapi.MaxPort {
			return nil, unix.ENOENT
		}
		asked[i].State = stateNumber(states[at])
		messages = append(messages, &asked[i])
		out.Entries++
	}
	return messages, nil
}

// offline are the EVs of a profile that the NIC does not hold.
func (c *profiles) offline(id uint64, e *evProfile) (evs []hostapi.EV, states []hostapi.EVState) {
	evs = e.EVs
	if f := c.formats[e.Format]; e.Mode == hostapi.ModeGenerated && f != nil {
		p := hostapi.Profile{Name: nic.LocalName(id), Mode: e.Mode, Format: f.Is, Fields: e.Fields,
			Count: int(e.Count)}
		evs = p.Generate(c.server.cfg.NIC.Capabilities().Ports)
	}
	for _, v := range evs {
		_, denied := slices.BinarySearchFunc(e.Denied, v, hostapi.EV.Compare)
		switch {
		case v == hostapi.EV{}:
			states = append(states, 0)
		case denied:
			states = append(states, hostapi.EVDenied)
		default:
			states = append(states, hostapi.EVGood)
		}
	}
	return evs, states
}
