package prove

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
)

// A cell has the results of probes of one EV.
type cell struct {
	source, destination string // the host that probed last, and whom
	ev                  hostapi.EV
	at                  time.Duration
	// sent and received count the probes. loss is the lost share, 0 to 1: an average in which older
	// probes weigh less.
	sent, received uint64
	loss           float64
	// RTTs are of the last probes that were answered.
	rttMin, rttMean, rttMax time.Duration
}

// lossWeight is the weight of a probe in the moving average of many.
const lossWeight = 1.0 / 16

// lossAges returns the weight of a probe after n later probes.
func lossAges(n uint64) float64 { return math.Pow(1-lossWeight, float64(n)) }

// note notes the result of a probe in the matrix.
func (p *probe) note(now time.Duration, r *hostapi.ProbeResult) {
	if p.profile.cells == nil {
		p.profile.cells = make(map[hostapi.EV]*cell)
		p.profile.roundTrips = make(map[uint8]time.Duration)
	}
	c := p.profile.cells[p.ev]
	if c == nil {
		c = &cell{ev: p.ev}
		p.profile.cells[p.ev] = c
	}
	c.source, c.destination, c.at = p.host.Name, p.peer, now
	loss := float64(r.Sent-r.Received) / float64(r.Sent)
	// The sum of all weights is 1 only after many probes: without the division, the first ones
	// would count for the many that never were.
	keep, weights := lossAges(uint64(r.Sent)), 1-lossAges(c.sent)
	c.sent += uint64(r.Sent)
	c.received += uint64(r.Received)
	c.loss = (keep*c.loss*weights + (1-keep)*loss) / (1 - lossAges(c.sent))
	if r.Received > 0 {
		c.rttMin, c.rttMean, c.rttMax = r.RTTMin, r.RTTMean, r.RTTMax
		p.profile.roundTrips[p.ev.Port] = r.RTTMean
	}
}

// view describes a cell of a profile.
func (c *cell) view(profile string, wall func(time.Duration) time.Time) api.EVProbe {
	v := api.EVProbe{
		Profile: profile, EV: c.ev.String(), Port: c.ev.Port,
		Source: c.source, Destination: c.destination, At: wall(c.at),
		Sent: c.sent, Received: c.received, Loss: rounded(c.loss),
	}
	if c.rttMax > 0 {
		least, mean, most := api.Duration(c.rttMin), api.Duration(c.rttMean), api.Duration(c.rttMax)
		v.RTTMin, v.RTTMean, v.RTTMax = &least, &mean, &most
	}
	return v
}

// rounded is a share to a millionth: what is behind that is noise.
func rounded(share float64) float64 { return math.Round(share*1e6) / 1e6 }

// RoundTrip returns the mean round trip of the last probe by a port that was answered; 0: none was.
func (p *Profile) RoundTrip(port uint8) time.Duration { return p.roundTrips[port] }

// Probes returns the probe results of a profile by EV, as selected by a filter, starting after an
// EV; nil starts at the first. wall returns the wall-clock time at a time of the Prover.
func (p *Profile) Probes(
	name string, f api.EVProbeFilter, after *hostapi.EV, wall func(time.Duration) time.Time,
) iter.Seq[api.EVProbe] {
	var cells []*cell
	for _, x := range p.cells {
		if (f.Source == "" || x.source == f.Source) &&
			(f.Destination == "" || x.destination == f.Destination) &&
			(after == nil || x.ev.Compare(*after) > 0) {
			cells = append(cells, x)
		}
	}
	slices.SortFunc(cells, func(a, b *cell) int { return a.ev.Compare(b.ev) })
	return func(yield func(api.EVProbe) bool) {
		for _, x := range cells {
			if !yield(x.view(name, wall)) {
				return
			}
		}
	}
}
