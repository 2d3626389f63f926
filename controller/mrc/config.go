package mrc

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// Config is what a Core starts with. Take [Defaults] and change it.
type Config struct {
	// Epoch is that of the versions which hosts are sent; a host that holds one of
	// another epoch was told things that this core does not know.
	Epoch uint64

	Format  ev.Format
	Numbers ev.NumberRule
	Planes  topology.PlaneRule

	// MaxEVs and MinActive of a profile; 0: those of [ev.Request]. Explicit keeps
	// EVs from being generated where they could be.
	MaxEVs, MinActive int
	Explicit          bool
	// CC are the CC profiles that all hosts hold; CCProfile is the name of the one
	// for all destinations, empty for the device's own choice.
	CC        []*hostapi.CCProfile
	CCProfile string
	// Wire is what hosts are told of UDP port and DSCPs; zero: they choose.
	Wire hostapi.Wire

	// Hold is how long a link or a host's port must be up before it is tried again,
	// MaxHold the longest that this grows to: it doubles with every failure, and
	// begins anew after Calm without one. What is restored waits for the next
	// multiple of RestoreEvery, and is told to hosts together.
	Hold, MaxHold, Calm, RestoreEvery time.Duration

	// Linger is how long a drained link goes on after the last host has applied the
	// denial, for the packets that are on their way.
	Linger time.Duration

	// Suspect says what is taken for a bad link, and SuspectEvery how often it is
	// asked. With DenySuspects a link is denied that loses DenyLoss of its packets
	// or more, as far as hosts have other paths. It stays so for SuspectHold, which
	// doubles up to SuspectMaxHold when it is found bad again, and until as many
	// as SuspectProbes probes in a row came through.
	Suspect                     suspect.Config
	SuspectEvery                time.Duration
	DenySuspects                bool
	DenyLoss                    float64
	SuspectHold, SuspectMaxHold time.Duration
	SuspectProbes               int
	// AssumedBad is how many lost packets an event ASSUMED_BAD stands for.
	AssumedBad uint64

	// ProbeRate and HostProbeRate bound the EV probes a second, of all hosts and of
	// each; a rate of 0 is no probes, and links are then restored by time alone.
	// ProbeTimeout is what a host waits for an answer.
	ProbeRate, HostProbeRate int
	ProbeTimeout             time.Duration
	ProbeDSCP                uint8
	// FirstRound bounds the wait for a probe over every link after a start, before
	// hosts that hold an earlier controller's state get a new one.
	FirstRound time.Duration
}

// Defaults are the values for a fabric of structured EVs.
func Defaults() Config {
	return Config{
		Format: ev.Format{Mode: ev.ModeStructured},
		Hold:   time.Second, MaxHold: time.Minute, Calm: 5 * time.Minute, RestoreEvery: 100 * time.Millisecond,
		Linger:  50 * time.Millisecond,
		Suspect: suspect.Defaults(), SuspectEvery: 500 * time.Millisecond, DenyLoss: 1e-3,
		SuspectHold: 30 * time.Second, SuspectMaxHold: 30 * time.Minute, SuspectProbes: 512, AssumedBad: 3,
		ProbeRate: 2000, HostProbeRate: 100, ProbeTimeout: 100 * time.Millisecond, FirstRound: 10 * time.Second,
	}
}

// Validate names the first field that cannot be used.
func (c *Config) Validate() error {
	wrong := func(field string, value any, want string) error {
		return fmt.Errorf("%w: %s %v, want %s", ErrConfig, field, value, want)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"hold", c.Hold}, {"maxHold", c.MaxHold}, {"calm", c.Calm}, {"restoreEvery", c.RestoreEvery}, {"suspectEvery", c.SuspectEvery},
		{"suspectHold", c.SuspectHold}, {"suspectMaxHold", c.SuspectMaxHold}, {"probeTimeout", c.ProbeTimeout}, {"firstRound", c.FirstRound},
	} {
		if d.value <= 0 {
			return wrong(d.name, d.value, "more than 0")
		}
	}
	switch {
	case c.Epoch == 0:
		return wrong("epoch", 0, "another number after every start")
	case c.MaxEVs < 0:
		return wrong("maxEvs", c.MaxEVs, "0 or more")
	case c.MinActive < 0 || c.MaxEVs > 0 && c.MinActive > c.MaxEVs:
		return wrong("minActive", c.MinActive, "0 to maxEvs")
	case c.MaxHold < c.Hold:
		return wrong("maxHold", c.MaxHold, "hold or more")
	case c.SuspectMaxHold < c.SuspectHold:
		return wrong("suspectMaxHold", c.SuspectMaxHold, "suspectHold or more")
	case c.Linger < 0:
		return wrong("linger", c.Linger, "0 or more")
	case c.DenyLoss <= 0 || c.DenyLoss > 1:
		return wrong("denyLoss", c.DenyLoss, "more than 0 and at most 1")
	case c.SuspectProbes < 1:
		return wrong("suspectProbes", c.SuspectProbes, "1 or more")
	case c.ProbeRate < 0 || c.HostProbeRate < 0:
		return wrong("probeRate, hostProbeRate", [2]int{c.ProbeRate, c.HostProbeRate}, "0 or more")
	case c.ProbeDSCP > 63:
		return wrong("probeDscp", c.ProbeDSCP, "0 to 63")
	}
	if err := c.Format.Validate(); err != nil {
		return fmt.Errorf("%w: format: %w", ErrConfig, err)
	}
	return c.Suspect.Validate()
}
