package mrc

import (
	"encoding/binary"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/test/seeds"
)

// ipv4 reads every frame of MRC over IPv4, octet by octet.
type ipv4 struct {
	t       *testing.T
	faulty  bool
	sacks   int
	trimmed int
	marked  int
	// ups are the T1s that packets went by.
	ups map[hashed]map[string]bool
}

// hashed is what a T0 hashes: addresses and ports.
type hashed struct{ at, fields string }

// Sent implements lab.Tap.
func (x *ipv4) Sent(_ time.Duration, w *lab.Wire, frame []byte) {
	const ip, udp, bth = 14, 34, 42
	ok := len(frame) >= bth+12 && binary.BigEndian.Uint16(frame[12:]) == 0x0800 && frame[ip] == 0x45 &&
		binary.BigEndian.Uint16(frame[ip+6:]) == 0x4000 && frame[ip+9] == 17 &&
		packet.Checksum(packet.ChecksumAdd(0, frame[ip:udp])) == 0 &&
		binary.BigEndian.Uint16(frame[udp+2:]) == packet.RoCEPort
	dscp := frame[ip+1] >> 2
	classes := packet.DefaultDSCPClasses()
	cut := dscp == classes.Trimmed || dscp == classes.TrimmedLastHop
	ok = ok && (cut || packet.CheckICRC(frame[ip:]) == nil &&
		int(binary.BigEndian.Uint16(frame[ip+2:])) == len(frame)-ip)
	switch packet.Opcode(frame[bth]) {
	case packet.OpMRCSACK:
		x.sacks++
		ok = ok && binary.BigEndian.Uint16(frame[bth+12+6:]) == 0 // there is no flow label to reflect
	case packet.OpMRCNACK:
		ok = ok && binary.BigEndian.Uint16(frame[bth+12+6:]) == 0
	}
	if cut {
		x.trimmed++
	}
	if frame[ip+1]&3 == packet.CE {
		x.marked++
	}
	if strings.Contains(w.From, "-T0-") && strings.Contains(w.To, "-T1-") {
		f := hashed{w.From, string(frame[ip+12 : udp+4])}
		if x.ups[f] == nil {
			x.ups[f] = map[string]bool{}
		}
		x.ups[f][w.To] = true
	}
	if !ok && !x.faulty {
		x.faulty = true
		x.t.Errorf("%s: %x", w.Name(), frame[:min(len(frame), 110)])
	}
}

// Arrived implements lab.Tap.
func (*ipv4) Arrived(time.Duration, *lab.Wire, []byte) {}

// TestIPv4 is the demo over IPv4 in mode ecmp: the P4 program routes, hashes, marks and trims
// packets of IPv4, and the entropy value is the UDP source port (OCP MRC 1.0, §9.1).
func TestIPv4(t *testing.T) {
	if testing.Short() {
		t.Skip("many packets on one goroutine")
	}
	fabric := small
	fabric.IPv4 = true
	o := Options{Fabric: fabric, Mode: ev.ModeECMP, Bytes: 128 << 10}.withDefaults()
	d := newDemo(o)
	v := newVirtual(t, o, seeds.One(t, 1))
	x := &ipv4{t: t, ups: map[hashed]map[string]bool{}}
	v.world.AddTap(x)
	d.describe(v.control.MRC.Classes)
	r, err := d.run(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	if r.Bytes == 0 || r.Corrupt != 0 || x.sacks == 0 || x.trimmed == 0 || x.marked == 0 {
		t.Errorf("%+v; %d SACKs, %d trimmed, %d marked", r, x.sacks, x.trimmed, x.marked)
	}
	spread := map[string]map[string]bool{} // T1s by T0
	for f, ups := range x.ups {
		if spread[f.at] == nil {
			spread[f.at] = map[string]bool{}
		}
		maps.Copy(spread[f.at], ups)
	}
	for at, ups := range spread {
		if len(ups) != 2 {
			t.Errorf("%s sends by %v, want both T1s", at, ups)
		}
	}
	if len(spread) != 4 {
		t.Errorf("%d T0s send upwards, want 4", len(spread))
	}
}
