//go:build linux

package uverbs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/internal/wholefile"
)

// stev configures format 1: structured EVs of 16 bits and 16 bits.
func (a *app) stev() {
	a.t.Helper()
	m := &ctlFormat{ID: 1, Mask: maskState | formatMode, State: profileOffline, Mode: ctlFormatSTEV}
	a.must(opCtlModifyFormat, m, nil)
	m = &ctlFormat{ID: 1, Mask: maskState | maskCurState | formatFields, State: profileOnline,
		CurState: profileOffline, Count: 2, Width: [32]uint8{16, 16}}
	a.must(opCtlModifyFormat, m, nil)
}

// evs is a request about an EV profile.
func evs(m ctlEVs, entries []ctlEntry, fields []ctlField) []byte {
	m.Entries, m.Fields = uint32(len(entries)), uint32(len(fields))
	return encode(nil, &m, fields, entries)
}

// whole lists fields that cover all bits of the EV.
var whole = []ctlField{{Width: 16, Max: 0xFFFF, Mask: 0xFFFF}, {Width: 16, Max: 0xFFFF,
	Mask: 0xFFFF}}

func stevEV(port uint32, source uint16) (v [32]byte) {
	binary.BigEndian.PutUint16(v[:], source)
	return v
}

// explicit makes EV profile id with these source ports, on ports 1 and 2 in turn, OFFLINE.
func (a *app) explicit(id uint64, sources ...uint16) {
	a.t.Helper()
	a.must(opCtlModifyEVs, evs(ctlEVs{ID: id, Format: 1, Mode: modeExplicit,
		Count: uint32(len(sources)), State: profileOffline,
		Mask: maskState | evsMode | evsFormat | evsCount | evsFields}, nil, whole), &[]byte{})
	var entries []ctlEntry
	for i, s := range sources {
		port := uint32(i%2 + 1)
		entries = append(entries, ctlEntry{To: stevEV(port, s), ToPort: port, State: evGood})
	}
	a.must(opCtlModifyEVs, evs(ctlEVs{ID: id, Mask: evsEntries, Op: opReplaceEV}, entries, nil),
		&[]byte{})
}

func (a *app) goTo(id uint64, state uint32) error {
	a.t.Helper()
	_, err := a.call(opCtlModifyEVs, evs(ctlEVs{ID: id, Mask: maskState, State: state}, nil, nil),
		&[]byte{})
	return err
}

// array is the list of an EV profile.
func (a *app) array(id uint64) (m ctlEVs, list []ctlEntry) {
	a.t.Helper()
	var out []byte
	a.must(opCtlQueryEVs, evs(ctlEVs{ID: id, Mask: evsEntries, Op: opQueryArray}, nil, nil), &out)
	if err := decode(out[:200], &m); err != nil {
		a.t.Fatal(err)
	}
	list = make([]ctlEntry, m.Entries)
	if err := decode(out[200:], list); err != nil {
		a.t.Fatal(err)
	}
	return m, list
}

// choose makes a queue pair choose profiles before its pair is connected.
func (q *qp) choose(to int, qpn uint32, ev, cc uint64) error {
	q.app.t.Helper()
	_, err := q.app.call(opModifyQP, &qpAttr{Handle: q.is.Handle,
		Mask: attrState | attrAccess | attrPKey | attrPort, State: stateInit, Port: 1,
		Access: accessLocalWrite | accessRemoteWrite, MRCMask: mrcEVProfile | mrcCCProfile,
		EVProfile: ev, CCProfile: cc}, nil)
	if err != nil {
		return err
	}
	q.app.must(opModifyQP, q.toRTR(to, qpn), nil)
	q.app.must(opModifyQP, &qpAttr{Handle: q.is.Handle, Mask: attrState | attrSQPSN, State: stateRTS,
		SQPSN: 77}, nil)
	return nil
}

// chosen returns a pair whose first queue pair has chosen profiles; used counts the ports and
// source ports of its data packets.
func chosen(t *testing.T, prepare func(*app), ev, cc uint64) (p *pair, used map[string]int) {
	p = &pair{bed: newBed(t), memory: make([]byte, 1<<20)}
	used = make(map[string]int)
	p.bed.drop = func(to, port int, frame []byte) bool {
		if to == 1 && len(frame) > 1000 {
			used[fmt.Sprintf("%d@%d", binary.BigEndian.Uint16(frame[54:]), port)]++
		}
		return false
	}
	for i := range p.apps {
		p.apps[i] = p.bed.app(i)
		p.qps[i] = p.apps[i].qp(p.apps[i].cq(64), nil)
	}
	p.grant(p.apps[0], true)
	prepare(p.apps[0])
	p.region = p.apps[1].register(p.memory, accessLocalWrite|accessRemoteWrite)
	if err := p.qps[0].choose(1, p.qps[1].is.QPN, ev, cc); err != nil {
		t.Fatal(err)
	}
	p.qps[1].connect(0, p.qps[0].is.QPN)
	return p, used
}

// write writes the region of a pair until so many pairs of source port and port were used, at most
// 200 times, and returns what was used: one write need not use all.
func (p *pair) write(used map[string]int, pairs int) map[string]int {
	p.bed.t.Helper()
	data := bytes.Repeat([]byte{7}, 1<<16)
	m := p.apps[0].register(data, accessLocalWrite)
	_ = p.bed.do(func(time.Duration) { clear(used) })
	for range 200 {
		p.qps[0].post(write{id: 5, va: p.region.Addr, key: p.region.RKey, opcode: wrRDMAWrite,
			flags: sendSignaled, from: []sge{{m.Addr, uint32(m.Length), m.LKey}}})
		if e := p.qps[0].cq.poll(); e.status != statusSuccess {
			p.bed.t.Fatalf("%+v", e)
		}
		var got map[string]int
		_ = p.bed.do(func(time.Duration) { got = maps.Clone(used) })
		if len(got) >= pairs {
			return got
		}
	}
	p.bed.t.Fatalf("200 writes have not used %d pairs", pairs)
	return nil
}

// TestExplicitProfile: a queue pair sprays over the EVs of its chosen profile, and follows as
// mrc_ctl denies, allows and replaces EVs; the server does not remove the profile while in use.
func TestExplicitProfile(t *testing.T) {
	p, used := chosen(t, func(a *app) {
		a.stev()
		a.explicit(7, 1001, 1002, 1003, 1004)
		if err := a.goTo(7, profileOnline); err != nil {
			t.Fatal(err)
		}
	}, 7, 0)
	a := p.apps[0]
	if got := p.write(used, 4); len(got) != 4 || got["1001@1"] == 0 || got["1004@2"] == 0 {
		t.Errorf("used %v", got)
	}
	a.must(opCtlModifyEVs, evs(ctlEVs{ID: 7, Mask: evsEntries, Op: opModifyState},
		[]ctlEntry{{EV: stevEV(1, 1001), Port: 1, State: evDenied}}, nil), &[]byte{})
	if got := p.write(used, 3); len(got) != 3 || got["1001@1"] != 0 {
		t.Errorf("used %v with 1001 denied", got)
	}
	a.must(opCtlModifyEVs, evs(ctlEVs{ID: 7, Mask: evsEntries, Op: opReplaceEV}, []ctlEntry{
		{EV: stevEV(2, 1004), Port: 2, To: stevEV(2, 2004), ToPort: 2, State: evGood},
		{EV: stevEV(1, 1001), Port: 1, To: stevEV(1, 1001), ToPort: 1, State: evGood}}, nil), &[]byte{})
	if got := p.write(used, 4); len(got) != 4 || got["1004@2"] != 0 || got["2004@2"] == 0 ||
		got["1001@1"] == 0 {
		t.Errorf("used %v after replacing", got)
	}
	if err := a.goTo(7, profileOffline); err != unix.EBUSY {
		t.Errorf("OFFLINE while in use: %v", err)
	}
	a.refused(opCtlModifyFormat, &ctlFormat{ID: 1, Mask: maskState, State: profileOffline}, unix.EBUSY)
	a.must(opDestroyQP, &object{p.qps[0].is.Handle}, nil)
	for _, to := range []uint32{profileOffline, profileInit} {
		if err := a.goTo(7, to); err != nil {
			t.Errorf("to state %d: %v", to, err)
		}
	}
	if m, list := a.array(7); m.State != profileInit || len(list) != 0 {
		t.Errorf("%+v, %v", m, list)
	}
}

// TestGeneratedProfile: the fields determine the values of mode GEN, and mrc_ctl can list and deny
// these values.
func TestGeneratedProfile(t *testing.T) {
	gen := []ctlField{{Width: 16, Init: 0x5000, Min: 2, Max: 9, Mask: 0xF}, {Width: 16}}
	p, used := chosen(t, func(a *app) {
		a.stev()
		a.must(opCtlModifyEVs, evs(ctlEVs{ID: 3, Format: 1, Mode: modeGenerated, Count: 8,
			State: profileOffline, Mask: maskState | evsMode | evsFormat | evsCount | evsFields}, nil,
			gen), &[]byte{})
		_, before := a.array(3)
		if err := a.goTo(3, profileOnline); err != nil {
			t.Fatal(err)
		}
		if _, now := a.array(3); len(now) != 8 || fmt.Sprint(now) != fmt.Sprint(before) {
			t.Errorf("%v, OFFLINE %v", now, before)
		}
	}, 3, 0)
	a := p.apps[0]
	got := p.write(used, 8)
	for k := range got {
		var source, port int
		fmt.Sscanf(k, "%d@%d", &source, &port)
		if source < 0x5002 || source > 0x5009 {
			t.Errorf("source port %#x", source)
		}
	}
	_, list := a.array(3)
	first := list[0]
	first.State = evDenied
	a.must(opCtlModifyEVs, evs(ctlEVs{ID: 3, Mask: evsEntries, Op: opModifyState},
		[]ctlEntry{first}, nil), &[]byte{})
	denied := fmt.Sprintf("%d@%d", 0x5000|int(first.EV[0]>>4), first.Port)
	if now := p.write(used, 7); got[denied] == 0 || now[denied] != 0 || len(now) != len(got)-1 {
		t.Errorf("%s: used %v, denied %v", denied, got, now)
	}
	var out []byte
	a.must(opCtlQueryEVs, evs(ctlEVs{ID: 3, Mask: evsFields, Op: opQueryFields}, nil, nil), &out)
	fields := make([]ctlField, 2)
	if err := decode(out[200:], fields); err != nil || fields[0] != gen[0] || fields[1] != gen[1] {
		t.Errorf("%v, %v", fields, err)
	}
}

// TestAutoProfile: a profile of mode AUTO has no named EVs; queue pairs draw as many EVs as the
// profile counts.
func TestAutoProfile(t *testing.T) {
	p, used := chosen(t, func(a *app) {
		a.must(opCtlModifyEVs, evs(ctlEVs{ID: 4, Mode: modeAuto, Count: 4, State: profileOffline,
			Mask: maskState | evsMode | evsCount}, nil, nil), &[]byte{})
		if err := a.goTo(4, profileOnline); err != nil {
			t.Fatal(err)
		}
	}, 4, 0)
	if got := p.write(used, 4); len(got) != 4 {
		t.Errorf("used %v", got)
	}
	a := p.apps[0]
	if m, list := a.array(4); m.Mode != modeAuto || m.State != profileOnline || len(list) != 0 {
		t.Errorf("%+v, %v", m, list)
	}
	a.refused(opCtlModifyEVs, evs(ctlEVs{ID: 4, Mask: evsEntries, Op: opModifyState},
		[]ctlEntry{{State: evDenied, Port: 1}}, nil), unix.EINVAL)
}

// TestProfileRules: the server refuses invalid profiles, and changes not allowed in the state of
// the profile; a refusal changes nothing.
func TestProfileRules(t *testing.T) {
	p := newPair(t, nil)
	a := p.apps[0]
	p.grant(a, true)
	a.stev()
	a.explicit(7, 1001, 1001, 1003)
	const configure = maskState | evsMode | evsFormat | evsCount | evsFields
	before, list := a.array(7)
	entry := func(e ctlEntry) []ctlEntry { return []ctlEntry{e} }
	ev1, ev3 := stevEV(1, 1001), stevEV(1, 1003)
	for i, c := range []struct {
		m       ctlEVs
		entries []ctlEntry
		fields  []ctlField
		want    unix.Errno
	}{
		{m: ctlEVs{Mask: maskState, State: profileOffline}, want: unix.EINVAL}, // id 0
		{m: ctlEVs{ID: controllerIDs, Mask: maskState}, want: unix.EINVAL},
		{m: ctlEVs{ID: 8, Mask: maskState, State: profileOnline}, want: unix.EINVAL},
		{m: ctlEVs{ID: 8, Mask: maskState, State: 3}, want: unix.EINVAL},
		{m: ctlEVs{ID: 8, Mask: 1 << 9}, want: unix.EINVAL},
		{m: ctlEVs{ID: 8, Mask: evsMinActive}, want: unix.EINVAL},
		{m: ctlEVs{ID: 8, Mask: maskState | evsMode, State: 1, Mode: modeExplicit}, want: unix.EINVAL},
		{m: ctlEVs{ID: 8, Mask: maskState | evsMode, State: 1, Mode: 8}, want: unix.EINVAL},
		{m: ctlEVs{ID: 8, Mask: configure, State: 1, Mode: modeExplicit, Format: 2, Count: 1},
			fields: whole, want: unix.EINVAL}, // no such format
		{m: ctlEVs{ID: 8, Mask: configure, State: 1, Mode: modeExplicit, Format: 1, Count: 0},
			fields: whole, want: unix.EINVAL},
		{m: ctlEVs{ID: 8, Mask: configure, State: 1, Mode: modeExplicit, Format: 1, Count: 1 << 20},
			fields: whole, want: unix.E2BIG},
		{m: ctlEVs{ID: 8, Mask: configure, State: 1, Mode: modeExplicit, Format: 1, Count: 1},
			fields: append(whole[:2:2], whole[0]), want: unix.E2BIG},
		{m: ctlEVs{ID: 8, Mask: configure, State: 1, Mode: modeGenerated, Format: 1, Count: 1},
			fields: []ctlField{{Width: 4, Init: 16}}, want: unix.EINVAL},
		{m: ctlEVs{ID: 8, Mask: configure, State: 1, Mode: modeGenerated, Format: 1, Count: 1},
			want: unix.EINVAL}, // no fields
		{m: ctlEVs{ID: 7, Mask: maskCurState, CurState: profileOnline}, want: unix.EINVAL},
		{m: ctlEVs{ID: 7, Mask: maskVendor, Vendor: [128]byte{5: 1}}, want: unix.EINVAL},
		{m: ctlEVs{ID: 7, Mask: evsMinActive, MinActive: 4}, want: unix.EINVAL},
		{m: ctlEVs{ID: 7, Mask: evsEventMask, EventMask: evDenied}, want: unix.EINVAL},
		{m: ctlEVs{ID: 7, Mask: evsFields, Op: opQueryFields}, want: unix.EINVAL},
		{m: ctlEVs{ID: 7, Mask: evsEntries | evsFields}, want: unix.EINVAL},
		{m: ctlEVs{ID: 7, Mask: evsEntries, Op: opReplaceEV}, want: unix.ENOENT,
			entries: entry(ctlEntry{EV: ev3, Port: 2, To: ev1, ToPort: 1, State: evGood})},
		{m: ctlEVs{ID: 7, Mask: evsEntries, Op: opReplaceEV}, want: unix.EINVAL,
			entries: entry(ctlEntry{EV: ev3, Port: 1, To: ev1, ToPort: 3, State: evGood})},
		{m: ctlEVs{ID: 7, Mask: evsEntries, Op: opReplaceEV}, want: unix.EINVAL,
			entries: entry(ctlEntry{EV: ev3, Port: 1, To: [32]byte{8: 1}, ToPort: 1, State: evGood})},
		{m: ctlEVs{ID: 7, Mask: evsEntries, Op: opReplaceEV}, want: unix.EINVAL,
			entries: entry(ctlEntry{EV: ev3, Port: 1, To: ev1, ToPort: 1})},
		{m: ctlEVs{ID: 7, Mask: evsEntries, Op: opReplaceEV}, want: unix.EINVAL,
			entries: entry(ctlEntry{EV: ev3, Port: 1, To: ev1, ToPort: 1, State: evGood, Flags: 2})},
		{m: ctlEVs{ID: 7, Mask: evsEntries, Op: opModifyState}, want: unix.EINVAL,
			entries: entry(ctlEntry{EV: ev1, Port: 1, State: evAssumedBad})},
		{m: ctlEVs{ID: 7, Mask: evsEntries, Op: opModifyState}, want: unix.ENOENT,
			entries: entry(ctlEntry{EV: ev1, Port: 7, State: evDenied})},
	} {
		if _, err := a.call(opCtlModifyEVs, evs(c.m, c.entries, c.fields), nil); err != c.want {
			t.Errorf("%d: %v, want %v", i, err, c.want)
		}
	}
	if after, now := a.array(7); after != before || fmt.Sprint(now) != fmt.Sprint(list) {
		t.Errorf("%+v, %v", after, now)
	}
	a.refused(opCtlQueryEVs, evs(ctlEVs{ID: 7, Mask: evsEntries, Op: opQueryState},
		entry(ctlEntry{EV: ev1, Port: 7}), nil), unix.ENOENT)
	a.refused(opCtlQueryEVs, evs(ctlEVs{ID: 0}, nil, nil), unix.EINVAL)
	a.refused(opCtlModifyEVs, make([]byte, 199), unix.EINVAL)
	a.refused(opCtlModifyEVs, append(evs(ctlEVs{ID: 7}, nil, nil), 0), unix.EINVAL)
	a.refused(opCtlModifyEVs, evs(ctlEVs{ID: 7}, make([]ctlEntry, 513), nil), unix.E2BIG)
	// one place, or all of them; entries before one that fails are done
	a.must(opCtlModifyEVs, evs(ctlEVs{ID: 7, Mask: evsEntries, Op: opReplaceEV},
		entry(ctlEntry{EV: ev1, Port: 1, To: stevEV(1, 5), ToPort: 1, State: evDenied}), nil), &[]byte{})
	a.refused(opCtlModifyEVs, evs(ctlEVs{ID: 7, Mask: evsEntries, Op: opReplaceEV}, []ctlEntry{
		{EV: ev1, Port: 2, To: stevEV(1, 6), ToPort: 2, State: evGood},
		{EV: ev1, Port: 2, To: stevEV(1, 7), ToPort: 2, State: evGood}}, nil), unix.ENOENT)
	if _, now := a.array(7); now[0].EV != stevEV(1, 5) || now[0].State != evDenied ||
		now[1].EV != stevEV(1, 6) || now[1].State != evGood {
		t.Errorf("%v", now)
	}
	if err := p.choosing(7); err != unix.EINVAL {
		t.Errorf("a queue pair has chosen a profile that is OFFLINE: %v", err)
	}
	// an explicit profile with an empty place cannot be used
	a.must(opCtlModifyEVs, evs(ctlEVs{ID: 7, Mask: evsCount, Count: 4}, nil, nil), &[]byte{})
	if err := a.goTo(7, profileOnline); err != unix.EINVAL {
		t.Errorf("ONLINE with an empty place: %v", err)
	}
	a.must(opCtlModifyEVs, evs(ctlEVs{ID: 7, Mask: maskState | evsEntries, State: profileOnline},
		entry(ctlEntry{To: stevEV(1, 9), ToPort: 1, State: evGood}), nil), &[]byte{})
	for _, mask := range []uint32{evsMode, evsFormat, evsCount, evsMinActive} {
		a.refused(opCtlModifyEVs, evs(ctlEVs{ID: 7, Mask: mask, Mode: modeExplicit, Format: 1, Count: 4},
			nil, nil), unix.EINVAL)
	}
	if err := a.goTo(7, profileInit); err != unix.EINVAL {
		t.Errorf("from ONLINE to INIT: %v", err)
	}
	p.grant(a, false)
	a.refused(opCtlModifyEVs, evs(ctlEVs{ID: 7}, nil, nil), unix.EPERM)
	a.refused(opCtlQueryEVs, evs(ctlEVs{ID: 7}, nil, nil), unix.EPERM)
	a.refused(opCreateCQ, &cqRequest{Depth: 4, Kind: 1}, unix.EPERM)
}

// choosing has a new queue pair of the first app choose an EV profile.
func (p *pair) choosing(id uint64) error {
	a := p.apps[0]
	q := a.qp(p.qps[0].cq, nil)
	_, err := a.call(opModifyQP, &qpAttr{Handle: q.is.Handle, Mask: attrState | attrAccess,
		State: stateInit, MRCMask: mrcEVProfile, EVProfile: id}, nil)
	return err
}

// TestFormatRules: the server refuses invalid formats, and changes not allowed in the state of the
// format.
func TestFormatRules(t *testing.T) {
	p := newPair(t, nil)
	a := p.apps[0]
	p.grant(a, true)
	a.stev()
	a.must(opCtlModifyFormat, &ctlFormat{ID: 2, Mask: maskState | formatMode, State: 1, Mode: 2}, nil)
	for i, c := range []struct {
		m    ctlFormat
		want unix.Errno
	}{
		{ctlFormat{Mask: maskState, State: 1}, unix.EINVAL},
		{ctlFormat{ID: 3, Mask: maskState, State: 1}, unix.EINVAL}, // no mode
		{ctlFormat{ID: 3, Mask: maskState | formatMode, State: 1, Mode: 3}, unix.EINVAL},
		{ctlFormat{ID: 3, Mask: 1 << 4}, unix.EINVAL},
		{ctlFormat{ID: 1, Mask: formatMode, Mode: 1}, unix.EINVAL}, // ONLINE
		{ctlFormat{ID: 1, Mask: maskState}, unix.EINVAL},
		{ctlFormat{ID: 2, Mask: maskState, State: 2}, unix.EINVAL}, // no fields
		{ctlFormat{ID: 2, Mask: formatFields, Op: opQueryFields}, unix.EINVAL},
		{ctlFormat{ID: 2, Mask: formatFields, Count: 33}, unix.E2BIG},
		{ctlFormat{ID: 2, Mask: formatFields, Count: 2, Width: [32]uint8{200, 57}}, unix.E2BIG},
		{ctlFormat{ID: 2, Mask: formatFields, Count: 2, Width: [32]uint8{8}}, unix.EINVAL},
	} {
		if _, err := a.call(opCtlModifyFormat, &c.m, nil); err != c.want {
			t.Errorf("%d: %v, want %v", i, err, c.want)
		}
	}
	var m ctlFormat
	a.must(opCtlQueryFormat, &object{1}, &m)
	if m.State != profileOnline || m.Mode != ctlFormatSTEV || m.Count != 2 || m.Width[1] != 16 {
		t.Errorf("%+v", m)
	}
	a.must(opCtlModifyFormat, &ctlFormat{ID: 1, Mask: maskState, State: profileOffline}, nil)
	a.must(opCtlModifyFormat, &ctlFormat{ID: 1, Mask: maskState}, nil)
	a.must(opCtlQueryFormat, &object{1}, &m)
	if m.State != profileInit || m.Count != 0 {
		t.Errorf("%+v", m)
	}
	a.refused(opCtlQueryFormat, &object{maxID}, unix.EINVAL)
}

// nscc is a profile that queue pairs can use.
func nscc(id uint64, mask, state uint32) *ctlCC {
	c := &ctlCC{ID: id, Mask: mask, State: state, AdjustBytes: 32768, AdjustPeriod: 10000,
		BaseRTT: 20000, Eta: 1500, Fi: 1000, FiScale: 0.25, Gamma: 0.8, MaxMDJump: 0.5,
		MaxCwnd: 77777, QAGate: 3, QAThreshold: 40000, TargetDelay: 15000}
	copy(c.Algorithm[:], hostapi.AlgorithmNSCC)
	return c
}

// TestCCProfiles: a queue pair uses the window of its chosen CC profile, also after a change of the
// profile, and no window with a profile without an algorithm.
func TestCCProfiles(t *testing.T) {
	p, used := chosen(t, func(a *app) {
		a.must(opCtlModifyCC, nscc(5, maskState|ccAlgorithm, profileOffline), nil)
		a.refused(opCtlModifyCC, nscc(5, maskState, profileOnline), unix.EINVAL) // no parameters
		a.must(opCtlModifyCC, nscc(5, maskState|ccConfig, profileOnline), nil)
	}, 0, 5)
	a := p.apps[0]
	window := func(q *qp) (n int) {
		_ = p.bed.do(func(time.Duration) {
			qp, err := p.bed.nics[0].QP(q.is.QPN)
			if err != nil {
				t.Fatal(err)
			}
			n = qp.Config().Congestion.MaxWindow()
		})
		return n
	}
	if n := window(p.qps[0]); n != 77777 {
		t.Errorf("window %d", n)
	}
	c := nscc(5, ccConfig, 0)
	c.MaxCwnd = 55555
	a.must(opCtlModifyCC, c, nil)
	if n := window(p.qps[0]); n != 55555 {
		t.Errorf("window %d", n)
	}
	var is ctlCC
	a.must(opCtlQueryCC, &object{5}, &is)
	c.Mask, c.State = 0, profileOnline
	if is != *c {
		t.Errorf("%+v, want %+v", is, *c)
	}
	a.refused(opCtlModifyCC, nscc(5, maskState, profileOffline), unix.EBUSY)
	p.write(used, 0)
	none := &ctlCC{ID: 6, Mask: maskState | ccAlgorithm, State: profileOffline}
	a.must(opCtlModifyCC, none, nil)
	a.must(opCtlModifyCC, &ctlCC{ID: 6, Mask: maskState, State: profileOnline}, nil)
	q := a.qp(p.qps[0].cq, nil)
	if err := q.choose(1, p.qps[1].is.QPN, 0, 6); err != nil || window(q) == 55555 {
		t.Errorf("window %d, %v", window(q), err)
	}
	bad := nscc(5, ccConfig, 0)
	bad.Gamma = 0
	foreign := nscc(8, maskState|ccAlgorithm, profileOffline)
	foreign.Algorithm[0] = 'x'
	for i, m := range []*ctlCC{bad, foreign, nscc(0, maskState|ccAlgorithm, 1),
		nscc(5, ccAlgorithm, 0), nscc(5, 1<<4, 0), nscc(9, maskState, profileOffline),
		nscc(9, maskState, profileOnline), nscc(maxID, ccConfig, 0)} {
		if _, err := a.call(opCtlModifyCC, m, nil); err != unix.EINVAL {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// eventQueue makes an EV event CQ.
func (a *app) eventQueue(depth uint32) *cq {
	a.t.Helper()
	var ch object
	fds := a.must(opCreateChannel, nil, &ch)
	a.t.Cleanup(func() { _ = unix.Close(fds[0]) })
	r := cqRequest{Channel: ch.Handle, Depth: depth, Kind: 1}
	ring := a.must(opCreateCQ, &r, &r)
	return &cq{app: a, handle: r.Handle, depth: r.Depth, channel: fds[0],
		ring: a.mapped(ring[0], ringEntries+int(r.Depth)*entryHead)}
}

// evEvent takes an event, and waits for one.
func (c *cq) evEvent() (e evEvent) {
	c.app.t.Helper()
	for word(c.ring, cqHead).Load() == c.tail {
		word(c.ring, cqArmed).Store(1)
		if word(c.ring, cqHead).Load() == c.tail {
			c.wait()
		}
	}
	at := ringEntries + int(c.tail&(c.depth-1))*entryHead
	if err := decode(c.ring[at:at+entryHead], &e); err != nil {
		c.app.t.Fatal(err)
	}
	c.tail++
	word(c.ring, cqTail).Store(c.tail)
	return e
}

// TestEVEvents: EVs whose packets are lost become ASSUMED_BAD, with an event and to be queried, and
// GOOD when mrc_ctl says so; events that find no room are counted.
func TestEVEvents(t *testing.T) {
	var queue *cq
	p, used := chosen(t, func(a *app) {
		a.stev()
		a.explicit(7, 1001, 1002, 1003, 1004, 1005, 1006)
		a.must(opCtlModifyEVs, evs(ctlEVs{ID: 7, Mask: maskState | evsEventMask | evsMinActive,
			State: profileOnline, EventMask: evAssumedBad | evGood, MinActive: 1}, nil, nil), &[]byte{})
		queue = a.eventQueue(1)
	}, 7, 0)
	a := p.apps[0]
	lost := map[uint16]bool{1001: true, 1003: true}
	_ = p.bed.do(func(time.Duration) {
		p.bed.drop = func(to, _ int, frame []byte) bool {
			return to == 1 && lost[binary.BigEndian.Uint16(frame[54:])]
		}
	})
	bad := func() (n int) {
		_, list := a.array(7)
		for _, e := range list {
			if e.State == evAssumedBad {
				n++
			}
		}
		return n
	}
	for i := 0; bad() < 2; i++ {
		if i == 1000 {
			t.Fatal("EVs that lose all packets are not bad")
		}
		p.write(used, 0)
	}
	first := queue.evEvent()
	if first.Profile != 7 || first.State != evAssumedBad || first.Port != 1 ||
		!lost[binary.BigEndian.Uint16(first.EV[:])] || first.Dropped != 0 {
		t.Errorf("%+v", first)
	}
	_ = p.bed.do(func(time.Duration) { p.bed.drop = nil })
	a.must(opCtlModifyEVs, evs(ctlEVs{ID: 7, Mask: evsEntries, Op: opModifyState}, []ctlEntry{
		{EV: stevEV(1, 1001), Port: 1, State: evGood}}, nil), &[]byte{})
	if e := queue.evEvent(); e.State != evGood || e.Dropped < 1 {
		t.Errorf("%+v", e)
	}
	a.refused(opCreateCQ, &cqRequest{Depth: 4, Kind: 2}, unix.EINVAL)
	a.refused(opCreateQP, &qpRequest{PD: a.pd, SendCQ: queue.handle, RecvCQ: queue.handle},
		unix.EINVAL)
}

// given has the controller give the first NIC a profile.
func (p *pair) given(t *testing.T) (name string, cc string) {
	t.Helper()
	state, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{{Name: "to:b",
		Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{16, 16}},
		Mode:   hostapi.ModeExplicit, Count: 2, Events: true,
		EVs: []hostapi.EV{hostapi.NewEV(3001<<16, 1), hostapi.NewEV(3002<<16, 2)}}}})
	if err != nil {
		t.Fatal(err)
	}
	_ = p.bed.do(func(time.Duration) { err = p.bed.nics[0].Apply(state) })
	if err != nil {
		t.Fatal(err)
	}
	return "to:b", ""
}

// TestControllersProfiles: what a controller has written can be chosen and read, and not changed:
// unless the NIC is under local control.
func TestControllersProfiles(t *testing.T) {
	p := newPair(t, nil)
	a := p.apps[0]
	p.grant(a, true)
	name, _ := p.given(t)
	id := ControllerID(name)
	m, list := a.array(id)
	if m.State != profileOnline || m.Count != 2 || m.Mode != modeExplicit || len(list) != 2 ||
		list[1].EV != stevEV(2, 3002) || list[1].Port != 2 || m.EventMask != evGood|evAssumedBad {
		t.Errorf("%+v, %v", m, list)
	}
	var f ctlFormat
	a.must(opCtlQueryFormat, &object{m.Format}, &f)
	if f.State != profileOnline || f.Mode != ctlFormatSTEV || f.Count != 2 {
		t.Errorf("%+v", f)
	}
	if err := p.choosing(id); err != nil {
		t.Errorf("choosing it: %v", err)
	}
	deny := evs(ctlEVs{ID: id, Mask: evsEntries, Op: opModifyState},
		[]ctlEntry{{EV: stevEV(2, 3002), Port: 2, State: evDenied}}, nil)
	a.refused(opCtlModifyEVs, deny, unix.EBUSY)
	a.refused(opCtlModifyFormat, &ctlFormat{ID: m.Format, Mask: maskState, State: 1}, unix.EBUSY)
	_ = p.bed.do(func(time.Duration) { p.bed.doors[0].cfg.LocalControl = true })
	a.must(opCtlModifyEVs, deny, &[]byte{})
	if _, list = a.array(id); list[1].State != evDenied || list[0].State != evGood {
		t.Errorf("%v", list)
	}
	a.refused(opCtlModifyEVs, evs(ctlEVs{ID: id, Mask: maskState, State: 1}, nil, nil), unix.EBUSY)
	p.given(t) // the controller writes it again
	if _, list = a.array(id); list[1].State != evGood {
		t.Errorf("%v", list)
	}
}

// TestKept: the configuration from mrc_ctl survives the end of the NIC. The NIC refuses a damaged
// file completely, and a request fails if the NIC cannot write the file.
func TestKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nic.state")
	var full atomic.Bool
	keep := func(text []byte) error {
		if full.Load() {
			return fmt.Errorf("write: %w", unix.ENOSPC)
		}
		return wholefile.Put(file, text)
	}
	p := newPair(t, nil)
	a := p.apps[0]
	p.grant(a, true)
	_ = p.bed.do(func(time.Duration) { p.bed.doors[0].cfg.Keep = keep })
	a.stev()
	a.explicit(7, 1001, 1002)
	a.must(opCtlModifyCC, nscc(5, maskState|ccAlgorithm|ccConfig, profileOffline), nil)
	a.must(opCtlModifyPort, &ctlPort{Port: 2, Mask: ctlPortState}, nil)
	full.Store(true)
	if err := a.goTo(7, profileOnline); err != unix.ENOSPC {
		t.Errorf("disk full: %v", err)
	}
	if m, _ := a.array(7); m.State != profileOnline {
		t.Errorf("%+v", m)
	}
	full.Store(false)
	a.must(opCtlModifyCC, nscc(5, maskState, profileOnline), nil)
	want, list := a.array(7)
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	again := newPair(t, nil)
	door, b := again.bed.doors[0], again.apps[0]
	again.grant(b, true)
	restore := func(text []byte) (err error) {
		_ = again.bed.do(func(time.Duration) { err = door.Restore(text) })
		return err
	}
	for _, bad := range [][]byte{nil, kept[:len(kept)-1], append(bytes.Clone(kept), ' '),
		bytes.Replace(kept, []byte("1001"), []byte("1"), 1)} {
		if err := restore(bad); bytes.Equal(bad, kept) == errors.Is(err, ErrKept) {
			t.Errorf("%d octets of %d: %v", len(bad), len(kept), err)
		}
	}
	if err := restore(kept); err != nil {
		t.Fatal(err)
	}
	if m, now := b.array(7); m != want || fmt.Sprint(now) != fmt.Sprint(list) {
		t.Errorf("%+v, %v; want %+v, %v", m, now, want, list)
	}
	var cc ctlCC
	b.must(opCtlQueryCC, &object{5}, &cc)
	var port ctlPort
	b.must(opCtlQueryPort, &object{2}, &port)
	if cc.State != profileOnline || cc.MaxCwnd != 77777 || port.State != 0 {
		t.Errorf("%+v, %+v", cc, port)
	}
	if err := again.choosing(7); err != nil {
		t.Errorf("choosing it: %v", err)
	}
}
