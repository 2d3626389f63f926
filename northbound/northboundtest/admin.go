package northboundtest

import (
	"context"
	"errors"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// link is the target of a link in both directions.
func (m *Multipath) link(id topology.LinkID) mrc.Target {
	for t := range m.admins {
		if st, ok := m.core.Link(t.Link); ok && t.Link != "" {
			if other, ok := m.core.Link(id); ok && st.Status.From == other.Status.To && st.Status.To == other.Status.From {
				return t
			}
		}
	}
	return mrc.Target{Link: id}
}

// Links returns a page of links.
func (m *Multipath) Links(_ context.Context, f mrc.LinkFilter, p mrc.Page) (out []api.Link, more bool, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	out, more = m.core.LinkPage(f, p)
	for i := range out {
		m.fillLink(&out[i])
	}
	return out, more, nil
}

func (m *Multipath) fillLink(l *api.Link) {
	if a, ok := m.admins[m.link(l.ID)]; ok {
		l.Version, l.Changed, l.Spec = a.Version, a.Changed, a.Spec
	}
}

// Link returns a link.
func (m *Multipath) Link(_ context.Context, id topology.LinkID) (api.Link, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	l, ok := m.core.Link(id)
	if !ok {
		return l, missing("there is no link %q that paths cross", id)
	}
	m.fillLink(&l)
	return l, nil
}

// Nodes returns a page of switches.
func (m *Multipath) Nodes(_ context.Context, p mrc.Page) (out []api.Node, more bool, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	out, more = m.core.NodePage(p)
	for i := range out {
		m.fillNode(&out[i])
	}
	return out, more, nil
}

func (m *Multipath) fillNode(n *api.Node) {
	if a, ok := m.admins[mrc.Target{Node: n.ID}]; ok {
		n.Version, n.Changed, n.Spec = a.Version, a.Changed, a.Spec
	}
}

// Node returns a switch.
func (m *Multipath) Node(_ context.Context, id topology.NodeID) (api.Node, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	n, ok := m.core.Node(id)
	if !ok {
		return n, missing("there is no node %q in the fabric", id)
	}
	m.fillNode(&n)
	return n, nil
}

// Planes returns the planes.
func (m *Multipath) Planes(context.Context) (out []api.Plane, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	for _, p := range m.core.Planes() {
		if a, ok := m.admins[mrc.Target{Plane: p.Plane}]; ok {
			p.Version, p.Changed, p.Spec = a.Version, a.Changed, a.Spec
		}
		out = append(out, p)
	}
	return out, nil
}

// SetAdmin drains and undrains.
func (m *Multipath) SetAdmin(_ context.Context, t mrc.Target, spec api.AdminSpec, pre resource.Precondition) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if t.Link != "" {
		t = m.link(t.Link)
	}
	before := m.admins[t]
	if err := pre.Check(t.String(), before.Version); err != nil || before.Spec == spec {
		return err
	}
	if pre.Trial != nil {
		return nil
	}
	do := m.core.Undrain
	if spec.Admin == api.AdminDrained {
		do = m.core.Drain
	}
	err := do(t)
	m.settle()
	switch {
	case errors.Is(err, mrc.ErrLastPath):
		return &api.Error{Code: api.CodeLastPath, Message: err.Error()}
	case err != nil:
		return missing("%v", err)
	}
	m.admins[t] = api.Admin{Version: m.next(), Changed: Began, Spec: spec}
	return nil
}

// Suspects returns the suspects.
func (m *Multipath) Suspects(context.Context) ([]api.Suspect, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.core.Suspects(), nil
}

// Probes returns a page of what probes have shown.
func (m *Multipath) Probes(_ context.Context, f mrc.ProbeFilter, p mrc.Page) ([]api.EVProbe, bool, error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	out, more := m.core.ProbePage(f, p)
	return out, more, nil
}
