package reconcile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/southbound/entry"
)

// bed is a reconciler of one switch "s". Owners and ranks are fields of the entities: a
// multicast group with the number 100 * owner + rank.
type bed struct {
	reconcile.Want
	reconcile.State
	reconcile.Events
	t      *testing.T
	frozen map[reconcile.Owner]bool
	// guarded are the owners whose unexplained entities stay.
	intended map[reconcile.Owner]bool
	keeps    func(entry.Entity) bool
}

func newBed(t *testing.T, holds ...uint32) *bed {
	b := &bed{t: t, frozen: make(map[reconcile.Owner]bool), intended: make(map[reconcile.Owner]bool),
		keeps: func(entry.Entity) bool { return false }}
	number := func(e entry.Entity) int { return int(e.(entry.Multicast).ID) }
	var err error
	b.Want, b.State, b.Events, err = reconcile.New(reconcile.Config{
		Owner:    func(e entry.Entity) reconcile.Owner { return reconcile.Owner(number(e) / 100) },
		Rank:     func(e entry.Entity) int { return number(e) % 100 },
		Frozen:   func(_ string, o reconcile.Owner) bool { return b.frozen[o] },
		Keeps:    func(_ string, _ reconcile.Owner, e entry.Entity) bool { return b.keeps(e) },
		Intended: func(o reconcile.Owner) bool { return b.intended[o] },
		Object:   func(o reconcile.Owner) string { return fmt.Sprintf("owner %d", o) },
		Start:    time.Unix(1e9, 0),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.SetSwitches(map[string]bool{"s": true}, reconcile.Intervals{RetryMin: time.Second,
		RetryMax: 3 * time.Second})
	b.Connect("s", entry.Contents{Entities: groups(holds...)})
	return b
}

func groups(ids ...uint32) (out []entry.Entity) {
	for _, id := range ids {
		out = append(out, entry.Multicast{ID: id, Replicas: []entry.Replica{{Port: 1, Instance: 1}}})
	}
	return out
}

func (b *bed) want(o reconcile.Owner, ids ...uint32) { b.Set("s", o, groups(ids...), nil) }

// task returns the one task there is now, and its updates: "+100 -205".
func (b *bed) task() (t reconcile.Task, text string) {
	b.t.Helper()
	b.Diff(func(string, reconcile.Owner) {})
	tasks := b.Tasks(0, 0)
	if len(tasks) == 0 {
		return t, ""
	}
	if len(tasks) > 1 {
		b.t.Fatalf("%d tasks for one switch", len(tasks))
	}
	if tasks[0].Read {
		return tasks[0], "read"
	}
	var out []string
	for i, batch := range tasks[0].Batches {
		if i > 0 {
			out = append(out, "/")
		}
		for _, u := range batch {
			sign := map[entry.UpdateType]string{entry.Insert: "+", entry.Modify: "*",
				entry.Delete: "-"}[u.Type]
			out = append(out, sign+strings.TrimPrefix(string(u.Entity.Key()), "multicast/"))
		}
	}
	return tasks[0], strings.Join(out, " ")
}

// expect carries out the present task and checks the updates in the task.
func (b *bed) expect(updates string, refused ...entry.Refusal) {
	b.t.Helper()
	t, got := b.task()
	if got != updates {
		b.t.Fatalf("updates %q, want %q", got, updates)
	}
	if t.ID != 0 && b.Done(reconcile.Result{Switch: "s", ID: t.ID, Refused: refused,
		Contents: entry.Contents{Entities: b.Held("s")}}) == reconcile.Unawaited {
		b.t.Fatal("the outcome was not awaited")
	}
}

// TestOrder: insertions by rank, then deletions in the opposite order; a batch ends where the
// rank changes.
func TestOrder(t *testing.T) {
	b := newBed(t, 101, 102, 203)
	b.want(1, 105, 103, 104)
	b.want(2, 204)
	b.expect("+103 / +104 +204 / +105")
	b.expect("-203 / -102 / -101")
	b.expect("")
	if got := len(b.Held("s")); got != 4 {
		t.Errorf("holds %d entities", got)
	}
}

// TestRefusal: a refused update is tried again after a pause that doubles, and holds up the
// deletions of its owner alone.
func TestRefusal(t *testing.T) {
	b := newBed(t, 101, 201)
	refused := entry.Refusal{Reason: entry.RefusedOther, Message: "no"}
	b.want(1, 102)
	b.want(2)
	b.expect("+102", refused)
	b.expect("-201")
	for _, until := range []time.Duration{time.Second, 3 * time.Second, 6 * time.Second,
		9 * time.Second} {
		b.expect("")
		if f := b.Of("s", 1).Failures(5); len(f) != 1 || !strings.HasPrefix(f[0], "s: ") ||
			!strings.HasSuffix(f[0], ": no") {
			t.Errorf("failures %q", f)
		}
		at, ok := b.Next()
		if !ok || at != until {
			t.Fatalf("next at %v, %v, want %v", at, ok, until)
		}
		b.Tick(at)
		b.expect("+102", refused)
	}
	b.want(1)
	b.expect("-101")
	if s, _ := b.Status("s"); len(s.Failures) > 0 {
		t.Errorf("failures %q of what nobody wants", s.Failures)
	}
}

// TestNoRoom: when a switch has no room, deletions go first.
func TestNoRoom(t *testing.T) {
	b := newBed(t, 101)
	b.want(1, 102)
	b.expect("+102", entry.Refusal{Reason: entry.RefusedCapacity, Message: "full"})
	b.expect("-101")
}

// TestUnknownOutcome: nothing is written until the switch has been read back.
func TestUnknownOutcome(t *testing.T) {
	b := newBed(t)
	b.want(1, 101)
	task, _ := b.task()
	b.Done(reconcile.Result{Switch: "s", ID: task.ID, Err: errors.New("lost")})
	b.expect("")
	if s, _ := b.Status("s"); !s.Blocked {
		t.Error("not blocked")
	}
	b.Tick(time.Second)
	task, what := b.task()
	if what != "read" {
		t.Fatalf("task %q", what)
	}
	b.Done(reconcile.Result{Switch: "s", ID: task.ID, Contents: entry.Contents{Entities: groups(101)}})
	b.expect("")
	if b.Done(reconcile.Result{Switch: "s", ID: task.ID}) != reconcile.Unawaited {
		t.Error("an outcome counts twice")
	}
}

// TestFrozenAndKept: what a frozen owner has stays until it is thawed; what is kept is looked at
// again when any owner's wants change.
func TestFrozenAndKept(t *testing.T) {
	b := newBed(t, 101, 201)
	b.frozen[1] = true
	used := true
	b.keeps = func(e entry.Entity) bool {
		return used && e.Key() == groups(201)[0].Key()
	}
	b.expect("")
	b.frozen[1] = false
	b.expect("")
	b.Thaw("s")
	b.expect("-101")
	used = false
	b.expect("")
	b.want(3, 301)
	b.expect("+301")
	b.expect("-201")
}

// TestAudit: a switch is read back at every audit of its last connection.
func TestAudit(t *testing.T) {
	b := newBed(t)
	b.SetSwitches(map[string]bool{"s": true}, reconcile.Intervals{Audit: time.Minute,
		RetryMin: time.Second, RetryMax: time.Second})
	b.Tick(time.Second)
	b.Disconnect("s", "gone")
	b.Connect("s", entry.Contents{})
	b.Tick(time.Minute)
	b.expect("")
	b.Tick(61 * time.Second)
	b.expect("read")
	b.Tick(121 * time.Second)
	b.expect("read")
}

// TestWantedByAnother: what an owner holds and does not want stays once another one wants it, also
// when the removal was planned before.
func TestWantedByAnother(t *testing.T) {
	b := newBed(t, 101, 102)
	b.Diff(func(string, reconcile.Owner) {}) // plans the removal of both
	b.want(2, 101)
	b.expect("-102")
	b.expect("")
	b.want(2)
	b.expect("-101")
}

// TestWaitsForTheStore: what a guarded owner has begun to want is in no task before the store has
// the decision, and nothing is removed meanwhile; what others want is.
func TestWaitsForTheStore(t *testing.T) {
	b := newBed(t, 301)
	b.intended[1] = true
	tasks := func(n, kept uint64) string {
		b.Diff(func(string, reconcile.Owner) {})
		var out []string
		for _, task := range b.Tasks(n, kept) {
			for _, u := range slices.Concat(task.Batches...) {
				out = append(out, u.Type.String()+" "+string(u.Entity.Key()))
			}
			b.Done(reconcile.Result{Switch: "s", ID: task.ID})
		}
		return strings.Join(out, ", ")
	}
	b.want(1, 101)
	b.want(2, 201)
	for _, c := range []struct {
		n, kept uint64
		want    string
	}{
		{7, 6, "insert multicast/201"},
		{8, 6, ""},
		{0, 7, "insert multicast/101"},
		{0, 7, "delete multicast/301"},
	} {
		if got := tasks(c.n, c.kept); got != c.want {
			t.Errorf("while %d is kept: %q, want %q", c.kept, got, c.want)
		}
	}
	b.want(1, 101, 102)
	if got := tasks(0, 7); got != "insert multicast/102" {
		t.Errorf("of a decision that is kept: %q", got)
	}
}

// TestGoneSince: Since stays the time of the loss of a switch, however often the switch is
// unreachable afterwards.
func TestGoneSince(t *testing.T) {
	b := newBed(t)
	for i, x := range []struct {
		at     time.Duration
		reason string
		since  time.Duration
	}{
		{5 * time.Second, "the stream has ended", 5 * time.Second},
		{7 * time.Second, "connection refused", 5 * time.Second},
		{9 * time.Second, "", 9 * time.Second},
		{11 * time.Second, "connection refused", 11 * time.Second},
	} {
		b.Tick(x.at)
		if x.reason == "" {
			b.Connect("s", entry.Contents{})
		} else {
			b.Disconnect("s", x.reason)
		}
		s, ok := b.State.Status("s")
		if !ok || s.Connected != (x.reason == "") || s.Since != x.since || s.Reason != x.reason {
			t.Errorf("step %d: %+v, want it since %v for %q", i, s, x.since, x.reason)
		}
	}
}
