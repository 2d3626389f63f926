package ready

import (
	"cmp"
	"slices"
	"strings"
	"time"

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
	f.leftOfPairs(&out)
	return out
}

func stateName(s State) string { return [...]string{"unknown", "bad", "good"}[s] }

// view returns a NIC for clients, with the worst of the facts about the NIC.
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

// leftOfPairs fills in what is left of each pair, and the least share of paths from each rack.
func (f *Facts) leftOfPairs(out *api.JobRacks) {
	type sum struct {
		active, of int64
		unknown    bool
		rtt        time.Duration
	}
	sums, unknown := make([]sum, len(f.Need.Pairs)), make([]bool, len(out.Racks))
	for i := range f.Fabric.Paths {
		p := &f.Fabric.Paths[i]
		s := &sums[p.Pair]
		s.active, s.of = s.active+int64(p.Active), s.of+int64(p.Of)
		s.unknown, s.rtt = s.unknown || p.Of == 0, max(s.rtt, p.RoundTrip)
	}
	one := len(sums) <= api.MaxJobPairs
	for i, s := range sums {
		pair := api.JobPair{From: int(f.Need.Pairs[i][0]), To: int(f.Need.Pairs[i][1])}
		rack := &out.Racks[pair.From]
		if s.rtt > 0 {
			rtt := api.Duration(s.rtt)
			pair.RoundTrip = &rtt
		}
		if s.unknown || s.of == 0 {
			unknown[pair.From] = true
		} else {
			share := float64(s.active) / float64(s.of)
			if pair.Left = &share; rack.Left == nil || share < *rack.Left {
				rack.Left = &share
			}
		}
		if one {
			out.Pairs = append(out.Pairs, pair)
		}
	}
	slices.SortFunc(out.Pairs, func(a, b api.JobPair) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	for i := range unknown {
		if unknown[i] {
			out.Racks[i].Left = nil
		}
	}
}
