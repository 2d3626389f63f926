package mrc

import (
	"fmt"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/hostapi"
)

// Hello tells that a host has opened a stream, and what it is and has.
func (c *Core) Hello(name string, m *hostapi.Hello) error {
	h, err := c.host(name)
	if err != nil {
		return err
	}
	foreign := m.Version != (hostapi.Version{}) && m.Version.Epoch != c.cfg.Epoch
	if h.hello.Instance != m.Instance { // its counters start anew
		clear(h.counters)
		clear(h.assumed)
		h.older = foreign
	}
	again := h.sender != nil && capabilitiesKey(h.hello.Capabilities) == capabilitiesKey(m.Capabilities)
	h.hello = *m
	h.hello.Name = name
	h.connected, h.foreign = true, foreign && !h.told
	h.canProbe = m.Capabilities.OptAttr&hostapi.OptEVProbe != 0
	if !again {
		c.delist(h)
		c.enlist(h)
	}
	return nil
}

// Gone tells that the stream of a host has ended. The host keeps what it has.
func (c *Core) Gone(name string) error {
	h, err := c.host(name)
	if err != nil {
		return err
	}
	h.connected = false
	for id, p := range c.pending {
		if p.host == h {
			c.forgetProbe(id, p)
		}
	}
	return nil
}

// Applied tells that a host holds what the Set of a number said, or a later one.
func (c *Core) Applied(name string, seq uint64) error {
	h, err := c.host(name)
	if err != nil {
		return err
	}
	if seq > h.seq {
		return fmt.Errorf("host %s: applied %d, want at most %d: %w", name, seq, h.seq, ErrMalformed)
	}
	h.applied = max(h.applied, seq)
	c.runDrains()
	return nil
}

// Refused tells that a host does not hold all that it is to hold, and why; an
// empty reason says that it holds all that it was sent.
func (c *Core) Refused(name, reason string) error {
	h, err := c.host(name)
	if err != nil || h.refusal == reason {
		return err
	}
	h.refusal = reason
	if reason == "" {
		c.event(api.EventHostChanged, name, "refuses nothing any more")
	} else {
		c.event(api.EventHostChanged, name, "refused: "+reason)
	}
	return nil
}

// PortStatus tells which ports of a host are up, as the host has it.
func (c *Core) PortStatus(name string, up hostapi.PortMask) error {
	h, err := c.host(name)
	if err != nil {
		return err
	}
	if up&1 != 0 {
		c.counters.BadPorts++
		return fmt.Errorf("host %s: ports up %#x, want ports from 1 on: %w", name, uint32(up), ErrMalformed)
	}
	h.up, h.upKnown = up, true
	c.lookAtHost(h)
	return nil
}

// host returns the host of a name.
func (c *Core) host(name string) (*host, error) {
	if h := c.hosts[name]; h != nil {
		return h, nil
	}
	c.counters.UnknownHosts++
	return nil, fmt.Errorf("%.80s: %w", name, ErrUnknownHost)
}
