package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// pathsCommand is the argument that makes this program derive paths and nothing else; the place of
// a fabric in pathFabrics follows.
const pathsCommand = "paths-process"

// A pathFabric is a Clos of planes that only hosts join: in each, every leaf is joined with every
// spine.
type pathFabric struct{ planes, leaves, spines int }

// On a fabric with more than so many spines in a plane, profiles are made for so many leaves of a
// plane.
const mostProfileSpines, fewLeaves = 64, 32

// pathFabrics have 3,840 to 16,646,144 paths between their leaves.
var pathFabrics = []pathFabric{{2, 16, 8}, {4, 64, 16}, {4, 128, 32}, {4, 128, 256}}

// pathsResult is the output of a process that derives paths.
type pathsResult struct {
	Switches, Links, Pairs, Paths int

	GraphSeconds  float64 // from the snapshot to its graph
	PathsSeconds  float64 // from there to all paths
	NumberSeconds float64 // from there to the numbers of all links, structured EVs
	EncodeSeconds float64 // from there to the EVs of all paths, in memory
	CPUSeconds    float64 // of the four
	USIDSeconds   float64 // numbers and values, one container, of all paths
	USIDCPU       float64
	HeapBytes     uint64 // of graph, paths and numbers, without the EVs that are the result

	ProfilePairs              int
	BuildSeconds, BuildCPU    float64 // profiles of ProfilePairs pairs
	ProfileBytes              uint64
	LinkLost, SpineLost       int     // profiles that lose EVs
	LinkSeconds, SpineSeconds float64 // from the loss to the profiles that hosts hold then
	WithoutSeconds            float64 // from the loss of a spine to the paths that are left
	PeakBytes                 int64   // of the process
}

// paths measures the derivation of paths, EVs and profiles on fabrics of growing size. Each fabric
// has its own process, to measure its memory. paths/encode is the time from a snapshot to the EVs
// of all paths, and to uSID containers (usidSeconds), paths/memory the reachable octets without the
// EVs. paths/profiles builds explicit profiles of at most 128 EVs between all attachments (32 in
// the last fabric), paths/loss is the time from the loss of a link, or a spine, to the new
// profiles.
func paths(ctx context.Context, out *report) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i, f := range pathFabrics {
		out.tell("paths: %d planes of %d leaves and %d spines", f.planes, f.leaves, f.spines)
		cmd := exec.CommandContext(ctx, self, pathsCommand, strconv.Itoa(i))
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("paths of fabric %d: %w", i, err)
		}
		var r pathsResult
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("paths of fabric %d: %w", i, err)
		}
		fabric := []field{{"planes", f.planes}, {"leaves", f.leaves}, {"spines", f.spines},
			{"switches", r.Switches}, {"links", r.Links}, {"paths", r.Paths}}
		total := r.GraphSeconds + r.PathsSeconds + r.NumberSeconds + r.EncodeSeconds
		figures := []figure{
			{bench: "paths/encode", unit: "s", value: total, more: append(fabric[:len(fabric):len(fabric)],
				field{"graph", r.GraphSeconds}, field{"derive", r.PathsSeconds},
				field{"number", r.NumberSeconds}, field{"values", r.EncodeSeconds},
				field{"cpuSeconds", r.CPUSeconds}, field{"usidSeconds", r.USIDSeconds},
				field{"usidCPUSeconds", r.USIDCPU})},
			{bench: "paths/memory", unit: "octets", value: float64(r.HeapBytes),
				more: append(fabric[:len(fabric):len(fabric)],
					field{"values", 4 * r.Paths}, field{"peakBytes", r.PeakBytes})},
			{bench: "paths/profiles", unit: "s", value: r.BuildSeconds,
				more: append(fabric[:len(fabric):len(fabric)],
					field{"profiles", r.ProfilePairs}, field{"cpuSeconds", r.BuildCPU},
					field{"octets", r.ProfileBytes})},
			{bench: "paths/loss", unit: "s", value: r.LinkSeconds,
				more: append(fabric[:len(fabric):len(fabric)],
					field{"profiles", r.LinkLost}, field{"spineSeconds", r.SpineSeconds},
					field{"spineProfiles", r.SpineLost}, field{"withoutSeconds", r.WithoutSeconds})},
		}
		for _, f := range figures {
			if err := out.print(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// snapshot is the fabric as BGP-LS would describe it, and its leaves.
func (f pathFabric) snapshot() (*topology.Snapshot, []topology.NodeID) {
	b := topology.NewBuilder()
	var leaves []topology.NodeID
	for p := range f.planes {
		for l := range f.leaves {
			leaf := f.leaf(p, l)
			leaves = append(leaves, leaf)
			b.SetNode(topology.Node{ID: leaf})
			for s := range f.spines {
				spine := f.spine(p, s)
				b.SetNode(topology.Node{ID: spine})
				up, down := uint32(s+1), uint32(l+1)
				b.SetLink(topology.Link{Local: leaf, Remote: spine, LocalID: up, RemoteID: down, IGPMetric: 10})
				b.SetLink(topology.Link{Local: spine, Remote: leaf, LocalID: down, RemoteID: up, IGPMetric: 10})
			}
		}
	}
	return b.Build(), leaves
}

func (pathFabric) leaf(plane, i int) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("64512:10.%d.0.%d", plane, i))
}

func (pathFabric) spine(plane, i int) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("64512:10.%d.1.%d", plane, i))
}

// attachment is the attachment of hosts at the leaves of a number.
func (f pathFabric) attachment(i int) ev.Attachment {
	at := make(ev.Attachment, f.planes)
	for p := range at {
		at[p] = f.leaf(p, i)
	}
	return at
}

// pathsProcess is the process that derives paths: it prints a pathsResult.
func pathsProcess(argument string) error {
	i, err := strconv.Atoi(argument)
	if err != nil || i < 0 || i >= len(pathFabrics) {
		return fmt.Errorf("fabric %q, want 0 to %d", argument, len(pathFabrics)-1)
	}
	r, err := pathFabrics[i].measure()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func (f pathFabric) measure() (r pathsResult, err error) {
	snapshot, leaves := f.snapshot()
	empty := reachable()
	var lap time.Time
	seconds := func() float64 {
		now := time.Now()
		defer func() { lap = now }()
		return now.Sub(lap).Seconds()
	}
	cpu := processorTime()
	lap = time.Now()
	graph := snapshot.Graph()
	r.GraphSeconds = seconds()
	clos, err := graph.Clos(topology.ClosRequest{Leaves: leaves})
	if err != nil {
		return r, err
	}
	r.PathsSeconds = seconds()
	a, err := ev.Assign(clos, ev.Format{Mode: ev.ModeStructured}, ev.Numbers{})
	if err != nil {
		return r, err
	}
	r.NumberSeconds = seconds()
	values := make([]packet.EV, 0, f.planes*f.leaves*(f.leaves-1)*f.spines)
	for set := range clos.Pairs() {
		enc, err := a.Encoder(set)
		if err != nil {
			return r, err
		}
		values = enc.AppendStructured(values)
		r.Pairs++
	}
	r.EncodeSeconds = seconds()
	r.CPUSeconds = (processorTime() - cpu).Seconds()
	r.Paths, r.Switches, r.Links = len(values), len(snapshot.Nodes), len(snapshot.Links)/2
	if want := f.planes * f.leaves * (f.leaves - 1) * f.spines; len(values) != want {
		return r, fmt.Errorf("%d paths, want %d", len(values), want)
	}
	if err := f.check(a, values); err != nil {
		return r, err
	}
	values = nil
	r.HeapBytes = reachable() - empty
	runtime.KeepAlive(a)
	if r.PeakBytes, err = peakBytes(); err != nil {
		return r, err
	}
	if err := f.containers(&r, clos); err != nil {
		return r, err
	}
	err = f.profiles(&r, a)
	runtime.KeepAlive(snapshot)
	return r, err
}

// check decodes some values, those of the last pair.
func (f pathFabric) check(a *ev.Assignment, values []packet.EV) error {
	seen := map[topology.LinkID]bool{}
	var last topology.PathSet
	for set := range a.Clos().Pairs() {
		last = set
	}
	src, dst := last.Source().ID, last.Destination().ID
	for _, v := range values[len(values)-f.spines:] {
		route, err := a.Decode(src, dst, ev.StructuredValue(v))
		if err != nil {
			return err
		}
		if len(route.Hops) != 2 {
			return fmt.Errorf("EV %#08x takes %d links, want 2", uint32(v), len(route.Hops))
		}
		seen[route.Hops[0].Links[0].ID] = true
	}
	if len(seen) != f.spines {
		return fmt.Errorf("the EVs of a pair take %d links up, want %d", len(seen), f.spines)
	}
	return nil
}

// containers measures the values of SRv6: of each path, one after the other.
func (f pathFabric) containers(r *pathsResult, clos *topology.Clos) error {
	start, cpu := time.Now(), processorTime()
	a, err := ev.Assign(clos, ev.Format{Mode: ev.ModeF3216}, ev.Numbers{})
	if err != nil {
		return err
	}
	n := 0
	for set := range clos.Pairs() {
		enc, err := a.Encoder(set)
		if err != nil {
			return err
		}
		for ref := range set.All() {
			if v := enc.Value(ref); v[15] == 0 && v[0] != 0 {
				n++
			}
		}
	}
	r.USIDSeconds, r.USIDCPU = time.Since(start).Seconds(), (processorTime() - cpu).Seconds()
	if n != r.Paths {
		return fmt.Errorf("%d containers are filled, want %d", n, r.Paths)
	}
	return nil
}

// profiles measures profiles for all pairs of attachments, explicit profiles for hosts that cannot
// generate EVs, and the effect of losses.
func (f pathFabric) profiles(r *pathsResult, a *ev.Assignment) error {
	before := reachable()
	start, cpu := time.Now(), processorTime()
	var built []*ev.Built
	leaves := f.leaves
	if f.spines > mostProfileSpines {
		leaves = fewLeaves
	}
	for i := range leaves {
		for j := range leaves {
			if i == j {
				continue
			}
			b, err := a.Build(ev.Request{
				Name: fmt.Sprintf("%d-%d", i, j), Explicit: true, Pair: ev.Pair{Source: f.attachment(i),
					Destination: f.attachment(j)},
			})
			if err != nil {
				return err
			}
			built = append(built, b)
		}
	}
	r.ProfilePairs, r.BuildSeconds, r.BuildCPU = len(built), time.Since(start).Seconds(),
		(processorTime() - cpu).Seconds()
	r.ProfileBytes = reachable() - before

	lose := func(l topology.Losses) (profiles int, seconds float64, err error) {
		held := make([]*hostapi.Profile, len(built))
		start := time.Now()
		lost := a.Clos().Lost(l)
		for i, b := range built {
			out, err := b.Under(lost)
			if err != nil {
				return 0, 0, err
			}
			if held[i] = out.Profile; out.Profile != b.Profile {
				profiles++
			}
		}
		return profiles, time.Since(start).Seconds(), nil
	}
	var err error
	link := a.Clos().Up(f.leaf(0, 0))[0].ID
	if r.LinkLost, r.LinkSeconds,
		err = lose(topology.Losses{Links: []topology.LinkID{link}}); err != nil {
		return err
	}
	spine := topology.Losses{Nodes: []topology.NodeID{f.spine(0, 0)}}
	if r.SpineLost, r.SpineSeconds, err = lose(spine); err != nil {
		return err
	}
	if r.LinkLost == 0 || r.SpineLost < r.LinkLost {
		return errors.New("losses deny no EVs")
	}
	start = time.Now()
	left := a.Clos().Without(spine)
	r.WithoutSeconds = time.Since(start).Seconds()
	runtime.KeepAlive(left)
	return nil
}
