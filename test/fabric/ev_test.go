package fabric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// fieldEntry returns the entry for the field of a structured EV that the switch reads.
func fieldEntry(f packet.EVField) *p4v1.Update {
	return entry(p4.TableEvField, nil, p4.ActionSetField, packet.EVBits-f.Offset-f.Width, f.Max())
}

func upBy(value, port uint32) *p4v1.Update {
	return entry(p4.TableEvUp, []any{value}, p4.ActionEvForward, port, neighborOf(port))
}

// everywhere is the route to all that is not below a switch.
func everywhere(group uint32) *p4v1.Update {
	return entry(p4.TableIpv6Route, []any{0, netip.MustParsePrefix("::/0")}, p4.ActionForwardUp, group)
}

var far = addr("fd00:77::1")

// entropy is an MRC packet to a distant host with an entropy value.
func entropy(ev packet.EV, op packet.Opcode) []byte {
	return octets(changed(mrcPacket(2, dscps.Trimmable, 32), func(p *packet.MRC) {
		p.IPv6.Dst, p.BTH.Opcode = far, op
		p.SetEV(ev)
		p.IPv6.FlowLabel |= 0xA0000 // the upper bits of the flow label are no part of it
	}))
}

// structuredEVs: up by this switch's field, down by IP.
func structuredEVs() []scenario {
	var all []scenario
	for _, f := range []packet.EVField{{Offset: 0, Width: 10}, {Offset: 10, Width: 8},
		{Offset: 18, Width: 4}, {Offset: 31, Width: 1}, {Offset: 0, Width: 32}, {Offset: 12, Width: 12}} {
		s := scenario{name: fmt.Sprintf("ev/field_%d_%d", f.Offset, f.Width),
			entries: append(ecmpGroup(9, 1, 8), everywhere(9), fieldEntry(f), upBy(f.Max(), 4), upBy(0, 5))}
		noise := packet.EV(0xC3A5_5A3C)
		highest, _ := noise.With(f, f.Max())
		lowest, _ := noise.With(f, 0)
		s.steps = []step{
			{what: "greatest value", in: wire{1, entropy(highest, packet.OpMRCWriteFirst)},
				out: []wire{forwarded(4, entropy(highest, packet.OpMRCWriteFirst))}},
			{what: "0", in: wire{1, entropy(lowest, packet.OpMRCWriteFirst)},
				out: []wire{forwarded(5, entropy(lowest, packet.OpMRCWriteFirst))}},
		}
		if f.Width > 1 {
			bad, _ := noise.With(f, 1)
			s.steps = append(s.steps, step{what: "no way for the value",
				in: wire{1, entropy(bad, packet.OpMRCWriteFirst)}, ingress: drops{p4.DropReasonEvField: 1}})
		}
		all = append(all, s)
	}
	f := packet.EVField{Offset: 4, Width: 4}
	ev, _ := packet.EV(0).With(f, 3)
	bad, _ := packet.EV(0).With(f, 4)
	below := octets(changed(mrcPacket(2, dscps.Trimmable, 32), func(p *packet.MRC) { p.SetEV(bad) }))
	roce := arriving(host(1), far, packet.BTH{Opcode: packet.OpWriteMiddle})
	roce.UDP.SrcPort, roce.IPv6.FlowLabel = ev.SrcPort(), ev.FlowLabel()
	other := plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 9, Src: host(1), Dst: far},
		nil)
	tunnel := octets(changed(mrcPacket(2, dscps.Trimmable, 32), func(p *packet.MRC) {
		p.SetEV(ev)
		p.Encapsulated, p.Outer = true, packet.IPv6{HopLimit: 9, Src: host(1), Dst: far}
	}))
	s := scenario{name: "ev/rules", entries: append(ecmpGroup(9, 1, 8), everywhere(9), fieldEntry(f),
		upBy(3, 6))}
	for _, op := range []packet.Opcode{
		packet.OpMRCWriteOnly, packet.OpMRCAcknowledge, packet.OpMRCSACK, packet.OpMRCNACK,
		packet.OpMRCProbe, packet.OpMRCEndpointRequest, packet.OpMRCEndpointResponse,
	} {
		s.steps = append(s.steps, step{what: fmt.Sprintf("%v goes by its EV", op),
			in: wire{1, entropy(ev, op)}, out: []wire{forwarded(6, entropy(ev, op))}})
	}
	trimmed, err := (packet.Trimmer{DSCP: dscps, Size: packet.MinTrimLen}).Trim(entropy(ev,
		packet.OpMRCWriteFirst), false)
	if err != nil {
		panic(err)
	}
	s.steps = append(s.steps,
		step{what: "what is left of a trimmed one, too", in: wire{1, trimmed},
			out: []wire{forwarded(6, trimmed)}},
		step{what: "a destination below: by IP, whatever the EV", in: wire{1, below},
			out: []wire{forwarded(2, below)}},
		step{what: "RoCEv2 that is not MRC", in: in(1, roce),
			out: []wire{forwarded(8, roce.Append(nil))}},
		step{what: "other IPv6", in: wire{1, other}, out: []wire{forwarded(8, other)}},
		step{what: "a tunnel", in: wire{1, tunnel}, out: []wire{forwarded(8, tunnel)}},
		step{
			what: "a switch that has no field", in: wire{1, entropy(bad, packet.OpMRCWriteOnly)},
			out:   []wire{forwarded(8, entropy(bad, packet.OpMRCWriteOnly))},
			write: []*p4v1.Update{defaultOf(p4.TableEvField)},
		},
	)
	return append(all, s, nackWithLength())
}

// nackWithLength: the UDP length of a NACK belongs to another packet, and no switch checks the
// length.
func nackWithLength() scenario {
	p := mrcPacket(2, dscps.Control, 0)
	p.BTH.Opcode, p.BTH.Timestamped = packet.OpMRCNACK, false
	p.UDP.Length = 4200
	return scenario{name: "ev/nack",
		steps: []step{{in: wire{1, octets(p)}, out: []wire{forwarded(2, octets(p))}}}}
}

// TestStructuredEVShortcuts sends a packet through a Clos of three tiers, one switch after the
// other: a T0, a T1 and a T2 with fields of 10, 8 and 4 bits, as in table 9-2. A destination below
// a switch is reached without going higher.
func TestStructuredEVShortcuts(t *testing.T) {
	fields, err := packet.EVFields(10, 8, 4)
	if err != nil {
		t.Fatal(err)
	}
	ev := packet.EV(0)
	for i, value := range []uint32{700, 200, 9} {
		if ev, err = ev.With(fields[i], value); err != nil {
			t.Fatal(err)
		}
	}
	ports := map[string]uint32{"up": 7, "down": 3}
	// What is below a T0, T1 and T2: the hosts of a rack, a pod and all.
	below := []string{"fd00:1:1::/48", "fd00:1::/32", "fd00::/16"}
	e := newEmbedded()
	for _, c := range []struct {
		name, dst string
		turns     int // tiers up
	}{
		{"full path", "fd00:2:9::1", 2},
		{"T1 shortcut", "fd00:1:9::1", 1},
		{"T0 shortcut", "fd00:1:1::1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			frame := octets(changed(mrcPacket(2, dscps.Trimmable, 32), func(p *packet.MRC) {
				p.IPv6.Dst = addr(c.dst)
				p.SetEV(ev)
			}))
			var path []string
			for tier := range 3 {
				e.reset(t)
				e.write(t, baseEntries())
				e.write(t, []*p4v1.Update{
					everywhere(0), fieldEntry(fields[tier]), upBy(ev.Field(fields[tier]), ports["up"]),
					entry(p4.TableIpv6Route, []any{0, netip.MustParsePrefix(below[tier])}, p4.ActionForward,
						ports["down"], neighborOf(ports["down"])),
				})
				out := e.inject(t, wire{1, frame})
				if len(out) != 1 {
					t.Fatalf("tier %d: %d packets", tier, len(out))
				}
				if out[0].port == ports["down"] {
					path = append(path, "down")
					break
				}
				path = append(path, "up")
				frame = slices.Clone(out[0].frame)
				copy(frame, nodeMAC[:])
			}
			if want := append(slices.Repeat([]string{"up"}, c.turns), "down"); !slices.Equal(path, want) {
				t.Errorf("went %v, want %v", path, want)
			}
		})
	}
}

// TestECMPTiersDoNotPolarise spreads flows over two tiers with the same program and four paths
// each: the second tier must spread the flows that arrive on one path over all four of its own
// paths. With the same multiplier in both tiers the second tier must fail to spread them, or the
// test would prove nothing.
func TestECMPTiersDoNotPolarise(t *testing.T) {
	const flows, paths = 1600, 4
	rng := rand.New(rand.NewPCG(1, 2))
	e := newEmbedded()
	// spread returns the way each flow takes on a switch.
	spread := func(multiplier uint32) []uint32 {
		e.reset(t)
		e.write(t, baseEntries())
		e.write(t, append(ecmpGroup(9, 1, 2, 3, 4, 5), entry(p4.TableIpv6Route, []any{0, exactly(far)},
			p4.ActionEcmpGroup, 9),
			entry(p4.TableEcmpHash, nil, p4.ActionSetMultiplier, multiplier)))
		took := make([]uint32, 0, flows)
		for i := range flows {
			p := changed(mrcPacket(2, dscps.Trimmable, 0), func(p *packet.MRC) {
				p.IPv6.Dst = far
				p.SetEV(packet.EV(uint32(i) * 0x01000193))
			})
			out := e.inject(t, wire{1, octets(p)})
			if len(out) != 1 {
				t.Fatalf("flow %d: %d packets", i, len(out))
			}
			took = append(took, out[0].port-2)
		}
		return took
	}
	cells := func(first, second []uint32) (n [paths * paths]int) {
		for i := range first {
			n[first[i]*paths+second[i]]++
		}
		return n
	}
	lower := rng.Uint32()
	first := spread(lower)
	if same := cells(first, spread(lower)); slices.Max(same[1:4]) > 0 {
		t.Fatalf("the same multiplier spreads differently: %v", same)
	}
	const each = float64(flows) / (paths * paths)
	for range 4 {
		upper := rng.Uint32()
		got := cells(first, spread(upper))
		// Chi-squared with 15 degrees of freedom: 44.3 is exceeded by one in ten thousand.
		chi := 0.0
		for _, n := range got {
			chi += (float64(n) - each) * (float64(n) - each) / each
		}
		if chi > 44.3 {
			t.Errorf("chi-squared %.1f over %v (multipliers %#x and %#x)", chi, got, lower, upper)
		}
		if worst := slices.Min(got[:]); float64(worst) < each-5*math.Sqrt(each) {
			t.Errorf("a way of the second tier gets %d flows of %v (multipliers %#x and %#x)", worst, each,
				lower, upper)
		}
	}
}
