package controllertest

import (
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Network is a set of switches and the links between their ports.
type Network struct {
	Devices map[string]*Device
	// Peer returns the switch and port at the other end of a link, and false for
	// ports without a link, or with a dead one.
	Peer func(sw string, port uint32) (peer string, peerPort uint32, ok bool)
}

// maxCopies ends a loop.
const maxCopies = 10000

// Copies follows a packet that a source sends to a proxy address, in provisioned mode, and returns
// the number of copies for each receiver. lost names the copies lost on the way.
func (n *Network) Copies(
	sw string, port uint32, source, proxy netip.Addr,
) (copies map[netip.Addr]int, lost []string) {
	t := tracer{n: n, copies: make(map[netip.Addr]int)}
	d := n.Devices[sw]
	group, ok := d.arg(key(p4.TableMtProxy, entry.Exact("dst_addr", entry.Addr(proxy))), "group")
	if !ok {
		return t.copies, []string{sw + " does not know " + proxy.String()}
	}
	start := key(p4.TableMtSource, entry.Exact("group", entry.Uint(group)),
		entry.Exact("port", entry.Uint(uint64(port))), entry.Exact("src_addr", entry.Addr(source)))
	mcast, ok := d.arg(start, "mcast_group")
	if !ok {
		return t.copies, []string{sw + " has no source of the group"}
	}
	t.replicate(d, group, mcast)
	return t.copies, t.lost
}

func key(table string, match ...entry.Match) entry.Key {
	return entry.In(table, entry.Action{}, match...).Key()
}

func (d *Device) action(k entry.Key) (entry.Action, bool) {
	t, ok := d.Entities[k].(entry.Table)
	return t.Action, ok
}

func (d *Device) arg(k entry.Key, name string) (uint64, bool) {
	a, ok := d.action(k)
	if !ok {
		return 0, false
	}
	return a.Arg(name).Uint64()
}

type tracer struct {
	n      *Network
	copies map[netip.Addr]int
	lost   []string
	made   int
}

func (t *tracer) lose(format string, args ...any) {
	if len(t.lost) < 20 {
		t.lost = append(t.lost, fmt.Sprintf(format, args...))
	}
}

func (t *tracer) replicate(d *Device, group, mcast uint64) {
	m, ok := d.Entities[entry.Multicast{ID: uint32(mcast)}.Key()].(entry.Multicast)
	if !ok {
		t.lose("%s has no multicast group %d", d.Name, mcast)
		return
	}
	for _, r := range m.Replicas {
		t.made++
		if t.made > maxCopies {
			t.lose("a loop")
			return
		}
		t.copy(d, group, r)
	}
}

func (t *tracer) copy(d *Device, group uint64, r entry.Replica) {
	a, ok := d.action(key(p4.TableMtReplica, entry.Exact("group", entry.Uint(group)),
		entry.Exact("rid", entry.Uint(uint64(r.Instance)))))
	switch {
	case !ok:
		t.lose("%s has no replica %d of group %d", d.Name, r.Instance, group)
	case a.Name == p4.ActionToReceiver || a.Name == p4.ActionToReceiverReth:
		to, _ := a.Arg("receiver").Addr6()
		t.copies[to]++
	case a.Name == p4.ActionToChild:
		t.child(d, r.Port, a)
	default:
		t.lose("%s does %s", d.Name, a)
	}
}

func (t *tracer) child(d *Device, port uint32, a entry.Action) {
	neighbor, _ := a.Arg("neighbor").Uint64()
	if _, ok := d.action(key(p4.TableNeighbor, entry.Exact("id", entry.Uint(neighbor)))); !ok {
		t.lose("%s has no neighbor %d", d.Name, neighbor)
		return
	}
	peer, _, ok := t.n.Peer(d.Name, port)
	if !ok {
		t.lose("port %d of %s leads nowhere", port, d.Name)
		return
	}
	sid, _ := a.Arg("sid").Addr6()
	next := t.n.Devices[peer]
	for k, e := range next.Entities {
		e, ok := e.(entry.Table)
		if !ok || e.Name != p4.TableLocalSid {
			continue
		}
		m, _ := e.Field("dst_addr")
		if at, _ := m.Value.Addr6(); at != sid || m.Bits != 128 {
			continue
		}
		group, ok1 := next.arg(k, "group")
		mcast, ok2 := next.arg(k, "mcast_group")
		if ok1 && ok2 {
			t.replicate(next, group, mcast)
			return
		}
	}
	t.lose("%s does not know SID %v", peer, sid)
}
