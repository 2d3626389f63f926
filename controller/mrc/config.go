package mrc

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// Config is what a Core starts with. Take [Defaults] and change it. Each group configures one part
// of the core.
type Config struct {
	// Epoch is the epoch of the versions that hosts are sent. A host that holds a version of another
	// epoch has the state of an earlier controller.
	Epoch uint64
	// Start is the wall-clock time at which the core's time is 0: statuses and events have wall-clock
	// times.
	Start time.Time

	Format  ev.Format
	Numbers ev.NumberRule
	Planes  topology.PlaneRule

	Profiles ProfileConfig
	// Wire is the UDP port and the DSCPs that hosts use; zero: they choose.
	Wire hostapi.Wire

	Restore  RestoreConfig
	Suspects SuspectConfig
	Probes   ProbeConfig

	// Linger is how long a drained link goes on after the last host has applied the
	// denial, for the packets that are on their way.
	Linger time.Duration
}

// ProfileConfig is what EV profiles have unless an [Override] says otherwise.
type ProfileConfig struct {
	// MaxEVs and MinActive of a profile; 0: those of [ev.Request]. Explicit keeps
	// EVs from being generated where they could be.
	MaxEVs, MinActive int
	Explicit          bool
	// AllCC are the CC profiles that all hosts hold; CC is the name of the one for all
	// destinations, empty for the device's own choice.
	AllCC []*hostapi.CCProfile
	CC    string
}

// RestoreConfig defines when something that was down is used again.
type RestoreConfig struct {
	// Hold is how long a link or a host's port must be up before it is tried again,
	// MaxHold the longest that this grows to: it doubles with every failure, and
	// begins anew after Calm without one.
	Hold, MaxHold, Calm time.Duration
	// Every is the interval of restoring: what is restored waits for its next multiple, so that
	// hosts learn of many links together.
	Every time.Duration
}

// SuspectConfig defines which links count as bad, and what follows.
type SuspectConfig struct {
	Locator suspect.Config
	// Every is the interval at which the locator is asked.
	Every time.Duration
	// With Deny, EVs over a link that loses DenyLoss of its packets or more are denied, as far as
	// hosts have other paths.
	Deny     bool
	DenyLoss float64
	// Hold is how long such a link is denied. It doubles up to MaxHold when the link is found bad
	// again. Then Probes probes in a row must come through.
	Hold, MaxHold time.Duration
	Probes        int
	// AssumedBad is how many lost packets an event ASSUMED_BAD stands for.
	AssumedBad uint64
}

// ProbeConfig bounds the EV probes of hosts.
type ProbeConfig struct {
	// Rate and HostRate bound the probes a second, of all hosts and of each. A rate of 0
	// is no probes, and links are then restored by time alone.
	Rate, HostRate int
	// Timeout is what a host waits for an answer.
	Timeout time.Duration
	DSCP    uint8
	// FirstRound bounds the wait for a probe over every link after a start, before
	// hosts that hold an earlier controller's state get a new one.
	FirstRound time.Duration
}

// Defaults are the values for a fabric of structured EVs.
func Defaults() Config {
	return Config{
		Format:  ev.Format{Mode: ev.ModeStructured},
		Restore: RestoreConfig{Hold: time.Second, MaxHold: time.Minute, Calm: 5 * time.Minute, Every: 100 * time.Millisecond},
		Suspects: SuspectConfig{
			Locator: suspect.Defaults(), Every: 500 * time.Millisecond, DenyLoss: 1e-3,
			Hold: 30 * time.Second, MaxHold: 30 * time.Minute, Probes: 512, AssumedBad: 3,
		},
		Probes: ProbeConfig{Rate: 2000, HostRate: 100, Timeout: 100 * time.Millisecond, FirstRound: 10 * time.Second},
		Linger: 50 * time.Millisecond,
	}
}

// Validate names the first field that cannot be used.
func (c *Config) Validate() error {
	r, s, p := &c.Restore, &c.Suspects, &c.Probes
	wrong := func(field string, value any, want string) error {
		return fmt.Errorf("%w: %s %v, want %s", ErrConfig, field, value, want)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"restore.hold", r.Hold}, {"restore.maxHold", r.MaxHold}, {"restore.calm", r.Calm}, {"restore.every", r.Every},
		{"suspects.every", s.Every}, {"suspects.hold", s.Hold}, {"suspects.maxHold", s.MaxHold},
		{"probes.timeout", p.Timeout}, {"probes.firstRound", p.FirstRound},
	} {
		if d.value <= 0 {
			return wrong(d.name, d.value, "more than 0")
		}
	}
	maxEVs, minActive := c.Profiles.MaxEVs, c.Profiles.MinActive
	switch {
	case c.Epoch == 0:
		return wrong("epoch", 0, "another number after every start")
	case maxEVs < 0:
		return wrong("profiles.maxEvs", maxEVs, "0 or more")
	case minActive < 0 || maxEVs > 0 && minActive > maxEVs:
		return wrong("profiles.minActive", minActive, "0 to maxEvs")
	case r.MaxHold < r.Hold:
		return wrong("restore.maxHold", r.MaxHold, "hold or more")
	case s.MaxHold < s.Hold:
		return wrong("suspects.maxHold", s.MaxHold, "hold or more")
	case c.Linger < 0:
		return wrong("linger", c.Linger, "0 or more")
	case s.DenyLoss <= 0 || s.DenyLoss > 1:
		return wrong("suspects.denyLoss", s.DenyLoss, "more than 0 and at most 1")
	case s.Probes < 1:
		return wrong("suspects.probes", s.Probes, "1 or more")
	case p.Rate < 0 || p.HostRate < 0:
		return wrong("probes.rate, probes.hostRate", [2]int{p.Rate, p.HostRate}, "0 or more")
	case p.DSCP > 63:
		return wrong("probes.dscp", p.DSCP, "0 to 63")
	}
	if err := c.Format.Validate(); err != nil {
		return fmt.Errorf("%w: format: %w", ErrConfig, err)
	}
	return s.Locator.Validate()
}
