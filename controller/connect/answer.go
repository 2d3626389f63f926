package connect

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet/cm"
)

// waitExponent has a source wait 4.096 us times 2^waitExponent (17 s) for the answer of the tree.
const waitExponent = 22

// guid returns the CA GUID of a group. Hosts use the GUID to distinguish groups with the same
// designated queue pair.
func guid(proxy netip.Addr) uint64 {
	sum := sha256.Sum256(proxy.AsSlice())
	return binary.BigEndian.Uint64(sum[:])
}

// where is [member.Tree.Where], unless the session ends meanwhile.
func (s *session) where(with func(psn, msn uint32, idle bool)) {
	atOnce := true
	s.Where(func(psn, msn uint32, idle bool) {
		if !s.alive() {
			return
		}
		if with(psn, msn, idle); !atOnce {
			s.settle()
		}
	})
	atOnce = false
}

// beginSource finds the first PSN of a source.
func (s *session) beginSource() {
	s.beginning = true
	s.where(func(psn, _ uint32, _ bool) { s.First, s.beginning = psn, false })
}

// accept answers the request of a receiver that connected by itself, or confirms the answer of a
// receiver that listens.
func (s *session) accept(id uint32) {
	c, ok := s.cm.Conn(id)
	switch {
	case ok && c.State == rdmacm.Asked:
		s.cm.Accept(s.now(), id, s.answer(s.Spec.InitialPSN))
	case ok && c.State == rdmacm.Answered:
		s.cm.Confirm(id)
		s.tell(&c, api.EventConnectionUp, "")
	}
}

// answer is the REP of a group: no READ, no ATOMIC, and as many RNR retries as it takes.
func (s *session) answer(psn uint32) cm.REP {
	r := cm.REP{QPN: s.Spec.DesignatedQPN, StartingPSN: psn, Failover: cm.FailoverUnsupported,
		RNRRetryCount: 7, CAGUID: guid(s.Spec.ProxyAddress)}
	copy(r.Private[:], s.offer().Append(nil))
	return r
}

// offer is what the source may write to: the memory that every receiver has.
func (s *session) offer() cm.Offer {
	latest, _, _ := s.Now()
	o := cm.Offer{MTU: s.MTU(nil, nil), BaseVA: s.Spec.BaseVA, Epoch: latest.Epoch}
	first := true
	for _, a := range slices.SortedFunc(maps.Keys(s.Receivers), netip.Addr.Compare) {
		if c, has := s.cm.Conn(s.Receivers[a].Conn); has {
			m := member.Memory(&c)
			if first {
				o.RKey, o.Length, first = m.RKey, m.Length, false
			}
			o.Length = min(o.Length, m.Length)
		}
	}
	return o
}

// admitSource answers the request of a source when the tree is ready for it.
func (s *session) admitSource() {
	c, ok := s.cm.Conn(s.Source)
	if !ok || c.State != rdmacm.Asked || s.beginning ||
		len(s.Missing(s.Spec, s.Evicted)) > 0 || len(s.Receivers) < int(s.Spec.Connect.AtLeast) {
		return
	}
	t, _, settled := s.Now()
	if settled && t.Source.QPN == c.PeerQPN && s.carries(t) {
		s.cm.Accept(s.now(), c.LocalID, s.answer(s.First))
		s.settle()
	}
}

// carries reports whether a tree has every receiver that is connected.
func (s *session) carries(t *tree.Placement) bool {
	for a := range s.Receivers {
		if _, b := t.FindReceiver(a); b == nil && !s.Evicted[a] {
			return false
		}
	}
	return true
}
