package queues

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// Host is what hangs on a fabric, as a host of package mrc does.
type Host interface {
	// Receive takes a frame that has come in by a port; it is valid during the call only.
	Receive(now time.Duration, port int, frame []byte)
	// Advance does what is due, and says when it wants to be called again.
	Advance(now time.Duration) (next time.Duration, pending bool)
}

// Fabric is a Clos that runs.
type Fabric struct {
	cfg    Config
	now    time.Duration
	count  uint64
	events eventHeap
	rng    *rand.Rand
	unused [][]byte

	hosts  []attached
	links  []*Link
	planes []plane
	stats  FabricStats
}

// FabricStats counts frames that no link can be blamed for.
type FabricStats struct {
	Malformed   uint64 // too short, not IPv6, or to nobody here
	InvalidEV   uint64 // a structured EV that names no spine
	Unattached  uint64 // to a host that does not hang on
	FromUnknown uint64 // by a port that is none
}

type attached struct {
	host Host
	at   time.Duration // of the next alarm
	set  bool
}

// plane has the links of a plane by their ends.
type plane struct {
	hostUp, leafDown  []*Link
	leafUp, spineDown [][]*Link // by leaf and spine, by spine and leaf
	leafHash          []uint32  // odd: tiers and switches do not fall in step
}

// New makes a fabric without hosts. The error wraps ErrConfig.
func New(cfg Config) (*Fabric, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	f := &Fabric{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x71756575)), hosts: make([]attached, cfg.Hosts())}
	for p := range cfg.Planes {
		f.planes = append(f.planes, f.newPlane(p+1))
	}
	return f, nil
}

func (f *Fabric) newPlane(number int) plane {
	link := func(tier Tier, from, to int) *Link {
		l := &Link{Tier: tier, Plane: number, From: from, To: to, fabric: f}
		f.links = append(f.links, l)
		return l
	}
	var p plane
	for h := range f.cfg.Hosts() {
		leaf := h / f.cfg.HostsPerLeaf
		p.hostUp = append(p.hostUp, link(HostUp, h, leaf))
		p.leafDown = append(p.leafDown, link(LeafDown, leaf, h))
	}
	for leaf := range f.cfg.Leaves {
		var up []*Link
		for spine := range f.cfg.Spines {
			up = append(up, link(LeafUp, leaf, spine))
		}
		p.leafUp = append(p.leafUp, up)
		p.leafHash = append(p.leafHash, f.rng.Uint32()|1)
	}
	for spine := range f.cfg.Spines {
		var down []*Link
		for leaf := range f.cfg.Leaves {
			down = append(down, link(SpineDown, spine, leaf))
		}
		p.spineDown = append(p.spineDown, down)
	}
	return p
}

// Config is what the fabric was made from.
func (f *Fabric) Config() Config { return f.cfg }

// Now is the time since the fabric began.
func (f *Fabric) Now() time.Duration { return f.now }

// Rand is the fabric's source of randomness.
func (f *Fabric) Rand() *rand.Rand { return f.rng }

// Links are all links, each direction by itself.
func (f *Fabric) Links() []*Link { return f.links }

// Stats counts frames that no link can be blamed for.
func (f *Fabric) Stats() FabricStats { return f.stats }

// Total is the sum of all links' counts; Deepest is the deepest of all.
func (f *Fabric) Total() Stats {
	var t Stats
	for _, l := range f.links {
		s := l.stats
		t.Packets += s.Packets
		t.Octets += s.Octets
		t.Data += s.Data
		t.Marked += s.Marked
		t.Trimmed += s.Trimmed
		t.Dropped += s.Dropped
		t.DroppedTrim += s.DroppedTrim
		t.Lost += s.Lost
		t.Deepest = max(t.Deepest, s.Deepest)
	}
	return t
}

// Address is the IPv6 address of a host.
func Address(host int) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 2, 12: 1, 13: byte(host >> 16), 14: byte(host >> 8), 15: byte(host)})
}

// MAC is the address of a host's port; frames arrive with it.
func MAC(host, port int) packet.MAC {
	return packet.MAC{0x02, 1, byte(port), byte(host >> 16), byte(host >> 8), byte(host)}
}

// Gateway is the address of every switch.
var Gateway = packet.MAC{0x02, 2, 0, 0, 0, 1}

// Attach hangs a host on; from then on it gets what is sent to its Address.
func (f *Fabric) Attach(host int, h Host) error {
	if host < 0 || host >= len(f.hosts) {
		return fmt.Errorf("host %d: want 0 to %d: %w", host, len(f.hosts)-1, ErrConfig)
	}
	f.hosts[host] = attached{host: h}
	return nil
}

// Send puts a frame on the wire of a host's port, which copies it. The host paces what it sends; what it sends too early waits.
func (f *Fabric) Send(host, port int, frame []byte) {
	if port < 1 || port > len(f.planes) || host < 0 || host >= len(f.hosts) {
		f.stats.FromUnknown++
		return
	}
	if len(frame) < leastFrame || frame[offTrafficClass]>>4 != 6 {
		f.stats.Malformed++
		return
	}
	f.planes[port-1].hostUp[host].enqueue(f.now, f.copyFrame(frame))
}

// Wake has a host advance: whoever gives it work calls this afterwards.
func (f *Fabric) Wake(host int) {
	a := &f.hosts[host]
	if a.host == nil {
		return
	}
	next, pending := a.host.Advance(f.now)
	if !pending {
		a.set = false
		return
	}
	next = max(next, f.now)
	if a.set && a.at == next {
		return
	}
	a.at, a.set = next, true
	f.schedule(event{at: next, kind: wake, host: host})
}

// At calls g when the time has come.
func (f *Fabric) At(at time.Duration, g func()) {
	f.schedule(event{at: max(at, f.now), kind: call, call: g})
}

// Run goes on until done says so, or until a time, and reports whether done did. A nil done never says so.
func (f *Fabric) Run(limit time.Duration, done func() bool) bool {
	for {
		if done != nil && done() {
			return true
		}
		if len(f.events) == 0 || f.events[0].at > limit {
			f.now = max(f.now, limit)
			return false
		}
		e := f.events.pop()
		f.now = e.at
		switch e.kind {
		case arrives:
			f.arrive(e.link, e.frame)
		case free:
			e.link.busy = false
			e.link.transmit(f.now)
		case wake:
			if a := &f.hosts[e.host]; a.set && a.at == e.at {
				a.set = false
				f.Wake(e.host)
			}
		case call:
			e.call()
		}
	}
}

func (f *Fabric) schedule(e event) {
	f.count++
	e.order = f.count
	f.events.push(e)
}

// arrive has a frame reach the end of a link.
func (f *Fabric) arrive(l *Link, frame []byte) {
	if l.Tier != LeafDown {
		f.forward(l, frame)
		return
	}
	mac := MAC(l.To, l.Plane)
	copy(frame, mac[:])
	a := &f.hosts[l.To]
	if a.host == nil {
		f.stats.Unattached++
	} else {
		a.host.Receive(f.now, l.Plane, frame)
		f.Wake(l.To)
	}
	f.release(frame)
}

func (f *Fabric) copyFrame(frame []byte) []byte {
	var b []byte
	if last := len(f.unused) - 1; last >= 0 {
		b, f.unused = f.unused[last], f.unused[:last]
	}
	return append(b[:0], frame...)
}

func (f *Fabric) release(frame []byte) { f.unused = append(f.unused, frame) }
