package southbound

import (
	"slices"
	"strings"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/southbound/entry"
)

// TestConfirm: reading back finds a switch that accepts updates and does nothing.
func TestConfirm(t *testing.T) {
	f := newFakeSwitch(t)
	s, _ := ready(t, f)
	all := every()
	ignored := make(map[entry.Key]bool)
	f.with(func() {
		f.fault = func(u *p4v1.Update) *p4v1.Error {
			e, err := f.schema.Decode(u.GetEntity())
			if err == nil && e != nil && ignored[e.Key()] {
				return new(p4v1.Error)
			}
			return nil
		}
		for i, e := range all {
			ignored[e.Key()] = i%2 == 1
		}
	})
	missed := func(what string, updates []entry.Update, text string, want func(i int) bool) {
		t.Helper()
		refused, err := s.Confirm(t.Context(), updates)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for i, u := range updates {
			at := slices.IndexFunc(refused, func(r entry.Refusal) bool { return r.Update == i })
			switch {
			case (at >= 0) != want(i):
				t.Errorf("%s: %s: found without effect %t, want %t", what, u, at >= 0, want(i))
			case at >= 0 && !strings.Contains(refused[at].Message, text):
				t.Errorf("%s: %s: %q, want %q", what, u, refused[at].Message, text)
			}
		}
	}
	odd := func(i int) bool { return i%2 == 1 }
	none := func(int) bool { return false }
	wantAccepted(t)(s.Write(t.Context(), insert(all...)))
	missed("inserted", insert(all...), "holds nothing there", odd)

	f.with(func() { clear(ignored) })
	wantAccepted(t)(s.Write(t.Context(), insert(slices.DeleteFunc(every(), func(e entry.Entity) bool {
		return !odd(slices.IndexFunc(all, func(a entry.Entity) bool { return a.Key() == e.Key() }))
	})...)))
	missed("all", insert(all...), "", none)

	// The last of several updates of an entity counts.
	group := entry.Copies(64, entry.Replica{Port: 7, Instance: 9})
	was := slices.IndexFunc(all, func(e entry.Entity) bool { return e.Key() == group.Key() })
	if was < 0 {
		t.Fatalf("no %s among what is written", group.Key())
	}
	modify := []entry.Update{{Type: entry.Modify, Entity: group}}
	missed("modified", modify, "and holds "+all[was].String(), func(int) bool { return true })
	missed("modified and back", append(modify, entry.Update{Type: entry.Modify, Entity: all[was]}), "",
		none)

	var deletes []entry.Update
	for _, e := range all {
		deletes = append(deletes, entry.Update{Type: entry.Delete, Entity: e})
	}
	missed("deleted", deletes, "still holds", func(i int) bool {
		return all[i].Kind() != entry.KindDefault
	})

	// A switch that reports one missing entity reports nothing about the others. A switch that cannot
	// read a kind is believed, and a switch that fails reports nothing.
	code := codes.NotFound
	f.with(func() {
		f.readFault = func(p *p4v1.Entity) error {
			if g := p.GetPacketReplicationEngineEntry().GetMulticastGroupEntry(); g != nil &&
				(g.GetMulticastGroupId() == 65 || code != codes.NotFound) {
				return status.Error(code, "no")
			}
			return nil
		}
	})
	other := entry.Copies(65, entry.Replica{Port: 1, Instance: 1})
	missed("one of two", insert(all[was], other), "holds nothing there", odd)
	f.with(func() { code = codes.Unimplemented })
	missed("unreadable", insert(all[was], other), "", none)
	f.with(func() { code = codes.Internal })
	if refused, err := s.Confirm(t.Context(), insert(all[was])); err == nil {
		t.Errorf("a read that failed: %v", refused)
	}
}
