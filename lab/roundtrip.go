package lab

import (
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/endpoint/nscc"
	"github.com/weft-sdn/weft/packet"
)

// Octets that MRC's packets take on a wire, preamble, check sequence and gap included: a full
// WRITE of PMTU 4096 with a timestamp, and a SACK.
const (
	mrcMTU     = 4096
	mrcHeaders = packet.EthernetLen + packet.IPv6Len + packet.UDPLen + packet.BTHLen + packet.ICRCLen + ethernetOverhead
	writeWire  = mrcHeaders + packet.METHLen + packet.TSETHLen + packet.RETHLen + mrcMTU
	sackWire   = mrcHeaders + packet.SETHLen
)

// RoundTrip is the longest round trip of a full WRITE and its SACK between the first MRC host and
// another, by the fewest links, all queues empty; 0 when there are not two, or links take no time.
func (n *Network) RoundTrip() time.Duration {
	type way struct {
		to   string
		time time.Duration
	}
	ways := map[string][]way{}
	for _, l := range n.Links {
		t := 2 * l.Delay
		if l.Rate > 0 {
			t += time.Duration((writeWire + sackWire) * 8 * uint64(time.Second) / l.Rate)
		}
		ways[l.A], ways[l.B] = append(ways[l.A], way{l.B, t}), append(ways[l.B], way{l.A, t})
	}
	mrc := map[string]bool{}
	first := ""
	for _, h := range n.Hosts {
		mrc[h.Name] = h.Transport == MRC
		if first == "" && mrc[h.Name] {
			first = h.Name
		}
	}
	far := map[string]time.Duration{first: 0}
	longest := time.Duration(0)
	for reached := []string{first}; len(reached) > 0; reached = reached[1:] {
		for _, w := range ways[reached[0]] {
			if _, known := far[w.to]; known {
				continue
			}
			far[w.to] = far[reached[0]] + w.time
			if host, isHost := mrc[w.to]; !isHost {
				reached = append(reached, w.to)
			} else if host { // which forwards nothing
				longest = max(longest, far[w.to])
			}
		}
	}
	return longest
}

// slowest is the least rate of a link with one, in bits a second; 0 when none has.
func (n *Network) slowest() uint64 {
	least := uint64(0)
	for _, l := range n.Links {
		if l.Rate > 0 && (least == 0 || l.Rate < least) {
			least = l.Rate
		}
	}
	return least
}

// Congestion is what congestion control is told of the network by a host: the rate of its ports
// together, and the round trip.
func (n *Network) Congestion(host string) nscc.Network { return n.congestion(host, n.RoundTrip()) }

func (n *Network) congestion(host string, rtt time.Duration) nscc.Network {
	c := nscc.Network{RTT: rtt, MTU: mrcMTU, Trimming: true}
	for sw, port := range n.Uplinks(host) {
		c.Rate += n.linkAt(sw, port).Rate
	}
	return c
}

// Classes are queues of one bandwidth-delay product, marked from 0.2 to 0.8 of it, as NSCC wants them
// with trimming: of packets of the slowest link. Without rates or round trip they are the default.
func (n *Network) Classes() inventory.Classes {
	c := inventory.DefaultClasses()
	rate, rtt := n.slowest(), n.RoundTrip()
	if rate == 0 || rtt == 0 {
		return c
	}
	const least = 5 // so that there are marks before there is trimming
	c.DataPackets = max(least, uint32(float64(rate)/8*rtt.Seconds()/writeWire))
	c.ECNMin, c.ECNMax = c.DataPackets/5, c.DataPackets*4/5
	return c
}
