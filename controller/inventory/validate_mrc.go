package inventory

import (
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
)

// mostProbes a second.
const mostProbes = 1_000_000

// mostSelfProbes a second of each host: one every hostapi.MinSelfInterval.
const mostSelfProbes = 100_000

// Validate returns Faults, or nil. An MRC without a mode has one.
func (m *MRC) Validate() error {
	var v validator
	v.mrc(m)
	if len(v.faults) > 0 {
		return v.faults
	}
	return nil
}

// The modes, for messages.
const (
	modes    = "ecmp, stev, usid-f3216, usid-f1616, usid-srh"
	lastMode = "usid-structured"
)

func (v *validator) mrc(m *MRC) {
	if !m.On() {
		v.bad("mrc.mode", "is missing: want %s or %s", modes, lastMode)
		return
	}
	if _, err := ev.ParseMode(m.Mode); err != nil {
		v.bad("mrc.mode", "is %q: want %s or %s", m.Mode, modes, lastMode)
	} else {
		f := m.Format()
		switch err := f.Validate(); {
		case err == nil:
		case strings.HasPrefix(err.Error(), "numbering"):
			at, what, _ := strings.Cut(err.Error(), ": ")
			v.bad("mrc."+at, "%s", what)
		default:
			v.bad("mrc.block", "is %v: %s", m.Block, strings.TrimPrefix(err.Error(), "block: "))
		}
	}
	if mode, err := ev.ParseMode(m.Mode); err == nil && mode == ev.ModeStructured && v.inv != nil {
		for i := range v.inv.Switches {
			if s := &v.inv.Switches[i]; s.WithoutP4() {
				v.bad("mrc.mode", "is %q, which needs switches that run P4, and %s runs %v: want another "+
					"mode", m.Mode, s.Name, s.System)
				break
			}
		}
	}
	v.oneOf("mrc.hops", m.Hops, hopKinds)
	v.oneOf("mrc.planes", m.Planes, planeRules)
	v.oneOf("mrc.profiles", m.Profiles, profileRules)
	v.count("mrc.maxEvs", m.MaxEVs, 1, hostapi.MaxProfileEVs)
	v.count("mrc.minActive", m.MinActive, 0, m.MaxEVs)
	if m.CCProfile != "" {
		v.name("mrc.ccProfile", m.CCProfile)
	}
	if m.Listen != "" {
		v.listener("mrc.listen", m.Listen)
	}
	if t := m.TLS; t != nil {
		for field, file := range map[string]string{"cert": t.Cert, "key": t.Key, "ca": t.CA} {
			if file == "" {
				v.bad("mrc.tls."+field, "is missing: hosts and controller authenticate each other")
			}
		}
	}
	v.positive("mrc.counts", m.Counts, true)
	v.positive("mrc.linkCounts", m.LinkCounts, true)
	v.classes("mrc.classes", &m.Classes)
	v.positive("mrc.icmpErrors.interval", m.ICMP.Interval, true)
	v.count("mrc.icmpErrors.burst", m.ICMP.Burst, 1, 1<<20)
	v.restore(&m.Restore)
	v.suspects(&m.Suspects)
	p := &m.Probes
	v.count("mrc.probes.rate", p.Rate, 0, mostProbes)
	v.count("mrc.probes.hostRate", p.HostRate, 0, mostProbes)
	v.count("mrc.probes.self", p.Self, 0, mostSelfProbes)
	v.positive("mrc.probes.selfTimeout", p.SelfTimeout, false)
	if p.SelfTimeout.D() > hostapi.MaxSelfTimeout {
		v.bad("mrc.probes.selfTimeout", "is %v: want at most %v", p.SelfTimeout, hostapi.MaxSelfTimeout)
	}
	v.positive("mrc.probes.timeout", p.Timeout, false)
	if p.Timeout.D() > hostapi.MaxProbeTime {
		v.bad("mrc.probes.timeout", "is %v: want at most %v", p.Timeout, hostapi.MaxProbeTime)
	}
	if p.DSCP != nil {
		v.count("mrc.probes.dscp", int(*p.DSCP), 0, 63)
	}
}

func (v *validator) restore(r *Restore) {
	v.positive("mrc.restore.hold", r.Hold, false)
	v.positive("mrc.restore.maxHold", r.MaxHold, false)
	v.positive("mrc.restore.calm", r.Calm, false)
	v.positive("mrc.restore.every", r.Every, false)
	v.positive("mrc.restore.firstRound", r.FirstRound, false)
	v.positive("mrc.restore.linger", r.Linger, true)
	if r.MaxHold < r.Hold {
		v.bad("mrc.restore.maxHold", "is %v, below hold: want hold or more", r.MaxHold)
	}
}

func (v *validator) suspects(s *Suspects) {
	if !(s.DenyLoss > 0 && s.DenyLoss <= 1) {
		v.bad("mrc.suspects.denyLoss", "is %v: want more than 0 and at most 1", s.DenyLoss)
	}
	if !(s.Confidence > 0 && s.Confidence < 1) {
		v.bad("mrc.suspects.confidence", "is %v: want more than 0 and less than 1", s.Confidence)
	}
	v.positive("mrc.suspects.every", s.Every, false)
	v.positive("mrc.suspects.hold", s.Hold, false)
	v.positive("mrc.suspects.maxHold", s.MaxHold, false)
	if s.MaxHold < s.Hold {
		v.bad("mrc.suspects.maxHold", "is %v, below hold: want hold or more", s.MaxHold)
	}
	v.count("mrc.suspects.probes", s.Probes, 1, mostProbes)
}

func (v *validator) oneOf(field, value string, of []string) {
	if !slices.Contains(of, value) {
		v.bad(field, "is %q: want %s", value, strings.Join(of, " or "))
	}
}

func (v *validator) count(field string, n, least, most int) {
	if n < least || n > most {
		v.bad(field, "is %d: want %d to %d", n, least, most)
	}
}
