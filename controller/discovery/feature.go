package discovery

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// An end is a port of a switch.
type end struct {
	sw   string
	port uint32
}

func (e end) String() string { return fmt.Sprintf("%s/%d", e.sw, e.port) }

func compareEnds(a, b end) int {
	return cmp.Or(cmp.Compare(a.sw, b.sw), cmp.Compare(a.port, b.port))
}

// Feature discovers the links of a controller's switches.
type Feature struct {
	feature.Base
	env      *feature.Env
	keys     *keyring
	number   uint64 // of the last frame
	switches map[string]*switchState
	// withdrawn are cables that BGP-LS had a link for, and has no more.
	withdrawn map[end]end
	faults    map[end]string
	counts    Counts
	byMAC     map[string]string // switches, by MAC

	// due is when links and faults are made anew, 0: nothing has changed.
	due     time.Duration
	sources [2]*topology.Snapshot
	fresh   bool // sources have changed since the last call of Take
}

// gather is how long changes are gathered: a network that starts must not be planned for each link.
const gather = 50 * time.Millisecond

// Counts holds the numbers of discovery frames since the start.
type Counts struct {
	Sent, Accepted uint64
	// Foreign counts LLDP frames of other senders, Forged frames with a wrong digest, and Repeated
	// frames whose number was counted before or is too old.
	Foreign, Forged, Repeated uint64
}

// switchState holds the known state of a switch.
type switchState struct {
	connected bool
	since     time.Duration   // it is connected
	next      time.Duration   // when it sends next
	up        map[uint32]bool // the ports that it reports, and whether they are up
	// senders holds the ports of the switch that send frames. advertised holds the links from other
	// sources, by the port where a link begins.
	senders    map[uint32]*sender
	advertised map[uint32]advertised
	// told holds the neighbors that a switch without P4 hears by its own LLDP, by interface.
	told southbound.Neighbors
}

// sender is a port that frames leave by.
type sender struct {
	waiting []uint64      // numbers of frames that have not arrived, the oldest first
	sentAt  time.Duration // the last frame
	sent    int           // frames since the switch is connected, at most missed + 1
	heard   end           // where frames arrive; none when sw is ""
	missed  int           // frames in a row that have not arrived there
}

// New returns the feature, which knows no link.
func New(env *feature.Env) *Feature {
	f := &Feature{env: env, keys: newKeyring(), switches: make(map[string]*switchState)}
	f.withdrawn, f.faults = make(map[end]end), make(map[end]string)
	f.byMAC = make(map[string]string)
	return f
}

// state returns what is known of a switch.
func (f *Feature) state(sw string) *switchState {
	s := f.switches[sw]
	if s == nil {
		s = &switchState{senders: make(map[uint32]*sender)}
		f.switches[sw] = s
	}
	return s
}

// connected reports whether a switch is connected.
func (f *Feature) connected(sw string) bool {
	s := f.switches[sw]
	return s != nil && s.connected
}

// sender returns a port that frames leave by, or nil.
func (f *Feature) sender(e end) *sender {
	if s := f.switches[e.sw]; s != nil {
		return s.senders[e.port]
	}
	return nil
}

// advertised returns the link of another source at a port.
func (f *Feature) advertised(e end) (a advertised, ok bool) {
	if s := f.switches[e.sw]; s != nil {
		a, ok = s.advertised[e.port]
	}
	return a, ok
}

// eachSender calls do with each port that frames leave by.
func (f *Feature) eachSender(do func(from end, s *sender)) {
	for sw, st := range f.switches {
		for port, s := range st.senders {
			do(end{sw, port}, s)
		}
	}
}

// change has links and faults made anew soon.
func (f *Feature) change() {
	if f.due == 0 {
		f.due = f.env.Now + gather
	}
}

func (f *Feature) cfg() *inventory.Discovery { return &f.env.Inventory().Discovery }

// Counts returns the frames since the start.
func (f *Feature) Counts() Counts { return f.counts }

// SetNetwork implements feature.Feature.
func (f *Feature) SetNetwork() {
	for sw := range f.switches {
		if !f.env.Switches.Exists(sw) {
			delete(f.switches, sw)
		}
	}
	f.eachSender(func(_ end, s *sender) {
		if !f.cfg().On() || f.switches[s.heard.sw] == nil {
			s.heard = end{}
		}
	})
	f.readMACs()
	if !f.cfg().On() && !f.hears() && len(f.withdrawn)+len(f.faults) == 0 &&
		f.sources == [2]*topology.Snapshot{} {
		return
	}
	f.readAdvertised()
	f.change()
}

// hears reports whether a switch hears anything by LLDP of its own.
func (f *Feature) hears() bool {
	for _, st := range f.switches {
		if len(st.told) > 0 {
			return true
		}
	}
	return false
}

// SetPorts replaces the port states that a switch reports. A port that is down has no neighbor.
func (f *Feature) SetPorts(sw string, up map[uint32]bool) {
	if !f.env.Switches.Exists(sw) {
		return
	}
	st := f.state(sw)
	came := false
	for port, is := range up {
		came = came || is && !st.up[port]
	}
	st.up = up
	if len(st.told) > 0 {
		f.change()
	}
	if !f.cfg().On() {
		return
	}
	f.eachSender(func(from end, s *sender) {
		if s.heard.sw != "" && (from.sw == sw && f.isDown(from) || s.heard.sw == sw &&
			f.isDown(s.heard)) {
			*s = sender{sentAt: s.sentAt}
			f.change()
		}
	})
	if came { // its neighbor may be another one
		st.next = f.env.Now
	}
}

// minGap lies between two frames of a port at least.
const minGap = 100 * time.Millisecond

// isDown reports whether a switch has said that a port is down.
func (f *Feature) isDown(e end) bool {
	s := f.switches[e.sw]
	if s == nil {
		return false
	}
	up, known := s.up[e.port]
	return known && !up
}

// SwitchEvent implements feature.Feature.
func (f *Feature) SwitchEvent(sw string, e feature.SwitchEvent) {
	switch e.Kind {
	case feature.ReadBack:
		if st := f.state(sw); !st.connected && f.env.Switches.Connected(sw) {
			st.connected, st.since, st.next = true, f.env.Now, f.env.Now
			for _, s := range st.senders { // what was sent before may be lost
				s.waiting, s.sent, s.missed = nil, 0, 0
			}
			f.change()
		}
	case feature.Disconnected:
		if st := f.switches[sw]; st != nil && st.connected {
			st.connected, st.told = false, nil
			f.change()
		}
	case feature.GotPacket:
		if e.PacketIn.Reason == entry.LLDP && f.cfg().On() {
			f.receive(end{sw, uint32(e.PacketIn.IngressPort)}, e.PacketIn.Payload)
		}
	}
}

// receive takes a frame that came by a port.
func (f *Feature) receive(at end, frame []byte) {
	from, number, err := f.keys.verify(frame)
	switch {
	case err == errForged:
		f.counts.Forged++
		return
	case err != nil:
		f.counts.Foreign++
		return
	}
	s := f.sender(from)
	if s == nil || !s.arrived(number) {
		f.counts.Repeated++
		return
	}
	f.counts.Accepted++
	s.missed = 0
	if s.heard != at {
		s.heard = at
		f.change()
	}
}

// arrived removes a number from the waiting numbers; false: the number does not wait.
func (s *sender) arrived(number uint64) bool {
	i := slices.Index(s.waiting, number)
	if i < 0 {
		return false
	}
	// Frames do not overtake each other on a cable: what was sent before is lost.
	s.waiting = slices.Delete(s.waiting, 0, i+1)
	return true
}

// Tick implements feature.Feature.
func (f *Feature) Tick() {
	if f.cfg().On() {
		for _, name := range slices.Sorted(maps.Keys(f.switches)) {
			if st := f.switches[name]; st.connected && st.next <= f.env.Now {
				f.send(name, st)
				st.next = f.env.Now + f.cfg().Interval.D()
			}
		}
	}
	if f.due != 0 && f.due <= f.env.Now {
		f.due = 0
		f.makeSources()
		f.compare()
	}
}

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) {
	at, ok = f.due, f.due != 0
	if f.cfg().On() {
		for _, st := range f.switches {
			if st.connected && (!ok || st.next < at) {
				at, ok = st.next, true
			}
		}
	}
	return at, ok
}

// send sends a frame out of each port of a switch, and counts missed frames.
func (f *Feature) send(name string, st *switchState) {
	sw := f.env.Net.Switch(name)
	if sw == nil || !sw.RunsP4() { // frames go out as packet-outs
		return
	}
	ports := f.ports(sw, st)
	for port, s := range st.senders {
		if !slices.Contains(ports, port) {
			delete(st.senders, port)
			if s.heard.sw != "" {
				f.change()
			}
		}
	}
	missed := f.cfg().Missed
	hold := f.cfg().Interval.D() * time.Duration(missed+1)
	for _, port := range ports {
		s := st.senders[port]
		if s == nil {
			s = &sender{sentAt: -minGap}
			st.senders[port] = s
		}
		if f.env.Now-s.sentAt < minGap {
			continue
		}
		f.miss(s)
		f.number++
		frame := f.keys.frame(end{name, port}, packet.MAC(sw.MAC), f.number, hold)
		if !f.env.Want.Send(name, entry.PacketOut{Op: entry.Send, Port: uint16(port), Payload: frame}) {
			continue
		}
		f.counts.Sent++
		s.sentAt = f.env.Now
		s.waiting = append(s.waiting, f.number)
		if over := len(s.waiting) - missed - 1; over > 0 {
			s.waiting = slices.Delete(s.waiting, 0, over)
		}
		if s.sent <= missed {
			if s.sent++; s.sent > missed {
				f.change() // it may be silent by now
			}
		}
	}
}

// miss counts the last frame of a port if it should have arrived by now and has not.
func (f *Feature) miss(s *sender) {
	if len(s.waiting) == 0 || s.heard.sw == "" || !f.connected(s.heard.sw) {
		return
	}
	if s.missed++; s.missed >= f.cfg().Missed {
		s.heard, s.missed = end{}, 0
		f.change()
	}
}

// ports returns the ports of a switch that frames leave by, ascending: all that are known and
// may lead to switches.
func (f *Feature) ports(sw *inventory.Switch, st *switchState) []uint32 {
	out := slices.Clone(sw.LinkPorts)
	out = slices.AppendSeq(out, maps.Keys(st.up))
	out = slices.AppendSeq(out, maps.Keys(st.advertised))
	out = slices.AppendSeq(out, maps.Values(sw.Ports))
	hosts := f.env.Net.HostPorts(sw)
	out = slices.DeleteFunc(out, func(p uint32) bool {
		return p < 1 || p > p4.MaxLinkPort || slices.Contains(hosts, p) || f.isDown(end{sw.Name, p})
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// Faults returns what differs at the ports of a switch, in order.
func (f *Feature) Faults(sw string) (out []string) {
	var at []end
	for e := range f.faults {
		if e.sw == sw {
			at = append(at, e)
		}
	}
	slices.SortFunc(at, compareEnds)
	for _, e := range at {
		out = append(out, f.faults[e])
	}
	return out
}

// setFaults replaces the faults, with an event for each port that differs now or no longer.
func (f *Feature) setFaults(faults map[end]string) {
	old := f.faults
	f.faults = faults
	for _, e := range slices.SortedFunc(maps.Keys(faults), compareEnds) {
		if faults[e] != old[e] {
			f.env.Event(api.EventPortMiscabled, e.String(), faults[e], nil)
		}
	}
	for _, e := range slices.SortedFunc(maps.Keys(old), compareEnds) {
		if faults[e] == "" {
			f.env.Event(api.EventPortCabled, e.String(),
				"LLDP no longer contradicts what is known of its cable", nil)
		}
	}
}
