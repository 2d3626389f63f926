package nic

import (
	"slices"

	"github.com/weft-sdn/weft/api/hostapi"
)

// HintsBy has QueuePairs ask for the hints that applications have given, by numbers of queue pairs.
func (n *NIC) HintsBy(f func() map[uint32]hostapi.QPHints) { n.hints = f }

// QueuePairs groups the queue pairs whose paths are the NIC's to choose: by peer, profiles and
// hints. It makes a NIC an agent.Occupied.
func (n *NIC) QueuePairs() []hostapi.QueuePairGroup {
	var hints map[uint32]hostapi.QPHints
	if n.hints != nil {
		hints = n.hints()
	}
	by := make(map[hostapi.QueuePairKey]*hostapi.QueuePairGroup)
	for _, f := range n.flows {
		k := hostapi.QueuePairKey{Peer: f.peer, Hints: hints[f.qpn]}
		if f.profile != nil {
			k.Profile = f.profile.is.Name
		}
		if cc := f.cc(f.profile); f.window != nil && n.state.CCProfile(cc) != nil {
			k.CC = cc
		}
		g := by[k]
		if g == nil {
			g = &hostapi.QueuePairGroup{QueuePairKey: k}
			by[k] = g
		}
		g.Count++
		if f.qp.Failed() {
			g.Failed++
		}
	}
	out := make([]hostapi.QueuePairGroup, 0, len(by))
	for _, g := range by {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b hostapi.QueuePairGroup) int { return a.Compare(b.QueuePairKey) })
	return out
}
