package lab

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-sdn/weft/controller"
	switchgnmi "github.com/weft-sdn/weft/dataplane/gnmi"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// PortSettings returns the settings that clients have made for a port of the switch.
func (n *SwitchNode) PortSettings(port uint32) switchgnmi.Settings {
	return n.settings(port).Settings
}

// reported returns the ports of a switch as southbound/gnmi reports them.
func (n *SwitchNode) reported() southbound.Ports {
	out := southbound.Ports{Up: make(map[uint32]bool, len(n.ports))}
	for port := uint32(1); port <= uint32(len(n.ports)); port++ {
		wire, s := n.ports[port], n.settings(port)
		enabled, mtu, text, speed := !s.Disabled, uint32(s.MTU), s.Description, s.Speed
		x := gnmi.Interface{Name: fmt.Sprintf("port%d", port), Port: port, Ifindex: port,
			Oper: gnmi.OperUp, Speed: wire.Rate,
			Config: gnmi.Settings{Enabled: &enabled, MTU: &mtu, Description: &text, Speed: &speed}}
		if out.Up[port] = wire.Up(); !wire.Up() {
			x.Oper = gnmi.OperDown
		}
		out.Interfaces = append(out.Interfaces, x)
	}
	return out
}

// reportPorts has a connected switch report its ports, if switches do.
func (c *Control) reportPorts(name string) {
	if s := c.sessions[name]; c.GNMI && s.up {
		c.core.Tick(c.World.now)
		c.core.SetPorts(name, s.node.reported())
		c.work()
	}
}

// setPort gives a port of a switch settings.
func (c *Control) setPort(t controller.PortTask) {
	s, result := c.sessions[t.Switch], controller.PortResult{ID: t.ID, Switch: t.Switch}
	var port uint32
	_, err := fmt.Sscanf(t.Interface, "port%d", &port)
	switch {
	case err != nil:
		c.fail(err)
		return
	case !s.up:
		result.Err = errors.New("the switch is not connected")
	default:
		result.Refused = c.configure(s.node, port, &t.Settings)
	}
	c.core.Tick(c.World.now)
	c.core.PortDone(result)
	c.work()
	c.NetworkChanged()
}

// configure sets the settings of a port that its switch takes, and returns the others.
func (c *Control) configure(n *SwitchNode, port uint32, want *gnmi.Settings) (out []gnmi.Refusal) {
	for _, x := range want.Present() {
		old := n.settings(port).Settings
		next := old
		switch x {
		case gnmi.SettingEnabled:
			next.Disabled = !*want.Enabled
		case gnmi.SettingSpeed:
			next.Speed = *want.Speed
		case gnmi.SettingMTU:
			next.MTU = uint16(*want.MTU)
		case gnmi.SettingDescription:
			next.Description = *want.Description
		}
		_, err := n.configure([]switchgnmi.Change{{Port: port, Old: old, New: next}})
		if err != nil {
			out = append(out, gnmi.Refusal{Setting: x, Err: err})
		}
	}
	return out
}

// post hands a message of a notification to its receiver.
func (c *Control) post(p controller.Post) {
	err := errors.New("nobody takes messages")
	if c.Post != nil {
		err = c.Post(p)
	}
	c.core.Tick(c.World.now)
	c.core.Posted(p.Name, p.ID, err)
	c.work()
}

// Entities returns the entries that a switch holds, as text, in no order.
func (c *Control) Entities(name string) (out []string) {
	s := c.sessions[name]
	if s.client == nil || s.node.Down() {
		return nil
	}
	contents, err := s.client.ReadAll(context.Background())
	c.fail(err)
	for _, e := range contents.Entities {
		out = append(out, e.String())
	}
	return out
}
