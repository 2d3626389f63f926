package agent

import (
	"fmt"

	"github.com/weft-sdn/weft/api/hostapi"
)

// A Core holds the state of a host and applies updates from the controller. A Core is not safe for
// concurrent use.
type Core struct {
	endpoint     Endpoint
	capabilities hostapi.Capabilities
	state        *hostapi.State
	version      hostapi.Version
	share        func(*hostapi.State) *hostapi.State // nil: states are not shared
}

// NewCore is the core of a host that holds nothing.
func NewCore(e Endpoint) *Core {
	return &Core{endpoint: e, state: &hostapi.State{}, capabilities: e.Capabilities()}
}

// Restored restores a stored state to an endpoint, and returns the version and the state that the
// endpoint then holds: see hostapi.DecodeKept. An error means that the endpoint cannot hold the
// state; then the endpoint gets nothing.
func Restored(e Endpoint, kept *hostapi.Update) (hostapi.Version, *hostapi.State, error) {
	c := NewCore(e)
	if err := c.apply(kept); err != nil {
		return hostapi.Version{}, nil, err
	}
	return c.version, c.state, nil
}

// Hello is what the host reports first on a new stream. Name, software and instance are the
// caller's.
func (c *Core) Hello(name, software string, instance uint64) *hostapi.Hello {
	c.capabilities = c.endpoint.Capabilities()
	return &hostapi.Hello{
		API: hostapi.API, Name: name, Software: software, Instance: instance,
		Capabilities: c.capabilities, Version: c.version,
	}
}

// Held is the version that the host holds, and its state. Before the first they are zero and empty.
func (c *Core) Held() (hostapi.Version, *hostapi.State) { return c.version, c.state }

// Update applies an update, and returns the answer to it: *hostapi.Applied, or *hostapi.Refused
// when it changed nothing.
func (c *Core) Update(u *hostapi.Update) hostapi.Up {
	if err := c.apply(u); err != nil {
		return hostapi.AsRefusal(u.Version, err)
	}
	return &hostapi.Applied{Version: u.Version}
}

func (c *Core) apply(u *hostapi.Update) error {
	snapshot := u.Base == (hostapi.Version{})
	switch {
	case !snapshot && u.Base != c.version:
		return &hostapi.FieldError{
			Code: hostapi.CodeUnknownBase, Field: "base",
			Reason: fmt.Sprintf("%v, want %v, which the host holds, or none", u.Base, c.version),
		}
	case u.Version.Epoch == c.version.Epoch && u.Version.Number <= c.version.Number:
		return &hostapi.FieldError{
			Code: hostapi.CodeInvalid, Field: "version",
			Reason: fmt.Sprintf("%v, want one after %v, which the host holds", u.Version, c.version),
		}
	}
	from := c.state
	if snapshot {
		from = nil
	}
	to, err := from.Apply(&u.Delta)
	if err != nil {
		return err
	}
	if c.share != nil {
		to = c.share(to)
	}
	delta := u.Delta
	if snapshot {
		// The delta leaves out the parts of the snapshot that the host already holds.
		delta = hostapi.Diff(c.state, to, c.capabilities.OptAttr&hostapi.OptEVProfileModifyOnline != 0)
		err = c.capabilities.Check(to)
	} else {
		err = c.capabilities.CheckUpdate(to, &delta)
	}
	if err != nil {
		return err
	}
	// the first update tells the endpoint that a controller exists, even if the update is empty
	if !delta.Empty() || c.version == (hostapi.Version{}) {
		if err := c.endpoint.Apply(Change{From: c.state, To: to, Delta: delta}); err != nil {
			return err
		}
	}
	c.state, c.version = to, u.Version
	return nil
}

// Probe hands a probe request to the endpoint, unless the endpoint cannot make it: then it returns
// the answer.
func (c *Core) Probe(p *hostapi.Probe, done func(hostapi.ProbeResult)) *hostapi.ProbeResult {
	refuse := func(format string, args ...any) *hostapi.ProbeResult {
		text := fmt.Sprintf(format, args...)
		return &hostapi.ProbeResult{ID: p.ID, Err: text[:min(len(text), hostapi.MaxReason)]}
	}
	if err := p.Validate(); err != nil {
		return refuse("%v", err)
	}
	switch {
	case c.capabilities.OptAttr&hostapi.OptEVProbe == 0:
		return refuse("the device makes no EV probes (opt_attr %#x)", c.capabilities.OptAttr)
	case !c.capabilities.HasFormat(p.Format.Mode):
		return refuse("format.mode: %v, want one of the device's (ev_fmt_mode_mask %#x)", p.Format.Mode,
			c.capabilities.EVFormatModes)
	case p.EV.Port != 0 && !c.capabilities.Ports.Has(int(p.EV.Port)):
		return refuse("ev.port: %d, want one of the device's (phy_port_mask %#x)", p.EV.Port,
			uint32(c.capabilities.Ports))
	}
	c.endpoint.Probe(p, func(r hostapi.ProbeResult) {
		r.ID = p.ID
		done(r)
	})
	return nil
}
