package dataplane

import "time"

// Colours a meter gives, as BMv2 numbers them.
const (
	green  = 0
	yellow = 1
	red    = 2
)

// meterState is a marker as BMv2 keeps it: tokens are counted in whole units
// from one time origin.
type meterState struct {
	cfg  MeterConfig
	born time.Duration
	rate [2]meterRate // peak, then committed; of a single rate, excess and committed
}

type meterRate struct {
	perMicro float64
	burst    uint64
	tokens   uint64
	last     uint64 // tokens made since birth
}

func newMeter(cfg MeterConfig, now time.Duration) *meterState {
	m := &meterState{cfg: cfg, born: now}
	m.rate[0] = meterRate{perMicro: float64(cfg.PIR) / 1e6, burst: cfg.PBurst, tokens: cfg.PBurst}
	m.rate[1] = meterRate{perMicro: float64(cfg.CIR) / 1e6, burst: cfg.CBurst, tokens: cfg.CBurst}
	if cfg.EBurst > 0 {
		m.rate[0] = meterRate{burst: cfg.EBurst, tokens: cfg.EBurst}
	}
	return m
}

// execute takes n units and returns the colour.
func (m *meterState) execute(now time.Duration, n uint64) uint64 {
	if m.cfg.EBurst > 0 {
		return m.executeSingle(now, n)
	}
	micros := float64((now - m.born) / time.Microsecond)
	for i := range m.rate {
		r := &m.rate[i]
		made := uint64(micros * r.perMicro)
		if made > r.last {
			r.tokens = min(r.tokens+made-r.last, r.burst)
			r.last = made
		}
		if r.tokens < n {
			return uint64(red - i)
		}
		r.tokens -= n
	}
	return green
}

// executeSingle marks by a single rate with an excess burst (RFC 2697,
// colour-blind): what the committed bucket cannot hold goes to the excess one.
func (m *meterState) executeSingle(now time.Duration, n uint64) uint64 {
	excess, committed := &m.rate[0], &m.rate[1]
	made := uint64(float64((now-m.born)/time.Microsecond) * committed.perMicro)
	if made > committed.last {
		room := committed.burst - committed.tokens
		more := made - committed.last
		committed.last = made
		committed.tokens += min(more, room)
		excess.tokens = min(excess.tokens+more-min(more, room), excess.burst)
	}
	switch {
	case committed.tokens >= n:
		committed.tokens -= n
		return green
	case excess.tokens >= n:
		excess.tokens -= n
		return yellow
	}
	return red
}

// directMeter is the meter of an entry or of the misses of a table.
type directMeter struct {
	state  *meterState // nil: not configured, everything is green
	marked MeterCounts
}

func (d *directMeter) execute(now time.Duration, unit MeterUnit, octets int) uint64 {
	color := uint64(green)
	if d.state != nil {
		color = d.state.execute(now, unit.of(octets))
	}
	k := &d.marked[color]
	k.Packets++
	k.Bytes += uint64(octets)
	return color
}

// of is what a packet takes of a meter's tokens.
func (u MeterUnit) of(octets int) uint64 {
	if u == MeterPackets {
		return 1
	}
	return uint64(octets)
}

// meterArray is one indirect meter array; meters exist once configured.
type meterArray struct {
	size   int
	unit   MeterUnit
	m      map[uint64]*meterState
	marked counter // by meter and colour
}

// colors is the number of colours.
const colors = red + 1

func (a *meterArray) execute(i uint64, now time.Duration, octets int) uint64 {
	color := uint64(green)
	if m := a.m[i]; m != nil {
		color = m.execute(now, a.unit.of(octets))
	}
	a.marked.add(colors*i+color, octets)
	return color
}
