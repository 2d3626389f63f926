package mrc

import "github.com/weft-sdn/weft/packet"

// tracker holds the responder's record of received packets for a connection (part of OCP MRC 1.0,
// table 7-5). All arithmetic on PSNs is modulo 2^24.
type tracker struct {
	cack           uint32 // cack_psn: all up to this one have been received
	maxRcv         uint32 // max_rcv_psn: the highest one received, trimmed packets apart
	lowestUnsacked uint32 // lowest_unsacked_psn
	ooo            int    // rx_ooo_count: received above cack
	received       bitmap // of the PSNs above cack
	size           int    // packets above cack that can be tracked: the negotiated max_psn_range
	mpr            int    // packets above cack that are taken now, at most size
}

func newTracker(rqPSN uint32, size int) tracker {
	before := packet.PSNAdd(rqPSN, -1)
	return tracker{cack: before, maxRcv: before, lowestUnsacked: before, received: newBitmap(size + 1),
		size: size, mpr: size}
}

// standing is where a PSN lies.
type standing uint8

const (
	fresh     standing = iota // in the window, not yet received
	duplicate                 // received before
	shrunk                    // in the negotiated window, beyond the present one
	outside                   // beyond both, or too old to tell
)

// standing reports where a PSN lies (OCP MRC 1.0, §6.3.1).
func (t *tracker) standing(psn uint32) standing {
	switch d := packet.PSNDiff(psn, t.cack); {
	case d < 2-1<<23 || d > t.size:
		return outside
	case d <= 0 || t.received.get(psn):
		return duplicate
	case d > t.mpr:
		return shrunk
	}
	return fresh
}

// receive notes a fresh packet.
func (t *tracker) receive(psn uint32) {
	t.received.set(psn)
	t.ooo++
	if packet.PSNBefore(t.maxRcv, psn) {
		t.maxRcv = psn
	}
}

// advance moves cack over the next PSN if that has been received.
func (t *tracker) advance() bool {
	next := packet.PSNAdd(t.cack, 1)
	if !t.received.take(next) {
		return false
	}
	t.cack = next
	t.ooo--
	return true
}

// noteUnsacked updates lowest_unsacked_psn after a packet that causes no SACK (OCP MRC 1.0,
// §7.5.2.2, first pseudo-code, its else belonging to the outer if as the text says).
func (t *tracker) noteUnsacked(psn uint32, advanced bool) {
	if advanced {
		if !packet.PSNBefore(t.cack, t.lowestUnsacked) {
			t.lowestUnsacked = t.cack
		}
	} else if packet.PSNBefore(psn, t.lowestUnsacked) {
		t.lowestUnsacked = psn
	}
}

// sackBase is the PSN of the least significant bit of the SACK that is sent now, and moves
// lowest_unsacked_psn beyond it (§7.5.2.2, second pseudo-code). It is cack at least, and cack +
// max_psn_range - 64 at most, since max_rcv_psn is never beyond the window.
func (t *tracker) sackBase() uint32 {
	base := t.lowestUnsacked
	if packet.PSNDiff(packet.PSNAdd(base, packet.SACKBits), t.maxRcv) >= 0 {
		base = packet.PSNAdd(t.maxRcv, -packet.SACKBits)
	}
	if packet.PSNBefore(base, t.cack) {
		base = t.cack
	}
	t.lowestUnsacked = packet.PSNAdd(base, packet.SACKBits)
	return base
}

// sackBits returns the bitmap of a SACK with base as the least significant bit. The bit of cack,
// already out of the window, is 1.
func (t *tracker) sackBits(base uint32) uint64 {
	bits := t.received.from(base)
	if base == t.cack {
		bits |= 1
	}
	return bits
}
