package mrc

import (
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/packet"
)

// egress is the port of a switch that leads to a host: the control class before the data class,
// marking and trimming as docs/mrc.md says.
type egress struct {
	to, port             int
	rate                 float64
	delay                time.Duration
	limit                int // octets of the data queue; more is trimmed
	markMin, markMax     int // octets at which marking begins and is certain
	high, low            [][]byte
	lowOctets            int
	busy                 bool
	trimmed, dropped, ce int
	carried              uint64 // octets of the data class
}

// switched makes every plane a switch with such ports.
func (l *bed) switched(rate float64, bdp int) {
	for i := range l.planes {
		p := &l.planes[i]
		for to := range l.hosts {
			p.egress = append(p.egress, &egress{
				to: to, port: i + 1, rate: rate, delay: p.delay, limit: bdp, markMin: bdp / 5,
				markMax: bdp * 4 / 5,
			})
		}
	}
}

// take puts a frame into a queue, or trims or drops it.
func (g *egress) take(l *bed, f []byte) {
	classes := packet.DefaultDSCPClasses()
	dscp := packet.DSCP(f[packet.EthernetLen]<<4 | f[packet.EthernetLen+1]>>4)
	switch {
	case classes.High(dscp):
		g.high = append(g.high, f)
	case g.lowOctets+len(f) <= g.limit:
		g.low = append(g.low, f)
		g.lowOctets += len(f)
	case classes.MayTrim(dscp):
		f, err := (packet.Trimmer{DSCP: classes, Size: packet.MinTrimLen}).Trim(f, true)
		if err != nil {
			l.t.Fatal(err)
		}
		g.trimmed++
		g.high = append(g.high, f)
	default:
		g.dropped++
	}
	g.next(l)
}

// next sends the frame that is first.
func (g *egress) next(l *bed) {
	if g.busy {
		return
	}
	var f []byte
	switch {
	case len(g.high) > 0:
		f, g.high = g.high[0], g.high[1:]
	case len(g.low) > 0:
		f, g.low = g.low[0], g.low[1:]
		depth := g.lowOctets
		g.lowOctets -= len(f)
		g.carried += uint64(len(f))
		if tc := f[packet.EthernetLen+1]; tc>>4&3 == packet.ECT0 &&
			l.rng.Float64()*float64(g.markMax-g.markMin) < float64(depth-g.markMin) {
			f[packet.EthernetLen+1] = tc | packet.CE<<4
			g.ce++
		}
	default:
		return
	}
	g.busy = true
	out := l.Now() + ibta.Serialization(len(f), g.rate)
	l.At(out, func() {
		g.busy = false
		g.next(l)
	})
	l.At(out+g.delay, func() { l.receive(g.to, g.port, f) })
}
