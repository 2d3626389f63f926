package bgpls

import (
	"encoding/hex"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// faultPause is the least time between two reports of a peer's malformed messages: it chooses how
// often it does.
const faultPause = time.Minute

// faults counts the malformed objects from a peer that were discarded (RFC 9552 section 8.2.2,
// "NLRI discard" and "Attribute Discard"). The session goes on, so nothing else reports the faults.
type faults struct {
	nlris, attributes uint64
	// last is the first fault since the last look or, without such a fault, the first fault before.
	// Later faults may follow from the first.
	last topology.PeerFault
	seen bool // last was there at the last look, and has its time

	reported            time.Time
	saidNLRIs, saidAttr uint64 // those that the last report has counted
}

func (f *faults) note(object topology.FaultObject, of wire.Fault) {
	if !f.seen && f.last.Object != "" {
		return
	}
	f.seen = false
	f.last = topology.PeerFault{Object: object, Octets: hex.EncodeToString([]byte(of.Octets)),
		Length: of.Length, Reason: of.Reason}
}

// A faultReport counts the malformed messages of a peer since the report before.
type faultReport struct {
	nlris, attributes uint64
	last              topology.PeerFault
}

// report returns what has to be reported now, if anything has, and otherwise when to look again; a
// zero time is not before something happens.
func (f *faults) report(now time.Time) (r faultReport, due bool, next time.Time) {
	if f.last.Object != "" && !f.seen {
		f.seen, f.last.Time = true, now
	}
	if f.nlris == f.saidNLRIs && f.attributes == f.saidAttr {
		return r, false, time.Time{}
	}
	if next = f.reported.Add(faultPause); !f.reported.IsZero() && now.Before(next) {
		return r, false, next
	}
	r = faultReport{f.nlris - f.saidNLRIs, f.attributes - f.saidAttr, f.last}
	f.reported, f.saidNLRIs, f.saidAttr = now, f.nlris, f.attributes
	return r, true, time.Time{}
}
