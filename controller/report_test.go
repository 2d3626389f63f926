package controller_test

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/virtual"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// The first CNP of a window is answered by one poll, a tick after the window.
func TestCNPWindow(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	spec := net.Spec(1, "s1", "r1", "r4")
	spec.CNPWindow = api.Duration(20 * time.Millisecond)
	g := w.put("g", spec)
	w.run(time.Second)
	d := w.devices["n4"]
	window := entry.PacketIn{Reason: entry.CNPWindow, Group: g.Status.Index, Epoch: g.Status.Epoch}
	opened := w.Now()
	w.core.PacketIn("n4", window)
	w.core.PacketIn("n4", window) // by another packet of the same window
	old := window
	old.Epoch--
	w.core.PacketIn("n5", old)
	w.core.PacketIn("n2", window) // not in the tree
	unknown := window
	unknown.Group = 9
	w.core.PacketIn("n4", unknown)
	if next, ok := w.core.Next(); !ok || next-opened != 21*time.Millisecond {
		t.Errorf("next tick %v after the window opened", next-opened)
	}
	w.run(20 * time.Millisecond)
	if len(d.Packets) != 0 {
		t.Errorf("polled in the window: %v", d.Packets)
	}
	w.run(20 * time.Millisecond)
	if len(d.Packets) != 1 || d.Packets[0].Op != entry.Poll || d.Packets[0].Group != g.Status.Index {
		t.Errorf("packets %v", d.Packets)
	}
	if len(w.devices["n5"].Packets)+len(w.devices["n2"].Packets) != 0 {
		t.Error("others were polled")
	}
	// The next window is another one.
	w.core.PacketIn("n4", window)
	w.run(50 * time.Millisecond)
	if len(d.Packets) != 2 {
		t.Errorf("packets %v", d.Packets)
	}
}

// branches answers STATE packet-outs.
type branches map[string]map[uint8]entry.PacketIn

func (b branches) answer(w *bed) {
	for name, d := range w.devices {
		packets := d.Packets
		d.Packets = nil
		for _, p := range packets {
			if p.Op != entry.State {
				continue
			}
			if in, ok := b[name][p.Branch]; ok {
				in.Reason, in.Group, in.Branch = entry.StateAnswer, p.Group, p.Branch
				w.core.PacketIn(name, in)
			}
		}
	}
}

func TestQueryState(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	g := w.put("g", net.Spec(1, "s1", "r1", "r2", "r4"))
	w.run(time.Second)
	id, err := w.core.QueryState("g")
	if err != nil {
		t.Fatal(err)
	}
	w.run(10 * time.Millisecond)
	at := func(psn uint32) entry.PacketIn {
		return entry.PacketIn{Epoch: g.Status.Epoch, Valid: true, AckPSN: psn, MSN: 3, LastKnown: true,
			LastPSN: 5, CNPCount: 2, CNPTotal: 7}
	}
	nak := at(1<<24 - 1)
	nak.NAKPending, nak.RNR, nak.RNRTimer = true, true, 0
	all := branches{"n1": {0: at(4), 1: nak}, "n4": {0: at(4)}, "n5": {0: {Epoch: g.Status.Epoch}},
		"n6": {0: at(4), 1: at(4)}, "n3": {0: at(6)}}
	all.answer(w)
	w.run(10 * time.Millisecond)
	if len(w.states) != 1 || w.states[0].ID != id || !w.state(0).Complete || w.state(0).Group != "g" {
		t.Fatalf("reports %+v", w.states)
	}
	for _, n := range w.state(0).Nodes {
		switch b := n.Branches[len(n.Branches)-1]; n.Switch {
		case "n1":
			if b.Receiver != net.Address("r2") || b.AckPSN != 1<<24-1 || b.EPSN != 0 || !b.NAKPending ||
				b.RNRTimer == nil || *b.RNRTimer != 0 || n.CNPTotal != 7 || n.LastPSN != 5 {
				t.Errorf("n1: %+v", n)
			}
		case "n5":
			if b.Child != "n3" || b.Valid || b.AckPSN != -1 || b.EPSN != -1 || n.LastPSN != -1 {
				t.Errorf("n5: %+v", n)
			}
		}
	}

	// Switches that do not answer do not hold the report up.
	w.states = nil
	if _, err := w.core.QueryState("g"); err != nil {
		t.Fatal(err)
	}
	w.disconnect("n1")
	if _, err := w.core.QueryState("g"); err != nil {
		t.Fatal(err)
	}
	w.run(10 * time.Millisecond)
	delete(all, "n3")
	all.answer(w)
	w.run(2 * time.Second)
	if len(w.states) != 2 || w.state(0).Complete || w.state(1).Complete {
		t.Fatalf("reports %+v", w.states)
	}
	if _, err := w.core.QueryState("x"); !errors.Is(err, api.ErrNotFound) {
		t.Error(err)
	}
}

func TestEviction(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	spec := net.Spec(1, "s1", "r1", "r2", "r4")
	spec.EvictAfter = api.Duration(400 * time.Millisecond)
	before := w.put("g", spec)
	w.run(300 * time.Millisecond)
	psn := uint32(1<<24 - 50)
	state := func(r uint32) entry.PacketIn {
		return entry.PacketIn{Epoch: before.Status.Epoch, Valid: true, AckPSN: r & (1<<24 - 1)}
	}
	step := func(n int, moving bool) {
		for range n {
			all := branches{"n1": {0: state(psn), 1: state(1<<24 - 60)}, "n3": {0: state(psn + 1)},
				"n4": {0: state(psn)}, "n5": {0: state(psn)}, "n6": {0: state(psn), 1: state(psn)}}
			if moving {
				all["n1"][1] = state(psn - 7)
			}
			all.answer(w)
			w.run(20 * time.Millisecond)
			psn++ // over the wrap
		}
	}
	step(40, true) // behind, but moving
	if g := w.group("g"); len(g.Status.StalledReceivers) != 0 || g.Status.Is(api.Degraded) {
		t.Errorf("a receiver that moves has stalled: %+v", g.Status)
	}
	psn = 1<<24 - 10
	step(15, false)
	g := w.group("g")
	if len(g.Status.StalledReceivers) != 1 ||
		g.Status.StalledReceivers[0].Address != net.Address("r2") ||
		g.Status.Condition(api.Degraded).Reason != api.ReasonReceiverStalled {
		t.Errorf("stalled: %+v, %+v", g.Status.StalledReceivers, g.Status.Conditions)
	}
	step(40, false)
	w.run(time.Second)
	g = w.group("g")
	if !slices.Equal(g.Status.EvictedReceivers, []netip.Addr{net.Address("r2")}) ||
		len(g.Status.StalledReceivers) != 0 || g.Status.Epoch != before.Status.Epoch {
		t.Errorf("after the eviction: %+v", g.Status)
	}
	if c := g.Status.Condition(api.Degraded); !c.Status || c.Reason != api.ReasonReceiversEvicted {
		t.Errorf("condition %+v", c)
	}
	if len(g.Spec.Receivers) != 3 || g.Status.Receivers[1].Programmed {
		t.Errorf("the spec is the client's: %+v", g)
	}
	w.converged()
	var told []string
	for _, e := range w.log {
		if e.Type == api.EventReceiverStalled || e.Type == api.EventReceiverEvicted {
			told = append(told, string(e.Type)+" "+e.Message)
		}
	}
	if want := []string{"receiver.stalled " + net.Address("r2").String(),
		"receiver.evicted " + net.Address("r2").String()}; !slices.Equal(told, want) {
		t.Errorf("events %q", told)
	}
	// It stays out over a restart, and comes back with a reset.
	w.boot()
	w.core.SetTopology(net.Topology.Build())
	w.connectAll()
	w.run(200 * time.Millisecond)
	if g := w.group("g"); len(g.Status.EvictedReceivers) != 1 {
		t.Errorf("after a restart: %+v", g.Status.EvictedReceivers)
	}
	back, err := w.core.ResetGroup("g", resource.Precondition{})
	if err != nil || len(back.Status.EvictedReceivers) != 0 ||
		back.Status.Epoch <= before.Status.Epoch {
		t.Errorf("after a reset: %+v, %v", back.Status, err)
	}
}

// A refused entry degrades the group that wants it, and no other, until the
// switch takes it.
func TestRefusedEntry(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	other := net.Spec(2, "r4", "r5")
	w.put("other", other)
	w.run(time.Second)
	full, attempts := true, 0
	w.devices["n1"].Refuse = func(u entry.Update) *entry.Refusal {
		if tb, ok := u.Entity.(entry.Table); ok && tb.Name == p4.TableMtBranch && full {
			attempts++
			return &entry.Refusal{Reason: entry.RefusedCapacity, Message: "RESOURCE_EXHAUSTED: table full"}
		}
		return nil
	}
	spec := net.Spec(1, "s1", "r1", "r4")
	w.put("g", spec)
	w.run(2 * time.Second)
	g := w.group("g")
	if c := g.Status.Condition(api.Degraded); !c.Status || c.Reason != api.ReasonDeviceError ||
		!strings.Contains(c.Message, "n1: insert mt_branch/") ||
		!strings.Contains(c.Message, "table full") {
		t.Errorf("condition %+v", c)
	}
	if g.Status.Is(api.Programmed) {
		t.Error("programmed without an entry")
	}
	if got, _ := w.copies(&spec); len(got) != 0 {
		t.Errorf("data before answers: %v", got)
	}
	if g := w.group("other"); g.Status.Is(api.Degraded) || !g.Status.Is(api.Programmed) {
		t.Errorf("another group: %+v", g.Status)
	}
	if attempts < 3 || attempts > 8 {
		t.Errorf("%d attempts in 2 s with pauses from 100 ms that double", attempts)
	}
	for _, s := range w.core.Switches() {
		if s.Name == "n1" && (s.Synced || len(s.Errors) != 1) {
			t.Errorf("n1: %+v", s)
		}
	}
	full = false
	w.run(40 * time.Second)
	if g := w.group("g"); g.Status.Is(api.Degraded) || !g.Status.Is(api.Programmed) {
		t.Errorf("in the end: %+v", g.Status.Conditions)
	}
	w.converged()
	w.delivers(&spec)
}

// The core repairs a switch whose contents differ from the core's view.
func TestDrift(t *testing.T) {
	net := sample.Figure1()
	w := newBed(t, net, 3)
	net.Inventory.Intervals.Audit = api.Duration(10 * time.Second)
	w.boot()
	w.core.SetTopology(net.Topology.Build())
	w.connectAll()
	spec := net.Spec(1, "s1", "r1", "r4")
	w.run(time.Second)
	w.put("g", spec)
	w.run(time.Second)
	d := w.devices["n1"]
	// Something is gone, something is wrong, something is too much.
	n := 0
	for _, k := range slices.Sorted(keysOf(d)) {
		tb, ok := d.Entities[k].(entry.Table)
		if !ok {
			continue
		}
		switch tb.Name {
		case p4.TableMtUpstream:
			delete(d.Entities, k)
			n++
		case p4.TableMyStation:
			extra := entry.In(p4.TableMyStation, entry.Do(p4.ActionAcceptStation),
				entry.Exact("dst_addr", entry.MAC([6]byte{2, 9, 9, 9, 9, 9})))
			d.Entities[extra.Key()] = extra
			n++
		case p4.TableNeighbor:
			wrong := tb
			wrong.Action = entry.Do(p4.ActionSetMacs, entry.With("src_addr", entry.Uint(1)),
				entry.With("dst_addr", entry.Uint(2)))
			d.Entities[k] = wrong
			n++
		}
	}
	stray := entry.In(p4.TableMtProxy,
		entry.Do(p4.ActionSetGroup, entry.With("group", entry.Uint(900))),
		entry.Exact("dst_addr", entry.Uint(77)))
	d.Entities[stray.Key()] = stray
	w.run(15 * time.Second)
	if o := w.core.Orphans(); len(o) != 1 || o[0].Name != "multicast-group-900@n1" ||
		o[0].Entries != 1 {
		t.Errorf("orphans %+v", o)
	}
	w.deleteOrphans()
	w.run(time.Second)
	w.converged()
	if n < 3 {
		t.Errorf("only %d things were put wrong", n)
	}
}

func keysOf(d interface{ Contents() entry.Contents }) func(func(entry.Key) bool) {
	return func(yield func(entry.Key) bool) {
		for _, e := range d.Contents().Entities {
			if !yield(e.Key()) {
				return
			}
		}
	}
}

// The controller also writes to a switch that cannot report its entities of one kind.
func TestUnreadableKinds(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	spec := net.Spec(1, "s1", "r1", "r4")
	w.put("g", spec)
	w.run(time.Second)
	w.disconnect("n4")
	contents := w.devices["n4"].Contents()
	contents.Entities = slices.DeleteFunc(contents.Entities,
		func(e entry.Entity) bool { return e.Kind() == entry.KindMulticast })
	contents.Unknown = []entry.Kind{entry.KindMulticast}
	w.known["n4"] = w.session["n4"]
	w.core.SwitchConnected("n4", contents)
	w.run(5 * time.Second)
	w.converged()
	if g := w.group("g"); g.Status.Is(api.Degraded) {
		t.Errorf("%+v", g.Status.Conditions)
	}
}

// After a write with an unknown outcome, the controller reads the switch.
func TestUnknownOutcome(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	w.put("g", net.Spec(1, "s1", "r1"))
	lost := 0
	for range 200 {
		r := w.core.Ready(0)
		_ = w.store.Apply(t.Context(), r.Saves)
		for _, work := range r.Tasks {
			result := w.devices[work.Switch].Do(work)
			if work.Switch == "n4" && !work.Read && lost < 3 {
				lost++
				result = reconcile.Result{Switch: work.Switch, ID: work.ID,
					Err: errors.New("deadline exceeded")}
			}
			w.core.Done(result)
		}
		w.Run(w.Now()+10*time.Millisecond, virtual.Idle, nil)
		w.core.Tick(w.Now())
	}
	if lost == 0 {
		t.Error("no outcome was lost")
	}
	w.converged()
}

// The controller passes an epoch in a switch that another controller made, also at another index
// and after the store's loss.
func TestForeignEpoch(t *testing.T) {
	net := sample.Figure1()
	w := newBed(t, net, 1)
	later := uint64(start.Unix()) + 100
	w.core.SetTopology(net.Topology.Build())
	first := w.put("g", net.Spec(1, "s1", "r1")) // before anything was read
	for i, index := range []uint64{uint64(first.Status.Index), 0} {
		e := entry.In(p4.TableMtBranch, entry.Do(p4.ActionSetBranch, entry.With("branch", entry.Uint(0)),
			entry.With("epoch", entry.Uint(later+uint64(i))),
			entry.With("receiver", entry.Bool(true)), entry.With("msn_offset", entry.Uint(0))),
			entry.Exact("group", entry.Uint(index)), entry.Exact("port", entry.Uint(9)),
			entry.Exact("src_addr", entry.Uint(5)))
		w.devices["n1"].Entities[e.Key()] = e
	}
	if first.Status.Epoch != uint32(start.Unix()) {
		t.Errorf("first epoch %d", first.Status.Epoch)
	}
	w.connectAll()
	w.run(time.Second)
	if g := w.group("g"); uint64(g.Status.Epoch) != later+1 {
		t.Errorf("epoch %d, want %d", g.Status.Epoch, later+1)
	}
	w.deleteOrphans()
	w.run(time.Second)
	w.converged()
	if g := w.put("h", net.Spec(2, "s1", "r1")); uint64(g.Status.Epoch) != later+2 {
		t.Errorf("epoch %d at the other index, want %d", g.Status.Epoch, later+2)
	}
	// No epoch follows the last one, whatever the time. A new group gets another index. An existing
	// group reports NotPlannable until a client applies the group again.
	w3 := newBed(t, sample.Figure1(), 1)
	w3.core.SetTopology(w3.net.Topology.Build())
	spec := w3.net.Spec(1, "s1", "r1")
	old := w3.put("g", spec) // before anything was read
	for _, index := range []uint64{uint64(old.Status.Index), 2} {
		last := entry.In(p4.TableMtGroup,
			entry.Do(p4.ActionSetGroupState, entry.With("epoch", entry.Uint(math.MaxUint32))),
			entry.Exact("group", entry.Uint(index)))
		w3.devices["n1"].Entities[last.Key()] = last
	}
	w3.epochs["n1"][int(old.Status.Index)] = old.Status.Epoch
	w3.connectAll()
	w3.run(time.Second)
	for range 2 {
		if g := w3.group("g"); g.Status.Index != old.Status.Index || g.Status.Epoch != old.Status.Epoch ||
			g.Status.Condition(api.Accepted).Reason != api.ReasonNotPlannable {
			t.Errorf("epochs are used up: %+v", g.Status)
		}
		w3.core.SetTopology(w3.net.Topology.Build()) // planned again
		w3.run(time.Second)
	}
	var refused *api.Error
	if _, err := w3.core.ResetGroup("g", resource.Precondition{}); !errors.As(err, &refused) ||
		refused.Code != api.CodeNotPlannable {
		t.Errorf("reset: %v", err)
	}
	if _, _, err := w3.core.Groups().Put("g", w3.net.Spec(1, "s1", "r1", "r3"),
		resource.Precondition{}); !errors.As(err, &refused) || refused.Code != api.CodeNotPlannable {
		t.Errorf("put: %v", err)
	}
	if g := w3.put("h", w3.net.Spec(2, "s1", "r1")); g.Status.Index != 0 {
		t.Errorf("another group has index %d", g.Status.Index)
	}
	for i, want := range []uint16{1, 3} { // 2 is that of an orphan
		if g := w3.put("i"+strconv.Itoa(i), w3.net.Spec(3+i, "s1", "r1")); g.Status.Index != want {
			t.Errorf("one more has index %d, want %d", g.Status.Index, want)
		}
	}
	if err := w3.core.Groups().Delete("g", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w3.run(time.Second)
	if g := w3.put("g", spec); g.Status.Index != 4 {
		t.Errorf("applied again with index %d", g.Status.Index)
	}
	w3.deleteOrphans()
	w3.run(time.Second)
	w3.converged()
	w3.delivers(&spec)
	if epoch := w3.group("h").Status.Epoch; epoch != uint32(start.Unix())+3 {
		t.Errorf("epoch %d at a fresh index", epoch)
	}
	// If a switch holds the same epoch without a write from the controller, the controller treats the
	// epoch as foreign.
	w2 := newBed(t, sample.Figure1(), 1)
	w2.core.SetTopology(w2.net.Topology.Build())
	g := w2.put("g", w2.net.Spec(1, "s1", "r1"))
	same := entry.In(p4.TableMtGroup,
		entry.Do(p4.ActionSetGroupState, entry.With("epoch", entry.Uint(uint64(g.Status.Epoch)))),
		entry.Exact("group", entry.Uint(uint64(g.Status.Index))))
	w2.devices["n1"].Entities[same.Key()] = same
	w2.connectAll()
	w2.run(time.Second)
	if now := w2.group("g"); now.Status.Epoch != g.Status.Epoch+1 {
		t.Errorf("epoch %d after %d", now.Status.Epoch, g.Status.Epoch)
	}
}

func TestPreconditionsAndLimits(t *testing.T) {
	net := sample.Clos(2, 1, 8)
	w := up(t, net, 1)
	w.core.Inventory().Limits.Groups = 3
	code := func(err error) api.Code {
		var e *api.Error
		if !errors.As(err, &e) {
			return ""
		}
		return e.Code
	}
	put := func(name string, i int, pre resource.Precondition) (api.MulticastGroup, bool, error) {
		return w.core.Groups().Put(name, net.Spec(i, "h1", "h9"), pre)
	}
	g, created, err := put("a", 1, resource.Precondition{Absent: true})
	if err != nil || !created {
		t.Fatal(created, err)
	}
	if _, _, err := put("a", 1, resource.Precondition{Absent: true}); code(err) != api.CodeExists {
		t.Error(err)
	}
	if _, _, err := put("b", 2, resource.Precondition{Version: 7}); code(err) != api.CodeVersion {
		t.Error(err)
	}
	if same, created, err := put("a", 1, resource.Precondition{Version: g.Version}); err != nil ||
		created || same.Version != g.Version {
		t.Error(same, created, err)
	}
	more := net.Spec(1, "h1", "h9", "h10")
	changed, _, err := w.core.Groups().Put("a", more, resource.Precondition{Version: g.Version})
	if err != nil || changed.Version <= g.Version {
		t.Error(changed, err)
	}
	if _, _, err := w.core.Groups().Put("a", net.Spec(1, "h1", "h9"),
		resource.Precondition{Version: g.Version}); code(err) != api.CodeVersion {
		t.Error(err)
	}
	if _, err := w.core.ResetGroup("a",
		resource.Precondition{Version: g.Version}); code(err) != api.CodeVersion {
		t.Error(err)
	}
	if err := w.core.Groups().Delete("a",
		resource.Precondition{Version: g.Version}); code(err) != api.CodeVersion {
		t.Error(err)
	}
	if _, _, err := put("b", 1, resource.Precondition{}); code(err) != api.CodeConflict {
		t.Errorf("a proxy address that is taken: %v", err)
	}
	if _, _, err := put("b/c", 2, resource.Precondition{}); code(err) != api.CodeInvalid {
		t.Error(err)
	}
	for i := 2; i <= 3; i++ {
		if _, _, err := put(fmt.Sprint("g", i), i, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = put("g4", 4, resource.Precondition{})
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeLimit || *e.Fields[0].Limit != 3 {
		t.Errorf("a fourth group: %v", err)
	}
	// A proxy address, and an index, is free when the switches are.
	w.run(time.Second)
	if err := w.core.Groups().Delete("g2", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := put("g5", 2, resource.Precondition{}); code(err) != api.CodeConflict {
		t.Errorf("at once: %v", err)
	}
	w.run(time.Second)
	if g, _, err := put("g5", 2, resource.Precondition{}); err != nil || g.Status.Index != 1 {
		t.Errorf("later: %+v, %v", g.Status, err)
	}
	w.run(time.Second)
	w.converged()
}
