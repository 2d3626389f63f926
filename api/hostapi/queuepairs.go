package hostapi

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	pb "github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// LocalMark begins the names of profiles made by applications of a host through mrc_ctl; no profile
// name of a controller begins with LocalMark.
const LocalMark = "~"

// QueuePairs lists the queue pairs of applications on a host: in place of what was said before.
type QueuePairs struct {
	Groups  []QueuePairGroup
	LeftOut int // queue pairs that the groups leave out
}

// A QueuePairGroup counts queue pairs with the same QueuePairKey.
type QueuePairGroup struct {
	QueuePairKey
	Count  int // at least 1
	Failed int // of these
}

// A QueuePairKey has the attributes by which queue pairs are counted together.
type QueuePairKey struct {
	Peer netip.Addr
	// Profile and CC name the profiles of the queue pairs; empty: none, or the device's own profile.
	// LocalMark and a number name a profile made by an application.
	Profile, CC string
	Hints       QPHints // that their application has given; zero: none
}

// Compare orders groups by peer, then by profiles and hints.
func (k QueuePairKey) Compare(o QueuePairKey) int {
	return cmp.Or(k.Peer.Compare(o.Peer), cmp.Compare(k.Profile, o.Profile), cmp.Compare(k.CC, o.CC),
		cmp.Compare(k.Hints.QPsPerPeer, o.Hints.QPsPerPeer),
		cmp.Compare(k.Hints.SendPeers, o.Hints.SendPeers),
		cmp.Compare(k.Hints.RemotePeers, o.Hints.RemotePeers))
}

func encodeQueuePairs(m *QueuePairs) *pb.QueuePairs {
	out := &pb.QueuePairs{LeftOut: uint32(m.LeftOut)}
	for _, g := range m.Groups {
		e := &pb.QueuePairGroup{Peer: g.Peer.AsSlice(), Profile: g.Profile, CcProfile: g.CC,
			Count: uint32(g.Count), Failed: uint32(g.Failed)}
		if g.Hints != (QPHints{}) {
			e.Hints = encodeHints(g.Hints)
		}
		out.Groups = append(out.Groups, e)
	}
	return out
}

func decodeQueuePairs(m *pb.QueuePairs) (*QueuePairs, *FieldError) {
	out := &QueuePairs{LeftOut: int(m.GetLeftOut())}
	seen := make(map[QueuePairKey]bool)
	for i, e := range m.GetGroups() {
		g, err := decodeGroup(e)
		if err == nil && seen[g.QueuePairKey] {
			err = invalid("", "another group has the same peer, profiles and hints")
		}
		if err != nil {
			return nil, err.within("groups[%d]", i)
		}
		seen[g.QueuePairKey] = true
		out.Groups = append(out.Groups, g)
	}
	return out, nil
}

func decodeGroup(m *pb.QueuePairGroup) (g QueuePairGroup, _ *FieldError) {
	peer, ok := netip.AddrFromSlice(m.GetPeer())
	if !ok || !isAddress(peer) {
		return g, invalid("peer", "%x, want an IPv6 address of 16 octets or an IPv4 address of 4",
			m.GetPeer())
	}
	if err := cmp.Or(checkUsed("profile", m.GetProfile()),
		checkUsed("cc_profile", m.GetCcProfile())); err != nil {
		return g, err
	}
	if m.GetCount() < 1 || m.GetCount() > MaxQPHint || m.GetFailed() > m.GetCount() {
		return g, invalid("count", "%d, %d of them failed, want 1 to %d", m.GetCount(), m.GetFailed(),
			MaxQPHint)
	}
	h := decodeHints(m.GetHints())
	if err := h.validate(); err != nil {
		return g, err
	}
	return QueuePairGroup{QueuePairKey{peer, m.GetProfile(), m.GetCcProfile(), h}, int(m.GetCount()),
		int(m.GetFailed())}, nil
}

// checkUsed checks the name of a profile that queue pairs use.
func checkUsed(field, name string) *FieldError {
	if name == "" {
		return nil
	}
	return checkName(field, strings.TrimPrefix(name, LocalMark))
}

// String is for people: peer, profile and count.
func (g QueuePairGroup) String() string {
	return fmt.Sprintf("%d to %v by %q", g.Count, g.Peer, g.Profile)
}
