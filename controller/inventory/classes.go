package inventory

import (
	"github.com/weft-sdn/weft/internal/strictyaml"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/target"
)

// Classes defines what switches do with the classes of MRC traffic (OCP MRC 1.0,
// sections 7.5.3 and 7.5.5.1): the same at every port of a fabric.
type Classes struct {
	DSCP DSCPs `yaml:"dscp"`
	// Priority queues of the classes, 0 the lowest of 8. simple_switch_grpc has
	// one only unless it is told otherwise: 0 for both then. Defaults 0 and 7.
	DataPriority    uint8 `yaml:"dataPriority"`
	ControlPriority uint8 `yaml:"controlPriority"`
	// Packets that may wait at a port. The target's own queues must be deeper.
	// Defaults 256 and 2048.
	DataPackets    uint32 `yaml:"dataPackets"`
	ControlPackets uint32 `yaml:"controlPackets"`
	// ECNMin and ECNMax are the packets of the data class that wait when marks
	// begin, and when every packet gets one. Defaults 51 and 205.
	ECNMin uint32 `yaml:"ecnMin"`
	ECNMax uint32 `yaml:"ecnMax"`
	// TrimSize is what is left of a trimmed packet, in octets from the Ethernet
	// header on; 0: packets that find the data class full are dropped. Default:
	// all headers up to the TSETH, in a tunnel with an SRH of one segment, and
	// more where the hardware of switches trims to more.
	TrimSize uint16 `yaml:"trimSize"`
	// TrimLength makes IPv6 headers say the length that is left.
	TrimLength bool `yaml:"trimLength"`
}

// DSCPs are the codepoints of the classes; see [packet.DSCPClasses].
type DSCPs struct {
	NoTrim         uint8 `yaml:"noTrim"`
	Trimmable      uint8 `yaml:"trimmable"`
	TrimmableRetx  uint8 `yaml:"trimmableRetx"`
	Trimmed        uint8 `yaml:"trimmed"`
	TrimmedLastHop uint8 `yaml:"trimmedLastHop"`
	Control        uint8 `yaml:"control"`
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
