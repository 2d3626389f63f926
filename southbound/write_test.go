package southbound

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/p4/wire"
	"github.com/weft-sdn/weft/southbound/entry"
)

func TestWriteAndReadBack(t *testing.T) {
	f := newFakeSwitch(t)
	// A switch of the kind that made ONOS reinstall for ever.
	f.report = func(e *p4v1.Entity) *p4v1.Entity {
		if te := e.GetTableEntry(); te != nil {
			slices.Reverse(te.Match)
			for _, m := range te.Match {
				if x := m.GetExact(); x != nil {
					x.Value = append([]byte{0, 0, 0}, x.Value...)
				}
			}
			for _, p := range te.GetAction().GetAction().GetParams() {
				p.Value = append([]byte{0}, p.Value...)
			}
		}
		return e
	}
	s, _ := ready(t, f)
	var want []entry.Entity
	for _, e := range every() {
		if e.Kind() != entry.KindReports {
			want = append(want, e)
		}
	}
	wantAccepted(t)(s.Write(t.Context(), insert(want...)))
	got, err := s.ReadAll(t.Context())
	if err != nil || len(got.Unknown) != 0 || got.Foreign != 0 {
		t.Fatalf("%v, unknown %v, foreign %d", err, got.Unknown, got.Foreign)
	}
	have := make(map[entry.Key]entry.Entity)
	for _, e := range got.Entities {
		have[e.Key()] = e
	}
	for _, e := range want {
		if !entry.Equal(have[e.Key()], e) {
			t.Errorf("%s read back as %v", e, have[e.Key()])
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d entities for %d updates", len(have), len(want))
	}
	routes, err := s.ReadTable(t.Context(), "route")
	if err != nil || len(routes) != 2 {
		t.Errorf("table route: %v, %v", routes, err)
	}
	if nodes, err := s.ReadTable(t.Context(), "node"); err != nil || len(nodes) != 1 ||
		!nodes[0].Default {
		t.Errorf("table node, which has a default action only: %v, %v", nodes, err)
	}
	if _, err := s.ReadTable(t.Context(), "nope"); !errors.Is(err, ErrUnknownName) {
		t.Errorf("%v", err)
	}
}

// wantAccepted fails the test unless all updates of a write took effect.
func wantAccepted(t *testing.T) func([]entry.Refusal, error) {
	t.Helper()
	return func(refused []entry.Refusal, err error) {
		t.Helper()
		if err != nil || len(refused) > 0 {
			t.Fatalf("refused %v, %v", refused, err)
		}
	}
}

// TestReadPassesOver: a controller cannot change entries of the program itself, and has no names
// for entries that another program left.
func TestReadPassesOver(t *testing.T) {
	f := newFakeSwitch(t)
	s, _ := ready(t, f)
	f.with(func() {
		made, err := f.schema.Encode(route("2001:db8::", 32, 1))
		if err != nil {
			t.Fatal(err)
		}
		made.GetTableEntry().IsConst = true
		f.entities["made"] = made
		f.entities["foreign"] = wire.Entity(&p4v1.TableEntry{
			TableId: routeTable,
			Action:  &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: 99}}},
		})
	})
	got, err := s.ReadAll(t.Context())
	if err != nil || len(got.Entities) != 0 || got.Foreign != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if es, err := s.ReadTable(t.Context(), "route"); err != nil || len(es) != 1 || !es[0].Const {
		t.Errorf("%v, %v", es, err)
	}
	f.with(func() {
		f.entities["malformed"] = wire.Entity(&p4v1.TableEntry{
			TableId: routeTable, Match: []*p4v1.FieldMatch{{FieldId: 1}},
		})
	})
	if _, err := s.ReadAll(t.Context()); !errors.Is(err, ErrMalformed) {
		t.Errorf("a malformed entry: %v", err)
	}
}

func TestUnsupportedKindsAreNamed(t *testing.T) {
	f := newFakeSwitch(t)
	f.readFault = func(p *p4v1.Entity) error {
		if p.GetPacketReplicationEngineEntry().GetCloneSessionEntry() != nil {
			return status.Error(codes.Unimplemented, "no clone session reads")
		}
		return nil
	}
	s, _ := ready(t, f)
	wantAccepted(t)(s.Write(t.Context(), insert(route("2001:db8::", 32, 1))))
	got, err := s.ReadAll(t.Context())
	if err != nil || len(got.Entities) != 1 ||
		!slices.Equal(got.Unknown, []entry.Kind{entry.KindClone}) {
		t.Errorf("%+v, %v", got, err)
	}
	f.with(func() {
		f.readFault = func(*p4v1.Entity) error {
			return status.Error(codes.Internal, "broken")
		}
	})
	if _, err := s.ReadAll(t.Context()); err == nil || errors.Is(err, ErrUnsupported) {
		t.Errorf("a failed read is not a missing feature: %v", err)
	}
}

func TestErrorsOfSingleUpdates(t *testing.T) {
	f := newFakeSwitch(t)
	s, _ := ready(t, f)
	f.with(func() {
		f.fault = func(u *p4v1.Update) *p4v1.Error {
			if u.GetEntity().GetActionProfileMember().GetMemberId() == 2 {
				return &p4v1.Error{CanonicalCode: int32(codes.ResourceExhausted), Message: "selector is full"}
			}
			return nil
		}
	})
	refused, err := s.Write(t.Context(), append(insert(
		entry.Member{Profile: "ecmp_selector", ID: 1, Action: forwardTo(1)},
		entry.Member{Profile: "ecmp_selector", ID: 2, Action: forwardTo(2)},
		entry.In("nope", entry.Do("deny")),
		route("2001:db8::", 32, 1)),
		entry.Update{Type: entry.Delete, Entity: route("2001:db8:1::", 48, 1)},
	))
	if err != nil {
		t.Fatal(err)
	}
	want := []entry.Refusal{
		{Update: 1, Reason: entry.RefusedCapacity, Message: "ResourceExhausted: selector is full"},
		{Update: 2, Message: `nope: southbound: not in the P4Info: table "nope"`},
		{Update: 4, Reason: entry.RefusedMissing, Message: "NotFound: no such entry"},
	}
	if !slices.Equal(refused, want) {
		t.Errorf("%+v", refused)
	}
	if es, _ := s.ReadTable(t.Context(), "route"); len(es) != 1 {
		t.Errorf("the other updates were not carried out: %v", es)
	}
}

func TestErrorsWithoutDetails(t *testing.T) {
	f := newFakeSwitch(t)
	s, _ := ready(t, f)
	f.with(func() {
		f.writeFault = func(r *p4v1.WriteRequest) error {
			if r.GetUpdates()[0].GetEntity().GetTableEntry() != nil {
				return status.Error(codes.InvalidArgument, "something is wrong")
			}
			return nil
		}
	})
	refused, err := s.Write(t.Context(), insert(route("2001:db8::", 32, 1), entry.Multicast{ID: 9}))
	if err != nil || !slices.Equal(refused,
		[]entry.Refusal{{Message: "InvalidArgument: something is wrong"}}) {
		t.Fatalf("%+v, %v", refused, err)
	}
	if got, _ := s.ReadAll(t.Context()); len(got.Entities) != 1 ||
		got.Entities[0].Kind() != entry.KindMulticast {
		t.Errorf("the next request was not sent: %v", got)
	}
}

func TestBatches(t *testing.T) {
	via := func(i int) entry.Update {
		e := entry.In("ecmp", entry.Action{}, entry.Exact("group", entry.Uint(uint64(i))))
		e.Group = 7
		return entry.Update{Type: entry.Insert, Entity: e}
	}
	member := insert(entry.Member{Profile: "ecmp_selector", ID: 1, Action: forwardTo(1)})[0]
	gone := entry.Update{Type: entry.Delete, Entity: via(1).Entity}
	for _, c := range []struct {
		name       string
		in         []entry.Update
		max, bytes int
		want       []int // updates of each request
	}{
		{"one", []entry.Update{via(1)}, 10, 1000, []int{1}},
		{"by number", []entry.Update{via(1), via(2), via(3), via(4), via(5)}, 2, 1000, []int{2, 2, 1}},
		{"by size", []entry.Update{via(1), via(2), via(3)}, 10, 75, []int{2, 1}},
		{"larger than the limit", []entry.Update{via(1), via(2)}, 10, 1, []int{1, 1}},
		{"by kind", []entry.Update{member, via(1), via(2), member}, 10, 1000, []int{1, 2, 1}},
		{"the same entity again", []entry.Update{via(1), via(2), gone, via(3)}, 10, 1000, []int{2, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var took taker
			client := Client{Transport: &took, Pipeline: smallPipeline(t), BatchUpdates: c.max,
				BatchBytes: c.bytes}
			wantAccepted(t)(client.Write(t.Context(), c.in))
			var got []int
			var all []*p4v1.Update
			for _, r := range took.requests {
				got = append(got, len(r.GetUpdates()))
				all = append(all, r.GetUpdates()...)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for i, u := range c.in {
				want, err := smallPipeline(t).Schema().encodeUpdate(new(maker), u)
				if err != nil || !proto.Equal(all[i], want) {
					t.Errorf("update %d is %v, want %v: %v", i, all[i], want, err)
				}
			}
		})
	}
}

// taker is a switch that keeps copies of the write requests.
type taker struct {
	Transport
	requests []*p4v1.WriteRequest
}

func (x *taker) Write(_ context.Context, r *p4v1.WriteRequest) error {
	x.requests = append(x.requests, proto.CloneOf(r))
	return nil
}

// slow is a switch whose Writes end when the test sends their outcome.
type slow struct {
	Transport
	came    chan *p4v1.WriteRequest // each Write
	outcome chan error              // its outcome
}

func (x *slow) Write(_ context.Context, r *p4v1.WriteRequest) error {
	x.came <- proto.CloneOf(r)
	return <-x.outcome
}

// TestWritesAtOnce: as many requests as allowed are under way, and no request passes a place where
// the order counts before all earlier requests are done.
func TestWritesAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		x := &slow{came: make(chan *p4v1.WriteRequest, 100), outcome: make(chan error)}
		client := Client{Transport: x, Pipeline: smallPipeline(t), BatchUpdates: 2, AtOnce: 3}
		var updates []entry.Update
		for i := range 10 {
			updates = append(updates, insert(entry.Multicast{ID: uint32(i + 1)})...)
		}
		updates = append(updates, insert(route("2001:db8::", 32, 1), route("2001:db8::", 48, 1))...)
		updates = append(updates, entry.Update{Type: entry.Delete, Entity: route("2001:db8::", 32, 1)})
		done := make(chan error, 1)
		go func() {
			refused, err := client.Write(t.Context(), updates)
			if len(refused) > 0 {
				t.Errorf("refused: %v", refused)
			}
			done <- err
		}()
		seen := make(map[uint32]bool)
		for step, want := range []int{3, 1, 1, 0, 0, 1, 1} {
			if step > 0 {
				if len(done) > 0 {
					t.Fatal("the Write has ended early")
				}
				x.outcome <- nil
			}
			synctest.Wait()
			got := 0
			for len(x.came) > 0 {
				got++
				for _, u := range (<-x.came).GetUpdates() {
					seen[u.GetEntity().GetPacketReplicationEngineEntry().GetMulticastGroupEntry().
						GetMulticastGroupId()] = true
				}
			}
			if got != want {
				t.Errorf("step %d: %d requests, want %d", step, got, want)
			}
		}
		x.outcome <- nil
		if err := <-done; err != nil || len(seen) != 11 {
			t.Errorf("%v, %d groups", err, len(seen)-1)
		}
	})
}

// TestWriteFails: after a request has failed as a whole, Write sends no further request, and waits
// for the requests under way.
func TestWriteFails(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		x := &slow{came: make(chan *p4v1.WriteRequest, 100), outcome: make(chan error)}
		client := Client{Transport: x, Pipeline: smallPipeline(t), BatchUpdates: 1, AtOnce: 3}
		var updates []entry.Update
		for i := range 10 {
			updates = append(updates, insert(entry.Multicast{ID: uint32(i + 1)})...)
		}
		var refused []entry.Refusal
		done := make(chan error, 1)
		go func() {
			var err error
			refused, err = client.Write(t.Context(), updates)
			done <- err
		}()
		synctest.Wait()
		x.outcome <- ErrNotPrimary
		synctest.Wait()
		x.outcome <- status.Error(codes.AlreadyExists, "again")
		synctest.Wait()
		if len(done) > 0 {
			t.Error("the Write has ended before its requests")
		}
		x.outcome <- nil
		if err := <-done; !errors.Is(err, ErrNotPrimary) || len(x.came) != 3 || len(refused) != 1 ||
			refused[0].Reason != entry.RefusedExists {
			t.Errorf("%v, refused %v, %d requests", err, refused, len(x.came))
		}
	})
}

func TestLargeWrite(t *testing.T) {
	f := newFakeSwitch(t)
	cfg := f.config()
	cfg.Pipeline = smallPipeline(t)
	cfg.BatchUpdates = 64
	s, ev := open(t, cfg)
	next[Ready](t, ev)
	var groups []entry.Entity
	for i := range 1000 {
		groups = append(groups, entry.Copies(uint32(i+1), entry.Replica{Port: uint32(i % 9),
			Instance: 1}))
	}
	wantAccepted(t)(s.Write(t.Context(), insert(groups...)))
	n := make(map[uint32]bool)
	f.with(func() {
		for _, r := range f.requests {
			if len(r.GetUpdates()) > 64 {
				t.Errorf("a request of %d updates", len(r.GetUpdates()))
			}
			for _, u := range r.GetUpdates() {
				id := u.GetEntity().GetPacketReplicationEngineEntry().GetMulticastGroupEntry().
					GetMulticastGroupId()
				if n[id] || id < 1 || id > 1000 {
					t.Fatalf("group %d, or once more", id)
				}
				n[id] = true
			}
		}
	})
	if len(n) != 1000 {
		t.Errorf("%d updates arrived", len(n))
	}
}

func TestStreamLostMidWrite(t *testing.T) {
	f := newFakeSwitch(t)
	s, ev := ready(t, f)
	f.with(func() { f.hold, f.gotWrite = make(chan struct{}), make(chan struct{}, 8) })
	done := make(chan error, 1)
	go func() {
		_, err := s.Write(t.Context(), insert(entry.Multicast{ID: 1}, route("2001:db8::", 32, 1)))
		done <- err
	}()
	<-f.gotWrite
	f.drop(errors.New("cut"))
	if err := <-done; !errors.Is(err, ErrNotConnected) || !strings.Contains(err.Error(), "n1") {
		t.Errorf("%v", err)
	}
	next[Down](t, ev)
	f.with(func() { close(f.hold); f.hold, f.gotWrite = nil, nil })
	next[Ready](t, ev)
	wantAccepted(t)(s.Write(t.Context(), insert(route("2001:db8::", 32, 1))))
}

func TestSlowWriteTimesOut(t *testing.T) {
	f := newFakeSwitch(t)
	cfg := f.config()
	cfg.Pipeline = smallPipeline(t)
	cfg.RequestTimeout = 20 * time.Millisecond
	s, ev := open(t, cfg)
	next[Ready](t, ev)
	f.with(func() { f.hold = make(chan struct{}) })
	_, err := s.Write(t.Context(), insert(entry.Multicast{ID: 1}))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Write(ctx, insert(entry.Multicast{ID: 1})); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
