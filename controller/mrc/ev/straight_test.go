package ev

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// TestStraight: generation and denial without a look at each path give the same result as the
// paths, in regular and irregular planes, under random losses.
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
			if !built(t, seed, a, request) || !set.Straight() {
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

// built builds a request, also with a look at every path, and reports whether there is a profile.
// It is the same both ways.
func built(t *testing.T, seed uint64, a *Assignment, request Request) bool {
	t.Helper()
	quick, err := a.Build(request)
	request.pathByPath = true
	slow, slowErr := a.Build(request)
	if fmt.Sprint(err) != fmt.Sprint(slowErr) {
		t.Fatalf("seed %d: %v; path by path: %v", seed, err, slowErr)
	}
	if err != nil {
		return false
	}
	if !reflect.DeepEqual(quick.Profile, slow.Profile) || !slices.Equal(quick.Ports(), slow.Ports()) {
		t.Fatalf("seed %d: %+v of ports %v; path by path: %+v of ports %v", seed, quick.Profile,
			quick.Ports(), slow.Profile, slow.Ports())
	}
	return true
}

// TestStraightRequests: for every request and device, generation without a look at paths gives the
// same EVs as with a look, and is used unless something prevents it.
func TestStraightRequests(t *testing.T) {
	quickly := 0
	for _, seed := range seeds(t, 400) {
		r := rand.New(rand.NewPCG(seed, 5))
		planes := 1 + r.IntN(3)
		clos := leafSpine(planes, 2+r.IntN(3), 1+r.IntN(9), 1).clos(t)
		a, err := Assign(clos, Format{Mode: ModeStructured}, Numbers{Rule: NumberByOrder})
		if err != nil {
			t.Fatal(err)
		}
		leaves := map[int][]topology.NodeID{} // by plane
		for set := range clos.Pairs() {
			leaves[set.Plane()] = append(leaves[set.Plane()], set.Source().ID)
		}
		// somewhere is an attachment at a leaf of each plane, or of each but some.
		somewhere := func() (at Attachment) {
			for p := range planes {
				leaf := leaves[p+1][r.IntN(len(leaves[p+1]))]
				if r.IntN(8) == 0 {
					leaf = ""
				}
				at = append(at, leaf)
			}
			return at
		}
		caps := Unlimited()
		plain := r.IntN(2) == 0 // nothing speaks against it
		request := Request{Name: "p", Pair: Pair{Source: somewhere(), Destination: somewhere()},
			Capabilities: &caps}
		if !plain {
			request.Explicit, request.MaxEVs = r.IntN(4) == 0, r.IntN(20)
			caps.EVMaxWidth, caps.EVCountAlign = r.IntN(20), r.IntN(4)
			caps.EVMaxCountProfile = r.IntN(30)
			if r.IntN(4) == 0 {
				caps.EVModes = hostapi.Modes(hostapi.ModeExplicit)
			}
			if r.IntN(4) == 0 {
				caps.EVFormatModes = hostapi.Modes(hostapi.FormatSRv6, hostapi.FormatUDP)
			}
		}
		if !built(t, seed, a, request) {
			continue
		}
		b := building{a: a, r: request, caps: caps, most: DefaultMaxEVs, align: 1}
		if whole := !slices.Contains(request.Source, "") && !slices.Contains(request.Destination, "") &&
			!slices.ContainsFunc(request.Source, func(leaf topology.NodeID) bool {
				return slices.Contains(request.Destination, leaf)
			}); plain && whole {
			quickly++
			if !b.straight(&hostapi.Profile{}) {
				t.Fatalf("seed %d: the paths of %v are looked at one by one", seed, request.Pair)
			}
		}
	}
	if quickly < 20 {
		t.Errorf("%d were generated without looking at paths, want 20 or more", quickly)
	}
}

// TestStraightOrNot: EVs are generated without a look at paths if every port attached at one end is
// attached at the other, all ports climb by the same fields, and the device takes these fields.
func TestStraightOrNot(t *testing.T) {
	c := leafSpine(2, 3, 3, 1).clos(t)
	a := assign(t, c, Format{Mode: ModeStructured})
	smaller := leafSpine(2, 2, 3, 1)
	smaller.isolate("spine2-03")
	gap := leafSpine(1, 2, 3, 1)
	gap.isolate("spine1-02")
	uneven, gaps := assign(t, smaller.clos(t), Format{Mode: ModeStructured}),
		assign(t, gap.clos(t), Format{Mode: ModeStructured})
	src, dst := attach(2, 1), attach(2, 2)
	for _, x := range []struct {
		name     string
		a        *Assignment
		src, dst Attachment
		change   func(b *building)
		want     bool
	}{
		{"two planes", a, src, dst, nil, true},
		{"one plane", a, src[:1], dst[:1], nil, true},
		{"the second port", a, Attachment{"", src[1]}, Attachment{"", dst[1]}, nil, true},
		{"one port at the source", a, src[:1], dst, nil, false},
		{"one port at the destination", a, src, dst[:1], nil, false},
		{"the second at the source", a, Attachment{"", src[1]}, dst, nil, false},
		{"the second at the destination", a, src, Attachment{"", dst[1]}, nil, false},
		{"none at the source", a, Attachment{""}, dst, nil, false},
		{"none at all", a, nil, nil, nil, false},
		{"none at the destination", a, src, Attachment{"", ""}, nil, false},
		{"other ports", a, Attachment{src[0], ""}, Attachment{"", dst[1]}, nil, false},
		{"the same leaf", a, src, src, nil, false},
		{"an unknown leaf", a, src, Attachment{dst[0], "x"}, nil, false},
		{"planes that differ", uneven, src, dst, nil, false},
		{"one of these", uneven, src[:1], dst[:1], nil, true},
		{"numbers with a gap", gaps, src[:1], dst[:1], nil, false},
		{"as wide as it takes", a, src, dst, func(b *building) { b.caps.EVMaxWidth = 2 }, true},
		{"wider", a, src, dst, func(b *building) { b.caps.EVMaxWidth = 1 }, false},
		{"listed", a, src, dst, func(b *building) { b.r.Explicit = true }, false},
		{"no EV", a, src, dst, func(b *building) { b.most = 0 }, false},
		{"no generated EVs", a, src, dst, func(b *building) {
			b.caps.EVModes = hostapi.Modes(hostapi.ModeExplicit)
		}, false},
		{"another mode", assign(t, c, Format{Mode: ModeF3216}), src, dst, nil, false},
	} {
		b := building{a: x.a, r: Request{Pair: Pair{x.src, x.dst}}, caps: Unlimited(), most: 128,
			align: 1}
		if x.change != nil {
			x.change(&b)
		}
		p := &hostapi.Profile{}
		if got := b.straight(p); got != x.want || (len(b.lanes) > 0) != x.want ||
			(p.Mode == hostapi.ModeGenerated) != x.want || x.want && p.Count != 3*len(b.lanes) {
			t.Errorf("%s: %v, %d EVs of %d ports", x.name, got, p.Count, len(b.lanes))
		}
	}
}
