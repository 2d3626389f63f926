package fabric

import (
	"fmt"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// sourcePorts are the ports each source may send on.
const sourcePorts = p4.MtSources / p4.MtGroups

// limitTree returns one of the maximum number of trees in a switch: the tree starts here, with two
// receivers and two children. Children count as branches like receivers. The last tree has the
// maximum number of branches.
func limitTree(id uint16) tree {
	t := tree{group: newGroup(id, 2), children: []uint32{7, 8}}
	if id == p4.MtGroups-1 {
		t = tree{group: newGroup(id, p4.MtBranches)}
	}
	for b := range t.branches {
		t.branches[b].addr = addr(fmt.Sprintf("fd00:a:2:%x::%x", id, b))
	}
	return t
}

// answering is the group with the children among its branches.
func (t tree) answering() group {
	return t.where(func(g *group) {
		for i, port := range t.children {
			b := branch{index: uint8(childRID(i) - 1), port: port, addr: nodeBehind(port), child: true}
			g.branches = append(g.branches, b)
			g.live |= 1 << b.index
		}
	})
}

// limitEntries are all entries of a tree and its source.
func limitEntries(t tree) []*p4v1.Update {
	updates := append(t.answering().responses(), withoutState(t.downward())...)
	for port := uint32(1); port <= sourcePorts; port++ {
		updates = append(updates,
			entry(p4.TableMtSource, []any{t.id, port, t.source()}, p4.ActionMtEncapsReplicate, node, t.sid(),
				t.mcast(), len(t.branches) > 0))
	}
	return updates
}

// TestEmbeddedLimits makes one switch carry the declared number of groups at the same time, and a
// group with the declared number of branches. Every group copies its own data and remembers its own
// responses.
func TestEmbeddedLimits(t *testing.T) {
	e := newEmbedded()
	e.reset(t)
	e.write(t, baseEntries())
	for id := range uint16(p4.MtGroups) {
		e.write(t, limitEntries(limitTree(id)))
	}

	t.Run("data", func(t *testing.T) {
		for id := range uint16(p4.MtGroups) {
			tr := limitTree(id)
			p := tr.request(packet.OpWriteOnly, uint32(id), 64)
			port := 1 + uint32(id)%sourcePorts
			compareOutput(t, fmt.Sprintf("group %d, from the source on port %d", id, port),
				e.inject(t, in(port, p)), tr.fromSource(p))
			if t.Failed() {
				return
			}
		}
	})
	t.Run("tree", func(t *testing.T) {
		for id := range uint16(p4.MtGroups) {
			tr := limitTree(id)
			p := tr.onTree(tr.request(packet.OpWriteOnly, uint32(id), 64))
			want := tr.all(p)
			for _, port := range tr.children {
				want = append(want, tr.passed(port, p))
			}
			compareOutput(t, fmt.Sprintf("group %d, at its SID", id), e.inject(t, in(7, p)), want)
			if t.Failed() {
				return
			}
		}
	})
	// All but the last branch of every group acknowledge before the last of any: what one group
	// remembers must outlast all others. Branch b acknowledges psn(id)+b, so the first is the slowest.
	psn := func(id uint16) uint32 { return 0x1000 * (uint32(id) + 1) }
	t.Run("responses", func(t *testing.T) {
		for id := range uint16(p4.MtGroups) {
			g := limitTree(id).answering()
			last := len(g.branches) - 1
			for b := range last {
				compareOutput(t, fmt.Sprintf("group %d, branch %d", id, b),
					e.inject(t, g.ack(b, psn(id)+uint32(b), uint32(id))), nil)
			}
			compareOutput(t, fmt.Sprintf("group %d, CNP", id), e.inject(t, g.cnp(last)),
				[]wire{g.opened(last)})
			if t.Failed() {
				return
			}
		}
		for id := range uint16(p4.MtGroups) {
			g := limitTree(id).answering()
			last := len(g.branches) - 1
			compareOutput(t, fmt.Sprintf("group %d, last branch", id),
				e.inject(t, g.ack(last, psn(id)+uint32(last), uint32(id))),
				[]wire{g.upAck(psn(id), uint32(id))})
			if t.Failed() {
				return
			}
		}
	})
	t.Run("state", func(t *testing.T) {
		for id := range uint16(p4.MtGroups) {
			g := limitTree(id).answering()
			for i, b := range g.branches {
				want := report{
					port: p4.CpuPort, reason: p4.PacketInReasonState, group: id, branch: b.index, epoch: g.epoch,
					flags:  flagValid | flagLast,
					ackPSN: psn(id) + uint32(i), msn: uint32(id), lastPSN: psn(id) + 1,
					cnpBranch: g.branches[len(g.branches)-1].index,
				}
				if i == len(g.branches)-1 {
					want.cnps = 1
				}
				compareOutput(t, fmt.Sprintf("group %d, state of branch %d", id, b.index),
					e.inject(t, g.ask(b.index)), []wire{want.wire()})
			}
			if t.Failed() {
				return
			}
		}
	})
	t.Run("full", func(t *testing.T) {
		more := newGroup(p4.MtGroups, 0)
		for _, u := range append(more.responses(),
			entry(p4.TableMtSource, []any{more.id, 1, more.source()}, p4.ActionMtInband)) {
			if err := e.device.Write(e.now,
				&p4v1.WriteRequest{DeviceId: 1, Updates: []*p4v1.Update{u}}); err == nil {
				t.Errorf("one more than fits: %v", u)
			}
		}
	})
}
