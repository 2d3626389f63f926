package connect

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/internal/timers"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
)

// Feature connects the hosts of multicast groups.
type Feature struct {
	feature.Base
	env    *feature.Env
	groups member.Groups

	timers   timers.Timers
	sessions map[uint16]*session // of groups with spec.connect, by index
	moved    bool                // a tree follows from the present input
}

// New returns the feature for groups.
func New(env *feature.Env, groups member.Groups) *Feature {
	return &Feature{env: env, groups: groups, sessions: make(map[uint16]*session)}
}

// session runs RDMA CM for a group, from the spec that begins the session to the next spec that
// needs other connections.
type session struct {
	*Feature
	member.Group
	agreed    api.MulticastGroupSpec // that connections rest on
	version   uint64                 // of agreed
	cm        *rdmacm.Manager
	beginning bool // the first PSN of the source is being asked for
	// late holds receivers that joined after the source and may have missed packets.
	late    map[netip.Addr]*lateJoin
	refused map[netip.Addr]string
	psn     uint32 // of frames
}

// Tick implements feature.Feature.
func (f *Feature) Tick() { f.timers.Run(f.env.Now) }

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) { return f.timers.Next() }

// Settle implements feature.Feature: sessions follow the specs and the trees of their groups.
func (f *Feature) Settle() (more bool) {
	for _, i := range f.groups.Renewed() {
		f.follow(i)
	}
	more, f.moved = f.moved, false
	return more
}

// follow begins, continues or ends the session of a group.
func (f *Feature) follow(index uint16) {
	g, ok := f.groups.Group(index)
	connects := ok && g.Spec != nil && g.Spec.Connect != nil
	s := f.sessions[index]
	moved := false
	if s != nil && (!connects || g.Spec != s.Spec || reconnects(&s.agreed, g.Spec)) {
		s.end()
		s, moved = nil, ok && g.Spec != nil
	}
	if connects && s == nil {
		s = f.begin(g)
	}
	if connects && s.version != g.Version {
		s.version, s.agreed = g.Version, g.Spec.Clone()
		moved = s.leaveMissing() || moved
	}
	if moved {
		f.moved = true
		g.Changed(true)
	}
	if connects {
		s.settle()
	}
}

// begin starts RDMA CM for a group, with the connections that an earlier controller had.
func (f *Feature) begin(g member.Group) *session {
	s := &session{Feature: f, Group: g, agreed: g.Spec.Clone(), version: g.Version,
		cm:   rdmacm.New(rdmacm.Config{First: uint32(f.env.Wall().Unix()) << 6}),
		late: make(map[netip.Addr]*lateJoin), refused: make(map[netip.Addr]string)}
	f.sessions[g.Index] = s
	if s.Receivers == nil {
		s.Receivers = make(map[netip.Addr]member.Joined)
	}
	for _, c := range s.Connections {
		s.cm.Load(s.now(), c)
	}
	s.resume()
	s.dial()
	return s
}

// resume continues with the connections that an earlier controller has not answered.
func (s *session) resume() {
	for _, c := range s.cm.Conns() {
		switch {
		case c.State != rdmacm.Asked && c.State != rdmacm.Answered:
		case c.LocalID == s.Source:
			s.beginSource()
		default:
			if s.Receivers[c.Peer].Conn == c.LocalID {
				delete(s.Receivers, c.Peer) // it may have missed something
			}
			s.joinLate(&c)
		}
	}
}

// end disconnects all hosts of a group.
func (s *session) end() {
	delete(s.sessions, s.Index)
	for _, c := range s.cm.Conns() {
		s.cm.Disconnect(s.now(), c.LocalID)
	}
	packets, _ := s.cm.Take()
	for _, p := range packets {
		s.send(p)
	}
	*s.Hosts = member.Hosts{}
}

// now is a time above 0, as package rdmacm wants it.
func (f *Feature) now() time.Duration { return f.env.Now + 1 }

// reconnects reports whether applications must connect anew after a change of the spec.
func reconnects(old, spec *api.MulticastGroupSpec) bool {
	return spec.Connect == nil || old.Connect == nil ||
		old.Connect.Port != spec.Connect.Port || old.Connect.MTU != spec.Connect.MTU ||
		old.Connect.Source != spec.Connect.Source ||
		old.ProxyAddress != spec.ProxyAddress || old.DesignatedQPN != spec.DesignatedQPN ||
		old.InitialPSN != spec.InitialPSN
}

// leaveMissing ends the connections of hosts that the spec has no more. It reports whether the tree
// follows.
func (s *session) leaveMissing() (moved bool) {
	for _, c := range s.cm.Conns() {
		stays := s.Spec.Connect.Admits(c.Peer) || s.Spec.HasReceiver(c.Peer)
		if c.LocalID == s.Source {
			stays = s.Spec.Connect.Source == api.SourceAny || c.Peer == s.Spec.Source.Address
		}
		if !stays {
			s.cm.Disconnect(s.now(), c.LocalID)
			moved = s.left(&c) || moved
		}
	}
	return moved
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
