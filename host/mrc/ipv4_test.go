package mrc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/virtual"
	"github.com/weft-sdn/weft/packet"
)

// TestIPv4: hosts with IPv4 addresses write to each other while packets are lost and trimmed. Every
// frame is read octet by octet: the entropy value of a request is its UDP source port; SACK and
// NACK reflect the port, with zeros for the missing flow label (OCP MRC 1.0, §7.5.2.1, §9.1).
func TestIPv4(t *testing.T) {
	addresses := [2]netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
	var clock virtual.Clock
	var hosts [2]*Host
	requests := map[uint16]bool{} // source ports
	seen := map[packet.Opcode]int{}
	var fault string
	want := func(ok bool, what string, frame []byte) {
		if !ok && fault == "" {
			fault = what
			t.Errorf("%s: %x", what, frame[:min(len(frame), 100)])
		}
	}
	classes := packet.DefaultDSCPClasses()
	number := 0
	deliver := func(from int, frame []byte) {
		ip, udp := frame[14:], frame[34:]
		op := packet.Opcode(frame[42])
		seen[op]++
		number++
		want(binary.BigEndian.Uint16(frame[12:]) == 0x0800 && ip[0] == 0x45,
			"an IPv4 header without options", frame)
		want(binary.BigEndian.Uint16(ip[6:]) == 0x4000 && ip[9] == 17, "Don't Fragment, UDP", frame)
		want(packet.Checksum(packet.ChecksumAdd(0, ip[:20])) == 0, "the header checksum", frame)
		want(int(binary.BigEndian.Uint16(ip[2:])) == len(frame)-14, "Total Length", frame)
		want(bytes.Equal(ip[12:16], addresses[from].AsSlice()) &&
			bytes.Equal(ip[16:20], addresses[1-from].AsSlice()), "addresses", frame)
		want(binary.BigEndian.Uint16(udp[2:]) == 4791 && packet.CheckICRC(ip) == nil,
			"UDP port and ICRC", frame)
		port := binary.BigEndian.Uint16(udp)
		switch op {
		case packet.OpMRCSACK, packet.OpMRCNACK: // entropy: octets 4 to 7 behind the BTH
			reflected := frame[54+4 : 54+8]
			want(requests[binary.BigEndian.Uint16(reflected)] && reflected[2] == 0 && reflected[3] == 0,
				"the entropy value that is reflected", frame)
		case packet.OpMRCAcknowledge:
		default:
			requests[port] = true
		}
		frame = bytes.Clone(frame)
		if op >= packet.OpMRCWriteFirst && op <= packet.OpMRCWriteOnlyImmediate {
			switch {
			case number%17 == 0:
				return
			case number%13 == 0:
				cut, err := (packet.Trimmer{DSCP: classes, Size: 128, SetLength: true}).Trim(frame, false)
				if err != nil {
					t.Fatal(err)
				}
				want(packet.Checksum(packet.ChecksumAdd(0, cut[14:34])) == 0 &&
					cut[15]>>2 == classes.Trimmed, "a trimmed packet", cut)
				frame = cut
			}
		}
		clock.After(time.Microsecond, func() { hosts[1-from].Receive(clock.Now(), 1, frame) })
	}
	var qps [2]*QP
	memory, data := make([]byte, 256<<10), make([]byte, 256<<10)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	for i := range hosts {
		cfg := DefaultConfig()
		cfg.Name, cfg.Addr = string(rune('A'+i)), addresses[i]
		cfg.Ports = []Port{{MAC: testMAC(i, 1), Gateway: testMAC(1-i, 1)}}
		cfg.Output = func(_ time.Duration, _ int, frame []byte) { deliver(i, frame) }
		var err error
		if hosts[i], err = NewHost(cfg); err != nil {
			t.Fatal(err)
		}
		c := testQPConfig(i, 1-i, 1)
		if _, err := hosts[i].CreateQP(c); !errors.Is(err, verbs.ErrConfig) {
			t.Errorf("a peer with an IPv6 address: %v", err)
		}
		c.RemoteAddr = addresses[1-i]
		if qps[i], err = hosts[i].CreateQP(c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := hosts[1].RegisterMR(0, testRKey, memory, verbs.AccessRemoteWrite); err != nil {
		t.Fatal(err)
	}
	if err := qps[0].PostSend(clock.Now(), verbs.WorkRequest{Op: verbs.OpWrite, RKey: testRKey,
		Data: data}); err != nil {
		t.Fatal(err)
	}
	if !clock.Run(time.Second, virtual.All(hosts[:]...), func() bool {
		return qps[0].SendQueueLen() == 0
	}) {
		t.Fatalf("not done: %+v", qps[0].Counters())
	}
	if !bytes.Equal(memory, data) {
		t.Error("other octets than were written")
	}
	c := qps[0].Counters()
	if c.EVMismatch > 0 || seen[packet.OpMRCSACK] == 0 || seen[packet.OpMRCNACK] == 0 ||
		len(requests) != 8 {
		t.Errorf("%+v, %v, source ports %v: want answers with known entropy, and eight ports", c, seen,
			requests)
	}

	route := Path{Port: 1, Route: &Route{Dst: testAddr(9)}}
	if _, err := hosts[0].SendEVProbe(clock.Now(), EVProbe{Peer: addresses[1], Path: route,
		Timeout: time.Millisecond}); !errors.Is(err, verbs.ErrConfig) {
		t.Errorf("an EV probe by SRv6 over IPv4: %v", err)
	}
	if _, err := hosts[0].SendEVProbe(clock.Now(), EVProbe{Peer: testAddr(9), Path: Path{Port: 1},
		Timeout: time.Millisecond}); !errors.Is(err, verbs.ErrConfig) {
		t.Errorf("an EV probe to an IPv6 address: %v", err)
	}
	// Nothing goes by a path of SRv6 that a sprayer chooses.
	before := qps[0].cfg.Sprayer
	for sprayer, want := range map[Sprayer]bool{before: true, routed{before, route}: false} {
		qps[0].cfg.Sprayer = sprayer
		if p, ok := qps[0].path(clock.Now(), UseProbe, ^packet.PortMask(0)); ok != want {
			t.Errorf("the path %+v is good over IPv4: %v", p, ok)
		}
	}
}

// routed is a sprayer that always chooses one path.
type routed struct {
	Sprayer
	path Path
}

func (r routed) Next(time.Duration, Use, packet.PortMask) (Path, bool) { return r.path, true }
