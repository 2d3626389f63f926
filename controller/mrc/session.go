package mrc

import (
	"fmt"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/hostapi"
)

// Hello records that a host has opened a stream, and what it is and has.
func (c *Core) Hello(name string, m *hostapi.Hello) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	foreign := m.Version != (hostapi.Version{}) && m.Version.Epoch != c.cfg.Epoch
	if h.hello.Instance != m.Instance {
		h.Restart(foreign)
	}
	again := h.sender != nil && capabilitiesKey(h.hello.Capabilities) == capabilitiesKey(m.Capabilities)
	h.hello = *m
	h.hello.Name = name
	h.foreign = foreign && !h.told
	c.prover.Connect(h.Host, m.Capabilities.OptAttr&hostapi.OptEVProbe != 0)
	if !again {
		c.hosts.delist(h)
		c.hosts.enlist(h)
	}
	return nil
}

// Gone records that the stream of a host has ended. The host keeps what it has.
func (c *Core) Gone(name string) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	c.prover.Gone(h.Host)
	return nil
}

// Applied records that a host holds what the Set of a number said, or a later one.
func (c *Core) Applied(name string, seq uint64) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	if seq > h.seq {
		return fmt.Errorf("host %s: applied %d, want at most %d: %w", name, seq, h.seq, fabric.ErrMalformed)
	}
	if h.applied = max(h.applied, seq); h.applied > 0 {
		h.SetHolds()
	}
	c.runDrains()
	return nil
}

// Refused records that a host refuses a part of its state, and why; an empty reason
// says that it holds all that it was sent.
func (c *Core) Refused(name, reason string) error {
	h, err := c.hosts.find(name)
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
