package connect

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet"
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
	o := cm.Offer{MTU: s.MTU(), BaseVA: s.Spec.BaseVA, Epoch: latest.Epoch}
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

// The controller asks a listening host again after redial, or after soon if the switch of the host
// is not ready.
const (
	redial = 5 * time.Second
	soon   = 10 * time.Millisecond
)

// dial connects to receivers that listen, now and then until all are connected.
func (s *session) dial() {
	again := redial
	for i := range s.Spec.Receivers {
		a := s.Spec.Receivers[i].Address
		_, has := s.Receivers[a]
		busy := has || s.late[a] != nil || slices.ContainsFunc(s.cm.Conns(), func(c rdmacm.Conn) bool {
			return c.Peer == a && c.State != rdmacm.TimeWait
		})
		h := s.env.Net.Host(a)
		if busy || h == nil {
			continue
		}
		// The switch drops an answer that arrives before the entities that let the answer pass. The host
		// repeats the answer only after seconds.
		if s.env.Switches.Connected(h.Switch) &&
			s.env.Switches.Of(h.Switch, reconcile.Owner(s.Index)).Lacks() {
			again = soon
			continue
		}
		s.request(a)
	}
	s.settle()
	s.after(s.env.Now+again, s.dial)
}

// request asks a receiver that may listen for a connection.
func (s *session) request(to netip.Addr) {
	spec := s.Spec
	// The request uses another GUID than the answers. With the GUID of the answers, a host that
	// connects by itself meanwhile would treat the request as stale and end the present connection
	// (IBTA chapter 12).
	r := cm.REQ{CAGUID: ^guid(spec.ProxyAddress), QPN: spec.DesignatedQPN,
		StartingPSN: spec.InitialPSN, RemoteTimeout: rdmacm.ResponseExponent,
		LocalTimeout: rdmacm.ResponseExponent, RetryCount: 7, RNRRetryCount: 7,
		PKey: packet.DefaultPKey, PathMTU: s.Admit(&rdmacm.Conn{Peer: to}).MTU,
		MaxCMRetries: 15, LocalLID: cm.NoLID, RemoteLID: cm.NoLID, LocalGID: spec.ProxyAddress,
		RemoteGID: to, HopLimit: 64, ACKTimeout: 18}
	private := cm.IP{SrcPort: spec.Connect.Port, Src: spec.ProxyAddress, Dst: to}.Append(nil)
	copy(r.Private[:], s.offer().Append(private))
	s.cm.Request(s.now(), to, spec.Connect.Port, r)
}
