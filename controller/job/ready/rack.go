package ready

import (
	"cmp"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// Racks returns the ranks by rack, with what each has left.
func Racks(name string, f *Facts) api.JobRacks {
	out := api.JobRacks{Name: name, At: f.At, Racks: make([]api.JobRack, len(f.Need.Racks))}
	for i, name := range f.Need.Racks {
		out.Racks[i].Name = name
		if name != "" {
			out.Racks[i].Switches = strings.Split(name, "+")
		}
	}
	one := len(f.Need.NICs) <= api.MaxJobNICs
	for r := range f.Need.NICs {
		rack := &out.Racks[f.Need.Rack[r]]
		n := api.JobNIC{Rank: r, Name: f.Need.NICs[r], State: stateName(Unknown),
			Why: cmp.Or(f.Fabric.Known.Why, "nothing is known of it")}
		if r < len(f.Fabric.NICs) {
			n = f.Fabric.NICs[r].view(r, f.Need.NICs[r])
		}
		rack.Ranks++
		rack.Good += b2i(n.State == stateName(Good))
		if one {
			rack.NICs = append(rack.NICs, n)
		}
	}
	f.leftOfRacks(out.Racks)
	return out
}

func stateName(s State) string { return [...]string{"unknown", "bad", "good"}[s] }

// view returns a NIC as clients have it: the worst of what is known of it.
func (n *NIC) view(rank int, name string) api.JobNIC {
	v := api.JobNIC{Rank: rank, Name: name, Ports: len(n.Ports)}
	worst := IsGood()
	take := func(f Fact) {
		if f.State == Good || worst.State == Bad {
			return
		}
		if worst.State == Good || f.State == Bad {
			worst = Fact{State: f.State, Why: why(f)}
		}
	}
	take(n.Stream)
	take(n.Holds)
	for i := range n.Ports {
		v.Up += b2i(n.Ports[i].Up.State == Good)
		take(n.Ports[i].Up)
	}
	if len(n.Ports) == 0 {
		take(Fact{Why: "nothing is known of its ports"})
	}
	v.State, v.Why = stateName(worst.State), worst.Why
	return v
}

// leftOfRacks fills in the least share of paths from each rack.
func (f *Facts) leftOfRacks(racks []api.JobRack) {
	type sum struct{ active, of int64 }
	sums, unknown := make([]sum, len(f.Need.Pairs)), make([]bool, len(racks))
	for i := range f.Fabric.Paths {
		p := &f.Fabric.Paths[i]
		s := &sums[p.Pair]
		s.active, s.of = s.active+int64(p.Active), s.of+int64(p.Of)
		if p.Of == 0 {
			unknown[f.Need.Pairs[p.Pair][0]] = true
		}
	}
	for i, s := range sums {
		from := f.Need.Pairs[i][0]
		if s.of == 0 {
			unknown[from] = true
			continue
		}
		share := float64(s.active) / float64(s.of)
		if left := racks[from].Left; left == nil || share < *left {
			racks[from].Left = &share
		}
	}
	for i := range racks {
		if unknown[i] {
			racks[i].Left = nil
		}
	}
}
