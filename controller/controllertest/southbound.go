package controllertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Southbound is the seam to a set of Devices, each up until Disconnect. The zero value has no
// Device.
type Southbound struct {
	// mu guards the fields below it, and the devices.
	mu       sync.Mutex
	switches map[string]*fakeSwitch
}

// ErrDown: the device is not connected.
var ErrDown = errors.New("controllertest: not connected")

type fakeSwitch struct {
	s      *Southbound
	device *Device
	ports  *controller.PortStates // as it reported them last; nil: never
	up     bool
	events chan controller.SwitchEvent
	done   chan struct{}
	cancel context.CancelFunc
}

func (s *Southbound) get(name string) *fakeSwitch {
	if s.switches == nil {
		s.switches = make(map[string]*fakeSwitch)
	}
	f := s.switches[name]
	if f == nil {
		f = &fakeSwitch{s: s, device: NewDevice(name), up: true}
		s.switches[name] = f
	}
	return f
}

// With runs f on a device while no one else does.
func (s *Southbound) With(name string, f func(*Device)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.get(name).device)
}

// Open implements controller.Southbound.
func (s *Southbound) Open(
	ctx context.Context, sw inventory.Switch, handler func(controller.SwitchEvent),
) (controller.Switch, error) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.get(sw.Name)
	f.events, f.done, f.cancel = make(chan controller.SwitchEvent, 1024), make(chan struct{}), cancel
	if f.up {
		f.events <- controller.SwitchEvent{Up: true}
	} else {
		f.events <- controller.SwitchEvent{Err: ErrDown}
	}
	events, done := f.events, f.done
	go func() {
		defer close(done)
		for {
			select {
			case e := <-events:
				handler(e)
			case <-ctx.Done():
				return
			}
		}
	}()
	return f, nil
}

// Disconnect takes a device down, and empties it when it restarts.
func (s *Southbound) Disconnect(name string, restart bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.get(name)
	f.up = false
	if restart {
		f.device.Restart()
	}
	f.tell(controller.SwitchEvent{Err: ErrDown})
}

// Connect brings a device up.
func (s *Southbound) Connect(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.get(name)
	f.up = true
	f.tell(controller.SwitchEvent{Up: true})
}

func (f *fakeSwitch) tell(e controller.SwitchEvent) {
	if f.events != nil {
		f.events <- e
	}
}

// Write implements controller.Switch.
func (f *fakeSwitch) Write(_ context.Context, updates []entry.Update) ([]entry.Refusal, error) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if !f.up {
		return nil, ErrDown
	}
	return f.device.Do(reconcile.Task{Batches: [][]entry.Update{updates}}).Refused, nil
}

// Confirm implements controller.Switch.
func (f *fakeSwitch) Confirm(_ context.Context, updates []entry.Update) ([]entry.Refusal, error) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if !f.up {
		return nil, ErrDown
	}
	var refused []entry.Refusal
	for i, u := range updates {
		if why := u.Ineffective(f.device.Entities[u.Entity.Key()]); why != "" {
			refused = append(refused, entry.Refusal{Update: i, Message: why})
		}
	}
	return refused, nil
}

// Read implements controller.Switch.
func (f *fakeSwitch) Read(context.Context) (entry.Contents, error) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if !f.up {
		return entry.Contents{}, ErrDown
	}
	return f.device.Contents(), nil
}

// PacketOut implements controller.Switch: it answers State with what
// Device.State says.
func (f *fakeSwitch) PacketOut(_ context.Context, p entry.PacketOut) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if !f.up {
		return ErrDown
	}
	f.device.Packets = append(f.device.Packets, p)
	if p.Op == entry.State && f.device.State != nil {
		if in, ok := f.device.State(p.Group, p.Branch); ok {
			in.Reason, in.Group, in.Branch = entry.StateAnswer, p.Group, p.Branch
			f.tell(controller.SwitchEvent{PacketIn: &in})
		}
	}
	return nil
}

// Tables implements controller.Switch.
func (f *fakeSwitch) Tables() []api.Table { return nil }

// CounterNames implements controller.Switch.
func (f *fakeSwitch) CounterNames() []string { return nil }

// Inspect implements controller.Switch.
func (f *fakeSwitch) Inspect(context.Context, string) ([]api.TableEntry, error) {
	return nil, nil
}

// Counters implements controller.Switch.
func (f *fakeSwitch) Counters(context.Context) ([]api.Counter, error) { return nil, nil }

// PortCounts implements controller.Switch.
func (f *fakeSwitch) PortCounts(context.Context, controller.Direction) (map[uint32]uint64, error) {
	return nil, ErrDown
}

// SetPort implements controller.Switch: the device takes, and reports back, everything for a
// reported interface.
func (f *fakeSwitch) SetPort(
	_ context.Context, iface string, s *gnmi.Settings,
) ([]gnmi.Refusal, error) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if !f.up || f.ports == nil {
		return nil, ErrDown
	}
	p := *f.ports
	p.Interfaces = slices.Clone(p.Interfaces)
	i := slices.IndexFunc(p.Interfaces, func(x gnmi.Interface) bool { return x.Name == iface })
	if i < 0 {
		return []gnmi.Refusal{{Setting: s.Present()[0], Err: fmt.Errorf("there is no interface %s",
			iface)}}, nil
	}
	for _, x := range s.Present() {
		p.Interfaces[i].Config.Take(x, s)
	}
	f.ports = &p
	f.tell(controller.SwitchEvent{Ports: &p})
	return nil, nil
}

// SetPorts has a device report its ports.
func (s *Southbound) SetPorts(name string, p controller.PortStates) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.get(name)
	f.ports = &p
	f.tell(controller.SwitchEvent{Ports: &p})
}

// Close implements controller.Switch.
func (f *fakeSwitch) Close() error {
	f.cancel()
	<-f.done
	return nil
}
