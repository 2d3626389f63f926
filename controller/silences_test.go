package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

// TestSilences: a silence is kept over a restart, is gone at its end and not before, and a new one
// beyond the bound is refused.
func TestSilences(t *testing.T) {
	c := pfcCore(t, nil)
	end := 100 * time.Second
	spec := api.SilenceSpec{Cause: "link/x", Until: c.env.Start.Add(end)}
	put := func(name string, spec api.SilenceSpec) error {
		_, _, err := c.Silences().Put(name, spec, resource.Precondition{})
		return err
	}
	if err := put("s", spec); err != nil {
		t.Fatal(err)
	}
	if e := refusalOf(t, put("past", api.SilenceSpec{Cause: "x", Until: c.env.Start})); e.Fields[0].
		Field != "spec.until" {
		t.Error(e)
	}
	if err := put("s", spec); err != nil {
		t.Errorf("the same again: %v", err)
	}
	s := store.NewMemory()
	if err := s.Apply(t.Context(), c.Ready(0).Saves); err != nil {
		t.Fatal(err)
	}
	records, _, err := s.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	again := pfcCore(t, records)
	for _, x := range []struct {
		core *Core
		at   time.Duration
		left int
	}{{again, end - 1, 1}, {again, end, 0}, {c, end - 1, 1}, {c, end, 0}} {
		x.core.Tick(x.at)
		if got := x.core.Silences().List(); len(got) != x.left {
			t.Errorf("at %v: %d silences, want %d", x.at, len(got), x.left)
		}
	}
	if at, ok := again.Next(); ok && at == end {
		t.Error("the end of a silence that is gone is waited for")
	}
	spec.Until = c.env.Start.Add(end + time.Hour)
	for i := range api.MaxSilences {
		if err := put(fmt.Sprint("s", i), spec); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if e := refusalOf(t, put("more", spec)); e.Code != api.CodeLimit {
		t.Error(e)
	}
	if at, ok := c.Next(); !ok || at > end+time.Hour {
		t.Errorf("the core looks again at %v, want at the end of the silences", at)
	}
}
