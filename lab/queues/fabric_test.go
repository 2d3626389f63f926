package queues

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet"
)

func TestConfigRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"Planes":       func(c *Config) { c.Planes = 0 },
		"Planes high":  func(c *Config) { c.Planes = 32 },
		"Leaves":       func(c *Config) { c.Leaves = 0 },
		"Spines":       func(c *Config) { c.Spines = -1 },
		"HostsPerLeaf": func(c *Config) { c.HostsPerLeaf = 0 },
		"Rate":         func(c *Config) { c.Rate = 0 },
		"Delay":        func(c *Config) { c.Delay = -1 },
		"Queue":        func(c *Config) { c.Queue = 0 },
		"ControlQueue": func(c *Config) { c.ControlQueue = 0 },
		"MarkMax":      func(c *Config) { c.MarkMax = c.MarkMin - 1 },
		"TrimSize":     func(c *Config) { c.TrimSize = packet.MinTrimLen - 1 },
		"DSCP":         func(c *Config) { c.DSCP.Trimmed = c.DSCP.Control },
		"Spine":        func(c *Config) { c.Spine = &packet.EVField{Offset: 30, Width: 8} },
	} {
		c := DefaultConfig()
		change(&c)
		if _, err := New(c); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRTT: by hand, for 400 Gb/s and 1 us: a packet of 4,222 octets with what the wire adds takes 84.44 ns a link, its SACK of 138 2.76 ns.
func TestRTT(t *testing.T) {
	c := DefaultConfig()
	if got := c.RTT(FullFrame(4096)); got != 4*(2*time.Microsecond+84*time.Nanosecond+2*time.Nanosecond) {
		t.Errorf("RTT %v", got)
	}
	if got := c.Queue; got != 417_200 {
		t.Errorf("a queue of %d octets, want one bandwidth-delay product, 8.344 us x 50 octets/ns", got)
	}
}

// listener notes what arrives.
type listener struct {
	at    []time.Duration
	ports []int
	last  []byte
}

func (l *listener) Receive(now time.Duration, port int, frame []byte) {
	l.at, l.ports, l.last = append(l.at, now), append(l.ports, port), append([]byte(nil), frame...)
}
func (*listener) Advance(time.Duration) (time.Duration, bool) { return 0, false }

// frame is a UDP packet of so many octets.
func frame(from, to, octets int, dscp, ecn uint8, v packet.EV) []byte {
	b := packet.Ethernet{Dst: Gateway, Src: MAC(from, 1), EtherType: packet.EtherTypeIPv6}.Append(nil)
	n := octets - packet.EthernetLen - packet.IPv6Len
	b = packet.IPv6{TrafficClass: packet.TrafficClass(dscp, ecn), FlowLabel: v.FlowLabel(), PayloadLength: uint16(n), NextHeader: packet.NextHeaderUDP, HopLimit: 64,
		Src: Address(from), Dst: Address(to)}.Append(b)
	b = packet.UDP{SrcPort: v.SrcPort(), DstPort: packet.RoCEPort, Length: uint16(n)}.Append(b)
	return append(b, make([]byte, octets-len(b))...)
}

// TestPath: a packet takes the link its entropy value names, at the speed of the links, and arrives with the address of the port it comes in by; control packets overtake data.
func TestPath(t *testing.T) {
	c := DefaultConfig()
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	var l listener
	if err := f.Attach(13, &l); err != nil {
		t.Fatal(err)
	}
	v := packet.EV(2 << 24)
	f.Send(0, 2, frame(0, 13, 976, c.DSCP.Trimmable, packet.ECT0, v))
	f.Run(time.Millisecond, nil)
	if want := 4 * (time.Microsecond + 20*time.Nanosecond); len(l.at) != 1 || l.at[0] != want || l.ports[0] != 2 {
		t.Fatalf("arrived at %v by ports %v, want %v by 2", l.at, l.ports, want)
	}
	if eth, _, err := packet.ParseEthernet(l.last); err != nil || eth.Dst != MAC(13, 2) {
		t.Errorf("arrived for %v, %v", eth.Dst, err)
	}
	for _, link := range f.Links() {
		want := uint64(0)
		if link.Plane == 2 && (link.Tier == HostUp && link.From == 0 || link.Tier == LeafUp && link.From == 0 && link.To == 2 ||
			link.Tier == SpineDown && link.From == 2 && link.To == 3 || link.Tier == LeafDown && link.To == 13) {
			want = 1
		}
		if got := link.Stats().Packets; got != want {
			t.Errorf("%s has %d packets, want %d", link.Name(), got, want)
		}
	}
	// Refused and counted.
	f.Send(0, 3, frame(0, 13, 100, 0, 0, v))
	f.Send(0, 1, []byte{1, 2, 3})
	f.Send(0, 1, frame(0, 99, 100, 0, 0, v))
	f.Send(0, 1, frame(0, 13, 100, 0, 0, packet.EV(4<<24)))
	f.Send(0, 1, frame(0, 12, 100, 0, 0, v))
	f.Run(2*time.Millisecond, nil)
	if s := f.Stats(); s != (FabricStats{Malformed: 2, InvalidEV: 1, Unattached: 1, FromUnknown: 1}) {
		t.Errorf("%+v", s)
	}
}

// TestQueue: what does not fit a queue is trimmed if it may be and dropped if not, marks follow the queue's depth, and what is control leaves first.
func TestQueue(t *testing.T) {
	c := DefaultConfig()
	c.Queue, c.MarkMin, c.MarkMax = 10*1024, 4*1024, 4*1024
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	var l listener
	if err := f.Attach(0, &l); err != nil {
		t.Fatal(err)
	}
	// 1,024 octets each on the wire, all at once, by 3 ports into one: the first is sent at once, 10 are queued.
	n := 0
	for range 10 {
		for from := 1; from < 4; from++ {
			dscp := c.DSCP.Trimmable
			if n%5 == 4 {
				dscp = c.DSCP.NoTrim
			}
			n++
			f.Send(from, 1, frame(from, 0, 1000, dscp, packet.ECT0, 0))
		}
	}
	f.Send(1, 1, frame(1, 0, 100, c.DSCP.Control, packet.NotECT, 0))
	f.Run(time.Millisecond, nil)
	total := f.Total()
	if total.Deepest != 10*1024 || total.Trimmed == 0 || total.Dropped == 0 || total.DroppedTrim != 0 || total.Marked == 0 {
		t.Errorf("%+v", total)
	}
	if got := uint64(len(l.at)) + total.Dropped; got != 31 {
		t.Errorf("%d of 31 packets arrived or were dropped", got)
	}
	for _, link := range f.Links() {
		s := link.Stats()
		if link.Tier != LeafDown && s.Trimmed+s.Marked+s.Dropped != 0 {
			t.Errorf("%s: %+v", link.Name(), s)
		}
		// Those marked are those that left more than 4 in the queue, themselves counted.
		if link.Tier == LeafDown && link.To == 0 && link.Plane == 1 && (s.Data != 1024*(30-s.Trimmed-s.Dropped) || s.Marked >= s.Data/1024-4) {
			t.Errorf("%s: %+v", link.Name(), s)
		}
	}
	if f.links[1].Tier != LeafDown {
		t.Error("the test looks at the wrong link")
	}
	// A trimmed frame is as a switch leaves it.
	f.links[1].data.octets += c.Queue
	f.links[1].enqueue(f.now, f.copyFrame(frame(1, 0, 1000, c.DSCP.TrimmableRetx, packet.ECT0, 0)))
	f.links[1].data.octets -= c.Queue
	f.Run(2*time.Millisecond, nil)
	if len(l.last) != packet.MinTrimLen || packet.DSCP(trafficClass(l.last)) != c.DSCP.TrimmedLastHop {
		t.Errorf("%d octets with DSCP %d", len(l.last), packet.DSCP(trafficClass(l.last)))
	}
}

// TestLossyLink: Loss is a probability, Down a certainty.
func TestLossyLink(t *testing.T) {
	f, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	up := f.planes[0].hostUp[1]
	up.Loss = 0.1
	for range 10_000 {
		f.Send(1, 1, frame(1, 0, 100, 3, packet.ECT0, 0))
	}
	f.Run(time.Second, nil)
	if n := up.Stats().Lost; n < 900 || n > 1100 {
		t.Errorf("%d of 10,000 lost, want about 1,000", n)
	}
	up.Down = true
	before := up.Stats().Lost
	f.Send(1, 1, frame(1, 0, 100, 3, packet.ECT0, 0))
	f.Run(2*time.Second, nil)
	if up.Stats().Lost != before+1 {
		t.Error("a link that is down lost nothing")
	}
}

// TestECMP: without structured EVs the entropy of a packet spreads over all spines, and a flow stays on one.
func TestECMP(t *testing.T) {
	c := DefaultConfig()
	c.Spine = nil
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	count := make([]float64, c.Spines)
	for i := range 4000 {
		b := frame(0, 13, 100, 3, 0, packet.EV(uint32(i)*2654435761))
		spine, ok := f.spine(&f.planes[0], 0, b)
		if again, _ := f.spine(&f.planes[0], 0, b); !ok || again != spine {
			t.Fatalf("spine %d, then %d", spine, again)
		}
		count[spine]++
	}
	if j := Jain(count); j < 0.995 {
		t.Errorf("Jain's index %.4f of %v", j, count)
	}
}

func TestJain(t *testing.T) {
	for _, tt := range []struct {
		x    []float64
		want float64
	}{{nil, 0}, {[]float64{0, 0}, 0}, {[]float64{3, 3, 3}, 1}, {[]float64{1, 0, 0, 0}, 0.25}, {[]float64{1, 3}, 0.8}} {
		if got := Jain(tt.x); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("Jain's index of %v is %v, want %v", tt.x, got, tt.want)
		}
	}
}
