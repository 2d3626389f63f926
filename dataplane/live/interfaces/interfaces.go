// Package interfaces shows and configures the ports of a running switch for the switch's gNMI
// server.
//
//	g := gnmi.NewServer(gnmi.System{…})
//	runner, err := live.Start(…) // with dataplane.Config.PortChanged: g.PortChanged
//	g.Register(server, interfaces.New(runner, names))
package interfaces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"syscall"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/gnmi"
	"github.com/weft-sdn/weft/dataplane/live"
)

// Source is the ports of a switch. It implements gnmi.Source.
type Source struct {
	runner *live.Runner
	names  map[uint32]string
	mtu    map[uint32]int // that a port had before a client set it; of Configure
}

// New makes a Source of a switch. names are the names of the ports' interfaces; a port without one
// is "eth" and its number.
func New(runner *live.Runner, names map[uint32]string) *Source {
	return &Source{runner: runner, names: names, mtu: make(map[uint32]int)}
}

// Ports implements gnmi.Source.
func (s *Source) Ports(ctx context.Context, parts gnmi.Parts) (out []gnmi.Port, err error) {
	err = s.runner.WithPorts(ctx, func(ports []live.PortSnapshot, sw *dataplane.Switch) {
		out = make([]gnmi.Port, len(ports))
		for i, p := range ports {
			out[i] = gnmi.Port{
				Name: cmp.Or(s.names[p.Port], fmt.Sprintf("eth%d", p.Port)), Number: p.Port, Up: p.Up,
				MAC: p.MAC, MTU: uint16(min(cmp.Or(p.MTU, sw.Config().MTU), math.MaxUint16)), Speed: p.Speed,
				Counters: &gnmi.Counters{
					InPackets: p.Received, InOctets: p.RxOctets, InDiscards: p.RxDropped + p.RxLost.Overrun,
					InErrors:   p.RxLost.Oversize,
					OutPackets: p.Sent, OutOctets: p.SentOctets, OutDiscards: p.TxDropped,
				},
			}
		}
		gnmi.Measure(sw, out, parts)
	})
	return out, err
}

// Configure implements gnmi.Source.
func (s *Source) Configure(ctx context.Context, changes []gnmi.Change) error {
	ports, err := s.runner.Ports(ctx)
	if err != nil {
		return err
	}
	at := make(map[uint32]live.PortSnapshot, len(ports))
	for _, p := range ports {
		at[p.Port] = p
	}
	for _, c := range changes {
		if err := check(c, at[c.Port]); err != nil {
			return err
		}
	}
	var undo []func() error
	for _, c := range changes {
		for _, step := range s.steps(c, at[c.Port]) {
			if err := step.do(); err != nil {
				for i := len(undo) - 1; i >= 0; i-- {
					err = errors.Join(err, undo[i]())
				}
				return refusal(c.Port, step.setting, err)
			}
			undo = append(undo, step.undo)
		}
	}
	return nil
}

// check finds what no port of an interface can have.
func check(c gnmi.Change, p live.PortSnapshot) error {
	if n := c.New.Speed; n != 0 && n != p.Speed {
		want := "want none: the speed of the link is not known"
		if p.Speed != 0 {
			want = "want " + gnmi.SpeedName(p.Speed) + ", which the link has"
		}
		return &gnmi.Refusal{Port: c.Port, Setting: gnmi.SettingSpeed, Want: want}
	}
	if c.New.AutoNegotiate != gnmi.Unset {
		return &gnmi.Refusal{Port: c.Port, Setting: gnmi.SettingAutoNegotiate,
			Want: "want none: the switch does not negotiate"}
	}
	return nil
}

// A step changes one thing of a port.
type step struct {
	setting  gnmi.Setting
	do, undo func() error
}

func (s *Source) steps(c gnmi.Change, p live.PortSnapshot) (out []step) {
	port := s.runner.Configurable(c.Port)
	if c.New.MTU != c.Old.MTU {
		was, known := s.mtu[c.Port]
		if !known {
			was = p.MTU
		}
		set := func(n uint16) func() error {
			return func() error {
				if port == nil || was == 0 {
					return errors.ErrUnsupported
				}
				s.mtu[c.Port] = was
				return port.SetMTU(cmp.Or(int(n), was))
			}
		}
		out = append(out, step{gnmi.SettingMTU, set(c.New.MTU), set(c.Old.MTU)})
	}
	if c.New.Disabled != c.Old.Disabled {
		set := func(disabled bool) func() error {
			return func() error {
				if port == nil {
					return errors.ErrUnsupported
				}
				return port.SetEnabled(!disabled)
			}
		}
		out = append(out, step{gnmi.SettingEnabled, set(c.New.Disabled), set(c.Old.Disabled)})
	}
	return out
}

// refusal is the error of a step.
func refusal(port uint32, setting gnmi.Setting, err error) error {
	r := &gnmi.Refusal{Port: port, Setting: setting}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		r.Want = "want none: the port has no such setting"
	case errors.Is(err, fs.ErrPermission):
		r.Failed, r.Want = true, fmt.Sprintf("the switch may not change it and needs CAP_NET_ADMIN: %v",
			err)
	case errors.Is(err, syscall.EINVAL):
		r.Want = fmt.Sprintf("want one that the interface has: %v", err)
	default:
		r.Failed, r.Want = true, fmt.Sprintf("the switch could not change it: %v", err)
	}
	return r
}
