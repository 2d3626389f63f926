package ev

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/weft-sdn/weft/topology"
)

// TestStraight: what is generated and denied without looking at paths one by one is what the paths
// say, of regular planes and of others, under random losses.
func TestStraight(t *testing.T) {
	straight := 0
	for _, seed := range seeds(t, 60) {
		r := rand.New(rand.NewPCG(seed, 3))
		f := leafSpine(1+r.IntN(3), 2+r.IntN(4), 1+r.IntN(70), 1)
		if r.IntN(2) == 0 {
			f = randomFabric(r)
		}
		clos := f.clos(t)
		a, err := Assign(clos, Format{Mode: ModeStructured}, Numbers{Rule: NumberByOrder})
		if err != nil {
			continue // too many links for a field
		}
		links := clos.Graph().Snapshot().Links
		lost := topology.Losses{}
		for range r.IntN(6) {
			lost.Directed = append(lost.Directed, links[r.IntN(len(links))].ID)
		}
		if r.IntN(4) == 0 {
			lost.Nodes = append(lost.Nodes, links[r.IntN(len(links))].Remote)
		}
		paths := clos.Lost(lost)
		for set := range clos.Pairs() {
			request := Request{Name: "p", Pair: Pair{Source: Attachment{set.Source().ID},
				Destination: Attachment{set.Destination().ID}}}
			quick, err := a.Build(request)
			request.pathByPath = true
			slow, slowErr := a.Build(request)
			if fmt.Sprint(err) != fmt.Sprint(slowErr) {
				t.Fatalf("seed %d: %v; path by path: %v", seed, err, slowErr)
			}
			if err != nil {
				continue
			}
			if !reflect.DeepEqual(quick.Profile, slow.Profile) {
				t.Fatalf("seed %d: %+v; path by path: %+v", seed, quick.Profile, slow.Profile)
			}
			if !set.Straight() {
				continue
			}
			straight++
			var want []int32
			for ref := range set.All() {
				if paths.Path(set, ref) {
					want = append(want, ref.Up)
				}
				if ref.Up != ref.Down {
					t.Fatalf("seed %d: path %v of a straight set", seed, ref)
				}
			}
			var got []int32
			for i := range paths.Straight(set) {
				got = append(got, i)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: paths %v are lost, want %v", seed, got, want)
			}
		}
	}
	if straight < 100 {
		t.Errorf("%d sets were straight, want 100 or more", straight)
	}
}
