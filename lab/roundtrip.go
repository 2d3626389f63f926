package lab

import (
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/packet"
)

// Octets that MRC's packets take on a wire, preamble, check sequence and gap included: a full
// WRITE of PMTU 4096 with a timestamp, and a SACK.
const (
	MRCMTU     = 4096
	mrcHeaders = packet.EthernetLen + packet.IPv6Len + packet.UDPLen + packet.BTHLen + packet.ICRCLen +
		ethernetOverhead
	writeWire = mrcHeaders + packet.METHLen + packet.TSETHLen + packet.RETHLen + MRCMTU
	sackWire  = mrcHeaders + packet.SETHLen

	// FullFrame is the octets of a full WRITE on a link, with what Ethernet adds.
	FullFrame = writeWire
	// PayloadShare is the share of payload in the bits of a link that carries full WRITEs.
	PayloadShare = float64(MRCMTU) / writeWire
)

// RoundTrip is the longest round trip of a full WRITE and its SACK between the first MRC host and
// another, by the fewest links, all queues empty; 0 when there are not two, or links take no time.
func (n *Network) RoundTrip() time.Duration {
	type end struct {
		to   string
		time time.Duration
	}
	ends := map[string][]end{}
	for _, l := range n.Links {
		t := 2 * l.Delay
		if l.Rate > 0 {
			t += time.Duration((writeWire + sackWire) * 8 * uint64(time.Second) / l.Rate)
		}
		ends[l.A], ends[l.B] = append(ends[l.A], end{l.B, t}), append(ends[l.B], end{l.A, t})
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
		for _, w := range ends[reached[0]] {
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

// slowest returns the lowest rate among links with a rate, in bits a second; 0 without any.
func (n *Network) slowest() uint64 {
	least := uint64(0)
	for _, l := range n.Links {
		if l.Rate > 0 && (least == 0 || l.Rate < least) {
			least = l.Rate
		}
	}
	return least
}

// Congestion returns the network parameters of a host's congestion control: the sum of its ports'
// rates, and the round trip.
func (n *Network) Congestion(host string) nscc.Network { return n.congestion(host, n.RoundTrip()) }

func (n *Network) congestion(host string, rtt time.Duration) nscc.Network {
	c := nscc.Network{RTT: rtt, MTU: MRCMTU, Trimming: true, Queue: queueProducts,
		Crowded: true}
	for sw, port := range n.Uplinks(host) {
		c.Rate += n.linkAt(sw, port).Rate
	}
	return c
}

// Parts of the bandwidth-delay product at which queues begin to mark and mark everything, and how
// many products a queue holds. On slow links the product is only a few packets, and random arrivals
// add as many again.
const (
	markFrom, markAll = 0.2, 0.8
	queueProducts     = 2
	// queuePackets is how many more packets of each queue pair a queue holds. A queue pair has at
	// least one packet in flight, and two while NSCC is in doubt; the third packet allows for lost
	// links.
	queuePackets = 3
)

// Classes returns queues marked from 0.2 to 0.8 of a bandwidth-delay product, as NSCC wants with
// trimming. Each queue holds two bandwidth-delay products, in packets of the slowest link. If an
// all-to-all of the MRC hosts has more queue pairs than fit, a queue holds some packets of each
// queue pair. Without rates or round trip, Classes returns the default.
func (n *Network) Classes() inventory.Classes {
	c := inventory.DefaultClasses()
	rate, rtt := n.slowest(), n.RoundTrip()
	if rate == 0 || rtt == 0 {
		return c
	}
	const least = 5 // so that there are marks before there is trimming
	product := max(least, float64(rate)/8*rtt.Seconds()/writeWire)
	c.ECNMin, c.ECNMax = uint32(markFrom*product), uint32(markAll*product)
	c.DataPackets = max(uint32(queueProducts*product), uint32(queuePackets*n.crowd()))
	return c
}

// Timers of queue pairs.
const (
	probeRoundTrips = 6 // without news after which it asks what has arrived
	// ackProbes are the probes in a Local ACK Timeout at least. NICs wait longer, as SACKs and
	// probes find lost packets before; but a transport ACK that is lost with a plane costs a whole
	// timeout (OCP MRC 1.0, §7.3), and in the time of the demo's links that is long.
	ackProbes = 8. / 3
)

// Timers returns the AckTimeout and the ProbeTimeout of queue pairs (mrc.QPConfig) for queues from
// Classes. A probe overtakes queued data and must not report the data as missing, so the probe
// waits at least for a full queue.
func (n *Network) Timers() (ack uint8, probe time.Duration) {
	rate, rtt := n.slowest(), n.RoundTrip()
	if rate > 0 {
		probe = rtt + time.Duration(uint64(n.Classes().DataPackets)*writeWire*8*uint64(time.Second)/rate)
	}
	probe = max(probe, probeRoundTrips*rtt)
	for ack = 1; 1024*time.Nanosecond<<ack < time.Duration(ackProbes*float64(probe)); {
		ack++
	}
	return ack, probe
}

// crowd returns how many queue pairs of an all-to-all of the MRC hosts share a link, when they
// spread evenly: the maximum over the uplinks of a rack and the links to a host.
func (n *Network) crowd() (most int) {
	racks, count := map[string]int{}, 0
	for _, h := range n.MRCHosts() {
		ports := 0
		for sw := range n.Uplinks(h) {
			racks[sw]++
			ports++
		}
		count++
		most = max(most, (len(n.MRCHosts())-1+ports-1)/max(1, ports))
	}
	up := map[string]int{}
	for _, l := range n.Links {
		if n.sw(l.A) != nil && n.sw(l.B) != nil {
			up[l.A]++
			up[l.B]++
		}
	}
	planes := max(1, len(slices.Compact(slices.Sorted(maps.Values(n.planes())))))
	for sw, hosts := range racks {
		if links := up[sw] * planes; links > 0 {
			most = max(most, (hosts*(count-hosts)+links-1)/links)
		}
	}
	return most
}
