package dataplane

import "time"

// Colours a meter gives, as BMv2 numbers them; 1 is yellow.
const (
	green = 0
	red   = 2
)

// meterState is a two-rate three-colour marker as BMv2 keeps it: tokens are counted
// in whole units from one time origin.
type meterState struct {
	cfg  MeterConfig
	born time.Duration
	rate [2]meterRate // peak, then committed
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
	return m
}

// execute takes n units and returns the colour.
func (m *meterState) execute(now time.Duration, n uint64) uint64 {
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

// meterArray is one indirect meter array; meters exist once configured.
type meterArray struct {
	size int
	unit MeterUnit
	m    map[uint64]*meterState
}

func (a *meterArray) execute(i uint64, now time.Duration, octets int) uint64 {
	m := a.m[i]
	if m == nil {
		return green
	}
	if a.unit == MeterPackets {
		return m.execute(now, 1)
	}
	return m.execute(now, uint64(octets))
}
