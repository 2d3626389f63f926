//go:build linux

package uverbs

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/packet"
)

// TestNoRemoteWrite: a queue pair that does not allow remote writes refuses them (IBTA volume 1,
// section 11.2.4.2).
func TestNoRemoteWrite(t *testing.T) {
	p := newPair(t, nil)
	from, to := p.apps[0].qp(p.apps[0].cq(8), nil), p.apps[1].qp(p.apps[1].cq(8), nil)
	from.connect(1, to.is.QPN)
	to.app.must(opModifyQP, &qpAttr{Handle: to.is.Handle, Mask: attrState | attrAccess,
		State: stateInit, Access: accessLocalWrite}, nil)
	to.app.must(opModifyQP, to.toRTR(0, from.is.QPN), nil)
	from.post(write{id: 1, va: p.region.IOVA, key: p.region.RKey, flags: sendInline, data: []byte{1}})
	if got := from.cq.poll(); got.status != statusRemoteAccess || p.memory[0] != 0 {
		t.Errorf("%+v, the octet is %d", got, p.memory[0])
	}
}

// TestAddressesEnd: a region does not go on at the other end of the addresses, neither of the
// process nor of its peers.
func TestAddressesEnd(t *testing.T) {
	p := newPair(t, nil)
	a, own := p.apps[1], make([]byte, 10)
	m := memoryRegion{PD: a.pd, Addr: address(own), Length: 10, IOVA: ^uint64(9) + 1}
	a.refused(opRegMR, &m, unix.EINVAL)
	m.IOVA--
	a.must(opRegMR, &m, &m)
	a.refused(opRegMR, &memoryRegion{PD: a.pd, Addr: ^uint64(9) + 1, Length: 10}, unix.EINVAL)
}

// TestAttributesOfEnds: what the responder may be asked for is the host's own, and the others are
// the peer's (mrc.h, mrc_qp_attr).
func TestAttributesOfEnds(t *testing.T) {
	a := qpAttr{MaxWIMM: 1, MaxWIMMDest: 2, MPR: 3, MPRDest: 4}
	local, remote := a.attributes()
	if local.MaxWIMM != 2 || local.MaxMPR != 4 || remote.MaxWIMM != 1 || remote.MaxMPR != 3 {
		t.Errorf("local %+v, remote %+v", local, remote)
	}
}

// TestEventRules: an event counts the events lost before, once, and a profile sends no events for
// states outside its mask (mrc_ctl.h, mrc_ctl_ev_event).
func TestEventRules(t *testing.T) {
	p := newPair(t, nil)
	a := p.apps[0]
	p.grant(a, true)
	r := cqRequest{Depth: 1, Kind: 1}
	q := &cq{app: a, depth: 1}
	fds := a.must(opCreateCQ, &r, &r)
	q.ring = a.mapped(fds[0], ringEntries+entryHead)
	const masked = 7
	say := func(state hostapi.EVState, profiles ...string) {
		_ = p.bed.do(func(time.Duration) {
			s := p.bed.doors[0]
			s.profiles.evs[masked] = &evProfile{EventMask: evGood}
			for _, name := range profiles {
				s.evEvent(hostapi.EVEvent{Profile: name, State: state})
			}
			delete(s.profiles.evs, masked)
		})
	}
	take := func() (e evEvent, ok bool) {
		if word(q.ring, cqHead).Load() == q.tail {
			return e, false
		}
		if err := decode(q.ring[ringEntries:ringEntries+entryHead], &e); err != nil {
			t.Fatal(err)
		}
		q.tail++
		word(q.ring, cqTail).Store(q.tail)
		return e, true
	}
	own := nic.LocalName(masked)
	say(hostapi.EVAssumedBad, own)
	if e, ok := take(); ok {
		t.Errorf("an event that is masked: %+v", e)
	}
	say(hostapi.EVGood, own, own, own)
	for _, want := range []uint32{0, 2, 0} {
		if e, ok := take(); !ok || e.Dropped != want || e.State != evGood || e.Profile != masked {
			t.Errorf("%+v, %v: want %d dropped", e, ok, want)
		}
		say(hostapi.EVGood, own)
	}
}

// TestGreatestProfile: a profile has at most the EVs allowed for a profile, and at most the EVs
// free in the NIC.
func TestGreatestProfile(t *testing.T) {
	p := newPair(t, nil)
	_ = p.bed.do(func(time.Duration) {
		c := p.bed.doors[0].profiles
		is := c.server.cfg.NIC.Capabilities()
		most := uint32(is.EVMaxCountProfile)
		e := &evProfile{Mode: hostapi.ModeAuto}
		if err := c.resize(e, most+1); err != unix.E2BIG {
			t.Errorf("%d EVs: %v", most+1, err)
		}
		if err := c.resize(e, most); err != nil {
			t.Errorf("%d EVs: %v", most, err)
		}
		c.evs[1] = &evProfile{Count: uint32(c.free() - 10)}
		if err := c.resize(&evProfile{Mode: hostapi.ModeAuto}, 11); err != unix.E2BIG {
			t.Errorf("11 EVs of 10: %v", err)
		}
		if err := c.resize(&evProfile{Mode: hostapi.ModeAuto, Count: 1}, 11); err != nil {
			t.Errorf("10 EVs more of 10: %v", err)
		}
		delete(c.evs, 1)
	})
}

// TestKeptOnce: a state is not kept over a later one, nor twice.
func TestKeptOnce(t *testing.T) {
	var kept []string
	s := &Server{cfg: Config{Keep: func(text []byte) error {
		kept = append(kept, string(text))
		return nil
	}}}
	for _, in := range []struct {
		number uint64
		text   string
	}{{1, "a"}, {3, "c"}, {2, "b"}, {3, "c"}, {4, "d"}} {
		if err := s.keep(in.number, []byte(in.text)); err != nil {
			t.Error(err)
		}
	}
	if len(kept) != 3 || kept[0]+kept[1]+kept[2] != "acd" {
		t.Errorf("%q", kept)
	}
}

// TestClasses: packets of a program have the DSCP that the address vector asks for: that of the
// traffic class, or of the service level (OCP MRC 1.0, section 7.5.5.1). The NIC refuses the DSCP
// of control or trimmed packets, and numbers without a DSCP.
func TestClasses(t *testing.T) {
	own := packet.DefaultDSCPClasses()
	for _, c := range []struct {
		trafficClass, sl uint32
		want             int // -1: refused
	}{
		{0, 0, int(own.Trimmable)},
		{3, 0, int(own.Trimmable)}, // ECN alone
		{4, 0, 1},
		{106, 0, 26},
		{255, 0, 63},
		{106, 5, 26},
		{0, 1, 8},
		{0, 7, 56},
		{uint32(own.NoTrim) << 2, 0, int(own.NoTrim)},
		{256, 0, -1},
		{0, 8, -1},
		{uint32(own.Control) << 2, 0, -1},
		{uint32(own.Trimmed) << 2, 7, -1},
	} {
		b := newBed(t)
		var seen atomic.Uint64 // DSCPs of packets, a bit each
		_ = b.do(func(time.Duration) {
			b.drop = func(_, _ int, frame []byte) bool {
				seen.Or(1 << packet.DSCP(frame[14]<<4|frame[15]>>4)) // RFC 8200, section 3
				return false
			}
		})
		var qps [2]*qp
		for i := range qps {
			a := b.app(i)
			qps[i] = a.qp(a.cq(8), nil)
		}
		qps[1].connect(0, qps[0].is.QPN)
		q := qps[0]
		q.app.must(opModifyQP, &qpAttr{Handle: q.is.Handle,
			Mask: attrState | attrAccess | attrPKey | attrPort, State: stateInit, Port: 1}, nil)
		av := q.toRTR(1, qps[1].is.QPN)
		av.TrafficClass, av.SL = c.trafficClass, c.sl
		if c.want < 0 {
			q.app.refused(opModifyQP, av, unix.EINVAL)
			continue
		}
		q.app.must(opModifyQP, av, nil)
		q.app.must(opModifyQP, &qpAttr{Handle: q.is.Handle, Mask: attrState | attrSQPSN,
			State: stateRTS, SQPSN: 77}, nil)
		q.post(write{flags: sendSignaled | sendInline})
		if e := q.cq.poll(); e.status != statusSuccess {
			t.Fatalf("%+v", e)
		}
		may := uint64(1<<c.want | 1<<own.Control)
		if c.want == int(own.Trimmable) || c.want == int(own.NoTrim) { // sent again, and probes
			may |= 1<<own.TrimmableRetx | 1<<own.Trimmable
		}
		if got := seen.Load(); got&^may != 0 || got>>c.want&1 == 0 || got>>own.Control&1 == 0 {
			t.Errorf("traffic class %d, service level %d: DSCPs %#x, want %d and control", c.trafficClass,
				c.sl, got, c.want)
		}
	}
}
