package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// ofLimit returns a count as text, with its limit if a limit exists.
func ofLimit(used int, limit *int) string {
	if limit == nil {
		return fmt.Sprint(used)
	}
	return fmt.Sprintf("%d of %d", used, *limit)
}

func projectTable(w *bytes.Buffer, projects []api.Project) {
	g := newGrid("NAME", "MEMBERS", "HOSTS", "PORTS", "GROUPS", "RECEIVERS", "TENANTS", "POLICIES")
	for i := range projects {
		p := &projects[i]
		s, used, q := &p.Spec, &p.Status.Used, &p.Spec.Quotas
		g.row(p.Name, len(s.Members), len(s.Hosts), len(s.Ports), ofLimit(used.Groups, q.Groups),
			ofLimit(used.Receivers, q.Receivers),
			ofLimit(used.Tenants, q.Tenants), ofLimit(used.Policies, q.Policies))
	}
	g.writeTo(w)
}

func projectDetail(w *bytes.Buffer, p *api.Project) {
	projectTable(w, []api.Project{*p})
	if p.Spec.Bandwidth > 0 {
		fmt.Fprintf(w, "\nbandwidth: %d of %d bit/s\n", p.Status.Used.Bandwidth,
			p.Spec.Bandwidth)
	}
	if p.Spec.Isolated {
		fmt.Fprintln(w,
			"\nisolated: switches drop what its hosts send to others, and what others send to them")
	}
	members := newGrid("MEMBER", "WAY", "ROLE")
	for _, m := range p.Spec.Members {
		members.row(memberName(&m), m.Way, m.Role)
	}
	things := newGrid("KIND", "NAME", "SHARED", "USED BY")
	for _, x := range p.Status.Things {
		shared := ""
		if x.Shared {
			shared = "yes"
		}
		things.row(x.Kind, x.Name, shared, strings.Join(x.UsedBy, ", "))
	}
	for _, g := range []*grid{members, things} {
		fmt.Fprintln(w)
		g.writeTo(w)
	}
}

// memberName reports who is a member: a name, or a claim with its value.
func memberName(m *api.ProjectMember) string {
	if m.Claim != "" {
		return m.Claim + "=" + m.Value
	}
	return m.Name
}
