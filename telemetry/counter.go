package telemetry

// verdict defines what the difference between two samples of a counter is worth.
type verdict uint8

const (
	// counted: the counter has grown, or wrapped.
	counted verdict = iota
	// doubtful: the counter decreased, or grew beyond any explanation, and gives no rate.
	doubtful
	// restarted: the counter decreased without a wrap. The other counters of the port have restarted
	// too.
	restarted
	// narrow: the counter decreased, perhaps because it has 32 bits and wraps faster than Weft reads
	// it.
	narrow
)

const (
	wrap32 = 1 << 32
	// unbounded32 and unbounded64 bound the growth of a counter that wraps, at a port of unknown
	// speed.
	unbounded32 = 1 << 30
	unbounded64 = 1 << 45
)

// increase returns by how much a counter has grown, with counted. most is the greatest growth that
// its port can explain; 0: not known.
func increase(before, now, most uint64) (uint64, verdict) {
	if now >= before {
		if d := now - before; most == 0 || d <= most {
			return d, counted
		}
		return 0, doubtful
	}
	d := now - before // modulo 2^64
	bound := most
	if bound == 0 {
		bound = unbounded64
	}
	if before >= 1<<63 && d <= bound {
		return d, counted
	}
	if before >= wrap32 {
		return 0, restarted
	}
	d = wrap32 + now - before
	switch {
	case most >= wrap32:
		return 0, narrow
	case most == 0 && d <= unbounded32, d <= most:
		return d, counted
	}
	return 0, restarted
}

// quietSamples is how many samples a narrow counter must grow before the store computes rates of
// the counter again.
const quietSamples = 10

// Bounds of growth: the rate of a port may be measured a little above its speed, since switches
// count at times that they do not name exactly.
const (
	headroom       = 1.25
	shortestOctets = 64   // of a packet on the wire (IEEE 802.3), without preamble and gap
	slackPackets   = 1000 // within a burst that a queue held
	slackOctets    = 1 << 20
)

// mostIncrease returns the greatest growth of a counter in a time, in seconds. speed is the speed
// of the port in bit/s; 0: not known.
func mostIncrease(m *Metric, speed uint64, seconds float64) uint64 {
	if speed == 0 {
		return 0
	}
	octets := float64(speed) / 8 * seconds * headroom
	if m.octets {
		return uint64(octets) + slackOctets
	}
	return uint64(octets/shortestOctets) + slackPackets
}
