package service

import (
	"cmp"
	"context"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/telemetry"
	"github.com/weft-sdn/weft/telemetry/otlp"
)

// exportInterval is the time between exports by OTLP where the configuration has none.
const exportInterval = 15 * time.Second

// otlp returns what the section of the configuration means to an exporter.
func (o *Options) otlp(section *inventory.OTLP) otlp.Config {
	return otlp.Config{
		Endpoint: section.Endpoint, Protocol: cmp.Or(section.Protocol, inventory.OTLPGRPC),
		Path:     section.Path,
		Interval: cmp.Or(section.Interval.D(), exportInterval), TLS: section.TLS.Client(0),
		HeadersFile: section.HeadersFile,
		Name:        o.API.Name, Version: o.API.Version, Log: o.Log,
	}
}

// Pauses between two reads of the facts that telemetry needs of switches: short after a start,
// while switches connect.
const (
	firstLook = time.Second
	laterLook = 15 * time.Second
)

// sampleInterval is the time between samples of a switch without a configured interval.
const sampleInterval = time.Second

// measure updates the port speeds in the telemetry and removes old samples, until ctx ends.
func (p *planner) measure(ctx context.Context, st *telemetry.Store) {
	pause := firstLook
	for {
		if speeds, err := speedsOf(ctx, p.controller); err == nil {
			inv := p.controller.Inventory()
			for i := range inv.Switches {
				if sw := &inv.Switches[i]; sw.Managed() {
					st.SetSwitch(sw.Name, cmp.Or(sw.GNMI.Sample.D(), sampleInterval), speeds[sw.Name])
				}
			}
		}
		st.Expire(time.Now())
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
		pause = min(2*pause, laterLook)
	}
}

// speedsOf returns the port speeds of switches in bit/s: the speed that the switch reports, or else
// the speed of the link.
func speedsOf(ctx context.Context, c *controller.Controller) (map[string]map[uint32]uint64, error) {
	out := make(map[string]map[uint32]uint64)
	set := func(sw string, port uint32, speed uint64) {
		if speed == 0 {
			return
		}
		if out[sw] == nil {
			out[sw] = make(map[uint32]uint64)
		}
		out[sw][port] = speed
	}
	switches, err := c.Switches(ctx)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(switches)) // by node
	for i := range switches {
		names[switches[i].Node] = switches[i].Name
	}
	inv := c.Inventory()
	for _, l := range c.Topology().Links {
		if sw := inv.Switch(names[string(l.Local)]); sw != nil {
			set(sw.Name, sw.Port(l.LocalID, l.LocalPort), l.MaxBandwidth)
		}
	}
	ports, err := kind.Views[api.Port](ctx, c.Kinds())
	if err != nil {
		return nil, err
	}
	for i := range ports {
		st := &ports[i].Status
		set(st.Switch, st.Port, st.Speed)
	}
	return out, nil
}
