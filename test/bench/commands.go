package main

import (
	"fmt"
	"strings"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// A cli writes P4Runtime updates as simple_switch_CLI commands, so both switches get their entries
// from one source.
type cli struct {
	strings.Builder
	info  *p4config.P4Info
	nodes int // multicast nodes so far, which is the next one's handle
}

// commands returns the simple_switch commands for a workload: they set the queue depth to queue and
// then write the entries.
func (w *workload) commands(queue int) (string, error) {
	c := cli{info: w.info}
	fmt.Fprintf(&c, "set_queue_depth %d\n", queue)
	for _, r := range w.entries {
		for _, u := range r.GetUpdates() {
			if err := c.update(u); err != nil {
				return "", fmt.Errorf("%s: %w", w.title, err)
			}
		}
	}
	return c.String(), nil
}

func (c *cli) update(u *p4v1.Update) error {
	switch e := u.GetEntity().GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return c.table(u.GetType(), e.TableEntry)
	case *p4v1.Entity_PacketReplicationEngineEntry:
		if g := e.PacketReplicationEngineEntry.GetMulticastGroupEntry(); g != nil {
			fmt.Fprintf(c, "mc_mgrp_create %d\n", g.GetMulticastGroupId())
			for _, r := range g.GetReplicas() {
				//lint:ignore SA1019 the form that every server takes is the one that is written
				port := r.GetEgressPort()
				fmt.Fprintf(c, "mc_node_create %d %d\nmc_node_associate %d %d\n", r.GetInstance(), port,
					g.GetMulticastGroupId(), c.nodes)
				c.nodes++
			}
			return nil
		}
	}
	return fmt.Errorf("no command for %v", u)
}

func (c *cli) table(typ p4v1.Update_Type, e *p4v1.TableEntry) error {
	var table *p4config.Table
	for _, t := range c.info.GetTables() {
		if t.GetPreamble().GetId() == e.GetTableId() {
			table = t
		}
	}
	call := e.GetAction().GetAction()
	var action *p4config.Action
	for _, a := range c.info.GetActions() {
		if a.GetPreamble().GetId() == call.GetActionId() {
			action = a
		}
	}
	if table == nil || action == nil {
		return fmt.Errorf("no such table or action: %v", e)
	}
	command := "table_add"
	if e.GetIsDefaultAction() {
		command = "table_set_default"
	} else if typ != p4v1.Update_INSERT {
		return fmt.Errorf("no command for %v of %v", typ, e)
	}
	fmt.Fprintf(c, "%s %s %s", command, table.GetPreamble().GetName(), action.GetPreamble().GetName())
	if !e.GetIsDefaultAction() {
		for _, f := range table.GetMatchFields() {
			c.match(f, e.GetMatch())
		}
		c.WriteString(" =>")
	}
	for _, p := range action.GetParams() {
		for _, arg := range call.GetParams() {
			if arg.GetParamId() == p.GetId() {
				fmt.Fprintf(c, " %#x", arg.GetValue())
			}
		}
	}
	if e.GetPriority() > 0 { // the smallest wins
		fmt.Fprintf(c, " %d", 1<<24-e.GetPriority())
	}
	c.WriteByte('\n')
	return nil
}

// match writes the value of one field, don't care if there is none.
func (c *cli) match(f *p4config.MatchField, all []*p4v1.FieldMatch) {
	width := int((f.GetBitwidth() + 7) / 8)
	for _, m := range all {
		if m.GetFieldId() != f.GetId() {
			continue
		}
		switch f.GetMatchType() {
		case p4config.MatchField_LPM:
			fmt.Fprintf(c, " 0x%0*x/%d", 2*width, m.GetLpm().GetValue(), m.GetLpm().GetPrefixLen())
		case p4config.MatchField_TERNARY:
			fmt.Fprintf(c, " %#x&&&%#x", m.GetTernary().GetValue(), m.GetTernary().GetMask())
		default:
			fmt.Fprintf(c, " %#x", m.GetExact().GetValue())
		}
		return
	}
	if f.GetMatchType() == p4config.MatchField_LPM {
		c.WriteString(" 0x0/0")
	} else {
		c.WriteString(" 0x0&&&0x0")
	}
}
