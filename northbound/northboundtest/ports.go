package northboundtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// ports keeps the specs of ports of switch n1, which reports ports 1 and 2.
type ports struct {
	mu      sync.Mutex
	version uint64
	specs   map[string]api.Port
}

func newPorts() *ports { return &ports{specs: make(map[string]api.Port)} }

// Ports returns the resources of the kind.
func (p *ports) Ports() resource.Handle[api.PortSpec, api.Port] {
	return &Kind[api.PortSpec, api.Port]{All: p.list, One: p.one, Write: p.put, Remove: p.remove}
}

func (p *ports) list(context.Context) ([]api.Port, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []api.Port
	for n := range uint32(2) {
		out = append(out, p.get(fmt.Sprintf("n1/%d", n+1), n+1))
	}
	slices.SortFunc(out, func(a, b api.Port) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func (p *ports) get(name string, port uint32) api.Port {
	mtu, enabled := uint32(1500), true
	x := p.specs[name]
	x.Name = name
	x.Status = api.PortStatus{Switch: "n1", Port: port, Interface: fmt.Sprintf("eth%d", port), Oper: "up", Speed: 100e9,
		Config: api.PortSpec{Enabled: &enabled, MTU: &mtu}}
	return x
}

func (p *ports) one(_ context.Context, name string) (api.Port, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := range uint32(2) {
		if name == fmt.Sprintf("n1/%d", n+1) {
			return p.get(name, n+1), nil
		}
	}
	return api.Port{}, resource.NotFound("port " + name)
}

func (p *ports) put(ctx context.Context, name string, spec api.PortSpec, pre resource.Precondition) (api.Port, bool, error) {
	before, err := p.one(ctx, name)
	if err == nil {
		err = pre.Check("port "+name, before.Version)
	}
	if err == nil {
		err = spec.Validate([]uint64{100e9, 400e9})
	}
	if err != nil || before.Version > 0 && before.Spec.Equal(&spec) {
		return before, false, err
	}
	p.mu.Lock()
	if pre.Trial != nil {
		before.Spec, before.Version = spec, p.version+1
		p.mu.Unlock()
		return before, false, nil
	}
	p.version++
	p.specs[name] = api.Port{Version: p.version, Spec: spec}
	p.mu.Unlock()
	after, err := p.one(ctx, name)
	return after, false, err
}

func (p *ports) remove(ctx context.Context, name string, pre resource.Precondition) error {
	before, err := p.one(ctx, name)
	if err == nil {
		err = pre.CheckExisting("port "+name, before.Version)
	}
	if err != nil || pre.Trial != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.specs, name)
	return nil
}

// SwitchGNMI returns what n1 answers; the other switches answer nothing.
func (p *ports) SwitchGNMI(_ context.Context, name string) (api.SwitchGNMI, error) {
	if name != "n1" {
		return api.SwitchGNMI{}, resource.NotFound(fmt.Sprintf("switch %q", name))
	}
	return api.SwitchGNMI{Dialect: "openconfig", Version: "0.10.0", Encoding: "PROTO", Paths: []api.GNMIPath{
		{Stream: "states", Path: "/interfaces/interface[name=*]/state/oper-status", Mode: "ON_CHANGE"},
	}}, nil
}
