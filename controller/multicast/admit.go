package multicast

import (
	"crypto/subtle"
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet/cm"
)

// mayConnect returns why an application may not connect, "" where it may.
func (g *group) mayConnect(c *rdmacm.Conn) string {
	token := g.token
	if token == "" {
		return ""
	}
	var want [cm.TokenLen]byte
	copy(want[:], token)
	if j := memory(c); !j.HasToken || subtle.ConstantTimeCompare(j.Token[:], want[:]) != 1 {
		return "the token in its private data is not that of spec.connect.token"
	}
	return ""
}

// mayReceive is mayConnect of a receiver.
func (f *Feature) mayReceive(g *group, c *rdmacm.Conn) string {
	named := g.item.Spec.HasReceiver(c.Peer)
	if !named && !g.item.Spec.Connect.Admits(c.Peer) {
		return fmt.Sprintf("%v is not the address of a receiver of the spec", c.Peer)
	}
	if s, ok := g.cm.Conn(g.source); ok && s.Peer == c.Peer {
		return fmt.Sprintf("%v is the source", c.Peer)
	}
	if why := f.foreign(g, c.Peer); !named && why != "" {
		return why
	}
	if why := f.taken(g, c); why != "" {
		return why
	}
	return g.mayConnect(c)
}

// foreign returns why a host that the spec does not name may not be part of a group: it is another
// project's.
func (f *Feature) foreign(g *group, a netip.Addr) string {
	if name, ok := f.env.Net.HostName(a); !ok || f.MayUse != nil && !f.MayUse(g.name, name) {
		return fmt.Sprintf("%v is not assigned to the project of the group", a)
	}
	return ""
}

// taken returns why the queue pair of an application may not be part of a group: it is another
// group's.
func (f *Feature) taken(g *group, c *rdmacm.Conn) string {
	if slices.ContainsFunc(f.pairs[api.QueuePair{Address: c.Peer, QPN: c.PeerQPN}],
		func(o *group) bool { return o != g }) {
		return fmt.Sprintf("queue pair %d belongs to another group", c.PeerQPN)
	}
	return ""
}
