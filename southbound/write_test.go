package southbound

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
	var updates []Update
	for _, e := range every() {
		if e.Kind() != KindCounter && e.Kind() != KindDigest {
			updates = append(updates, Update{Insert, e})
		}
	}
	if err := s.Write(t.Context(), updates); err != nil {
		t.Fatal(err)
	}
	got, err := s.ReadAll(t.Context())
	if err != nil || len(got.Unsupported) != 0 {
		t.Fatalf("%v, unsupported %v", err, got.Unsupported)
	}
	have := make(map[string]Entity)
	for _, e := range got.Entities {
		have[e.Key()] = e
	}
	for _, u := range updates {
		if !Equal(have[u.Entity.Key()], u.Entity) {
			t.Errorf("%s read back as %+v", u, have[u.Entity.Key()])
		}
	}
	if len(have) != len(updates) {
		t.Errorf("%d entities for %d updates", len(have), len(updates))
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
	if err := s.Write(t.Context(), []Update{{Insert, route("2001:db8::", 32, 1)}}); err != nil {
		t.Fatal(err)
	}
	got, err := s.ReadAll(t.Context())
	if err != nil || len(got.Entities) != 1 || !slices.Equal(got.Unsupported, []Kind{KindCloneSession}) {
		t.Errorf("%+v, %v", got, err)
	}
	f.with(func() { f.readFault = func(*p4v1.Entity) error { return status.Error(codes.Internal, "broken") } })
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
	err := s.Write(t.Context(), []Update{
		{Insert, ActionMember{Profile: selector, ID: 1, Action: forwardTo(1)}},
		{Insert, ActionMember{Profile: selector, ID: 2, Action: forwardTo(2)}},
		{Insert, route("2001:db8::", 32, 1)},
		{Delete, route("2001:db8:1::", 48, 1)},
	})
	var we *WriteError
	if !errors.As(err, &we) || we.Cause != nil {
		t.Fatalf("%v", err)
	}
	want := []UpdateError{
		{Index: 1, Code: codes.ResourceExhausted, Message: "selector is full"},
		{Index: 3, Code: codes.NotFound, Message: "no such entry"},
	}
	if !slices.Equal(we.Updates, want) {
		t.Errorf("%+v", we.Updates)
	}
	if !strings.Contains(err.Error(), "n1") || !strings.Contains(err.Error(), "selector is full") {
		t.Errorf("unhelpful: %v", err)
	}
	if es, _ := s.Read(t.Context(), Query{Kind: KindTableEntry}); len(es) != 1 {
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
	err := s.Write(t.Context(), []Update{{Insert, route("2001:db8::", 32, 1)}, {Insert, MulticastGroup{ID: 9}}})
	var we *WriteError
	if !errors.As(err, &we) || len(we.Updates) != 1 || we.Updates[0].Index != 0 || we.Updates[0].Code != codes.InvalidArgument {
		t.Fatalf("%v", err)
	}
	if es, _ := s.Read(t.Context(), Query{Kind: KindMulticastGroup}); len(es) != 1 {
		t.Error("the next request was not sent")
	}
}

func TestBatches(t *testing.T) {
	entry := func(i int) Update {
		return Update{Insert, TableEntry{Table: ecmpTable, Group: 7, Match: []Match{{Field: 1, Kind: Exact, Value: Uint(uint64(i))}}}}
	}
	member := Update{Insert, ActionMember{Profile: selector, ID: 1}}
	for _, c := range []struct {
		name       string
		in         []Update
		max, bytes int
		want       []span
	}{
		{"one", []Update{entry(1)}, 10, 1000, []span{{0, 1}}},
		{"by number", []Update{entry(1), entry(2), entry(3), entry(4), entry(5)}, 2, 1000, []span{{0, 2}, {2, 4}, {4, 5}}},
		{"by size", []Update{entry(1), entry(2), entry(3)}, 10, 75, []span{{0, 2}, {2, 3}}},
		{"larger than the limit", []Update{entry(1), entry(2)}, 10, 1, []span{{0, 1}, {1, 2}}},
		{"by kind", []Update{member, entry(1), entry(2), member}, 10, 1000, []span{{0, 1}, {1, 3}, {3, 4}}},
		{"the same entity again", []Update{entry(1), entry(2), {Delete, entry(1).Entity}, entry(3)}, 10, 1000, []span{{0, 2}, {2, 4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			protos := make([]*p4v1.Update, len(c.in))
			for i, u := range c.in {
				p, err := updateToProto(u)
				if err != nil {
					t.Fatal(err)
				}
				protos[i] = p
			}
			if got := batches(c.in, protos, c.max, c.bytes); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestLargeWriteKeepsOrder(t *testing.T) {
	f := newFakeSwitch(t)
	cfg := f.config()
	cfg.Pipeline = smallPipeline(t)
	cfg.BatchUpdates = 64
	s, ev := open(t, cfg)
	next[Ready](t, ev)
	var updates []Update
	for i := range 1000 {
		updates = append(updates, Update{Insert, MulticastGroup{ID: uint32(i + 1), Replicas: []Replica{{Port: uint32(i % 9), Instance: 1}}}})
	}
	if err := s.Write(t.Context(), updates); err != nil {
		t.Fatal(err)
	}
	n := uint32(0)
	f.with(func() {
		for _, r := range f.requests {
			if len(r.GetUpdates()) > 64 {
				t.Errorf("a request of %d updates", len(r.GetUpdates()))
			}
			for _, u := range r.GetUpdates() {
				n++
				if id := u.GetEntity().GetPacketReplicationEngineEntry().GetMulticastGroupEntry().GetMulticastGroupId(); id != n {
					t.Fatalf("group %d at place %d", id, n)
				}
			}
		}
	})
	if n != 1000 {
		t.Errorf("%d updates arrived", n)
	}
}

func TestStreamLostMidWrite(t *testing.T) {
	f := newFakeSwitch(t)
	s, ev := ready(t, f)
	f.with(func() { f.hold, f.gotWrite = make(chan struct{}), make(chan struct{}, 8) })
	done := make(chan error, 1)
	go func() {
		done <- s.Write(t.Context(), []Update{{Insert, MulticastGroup{ID: 1}}, {Insert, route("2001:db8::", 32, 1)}})
	}()
	<-f.gotWrite
	f.drop(errors.New("cut"))
	err := <-done
	var we *WriteError
	if !errors.Is(err, ErrNotConnected) || !errors.As(err, &we) || len(we.Updates) != 2 {
		t.Errorf("%v", err)
	}
	next[Down](t, ev)
	f.with(func() { close(f.hold); f.hold, f.gotWrite = nil, nil })
	next[Ready](t, ev)
	if err := s.Write(t.Context(), []Update{{Insert, route("2001:db8::", 32, 1)}}); err != nil {
		t.Error(err)
	}
}

func TestSlowWriteTimesOut(t *testing.T) {
	f := newFakeSwitch(t)
	cfg := f.config()
	cfg.Pipeline = smallPipeline(t)
	cfg.RequestTimeout = 20 * time.Millisecond
	s, ev := open(t, cfg)
	next[Ready](t, ev)
	f.with(func() { f.hold = make(chan struct{}) })
	err := s.Write(t.Context(), []Update{{Insert, MulticastGroup{ID: 1}}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Write(ctx, []Update{{Insert, MulticastGroup{ID: 1}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
