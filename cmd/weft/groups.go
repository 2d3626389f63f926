package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
)

func groupTable(w *bytes.Buffer, groups []api.MulticastGroup) {
	g := newGrid("NAME", "PROXY", "QPN", "SOURCE", "RECEIVERS", "MODE", "EPOCH", "ACCEPTED",
		"PROGRAMMED", "DEGRADED")
	for i := range groups {
		s, t := &groups[i].Spec, &groups[i].Status
		g.row(groups[i].Name, s.ProxyAddress, s.DesignatedQPN, s.Source.Address, len(s.Receivers), s.Mode,
			t.Epoch,
			conditionCell(t.Conditions, api.Accepted), conditionCell(t.Conditions, api.Programmed),
			conditionCell(t.Conditions, api.Degraded))
	}
	g.writeTo(w)
}

// conditionCell returns "yes" or "no", with the reason if the resource is not well.
func conditionCell(all api.Conditions, t api.ConditionType) string {
	c := all.Find(t)
	switch {
	case c == nil:
		return ""
	case c.Status == (t != api.Degraded):
		return yesNo(c.Status)
	}
	return yesNo(c.Status) + " (" + c.Reason + ")"
}

func groupDetail(w *bytes.Buffer, m *api.MulticastGroup) {
	s, t := &m.Spec, &m.Status
	g := newGrid()
	g.row("Name:", m.Name)
	g.row("Version:", m.Version)
	if m.Job != "" {
		g.row("Made for job:", m.Job)
	}
	g.row("Proxy address:", s.ProxyAddress)
	g.row("Designated QPN:", s.DesignatedQPN)
	if s.Connect != nil {
		g.row("Source:", s.Source.Address)
		g.row("Connect:", connectText(s.Connect))
	} else {
		g.row("Source:", fmt.Sprintf("%v, QPN %d", s.Source.Address, s.Source.QPN))
	}
	g.row("Initial PSN:", s.InitialPSN)
	g.row("Mode, objective:", fmt.Sprintf("%s, %s", s.Mode, s.Objective))
	g.row("CNP window, limit:", fmt.Sprintf("%v, %d", s.CNPWindow, s.CNPLimit))
	if s.NackHoldoff != 0 {
		g.row("NAK hold-off:", s.NackHoldoff)
	}
	if s.EvictAfter != 0 {
		g.row("Evict after:", s.EvictAfter)
	}
	g.row("Rewrite source:", yesNo(s.RewritesSource()))
	g.row("Index, epoch:", fmt.Sprintf("%d, %d", t.Index, t.Epoch))
	if t.Tree != nil {
		g.row("Tree:", fmt.Sprintf("%d switches, root %s, SID %v, cost %d", len(t.Tree.Nodes),
			t.Tree.Root, t.Tree.SID, t.Tree.Cost))
	}
	g.writeTo(w)
	receiverTable(w, s, t)
	connectionTable(w, t.Connections)
	if len(t.Conditions) == 0 {
		return
	}
	fmt.Fprintln(w)
	g = newGrid("CONDITION", "STATUS", "REASON", "MESSAGE")
	for _, c := range t.Conditions {
		g.row(c.Type, yesNo(c.Status), c.Reason, c.Message)
	}
	g.writeTo(w)
}

func connectText(c *api.GroupConnect) string {
	text := fmt.Sprintf("source to port %d, receivers listen there or connect to %d, path MTU %d",
		c.Port, c.Port+1, c.MTU)
	if c.Token != "" {
		text += ", with a token"
	}
	return text
}

// connectionTable has the applications that are connected; nothing without one.
func connectionTable(w *bytes.Buffer, connections []api.GroupConnection) {
	if len(connections) == 0 {
		return
	}
	fmt.Fprintln(w)
	g := newGrid("CONNECTION", "ROLE", "QPN", "PSN OFFSET", "STATE", "NOTE")
	for _, c := range connections {
		note := ""
		if c.Listens {
			note = "listens"
		}
		offset := ""
		if c.Role == api.RoleReceiver {
			offset = fmt.Sprint(c.PSNOffset)
		}
		g.row(c.Address, c.Role, c.QPN, offset, c.State, note)
	}
	g.writeTo(w)
}

func receiverTable(w *bytes.Buffer, s *api.MulticastGroupSpec, t *api.MulticastGroupStatus) {
	fmt.Fprintln(w)
	g := newGrid("RECEIVER", "QPN", "SWITCH", "BRANCH", "PROGRAMMED", "NOTE")
	for _, r := range s.Receivers {
		var sw, branch, programmed string
		for _, rs := range t.Receivers {
			if rs.Address == r.Address {
				sw, branch, programmed = rs.Switch, fmt.Sprint(rs.Branch), yesNo(rs.Programmed)
			}
		}
		var notes []string
		if r.StartPSN != nil {
			notes = append(notes, fmt.Sprintf("from PSN %d", *r.StartPSN))
		}
		if r.PSN != nil {
			notes = append(notes, fmt.Sprintf("counts from PSN %d", *r.PSN))
		}
		if r.VA != nil && r.RKey != nil {
			notes = append(notes, fmt.Sprintf("va %#x, rkey %#x", *r.VA, *r.RKey))
		}
		for _, st := range t.StalledReceivers {
			if st.Address != r.Address {
				continue
			}
			if st.Valid {
				notes = append(notes, fmt.Sprintf("stalled at PSN %d since %s", st.AckPSN, clockTime(st.Since)))
			} else {
				notes = append(notes, "has not answered yet; stalled since "+clockTime(st.Since))
			}
		}
		for _, a := range t.EvictedReceivers {
			if a == r.Address {
				notes = append(notes, "evicted")
			}
		}
		g.row(r.Address, r.QPN, sw, branch, programmed, strings.Join(notes, "; "))
	}
	g.writeTo(w)
}
