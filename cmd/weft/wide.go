package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weft-sdn/weft/api"
)

// beside holds the additional columns of -o wide. cells returns a value for each column of heading.
type beside struct {
	heading []string
	cells   func(item json.RawMessage) ([]any, error)
}

// wider makes the additional columns of a kind from a function of the kind's type.
func wider[T any](cells func(t *T) []any, heading ...string) *beside {
	return &beside{heading, func(item json.RawMessage) (out []any, err error) {
		err = detail(func(_ *bytes.Buffer, t *T) { out = cells(t) })(nil, item)
		return out, err
	}}
}

// wideTable is the table of a kind with its further columns at the right, for -o wide.
func (k *kind) wideTable(w *bytes.Buffer, items []json.RawMessage) error {
	if k.wide == nil {
		return k.table(w, items)
	}
	var left bytes.Buffer
	if err := k.table(&left, items); err != nil {
		return err
	}
	right := newGrid(k.wide.heading...)
	for _, item := range items {
		cells, err := k.wide.cells(item)
		if err != nil {
			return err
		}
		right.row(cells...)
	}
	right.tabs.Flush()
	lines, more := rowsOf(left.String()), rowsOf(right.out.String())
	if len(lines) != len(more) {
		return fmt.Errorf("the table of %s has %d rows for %d of them", k.plural, len(lines)-1,
			len(items))
	}
	width := 0
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line))
	}
	for i, line := range lines {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(line)+2)
		fmt.Fprintln(w, strings.TrimRight(line+pad+more[i], " "))
	}
	return nil
}

// rowsOf splits a table in its lines.
func rowsOf(table string) []string {
	return strings.Split(strings.TrimSuffix(table, "\n"), "\n")
}

// tableOf returns the table of a kind for the requested format.
func (v *viewer) tableOf(k *kind) func(*bytes.Buffer, []json.RawMessage) error {
	if v.output == formatWide {
		return k.wideTable
	}
	return k.table
}

// showOf returns the view of one resource for the requested format: -o wide shows its row.
func (v *viewer) showOf(k *kind) func(*bytes.Buffer, json.RawMessage) error {
	if v.output == formatWide && k.wide != nil {
		return func(w *bytes.Buffer, item json.RawMessage) error {
			return k.wideTable(w, []json.RawMessage{item})
		}
	}
	return k.show
}

// spaced are values in a line, with spaces between them.
func spaced[T any](values []T) string { return strings.Trim(fmt.Sprint(values), "[]") }

// portNames are ports by number, with the leaf behind each: 1=leaf1:3.
func portNames(ports []api.HostPort) string {
	out := make([]string, len(ports))
	for i := range ports {
		s := &ports[i].Status
		leaf := s.LeafName
		if leaf == "" {
			leaf = string(s.Leaf)
		}
		if out[i] = fmt.Sprintf("%d=%s", ports[i].Port, leaf); s.LeafPort != 0 {
			out[i] += fmt.Sprintf(":%d", s.LeafPort)
		}
	}
	return strings.Join(out, " ")
}

func groupMore(m *api.MulticastGroup) []any {
	root := ""
	if m.Status.Tree != nil {
		root = m.Status.Tree.Root
	}
	return []any{m.Version, clockTime(m.Created), m.Job, m.Status.Index, m.Spec.Source.QPN, root,
		m.Spec.Objective, len(m.Status.StalledReceivers), len(m.Status.EvictedReceivers)}
}

func evProfileMore(p *api.EVProfile) []any {
	s := &p.Status
	return []any{p.Version, s.Replaced, s.AssumedBad, spaced(s.Destinations),
		strings.Join(s.Hosts, " "), strings.Join(s.Behind, " "), len(s.LostLinks), s.Note}
}

func srv6PolicyMore(p *api.SRv6Policy) []any {
	var sids []string
	for _, s := range p.Status.SegmentList {
		sids = append(sids, s.SID.String())
	}
	return []any{p.Version, clockTime(p.Created), strings.Join(sids, " "),
		strings.Join(p.Status.UsedBy, " ")}
}

func tenantMore(t *api.Tenant) []any {
	var sids []string
	for _, s := range t.Status.Sites {
		sids = append(sids, s.SID.String())
	}
	return []any{t.Version, clockTime(t.Created), strings.Join(sids, " "),
		strings.Join(t.Status.UsedBy, " ")}
}

func pfcPolicyMore(p *api.PFCPolicy) []any {
	return []any{p.Version, clockTime(p.Created), p.Spec.Tunnel, p.Spec.Buffer, p.Spec.XOFF,
		p.Spec.XON, strings.Join(p.Status.Cycle, " ")}
}

func projectMore(p *api.Project) []any {
	members := make([]string, len(p.Spec.Members))
	for i := range p.Spec.Members {
		members[i] = memberName(&p.Spec.Members[i])
	}
	return []any{p.Version, clockTime(p.Created), yesNo(p.Spec.Isolated), p.Spec.Bandwidth,
		p.Status.Used.Bandwidth, strings.Join(members, " ")}
}

func linkMore(l *api.Link) []any {
	s, probes, missing, found := &l.Status, "", "", ""
	if t := s.Truth; t != nil {
		if p := t.Probes; p != nil {
			probes = fmt.Sprintf("%d of %d by %d", p.Lost, p.Passed+p.Lost, p.Hosts)
		}
		if c := t.Counters; c != nil {
			missing = fmt.Sprintf("%d of %d", c.Missing, c.Sent)
		}
		if c := t.Concluded; c != nil {
			found = cmp.Or(c.Kind, "loses packets") + map[string]string{"one": ", this direction",
				"other": ", the other direction", "both": ", both directions"}[c.Direction]
		}
	}
	return []any{l.Version, s.FromPort, s.ToPort, probes, missing, found, clockTime(s.Until),
		yesNo(s.Drained), s.From, s.To}
}

func jobMore(j *api.Job) []any {
	f := &j.Status.Follows
	return []any{j.Version, clockTime(j.Created), j.Spec.State, spanText(j.Spec.Lease),
		f.Communicators, f.RackPairs, len(j.Status.Groups), yesNo(j.Spec.Exclusive), j.Spec.Hosts}
}

func leaseMore(l *api.PathLease) []any {
	var between []string
	for _, p := range l.Spec.Pairs {
		between = append(between, fmt.Sprintf("%s>%s", p.From, p.To))
	}
	return []any{l.Version, clockTime(l.Created), clockTime(l.Status.Granted),
		l.Spec.Priority, spanText(l.Spec.Heartbeat), len(l.Status.Former), strings.Join(between, " "),
		l.Status.Reason}
}

func maintenanceMore(m *api.Maintenance) []any {
	objects := make([]string, len(m.Spec.Objects))
	for i := range m.Spec.Objects {
		objects[i] = m.Spec.Objects[i].String()
	}
	return []any{m.Version, clockTime(m.Created), spanText(m.Spec.Lead), strings.Join(objects, " ")}
}

func notificationMore(n *api.Notification) []any {
	s := &n.Status
	return []any{n.Version, strings.Join(n.Spec.Kinds, " "), s.Failures, clockTime(s.NextAttempt),
		clockTime(s.LastErrorAt), s.LastError}
}

func switchPortMore(p *api.Port) []any {
	s := &p.Status
	description := ""
	if s.Config.Description != nil {
		description = *s.Config.Description
	}
	return []any{p.Version, s.MAC, s.Ifindex, s.Link, description}
}

func hostMore(h *api.Host) []any {
	return []any{h.Software, portNames(h.Ports), versionText(h.Versions.Held), h.Versions.Applied,
		h.Versions.Wanted, spaced(h.Prefixes)}
}

func switchMore(s *api.SwitchStatus) []any {
	system := s.System
	if system == "" && s.Managed {
		system = "p4"
	}
	var up, down any = "", ""
	if s.Ports != nil {
		up, down = s.Ports.Up, spaced(s.Ports.Down)
	}
	return []any{system, yesNo(s.Settling), up, down}
}

func certificateMore(c *api.Certificate) []any {
	return []any{c.Subject, c.Issuer, c.Serial, clockTime(c.NotBefore), clockTime(c.Seen)}
}

func controllerMore(c *api.Controller) []any {
	return []any{c.Term, c.Peers, c.Hosts, strings.Join(c.Owns, " "), c.Clock,
		clockTime(c.LastContact)}
}

// spanText is a duration, "" for none.
func spanText(d api.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
