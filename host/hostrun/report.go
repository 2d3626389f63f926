package hostrun

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Progress is told how far a host is about once a second, and at its end.
type Progress func(p Counts)

// Counts is the progress of a host.
type Counts struct {
	Written    uint64 // octets that were acknowledged
	ToWrite    uint64 // octets of all writes
	Received   uint64 // octets of payload executed
	Expected   uint64 // octets waited for
	SinceStart time.Duration
}

// Counts is the progress of the host.
func (r *Runner) Counts() Counts {
	n := Counts{Received: r.Received(), Expected: r.expect, SinceStart: r.Now()}
	for _, w := range r.writes {
		octets := w.octets()
		n.Written += octets
		if w.Every > 0 {
			n.ToWrite += octets // it has no end to fall short of
		} else {
			n.ToWrite += uint64(len(w.data))
		}
	}
	return n
}

// Tell reports the progress of the host to Progress.
func (r *Runner) Tell() {
	if r.progress != nil {
		r.progress(r.Counts())
	}
}

// HostCounters counts the frames of a host.
type HostCounters struct {
	FramesReceived uint64 `json:"framesReceived"`
	OctetsReceived uint64 `json:"octetsReceived"`
	FramesSent     uint64 `json:"framesSent"`
	OctetsSent     uint64 `json:"octetsSent"`
	SendDrops      uint64 `json:"sendDrops"`    // refused by the port
	ReceiveDrops   uint64 `json:"receiveDrops"` // came faster than they were handled
	// Refused counts frames that were not accepted, by reason.
	Refused map[string]uint64 `json:"refused"`
}

// CountDrops fills in the frames that never came to the endpoint or the wire.
func (r *Runner) CountDrops(c *HostCounters) {
	c.SendDrops, c.ReceiveDrops = r.refused, r.dropped.Load()
}

// digest is the SHA-256 of memory, in hexadecimal.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Seconds rounds to microseconds.
func Seconds(d time.Duration) float64 { return d.Round(time.Microsecond).Seconds() }
