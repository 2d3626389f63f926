package inventory

import (
	"github.com/weft-sdn/weft/internal/strictyaml"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/target"
)

// Classes defines what switches do with the classes of MRC traffic (OCP MRC 1.0,
// sections 7.5.3 and 7.5.5.1): the same at every port of a fabric.
type Classes struct {
	DSCP            DSCPs  `yaml:"dscp"`
	DataPriority    uint8  `yaml:"dataPriority" doc:"queues of the switches for data and for control packets, 0 the lowest. 'simple_switch_grpc' has one queue by default: set both to 0 then" default:"0"`
	ControlPriority uint8  `yaml:"controlPriority" doc:"queues of the switches for data and for control packets, 0 the lowest. 'simple_switch_grpc' has one queue by default: set both to 0 then"`
	DataPackets     uint32 `yaml:"dataPackets" doc:"limit of waiting packets at a port; the switch's own queues must be deeper"`
	ControlPackets  uint32 `yaml:"controlPackets" doc:"limit of waiting packets at a port; the switch's own queues must be deeper"`
	ECNMin          uint32 `yaml:"ecnMin" doc:"number of waiting data packets at which ECN marks begin, and at which every packet is marked"`
	ECNMax          uint32 `yaml:"ecnMax" doc:"number of waiting data packets at which ECN marks begin, and at which every packet is marked"`
	TrimSize        uint16 `yaml:"trimSize" doc:"octets left of a trimmed packet, from the Ethernet header on; 0: no trimming. The default is the least that the hardware of all switches ('switches[].hardware') trims to, where that is more"`
	TrimLength      bool   `yaml:"trimLength" doc:"trimmed packets get the new length in their IPv6 headers" default:"false"`
}

// DSCPs are the codepoints of the classes; see [packet.DSCPClasses].
type DSCPs struct {
	NoTrim         uint8 `yaml:"noTrim" doc:"codepoints. Hosts receive them, and the UDP port 4791, with their state ([host-api.md](host-api.md)); a host that is configured differently refuses them by name"`
	Trimmable      uint8 `yaml:"trimmable" doc:"codepoints. Hosts receive them, and the UDP port 4791, with their state ([host-api.md](host-api.md)); a host that is configured differently refuses them by name"`
	TrimmableRetx  uint8 `yaml:"trimmableRetx" doc:"codepoints. Hosts receive them, and the UDP port 4791, with their state ([host-api.md](host-api.md)); a host that is configured differently refuses them by name"`
	Trimmed        uint8 `yaml:"trimmed" doc:"codepoints. Hosts receive them, and the UDP port 4791, with their state ([host-api.md](host-api.md)); a host that is configured differently refuses them by name"`
	TrimmedLastHop uint8 `yaml:"trimmedLastHop" doc:"codepoints. Hosts receive them, and the UDP port 4791, with their state ([host-api.md](host-api.md)); a host that is configured differently refuses them by name"`
	Control        uint8 `yaml:"control" doc:"codepoints. Hosts receive them, and the UDP port 4791, with their state ([host-api.md](host-api.md)); a host that is configured differently refuses them by name"`
}

// Bounds of classes.
const (
	maxPriority  = 7
	maxTrimSize  = 9216
	maxQueueSize = 1 << 30
)

// DefaultClasses trim to what holds all headers up to the TSETH in a tunnel with
// an SRH of one segment, and mark from a fifth of the queue on.
func DefaultClasses() Classes {
	return Classes{
		DSCP: DSCPs(packet.DefaultDSCPClasses()), DataPriority: 0, ControlPriority: maxPriority,
		DataPackets: 256, ControlPackets: 2048,
		ECNMin: 51, ECNMax: 205,
		TrimSize: packet.MinTrimLen + packet.IPv6Len + packet.SRHFixedLen + packet.SegmentLen,
	}
}

// fitTrimSize makes the size of trimmed packets the least that the hardware of all switches trims
// to, unless the text of the configuration has a size. Where no size suits all, it stays.
func (inv *Inventory) fitTrimSize(text []byte) {
	if !inv.MRC.On() {
		return
	}
	var all []target.Hardware
	for i := range inv.Switches {
		all = append(all, inv.Switches[i].Hardware)
	}
	size, ok := target.TrimSize(all, DefaultClasses().TrimSize)
	if ok && size != inv.MRC.Classes.TrimSize && !strictyaml.Has(text, "mrc.classes.trimSize") {
		inv.MRC.Classes.TrimSize = size
	}
}

func (v *validator) classes(at string, c *Classes) {
	if err := packet.DSCPClasses(c.DSCP).Validate(); err != nil {
		v.bad(at+".dscp", "%v", err)
	}
	for _, p := range []struct {
		field string
		value uint8
	}{{"dataPriority", c.DataPriority}, {"controlPriority", c.ControlPriority}} {
		if p.value > maxPriority {
			v.bad(at+"."+p.field, "is %d: want 0 to %d", p.value, maxPriority)
		}
	}
	if c.ControlPriority < min(c.DataPriority, maxPriority) {
		v.bad(at+".controlPriority", "is %d: want at least that of data, %d", c.ControlPriority,
			c.DataPriority)
	}
	for _, p := range []struct {
		field string
		value uint32
	}{{"dataPackets", c.DataPackets}, {"controlPackets", c.ControlPackets}} {
		if p.value == 0 || p.value > maxQueueSize {
			v.bad(at+"."+p.field, "is %d: want 1 to %d", p.value, maxQueueSize)
		}
	}
	if c.ECNMin > c.ECNMax {
		v.bad(at+".ecnMin", "is %d: want at most ecnMax, %d", c.ECNMin, c.ECNMax)
	}
	if c.TrimSize != 0 && (c.TrimSize < packet.MinTrimLen || c.TrimSize > maxTrimSize) {
		v.bad(at+".trimSize", "is %d: want %d to %d octets, or 0 for none", c.TrimSize, packet.MinTrimLen,
			maxTrimSize)
	}
}
