package extern

import "time"

// MeterConfig is a two-rate three-colour marker (RFC 2698). Rates are units a second (packets or
// octets), bursts are units. The zero value is an unconfigured meter: everything is green.
type MeterConfig struct {
	CIR, CBurst uint64
	PIR, PBurst uint64
	// EBurst, when it is not 0, makes it a single-rate marker (RFC 2697) of CIR and CBurst with this
	// excess burst; PIR and PBurst are not used.
	EBurst uint64
}

// MeterCounts are the packets a meter has marked green, yellow and red.
type MeterCounts [3]CounterValue

// MeterUnit is the unit of a meter's tokens.
type MeterUnit uint8

// Units of a meter.
const (
	MeterPackets MeterUnit = iota
	MeterBytes
)

// Colours a meter gives, as BMv2 numbers them.
const (
	Green  = 0
	yellow = 1
	red    = 2
)

// ColorName returns the name of a colour, by BMv2's number of it.
func ColorName(v uint64) string {
	switch v {
	case Green:
		return "green"
	case red:
		return "red"
	}
	return "yellow"
}

// marker is a configured meter as BMv2 keeps it: tokens are counted in whole units from one time
// origin.
type marker struct {
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

func newMarker(cfg MeterConfig, now time.Duration) *marker {
	m := &marker{cfg: cfg, born: now}
	m.rate[0] = meterRate{perMicro: float64(cfg.PIR) / 1e6, burst: cfg.PBurst, tokens: cfg.PBurst}
	m.rate[1] = meterRate{perMicro: float64(cfg.CIR) / 1e6, burst: cfg.CBurst, tokens: cfg.CBurst}
	if cfg.EBurst > 0 {
		m.rate[0] = meterRate{burst: cfg.EBurst, tokens: cfg.EBurst}
	}
	return m
}

// execute takes n units and returns the colour.
func (m *marker) execute(now time.Duration, n uint64) uint64 {
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
	return Green
}

// executeSingle marks by a single rate with an excess burst (RFC 2697, colour-blind): tokens that
// the committed bucket cannot hold go to the excess bucket.
func (m *marker) executeSingle(now time.Duration, n uint64) uint64 {
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
		return Green
	case excess.tokens >= n:
		excess.tokens -= n
		return yellow
	}
	return red
}

// DirectMeter is the meter of an entry or of the misses of a table.
type DirectMeter struct {
	state  *marker     // nil: not configured, everything is green
	Marked MeterCounts // the packets marked so far
}

// Execute marks a packet of some octets and returns its colour.
func (d *DirectMeter) Execute(now time.Duration, unit MeterUnit, octets int) uint64 {
	color := uint64(Green)
	if d.state != nil {
		color = d.state.execute(now, unit.of(octets))
	}
	k := &d.Marked[color]
	k.Packets++
	k.Bytes += uint64(octets)
	return color
}

// of returns how many tokens a packet takes.
func (u MeterUnit) of(octets int) uint64 {
	if u == MeterPackets {
		return 1
	}
	return uint64(octets)
}

// MeterArray is one array of meters. A meter takes memory once it is configured.
type MeterArray struct {
	Size   int // meters; it does not change
	unit   MeterUnit
	m      map[uint64]*marker
	marked Counter // by meter and colour
}

// colors is the number of colours.
const colors = red + 1

// Execute marks a packet of some octets by meter i and returns its colour.
func (a *MeterArray) Execute(i uint64, now time.Duration, octets int) uint64 {
	color := uint64(Green)
	if m := a.m[i]; m != nil {
		color = m.execute(now, a.unit.of(octets))
	}
	a.marked.Add(colors*i+color, octets)
	return color
}

// NewMeterArray returns an array of size unconfigured meters.
func NewMeterArray(size int, unit MeterUnit) MeterArray {
	return MeterArray{Size: size, unit: unit, marked: NewCounter(colors * size)}
}

// Meter is the control plane's access to one meter.
type Meter interface {
	// Configuration returns what the meter marks by; ok: it is configured.
	Configuration() (c MeterConfig, ok bool)
	// Configure sets what the meter marks by, nil for nothing.
	Configure(c *MeterConfig, now time.Duration)
	// Counts returns what the meter has marked.
	Counts() MeterCounts
	// SetCounts changes what the meter has marked.
	SetCounts(v MeterCounts)
}

// At returns a meter of the array.
func (a *MeterArray) At(i uint64) Meter { return element{a, i} }

// element implements Meter: a meter of an array.
type element struct {
	a *MeterArray
	i uint64
}

func (e element) Configuration() (c MeterConfig, ok bool) {
	if m := e.a.m[e.i]; m != nil {
		return m.cfg, true
	}
	return MeterConfig{}, false
}

func (e element) Configure(c *MeterConfig, now time.Duration) {
	if c == nil {
		delete(e.a.m, e.i)
		return
	}
	if e.a.m == nil {
		e.a.m = map[uint64]*marker{}
	}
	e.a.m[e.i] = newMarker(*c, now)
}

func (e element) Counts() (v MeterCounts) {
	for color := range v {
		v[color] = e.a.marked.Read(colors*e.i + uint64(color))
	}
	return v
}

func (e element) SetCounts(v MeterCounts) {
	if v == e.Counts() {
		return // what was never marked takes no memory
	}
	for color := range v {
		*e.a.marked.At(colors*e.i + uint64(color)) = v[color]
	}
}

// Counts implements Meter.
func (d *DirectMeter) Counts() MeterCounts { return d.Marked }

// SetCounts implements Meter.
func (d *DirectMeter) SetCounts(v MeterCounts) { d.Marked = v }

// Configured reports whether the meter is configured; an unconfigured meter marks packets green.
func (d *DirectMeter) Configured() bool { return d.state != nil }

// Configuration returns what the meter marks by; ok: it is configured.
func (d *DirectMeter) Configuration() (c MeterConfig, ok bool) {
	if d.state == nil {
		return MeterConfig{}, false
	}
	return d.state.cfg, true
}

// Configure sets what the meter marks by, nil for nothing.
func (d *DirectMeter) Configure(c *MeterConfig, now time.Duration) {
	if d.state = nil; c != nil {
		d.state = newMarker(*c, now)
	}
}
