package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
)

func clockTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// addressText returns an address, and nothing for the zero address.
func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func switchTable(w *bytes.Buffer, switches []api.SwitchStatus) {
	g := newGrid("NAME", "NODE", "ADDRESS", "DEVICE", "STATE", "SINCE", "ENTRIES", "PENDING", "NOTE")
	for i := range switches {
		s := &switches[i]
		state, device := "disconnected", ""
		switch {
		case !s.Managed:
			state = "not managed"
		case s.Synced:
			state = "in sync"
		case s.Connected:
			state = "writing"
		}
		if s.Managed {
			device = fmt.Sprint(s.DeviceID)
		}
		var notes []string
		if s.Reason != "" {
			notes = append(notes, s.Reason)
		}
		for _, x := range []api.ConditionType{api.OrphansKept, api.InventoryDiffers, api.Miscabled,
			api.Undescribed} {
			if c := s.Conditions.Find(x); c != nil && c.Status {
				notes = append(notes, c.Message)
			}
		}
		g.row(s.Name, s.Node, s.Address, device, state, clockTime(s.Since), s.Entries, s.Pending,
			strings.Join(append(notes, s.Errors...), "; "))
	}
	g.writeTo(w)
}

func tableTable(w *bytes.Buffer, tables []api.Table) {
	g := newGrid("TABLE", "SIZE", "FIELDS", "ACTIONS")
	for _, t := range tables {
		g.row(t.Name, t.Size, strings.Join(t.Fields, ", "), strings.Join(t.Actions, ", "))
	}
	g.writeTo(w)
}

// entryTable shows the entries of one table: a column for each field of the key.
func entryTable(w *bytes.Buffer, entries []api.TableEntry) {
	var names []string
	priorities := false
	for i := range entries {
		priorities = priorities || entries[i].Priority != 0
		for _, f := range entries[i].Match {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	var heading []string
	for _, n := range names {
		heading = append(heading, strings.ToUpper(n))
	}
	if priorities {
		heading = append(heading, "PRIORITY")
	}
	g := newGrid(append(heading, "ACTION")...)
	for i := range entries {
		e := &entries[i]
		var row []any
		for _, n := range names {
			row = append(row, matchCell(e, n))
		}
		if priorities {
			row = append(row, e.Priority)
		}
		g.row(append(row, actionCell(e))...)
	}
	g.writeTo(w)
}

func matchCell(e *api.TableEntry, field string) string {
	for _, f := range e.Match {
		if f.Name == field {
			return cell(f.Value)
		}
	}
	if e.Default {
		return "(default)"
	}
	return "*"
}

func actionCell(e *api.TableEntry) string {
	var params []string
	for _, p := range e.Params {
		params = append(params, p.Name+"="+cell(p.Value))
	}
	switch {
	case e.Action != "":
		return e.Action + "(" + strings.Join(params, ", ") + ")"
	case e.Group != 0:
		return fmt.Sprintf("group %d", e.Group)
	case e.Member != 0:
		return fmt.Sprintf("member %d", e.Member)
	}
	return ""
}

func counterTable(w *bytes.Buffer, counters []api.Counter) {
	g := newGrid("COUNTER", "INDEX", "NAME", "PACKETS", "OCTETS")
	for _, c := range counters {
		g.row(c.Counter, c.Index, c.Name, c.Packets, c.Octets)
	}
	g.writeTo(w)
}
