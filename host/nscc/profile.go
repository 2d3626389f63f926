package nscc

import (
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
)

// WithProfile is the configuration with the parameters that a controller sent in place of its own.
// What the profile leaves to the device, being 0, stays, and so does what a profile has no
// parameter for: MTU, TargetWindow and IgnorePenalty. Its own MinCwnd is no greater than the
// profile's MaxCwnd. The error is a *FieldError.
func (c Config) WithProfile(p hostapi.NSCC) (Config, error) {
	c.DisableQA, c.QAGate, c.AdjustBytes = p.DisableQA, p.QAGate, int(p.AdjustBytesThreshold)
	c.TargetDelay, c.MaxCwnd = p.TargetDelay, int(p.MaxCwnd)
	c.Eta, c.Fi, c.FiScale = float64(p.Eta), float64(p.FI), float64(p.FIScale)
	c.Gamma, c.MaxMDJump = float64(p.Gamma), float64(p.MaxMDJump)
	orOwn(&c.BaseRTT, p.BaseRTT)
	orOwn(&c.AdjustPeriod, p.AdjustPeriodThreshold)
	orOwn(&c.QAThreshold, p.QAThreshold)
	orOwn(&c.Alpha, float64(p.Alpha))
	orOwn(&c.DelayWeight, float64(p.DelayWeight))
	orOwn(&c.DelayRelief, float64(p.DelayRelief))
	c.MinCwnd = min(c.MinCwnd, c.MaxCwnd)
	orOwn(&c.MinCwnd, int(p.MinCwnd))
	orOwn(&c.FastDelay, p.FastDelay)
	orOwn(&c.NACKDelay, p.NACKDelay)
	return c, c.Validate()
}

func orOwn[T float64 | int | time.Duration](own *T, sent T) {
	if sent != 0 {
		*own = sent
	}
}

// Profile returns the parameters as a controller sends them; real numbers keep 24 bits of
// precision.
func (c Config) Profile() hostapi.NSCC {
	return hostapi.NSCC{
		DisableQA: c.DisableQA, QAGate: c.QAGate, QAThreshold: c.QAThreshold,
		AdjustBytesThreshold: uint32(c.AdjustBytes), AdjustPeriodThreshold: c.AdjustPeriod,
		BaseRTT: c.BaseRTT, TargetDelay: c.TargetDelay, MaxCwnd: uint32(c.MaxCwnd),
		Eta: float32(c.Eta), FI: float32(c.Fi), FIScale: float32(c.FiScale), Gamma: float32(c.Gamma),
		MaxMDJump: float32(c.MaxMDJump),
		Alpha:     float32(c.Alpha), DelayWeight: float32(c.DelayWeight),
		DelayRelief: float32(c.DelayRelief),
		MinCwnd:     uint32(c.MinCwnd), FastDelay: c.FastDelay, NACKDelay: c.NACKDelay,
	}
}
