package northbound

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/topology"
)

// maxNamed bounds how many of the values that would be right an error names.
const maxNamed = 40

// unknown is the problem of a query whose value names nothing; valid are the values that do.
func unknown(parameter, value string, valid []string) *api.Problem {
	want := "one of " + strings.Join(valid[:min(len(valid), maxNamed)], ", ")
	switch {
	case len(valid) == 0:
		want = "nothing: there is none"
	case len(valid) > maxNamed:
		want += fmt.Sprintf(" and %d more", len(valid)-maxNamed)
	}
	f := api.FieldError{Field: "query." + parameter, Code: api.CodeInvalid, Value: valueText(value), Want: want}
	return newProblem(string(api.CodeInvalid), f.Error(), f)
}

// A named is a parameter of a list that names something.
type named struct {
	parameter, value string
	// names returns what it may name.
	names func() ([]string, error)
}

// known reports, for a list with nothing in it, the first filter that names nothing: an empty
// answer would hide a slip of the pen. Whatever is listed proves its filters right.
func known(in PageParams, listed int, filters ...named) error {
	if listed > 0 || in.Continue != "" {
		return nil
	}
	for _, f := range filters {
		if f.value == "" {
			continue
		}
		names, err := f.names()
		if err != nil {
			return problemOf(err)
		}
		if !slices.Contains(names, f.value) {
			return unknown(f.parameter, f.value, names)
		}
	}
	return nil
}

// nodeNames returns the ids and names of the fabric's switches.
func nodeNames(ctx context.Context, m Multipath) func() ([]string, error) {
	return func() (names []string, err error) {
		nodes, _, err := m.Nodes(ctx, mrc.Page{})
		var ids []string
		for i := range nodes {
			n := &nodes[i]
			if n.Status.Name != "" && n.Status.Name != string(n.ID) {
				names = append(names, n.Status.Name)
			}
			ids = append(ids, string(n.ID))
		}
		return append(names, ids...), err
	}
}

// hostNames returns the names of the fabric's hosts.
func hostNames(ctx context.Context, m Multipath) func() ([]string, error) {
	return func() (names []string, err error) {
		hosts, _, err := m.Hosts(ctx, mrc.Page{})
		for i := range hosts {
			names = append(names, hosts[i].Name)
		}
		return names, err
	}
}

// profileNames returns the names of the EV profiles.
func profileNames(ctx context.Context, m Multipath) func() ([]string, error) {
	return func() (names []string, err error) {
		profiles, _, err := m.EVProfiles(ctx, mrc.ProfileFilter{}, mrc.Page{})
		for i := range profiles {
			names = append(names, profiles[i].Name)
		}
		return names, err
	}
}

// planeNames returns the numbers of the fabric's planes.
func planeNames(ctx context.Context, m Multipath) func() ([]string, error) {
	return func() (names []string, err error) {
		planes, err := m.Planes(ctx)
		for i := range planes {
			names = append(names, fmt.Sprint(planes[i].Plane))
		}
		return names, err
	}
}

// topologyNames returns the ids and names of a topology's nodes.
func topologyNames(snap *topology.Snapshot) func() ([]string, error) {
	return func() (names []string, _ error) {
		var ids []string
		for _, n := range snap.Nodes {
			if n.Name != "" && n.Name != string(n.ID) {
				names = append(names, n.Name)
			}
			ids = append(ids, string(n.ID))
		}
		return append(names, ids...), nil
	}
}

// planeText is a parameter as text, none for 0.
func planeText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
