package main

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/weft-sdn/weft/packet"
)

// The routing program is an IPv4 router with an access list (routing/routing.p4).
var (
	//go:embed routing/routing.json
	routingJSON []byte
	//go:embed routing/routing.p4info.txtpb
	routingInfo []byte
)

const (
	routeCount   = 10_000
	aclCount     = 500
	nextHopCount = 64
	flowCount    = 2000 // packets of a cycle, each to another route if there are as many
	routingPorts = 4    // 1 is where packets come in, the others lead to next hops
	routingSeed  = 20
	routingTTL   = 64
)

// lengths gives the number of routes per 100 for each prefix length, roughly as in an Internet
// router's table.
var lengths = []struct{ bits, percent int }{
	{24, 58}, {22, 12}, {23, 10}, {20, 4}, {21, 4}, {19, 3}, {18, 2}, {16, 3}, {17, 1}, {32, 1},
	{14, 1}, {12, 1},
}

// aclMasks lists the shapes of access list entries: prefix bits of source and destination, and
// whether protocol, source port and destination port count.
var aclMasks = []struct {
	src, dst              int
	proto, sport, dport   bool
	ofHundred, protoValue int
}{
	{src: 24, ofHundred: 12}, {src: 32, ofHundred: 14}, {src: 16, dst: 16, ofHundred: 6},
	{src: 24, dst: 24, proto: true, ofHundred: 8, protoValue: 6},
	{src: 32, dst: 32, ofHundred: 8},
	{dst: 24, proto: true, dport: true, ofHundred: 14, protoValue: 6},
	{dst: 32, proto: true, dport: true, ofHundred: 14, protoValue: 6},
	{src: 24, proto: true, dport: true, ofHundred: 8, protoValue: 17},
	{dst: 16, proto: true, dport: true, ofHundred: 6, protoValue: 6},
	{src: 32, dst: 32, proto: true, sport: true, dport: true, ofHundred: 4, protoValue: 6},
	{proto: true, dport: true, ofHundred: 4, protoValue: 17},
	{proto: true, sport: true, ofHundred: 2, protoValue: 17},
}

// routing returns the router with its routes, next hops and access list. Packets are UDP of 64
// octets from 10.0.0.0/8, to addresses in the routes; no entry of the access list matches them.
func routing() (workload, error) {
	info := new(p4config.P4Info)
	if err := prototext.Unmarshal(routingInfo, info); err != nil {
		return workload{}, fmt.Errorf("routing.p4info.txtpb: %w", err)
	}
	rng := rand.New(rand.NewPCG(routingSeed, 0))
	b := tableWriter{info: info}
	for i := range nextHopCount {
		b.add("next_hop", 0, []*p4v1.FieldMatch{exact(1, uint64(i+1))},
			"forward", u(uint64(routePort(i))), routerMAC[:], routeMAC(i))
	}
	routes := prefixes(rng)
	for i, p := range routes {
		b.add("ipv4_route", 0, []*p4v1.FieldMatch{lpm(1, p)}, "route", u(uint64(i%nextHopCount+1)))
	}
	flows := make([]flow, flowCount)
	for i := range flows {
		p := routes[i*routeCount/flowCount]
		flows[i] = flow{from: 10<<24 | rng.Uint32()&^mask(8), to: p.address | rng.Uint32()&^mask(p.bits),
			sport: uint16(0xc000 | i)}
	}
	for i := range aclCount {
		b.add("acl", int32(aclCount-i), missing(rng, flows, i), "deny")
	}
	w := workload{
		name: "route", title: "route", params: []field{{"octets", 64}, {"copies", 1},
			{"routes", routeCount}, {"acl", aclCount}},
		program: routingJSON, info: info, entries: b.requests(), packets: 60_000,
	}
	for _, f := range flows {
		hop := longest(routes, f.to) % nextHopCount
		w.in = append(w.in, wire{1, datagram(sourceMAC, routerMAC[:], routingTTL, f)})
		w.out = append(w.out, wire{routePort(hop), datagram(routerMAC[:], routeMAC(hop), routingTTL-1,
			f)})
	}
	return w, b.err
}

var (
	routerMAC = packet.MAC{2, 0, 0, 0, 0, 1}
	sourceMAC = []byte{2, 0, 0, 0, 0, 2}
)

func routePort(hop int) uint32 { return uint32(2 + hop%(routingPorts-1)) }
func routeMAC(hop int) []byte  { return []byte{2, 0, 0, 0, 1, byte(hop)} }

// A prefix is an IPv4 prefix.
type prefix struct {
	address uint32
	bits    int
}

func mask(bits int) uint32 { return ^uint32(0) << (32 - bits) }

// prefixes returns distinct routes between 11.0.0.0 and 126.255.255.255.
func prefixes(rng *rand.Rand) []prefix {
	var all []prefix
	seen := map[prefix]bool{}
	for len(all) < routeCount {
		n := rng.IntN(100)
		bits := 0
		for _, l := range lengths {
			if n -= l.percent; n < 0 {
				bits = l.bits
				break
			}
		}
		p := prefix{uint32(11+rng.IntN(116))<<24 | rng.Uint32()>>8, bits}
		if p.address &= mask(bits); !seen[p] {
			seen[p] = true
			all = append(all, p)
		}
	}
	return all
}

// longest returns the index of the route that an address takes.
func longest(routes []prefix, to uint32) int {
	best := -1
	for i, p := range routes {
		if to&mask(p.bits) == p.address && (best < 0 || p.bits > routes[best].bits) {
			best = i
		}
	}
	return best
}

// A flow is UDP to packet.RoCEPort.
type flow struct {
	from, to uint32
	sport    uint16
}

// An aclRule is an entry of the access list: a source prefix, a destination prefix, and the other
// fields that the entry sets.
type aclRule struct {
	src, dst            prefix
	proto, sport, dport int // < 0: don't care
}

func (r aclRule) matches(f flow) bool {
	is := func(want, have int) bool { return want < 0 || want == have }
	return f.from&mask(r.src.bits) == r.src.address && f.to&mask(r.dst.bits) == r.dst.address &&
		is(r.proto, udp) && is(r.sport, int(f.sport)) && is(r.dport, packet.RoCEPort)
}

const udp = 17

// missing returns the match of an access list entry that no flow hits, although the entry concerns
// the network of the flows.
func missing(rng *rand.Rand, flows []flow, i int) []*p4v1.FieldMatch {
	n, at := i*100/aclCount, 0
	for at < len(aclMasks)-1 && n >= aclMasks[at].ofHundred {
		n -= aclMasks[at].ofHundred
		at++
	}
	m := aclMasks[at]
	for {
		about := flows[rng.IntN(len(flows))]
		r := aclRule{
			src:   prefix{(10<<24 | rng.Uint32()>>8) & mask(m.src), m.src},
			dst:   prefix{(about.to&mask(8) | rng.Uint32()>>8) & mask(m.dst), m.dst},
			proto: -1, sport: -1, dport: -1,
		}
		if m.proto {
			r.proto = m.protoValue
		}
		if m.sport {
			r.sport = 1 + rng.IntN(1<<14)
		}
		if m.dport {
			r.dport = 1 + rng.IntN(1<<10)
		}
		if !slices.ContainsFunc(flows, r.matches) {
			return r.match()
		}
	}
}

func (r aclRule) match() []*p4v1.FieldMatch {
	var all []*p4v1.FieldMatch
	for i, p := range []prefix{r.src, r.dst} {
		if p.bits > 0 {
			all = append(all, ternary(uint32(i+1), u(uint64(p.address)), u(uint64(mask(p.bits)))))
		}
	}
	for i, f := range []struct {
		value int
		mask  []byte
	}{{r.proto, []byte{0xff}}, {r.sport, []byte{0xff, 0xff}}, {r.dport, []byte{0xff, 0xff}}} {
		if f.value >= 0 {
			all = append(all, ternary(uint32(i+3), u(uint64(f.value)), f.mask))
		}
	}
	return all
}

// datagram returns a UDP packet of 64 octets.
func datagram(src, dst []byte, ttl byte, f flow) []byte {
	const octets, ip = 64, packet.EthernetLen
	b := make([]byte, octets)
	copy(b, dst)
	copy(b[6:], src)
	binary.BigEndian.PutUint16(b[12:], 0x0800)
	b[ip] = 0x45
	binary.BigEndian.PutUint16(b[ip+2:], octets-ip)
	b[ip+8], b[ip+9] = ttl, udp
	binary.BigEndian.PutUint32(b[ip+12:], f.from)
	binary.BigEndian.PutUint32(b[ip+16:], f.to)
	sum := uint32(0)
	for i := ip; i < ip+20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(b[ip+10:], ^uint16(sum))
	binary.BigEndian.PutUint16(b[ip+20:], f.sport)
	binary.BigEndian.PutUint16(b[ip+22:], packet.RoCEPort)
	binary.BigEndian.PutUint16(b[ip+24:], octets-ip-20)
	return b
}

// u encodes a number as P4Runtime does: without leading zeroes.
func u(v uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, v)
	for len(b) > 1 && b[0] == 0 {
		b = b[1:]
	}
	return b
}

func exact(field uint32, v uint64) *p4v1.FieldMatch {
	return &p4v1.FieldMatch{FieldId: field,
		FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: u(v)}}}
}

func lpm(field uint32, p prefix) *p4v1.FieldMatch {
	return &p4v1.FieldMatch{FieldId: field,
		FieldMatchType: &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: u(uint64(p.address)),
			PrefixLen: int32(p.bits)}}}
}

func ternary(field uint32, value, mask []byte) *p4v1.FieldMatch {
	return &p4v1.FieldMatch{FieldId: field,
		FieldMatchType: &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: value,
			Mask: mask}}}
}

// A tableWriter collects inserts of entries by the names of the P4Info.
type tableWriter struct {
	info    *p4config.P4Info
	updates []*p4v1.Update
	err     error
}

// add inserts an entry; args are the arguments of the action in order.
func (w *tableWriter) add(table string, priority int32, match []*p4v1.FieldMatch, action string,
	args ...[]byte) {
	do := &p4v1.Action{ActionId: w.id(action)}
	for i, a := range args {
		for len(a) > 1 && a[0] == 0 {
			a = a[1:]
		}
		do.Params = append(do.Params, &p4v1.Action_Param{ParamId: uint32(i + 1), Value: a})
	}
	w.updates = append(w.updates, &p4v1.Update{Type: p4v1.Update_INSERT,
		Entity: &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{
			TableId: w.id(table), Priority: priority, Match: match,
			Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: do}},
		}}}})
}

// id returns the id of the table or action with this alias.
func (w *tableWriter) id(alias string) uint32 {
	for _, t := range w.info.GetTables() {
		if t.GetPreamble().GetAlias() == alias {
			return t.GetPreamble().GetId()
		}
	}
	for _, a := range w.info.GetActions() {
		if a.GetPreamble().GetAlias() == alias {
			return a.GetPreamble().GetId()
		}
	}
	w.err = fmt.Errorf("the P4Info has no %s", alias)
	return 0
}

// requests returns the inserts in batches.
func (w *tableWriter) requests() []*p4v1.WriteRequest {
	var all []*p4v1.WriteRequest
	for batch := range slices.Chunk(w.updates, 1000) {
		all = append(all, &p4v1.WriteRequest{DeviceId: deviceID, Updates: batch})
	}
	return all
}
