package connect

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
)

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
		PKey: packet.DefaultPKey, PathMTU: s.MTU(s.FillWith(spec, s.Evicted, to, false)),
		MaxCMRetries: 15, LocalLID: cm.NoLID, RemoteLID: cm.NoLID, LocalGID: spec.ProxyAddress,
		RemoteGID: to, HopLimit: 64, ACKTimeout: 18}
	private := cm.IP{SrcPort: spec.Connect.Port, Src: spec.ProxyAddress, Dst: to}.Append(nil)
	copy(r.Private[:], s.offer().Append(private))
	s.cm.Request(s.now(), to, spec.Connect.Port, r)
}
