package inventory

import (
	"time"

	"github.com/weft-sdn/weft/api"
)

// Discovery defines how the controller finds links by frames that switches send for it.
type Discovery struct {
	Protocol string       `yaml:"protocol" doc:"'lldp': the controller finds links by LLDP, and names cables that are not where the other sources or 'hosts' have them ([discovery.md](discovery.md)). 'off': it does not"`
	Interval api.Duration `yaml:"interval" doc:"time between two frames out of a port, 100ms to 1h"`
	Missed   int          `yaml:"missed" doc:"frames in a row that must be missed before a link is gone, 1 to 100"`
}

// The protocols of discovery.
const (
	DiscoveryOff  = "off"
	DiscoveryLLDP = "lldp"
)

// Bounds of Discovery.
const (
	minDiscovery = 100 * time.Millisecond
	maxDiscovery = time.Hour
	maxMissed    = 100
)

// On reports whether links are discovered.
func (d *Discovery) On() bool { return d.Protocol == DiscoveryLLDP }

func defaultDiscovery() Discovery {
	return Discovery{Protocol: DiscoveryOff, Interval: api.Duration(time.Second), Missed: 3}
}

func (v *validator) discovery() {
	d := &v.inv.Discovery
	if d.Protocol != DiscoveryOff && d.Protocol != DiscoveryLLDP && d.Protocol != "" {
		v.bad("discovery.protocol", "is %q: want %s or %s", d.Protocol, DiscoveryOff, DiscoveryLLDP)
	}
	if !d.On() {
		return
	}
	if i := d.Interval.D(); i < minDiscovery || i > maxDiscovery {
		v.bad("discovery.interval", "is %v: want %v to %v", i, minDiscovery, maxDiscovery)
	}
	if d.Missed < 1 || d.Missed > maxMissed {
		v.bad("discovery.missed", "is %d: want 1 to %d", d.Missed, maxMissed)
	}
}
