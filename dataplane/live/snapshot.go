package live

import (
	"context"
	"slices"
	"time"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// Snapshot is a switch at one moment.
type Snapshot struct {
	Switch dataplane.Stats
	Device p4rt.Stats
	Ports  []PortSnapshot // by number
	Queues []dataplane.QueueState
	Tables []TableState // those of P4Info
	// NoSuchPort counts frames for ports there are not.
	NoSuchPort uint64
}

// PortSnapshot is one port.
type PortSnapshot struct {
	Port uint32
	Up   bool
	Details
	PortStats
}

// TableState is how full a table is.
type TableState struct {
	Name          string
	Entries, Size int
}

// Snapshot reads the switch on the goroutine that owns it; see Do.
func (r *Runner) Snapshot(ctx context.Context) (Snapshot, error) {
	var s Snapshot
	err := r.WithDevice(ctx, func(_ time.Duration, d *p4rt.Device) {
		sw := d.Switch()
		s = Snapshot{Switch: sw.Stats(), Device: d.Stats(), Queues: slices.Collect(sw.Queues()),
			NoSuchPort: r.NoSuchPort()}
		s.Ports = r.portsOf(sw)
		if sw.Program() == nil {
			return
		}
		for i, t := range sw.Program().Tables() {
			if !t.Hidden {
				s.Tables = append(s.Tables, TableState{t.Name, sw.EntryCount(i), t.Size})
			}
		}
	})
	return s, err
}

// Ports reads the ports alone; see Snapshot.
func (r *Runner) Ports(ctx context.Context) (ports []PortSnapshot, err error) {
	err = r.WithPorts(ctx, func(p []PortSnapshot, _ *dataplane.Switch) { ports = p })
	return ports, err
}

// WithPorts runs f with the ports and their switch on the goroutine that owns it; see Do.
func (r *Runner) WithPorts(ctx context.Context,
	f func(ports []PortSnapshot, sw *dataplane.Switch)) error {
	return r.WithDevice(ctx, func(_ time.Duration, d *p4rt.Device) {
		f(r.portsOf(d.Switch()), d.Switch())
	})
}

// Configurable returns the port with a number, whose link can be changed; nil without such a port.
func (r *Runner) Configurable(port uint32) Configurable {
	if a := r.port(port); a != nil {
		if c, ok := as[Configurable](a.Port); ok {
			return c
		}
	}
	return nil
}

func (r *Runner) portsOf(sw *dataplane.Switch) []PortSnapshot {
	out := make([]PortSnapshot, 0, len(r.ports))
	for _, a := range r.ports {
		p := PortSnapshot{Port: a.in.port, Up: sw.PortUp(a.in.port), PortStats: a.stats()}
		if d, ok := as[detailed](a.Port); ok {
			p.Details = d.Details()
		}
		out = append(out, p)
	}
	return out
}
