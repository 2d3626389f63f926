package main

import (
	"bytes"
	"fmt"

	"github.com/weft-sdn/weft/api"
)

// treeTable draws the tree from the root down.
func treeTable(w *bytes.Buffer, d *api.PlannedTree) {
	fmt.Fprintf(w, "group %s, index %d, epoch %d, cost %d, SID %v\n\n", inLine(d.Name), d.Index,
		d.Epoch, d.Tree.Cost, d.Tree.SID)
	g := newGrid("NODE", "BRANCH", "PORT", "QPN", "SID", "BEHAVIOR", "PARENT PORT")
	nodes := make(map[string]*api.TreeNode, len(d.Tree.Nodes))
	for i := range d.Tree.Nodes {
		nodes[d.Tree.Nodes[i].Switch] = &d.Tree.Nodes[i]
	}
	drawn := make(map[string]bool, len(nodes))
	var draw func(name, lead, below string, at *api.TreeBranch)
	draw = func(name, lead, below string, at *api.TreeBranch) {
		n := nodes[name]
		if n == nil || drawn[name] { // a tree that is none
			g.row(lead + name)
			return
		}
		drawn[name] = true
		branch, port := blank, blank
		if at != nil {
			branch, port = fmt.Sprint(at.Index), fmt.Sprint(at.Port)
		}
		behavior := n.Behavior
		if n.TunnelledTo.IsValid() {
			behavior += fmt.Sprintf(" (answers by way of %v)", n.TunnelledTo)
		}
		g.row(lead+name, branch, port, blank, n.SID, behavior, n.Upstream)
		for i := range n.Branches {
			b := &n.Branches[i]
			lead, next := below+"├─", below+"│ "
			if i == len(n.Branches)-1 {
				lead, next = below+"└─", below+"  "
			}
			if b.Child != "" {
				draw(b.Child, lead, next, b)
			} else {
				g.row(lead+b.Receiver.String(), b.Index, b.Port, b.QPN, blank, blank, blank)
			}
		}
	}
	draw(d.Tree.Root, "", "", nil)
	g.writeTo(w)
}

func stateTable(w *bytes.Buffer, d *api.GroupState) {
	complete := ""
	if !d.Complete {
		complete = ", incomplete: some switches did not answer in time"
	}
	fmt.Fprintf(w, "group %s, epoch %d%s\n\n", inLine(d.Group), d.Epoch, inLine(complete))
	g := newGrid("SWITCH", "BRANCH", "OF", "ACKPSN", "EPSN", "WAITS FOR", "MSN", "CNPS", "EPOCH")
	for i := range d.Nodes {
		n := &d.Nodes[i]
		told := "told upstream: nothing yet"
		switch {
		case !n.Answered:
			told = "no answer"
		case n.LastPSN >= 0:
			told = fmt.Sprintf("told upstream: all before %d", n.LastPSN)
		}
		g.row(n.Switch, blank, told, blank, blank, blank, blank, n.CNPTotal, blank)
		for j := range n.Branches {
			b := &n.Branches[j]
			of := b.Child
			if b.Receiver.IsValid() {
				of = b.Receiver.String()
			}
			if !b.Answered {
				g.row(blank, b.Index, of, "", "", "no answer", "", "", "")
				continue
			}
			g.row(blank, b.Index, of, psnCell(b.AckPSN), psnCell(b.EPSN), waitsFor(b), b.MSN, b.CNPCount,
				b.Epoch)
		}
	}
	g.writeTo(w)
}

func psnCell(psn int64) string {
	if psn < 0 {
		return ""
	}
	return fmt.Sprint(psn)
}

func waitsFor(b *api.GroupBranchState) string {
	switch {
	case !b.Valid:
		return "first report"
	case b.RNRTimer != nil:
		return fmt.Sprintf("receive buffer (RNR timer %d)", *b.RNRTimer)
	case b.NAKPending:
		return "retransmission"
	}
	return "nothing"
}
