package fabric

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// edgeRig is an edge in in-band mode with provisioned receivers to fall back on, and what it has to
// do with an SRH by the word of the packet library: deliver to every receiver named, or to nobody.
type edgeRig struct {
	tree   tree
	target *embedded
	packet packet.RoCE
}

func newEdgeRig(t testing.TB) *edgeRig {
	r := &edgeRig{tree: tree{group: newGroup(60, 14), inband: true, fallback: true},
		target: newEmbedded()}
	r.packet = r.tree.request(packet.OpWriteOnly, 9, 24)
	r.target.reset(t)
	r.target.write(t, baseEntries())
	r.target.write(t, append(r.tree.downward(), fanOut()...))
	return r
}

// frame is a packet on the tree with anything in the SRH's place.
func (r *edgeRig) frame(srh []byte) []byte {
	inner := r.packet.AppendPacket(nil)
	outer := packet.IPv6{NextHeader: packet.NextHeaderRouting, HopLimit: 9, Src: nodeBehind(7),
		Dst: r.tree.sid()}
	return plain(outer, append(bytes.Clone(srh), inner...))
}

// want are the packets that have to leave.
func (r *edgeRig) want(frame []byte) []wire {
	p, _, err := packet.ParseRoCE(frame)
	if err != nil || !p.Routed || p.SRH.SegmentsLeft == 0 || p.SRH.SegmentsLeft > p.SRH.LastEntry+1 ||
		p.SRH.NumSegments() > p4.SrhSegments {
		return nil
	}
	receivers, named, err := p.SRH.EndMTReceivers(nil, tlvType, node)
	if err != nil || len(receivers) > p4.MtTlvReceivers {
		return nil
	}
	if !named {
		return r.tree.all(r.packet)
	}
	var out []wire
	for _, to := range receivers {
		for _, b := range r.tree.branches {
			if b.addr == to.Addr {
				out = append(out, r.tree.deliveredTo(b.port, to.Addr, to.QPN, r.packet))
			}
		}
	}
	return out
}

func (r *edgeRig) check(t *testing.T, srh []byte) {
	t.Helper()
	frame := r.frame(srh)
	want := r.want(frame)
	before := readCells(t, r.target)
	r.target.advance(time.Millisecond) // the switch bounds what circulates in a while
	got := r.target.inject(t, wire{7, frame})
	compareOutput(t, "edge", got, want)
	dropped := 0
	for c, n := range readCells(t, r.target) {
		dropped += n - before[c]
	}
	if len(got) == 0 && dropped == 0 {
		t.Error("nothing left and nothing was counted")
	}
	if t.Failed() {
		t.Logf("SRH % x", srh)
	}
}

// edgeSeeds are SRHs of all sorts.
func edgeSeeds(r *edgeRig) [][]byte {
	all := make([]int, len(r.tree.branches))
	for i := range all {
		all[i] = i
	}
	pad, hmac := []byte{packet.TLVPad1, packet.TLVPadN, 1, 0}, packet.HMAC{D: true, KeyID: 3,
		Digest: pattern(16)}.Append(nil)
	var seeds [][]byte
	for _, tlvs := range [][]byte{
		nil,
		inbandTLVs(edge(node, r.tree.asTLV(0, 1)...)),
		inbandTLVs(edge(nodeBehind(5), receiver(host(5), 5)), pad, edge(node, r.tree.asTLV(3)...), hmac,
			edge(node, r.tree.asTLV(4, 5)...)),
		inbandTLVs(edge(node, r.tree.asTLV(all...)...)),
		inbandTLVs(hmac, edge(nodeBehind(5), receiver(host(5), 5))),
	} {
		h := r.tree.onTree(r.packet, tlvs...).SRH
		h.NextHeader = packet.NextHeaderIPv6
		seeds = append(seeds, h.Append(nil))
	}
	return seeds
}

// TestEdgeMutations damages SRHs octet by octet: never is a packet copied to some of its receivers
// only.
func TestEdgeMutations(t *testing.T) {
	r := newEdgeRig(t)
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	const rounds = 500
	delivered := 0
	for _, srh := range edgeSeeds(r) {
		r.check(t, srh)
		for range rounds {
			b := bytes.Clone(srh)
			for range 1 + rng.IntN(2) {
				i := rng.IntN(len(b))
				if rng.IntN(2) == 0 { // the headers of SRH and TLVs are few octets of many
					i = rng.IntN(8)
					if rng.IntN(2) == 0 && len(b) > 64 {
						i = []int{40, 41, 60, 61, 62, 63}[rng.IntN(6)]
					}
				}
				b[i] = []byte{b[i] + 1, b[i] - 1, 0, byte(rng.Uint32()), tlvType}[rng.IntN(5)]
			}
			r.check(t, b)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			if len(r.want(r.frame(b))) > 0 {
				delivered++
			}
		}
	}
	if delivered == 0 || delivered == 5*rounds {
		t.Errorf("%d of %d packets were delivered: the damage is always or never fatal", delivered,
			5*rounds)
	}
}

// FuzzEdge is the same with whatever the fuzzer makes up.
func FuzzEdge(f *testing.F) {
	r := newEdgeRig(f)
	for _, srh := range edgeSeeds(r) {
		f.Add(srh)
	}
	f.Fuzz(func(t *testing.T, srh []byte) {
		if len(srh) <= packet.SRHMaxLen {
			r.check(t, srh)
		}
	})
}
