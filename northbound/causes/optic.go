package causes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

const (
	// perOptic is the ports of a transceiver whose lanes are ports of their own.
	perOptic = 4
	// together is how far apart failures of one transceiver begin.
	together = 2 * time.Second
)

// lane is the end of a cable of a finding.
type lane struct {
	node topology.NodeID
	port int
	at   int // place of the finding
}

// lanes adds a finding for each four consecutive ports of a switch whose cables failed together,
// when the ports beside them did not: a transceiver with four lanes. The first port has a number
// that is a multiple of four, or one more. The findings of the cables follow from the new one.
func (v *view) lanes(found []finding) []finding {
	var all []lane
	names := v.nodeNames()
	for i := range found {
		f := &found[i]
		if f.Repair == nil || len(f.because) > 0 || f.Since.IsZero() {
			continue
		}
		for _, end := range strings.Split(strings.TrimPrefix(f.ID, "link/"), "~") {
			node, number, ok := strings.Cut(end, ",")
			if port, err := strconv.Atoi(number); ok && err == nil {
				all = append(all, lane{topology.NodeID(node), port, i})
			}
		}
	}
	slices.SortFunc(all, func(a, b lane) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.port, b.port))
	})
	since := func(l lane) time.Time { return found[l.at].Since }
	for first := 0; first < len(all); {
		last := first + 1
		for ; last < len(all) && all[last].node == all[first].node &&
			all[last].port == all[last-1].port+1 &&
			since(all[last]).Sub(since(all[first])).Abs() <= together; last++ {
		}
		if run := all[first:last]; len(run) == perOptic && run[0].port%perOptic <= 1 {
			found = append(found, opticOf(found, run, nameOf(names[run[0].node], run[0].node)))
			for _, l := range run {
				found[l.at].because = append(found[l.at].because, found[len(found)-1].ID)
			}
		}
		first = last
	}
	return found
}

// nodeNames returns the names of switches.
func (v *view) nodeNames() map[topology.NodeID]string {
	out := make(map[topology.NodeID]string)
	for i := range v.Links {
		s := &v.Links[i].Status
		out[s.From], out[s.To] = s.FromName, s.ToName
	}
	return out
}

// opticOf returns the finding about the transceiver of some cables.
func opticOf(found []finding, run []lane, name string) finding {
	node, first, last := run[0].node, run[0].port, run[len(run)-1].port
	ports := fmt.Sprintf("%s ports %d to %d", name, first, last)
	r := &api.Repair{Part: "optic", Name: ports, Denied: true}
	f := finding{at: onPart(api.PartSwitch, name), Finding: api.Finding{
		ID: fmt.Sprintf("optic/%s/%d", node, first), Kind: "link", Object: "nodes/" + string(node),
		Severity: api.SeverityFault, What: "The links of " + ports + " have failed together",
		Detail: "They share a transceiver, if its lanes are ports.",
		Means:  "What crossed them takes other paths, where there are any.",
		Todo:   "Look at the transceiver of these ports, and at its cable.", Repair: r}}
	for _, l := range run {
		of := &found[l.at]
		if f.Since.IsZero() || of.Since.Before(f.Since) {
			f.Since = of.Since
		}
		r.Denied = r.Denied && of.Repair.Denied
		r.Evidence = append(r.Evidence, fmt.Sprintf("Port %d: %s.", l.port, of.What))
		r.Hosts = append(r.Hosts, of.Repair.Hosts...)
	}
	slices.Sort(r.Hosts)
	r.Hosts = slices.Compact(r.Hosts)
	return f
}
