package lab

import (
	"fmt"
	"strings"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
)

// A SwitchNode is an embedded switch in a world.
type SwitchNode struct {
	Switch Switch
	// Notify takes the stream messages of the switch to its controllers; nil drops them. It must
	// not call the switch back.
	Notify func(now time.Duration, m *p4v1.StreamMessageResponse)
	// PortChanged, if not nil, is called when a port of the switch goes up or down. It must not
	// call the switch back.
	PortChanged func(port uint32, up bool)
	// Restarts counts the times the switch came back empty.
	Restarts int

	world   *World
	config  p4rt.Config
	device  *p4rt.Device
	ports   map[uint32]*Wire
	pending alarm
	down    bool
	away    func(port uint32, frame []byte) // takes what arrives when the switch runs elsewhere
	// carrierOf, if not nil, takes whether a port has a carrier: of a switch that is a kernel.
	carrierOf func(port uint32, up bool)
	set       map[uint32]*portSettings // of ports that have some
}

// deviceID is the P4Runtime device id of every lab switch: each has a server of its own.
const deviceID = 1

func newSwitchNode(w *World, s Switch, o Options) (*SwitchNode, error) {
	n := &SwitchNode{Switch: s, world: w, ports: map[uint32]*Wire{}, set: map[uint32]*portSettings{}}
	n.config = p4rt.Config{
		ID:    deviceID,
		Cache: o.Cache,
		Switch: dataplane.Config{Seed: o.Seed<<16 | uint64(s.MAC[4])<<8 | uint64(s.MAC[5]),
			PauseBuffer: o.PauseBuffer, PortChanged: n.portChanged},
		Transmit: func(now time.Duration, port uint32, frame []byte) {
			n.device.Switch().Replace(n.put(now, port, frame))
		},
		Notify: func(now time.Duration, m *p4v1.StreamMessageResponse) {
			if n.Notify != nil {
				n.Notify(now, m)
			}
		},
	}
	return n, n.start()
}

func (n *SwitchNode) start() error {
	device, err := p4rt.NewDevice(n.config)
	if err != nil {
		return fmt.Errorf("switch %s: %w", n.Switch.Name, err)
	}
	n.device = device
	for port, wire := range n.ports {
		device.Switch().SetPortSpeed(port, wire.Rate)
		n.look(port, wire)
	}
	return nil
}

// attach makes a wire that of a port. A wire with a rate makes its port's queues wait for it.
func (n *SwitchNode) attach(port uint32, wire *Wire) {
	n.ports[port] = wire
	n.device.Switch().SetPortSpeed(port, wire.Rate)
}

func (n *SwitchNode) portChanged(port uint32, up bool) {
	if n.PortChanged != nil {
		n.PortChanged(port, up)
	}
}

// Device is the switch's P4Runtime device: another one after each restart. A caller that changes
// something there calls Wake afterwards.
func (n *SwitchNode) Device() *p4rt.Device { return n.device }

// Down reports whether the switch is off.
func (n *SwitchNode) Down() bool { return n.down }

// Wake runs what is due on the switch.
func (n *SwitchNode) Wake() { n.world.wake(n) }

// Stop turns the switch off: the switch forgets everything and loses arriving frames, and hosts at
// its ports see no carrier.
func (n *SwitchNode) Stop() {
	n.down = true
	n.carrier(false)
}

// carrier sets the carrier that the nodes at the far ends of the switch's links see: MRC hosts, and
// switches in a world with carrier.
func (n *SwitchNode) carrier(up bool) {
	for _, wire := range n.world.wires { // in their order
		if wire.From != n.Switch.Name {
			continue
		}
		if h, ok := wire.to.(*MRCNode); ok {
			h.carrier(int(wire.ToPort), up && wire.Up())
		}
		if s, ok := wire.to.(*SwitchNode); ok {
			s.look(wire.ToPort, s.ports[wire.ToPort])
		}
	}
}

// look has a port go up or down with its link, if the world has carrier.
func (n *SwitchNode) look(port uint32, wire *Wire) {
	if !n.world.carrier {
		return
	}
	up := n.sees(wire)
	n.device.Switch().SetPortUp(port, up)
	if n.carrierOf != nil {
		n.carrierOf(port, up)
	}
}

// sees reports whether the switch sees a carrier at a port.
func (n *SwitchNode) sees(wire *Wire) bool {
	far, isSwitch := wire.to.(*SwitchNode)
	return wire.Up() && !(isSwitch && far.down)
}

// Start turns it on again, empty.
func (n *SwitchNode) Start() error {
	n.down = false
	n.carrier(true)
	n.Restarts++
	if t := n.config.Switch.Trace; t != nil {
		t.Forget()
	}
	return n.start()
}

// RunElsewhere makes the node stand for a switch outside the world: deliver takes every frame that
// arrives at it, valid during the call only, and Transmit sends for it.
func (n *SwitchNode) RunElsewhere(deliver func(port uint32, frame []byte)) { n.away = deliver }

// Transmit puts a copy of a frame on the wire of a port, as the switch would.
func (n *SwitchNode) Transmit(now time.Duration, port uint32, frame []byte) {
	n.world.keep(n.put(now, port, n.world.copyFrame(frame)))
}

// put puts a frame on the wire of a port, which keeps the buffer. It returns another buffer.
func (n *SwitchNode) put(now time.Duration, port uint32, frame []byte) (buffer []byte) {
	if wire, ok := n.ports[port]; ok && n.fits(port, frame, true) {
		return wire.put(now, frame)
	}
	return frame
}

func (n *SwitchNode) receive(now time.Duration, port uint32, frame []byte) []byte {
	switch {
	case n.down, !n.fits(port, frame, false):
	case n.away != nil:
		n.away(port, frame)
	default:
		return n.device.Switch().Exchange(now, port, frame)
	}
	return frame
}

func (n *SwitchNode) advance(now time.Duration) (time.Duration, bool) {
	if n.down {
		return 0, false
	}
	return n.device.Advance(now)
}

func (n *SwitchNode) alarm() *alarm { return &n.pending }

// Counted is the packets in a cell of one of the program's counters; 0 without the program.
func (n *SwitchNode) Counted(counter string, cell int64) uint64 {
	sw := n.device.Switch()
	if sw.Program() == nil {
		return 0
	}
	for i, c := range sw.Program().Counters() {
		if c.Name[strings.LastIndexByte(c.Name, '.')+1:] == counter {
			v, err := sw.Counter(engine.Element(i, int(cell)))
			if err != nil {
				return 0
			}
			return v.Packets
		}
	}
	return 0
}

// Drops returns the packets the switch's program has dropped, by reason.
func (n *SwitchNode) Drops() map[p4.DropReason]uint64 {
	drops := map[p4.DropReason]uint64{}
	for reason := range int64(256) {
		for _, counter := range []string{p4.CounterIngressDrops, p4.CounterEgressDrops} {
			if v := n.Counted(counter, reason); v > 0 {
				drops[p4.DropReason(reason)] += v
			}
		}
	}
	return drops
}
