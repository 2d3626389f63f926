package fabric

import (
	"fmt"
	"net/netip"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// The switch of all scenarios and its surroundings. Behind port n is host fd00:a::n, and node
// fd00:b:n::1 with its locator fd00:b:n::/48; the next hop through port n is neighbor 100 + n.
var (
	node      = addr("fd00:b:ff::1")
	nodeMAC   = packet.MAC{2, 0, 0, 0, 0, 1}
	sidEnd    = addr("fd00:b:ff::e")
	sidEndX   = addr("fd00:b:ff::e1")
	sidEndDT6 = addr("fd00:b:ff::d6")
)

const tlvType = packet.TLVEndMTDefault

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func host(port uint32) netip.Addr { return addr(fmt.Sprintf("fd00:a::%x", port)) }

func nodeBehind(port uint32) netip.Addr { return addr(fmt.Sprintf("fd00:b:%x::1", port)) }

// sidBehind is a SID of the node behind a port.
func sidBehind(port uint32) netip.Addr { return addr(fmt.Sprintf("fd00:b:%x::100", port)) }

func neighborOf(port uint32) uint32 { return 100 + port }

// macOf is the switch's own MAC on a port, macBehind its next hop's.
func macOf(port uint32) packet.MAC     { return packet.MAC{2, 0, 0, 1, 0, byte(port)} }
func macBehind(port uint32) packet.MAC { return packet.MAC{2, 0, 0, 2, 0, byte(port)} }

func exactly(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// baseEntries are what a controller gives every switch.
func baseEntries() []*p4v1.Update {
	updates := []*p4v1.Update{
		entry(p4.TableNode, nil, p4.ActionSetNode, node, tlvType),
		entry(p4.TableMyStation, []any{nodeMAC}, p4.ActionAcceptStation),
		entry(p4.TableLocalSid, []any{exactly(sidEnd)}, p4.ActionEnd),
		entry(p4.TableLocalSid, []any{exactly(sidEndX)}, p4.ActionEndX, 3, neighborOf(3)),
		entry(p4.TableLocalSid, []any{exactly(sidEndDT6)}, p4.ActionEndDt6, 0),
		cloneSession(p4.CpuSession, copyTo{p4.CpuPort, 0}),
	}
	for port := uint32(1); port <= ports; port++ {
		updates = append(updates,
			entry(p4.TablePort, []any{port}, p4.ActionSetPort, 0, 0),
			entry(p4.TableNeighbor, []any{neighborOf(port)}, p4.ActionSetMacs, macOf(port), macBehind(port)),
			entry(p4.TableIpv6Route, []any{0, exactly(host(port))}, p4.ActionForward, port,
				neighborOf(port)),
			entry(p4.TableIpv6Route, []any{0, netip.PrefixFrom(addr(fmt.Sprintf("fd00:b:%x::", port)), 48)},
				p4.ActionForward, port, neighborOf(port)),
			cloneSession(port+1, copyTo{port, 0}),
		)
	}
	return updates
}

// fanOut are the multicast groups that copy a packet to n receivers.
func fanOut() []*p4v1.Update {
	var updates []*p4v1.Update
	for n := uint32(1); n <= p4.MtTlvReceivers; n++ {
		var copies []copyTo
		for i := range n {
			copies = append(copies, copyTo{p4.RecirculationPort, p4.RidFanout + i})
		}
		updates = append(updates, multicast(n, copies...))
	}
	return updates
}
