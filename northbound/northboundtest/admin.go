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
			if other, ok := m.core.Link(id); ok && st.From == other.To && st.To == other.From {
				return t
			}
		}
	}
	return mrc.Target{Link: id}
}

// Links returns a page of links.
func (m *Multipath) Links(_ context.Context, f mrc.LinkFilter, p mrc.Page) (out []mrc.LinkResource, more bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	items, more := m.core.LinkPage(f, p)
	for _, st := range items {
		out = append(out, mrc.LinkResource{Admin: m.admins[m.link(st.ID)], Status: st})
	}
	return out, more, nil
}

// Link returns a link.
func (m *Multipath) Link(_ context.Context, id topology.LinkID) (mrc.LinkResource, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	st, ok := m.core.Link(id)
	if !ok {
		return mrc.LinkResource{}, missing("there is no link %q that paths cross", id)
	}
	return mrc.LinkResource{Admin: m.admins[m.link(id)], Status: st}, nil
}

// Nodes returns a page of switches.
func (m *Multipath) Nodes(_ context.Context, p mrc.Page) (out []mrc.NodeResource, more bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	items, more := m.core.NodePage(p)
	for _, st := range items {
		out = append(out, mrc.NodeResource{Admin: m.admins[mrc.Target{Node: st.ID}], Status: st})
	}
	return out, more, nil
}

// Node returns a switch.
func (m *Multipath) Node(_ context.Context, id topology.NodeID) (mrc.NodeResource, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	st, ok := m.core.Node(id)
	if !ok {
		return mrc.NodeResource{}, missing("there is no node %q in the fabric", id)
	}
	return mrc.NodeResource{Admin: m.admins[mrc.Target{Node: id}], Status: st}, nil
}

// Planes returns the planes.
func (m *Multipath) Planes(context.Context) (out []mrc.PlaneResource, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, st := range m.core.Planes() {
		out = append(out, mrc.PlaneResource{Admin: m.admins[mrc.Target{Plane: st.Plane}], Status: st})
	}
	return out, nil
}

// SetAdmin drains and undrains.
func (m *Multipath) SetAdmin(_ context.Context, t mrc.Target, spec api.AdminSpec, pre resource.Precondition) error {
	m.mu.Lock()
	defer m.mu.Unlock()
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
func (m *Multipath) Suspects(context.Context) ([]mrc.Suspect, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.core.Suspects(), nil
}

// Probes returns a page of the matrix.
func (m *Multipath) Probes(_ context.Context, f mrc.CellFilter, p mrc.Page) ([]mrc.Cell, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out, more := m.core.CellPage(f, p)
	return out, more, nil
}
