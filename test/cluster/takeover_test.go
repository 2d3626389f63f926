package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store/storetest"
)

// TestTakeover: what was accepted at any controller is there after the decider has died, left or
// lost the store, groups keep index and epoch, and no switch that agrees is written to.
func TestTakeover(t *testing.T) {
	b := newBed(t, 3)
	first := b.decider()
	for i := range 3 {
		b.until("a group is accepted", func() bool {
			return b.controllers[i].put(fmt.Sprintf("g%d", i), spec(i)) == nil
		})
	}
	names := []string{"g0", "g1", "g2"}
	before := b.programmed(b.other(first), names...)
	kept := func(when string) {
		t.Helper()
		d := b.decider()
		for name, g := range b.programmed(b.other(d), names...) {
			was := before[name]
			if g.Version != was.Version || g.Status.Index != was.Status.Index ||
				g.Status.Epoch != was.Status.Epoch || !g.Spec.Equal(&was.Spec) {
				t.Errorf("%s %s: %+v, was %+v", name, when, g, was)
			}
		}
	}
	written := b.network.Written()

	first.kill()
	kept("after the decider died")
	b.unwritten(written, "after the decider died")
	first.start()

	second := b.decider()
	second.stop()
	kept("after the decider left")
	b.unwritten(written, "after the decider left")
	second.start()

	third := b.decider()
	third.client.Cut()
	b.until("another one decides", func() bool {
		d := b.decider()
		return d != third
	})
	// Whoever is cut off says why it takes nothing.
	b.until("503 without the store", func() bool {
		err := third.put("g9", spec(9))
		var p *api.Problem
		return errors.As(err, &p) && p.Code == "store_unavailable"
	})
	third.client.Mend()
	kept("after the decider lost the store")
	b.unwritten(written, "after the decider lost the store")

	// All are there again.
	b.until("three controllers", func() bool {
		list, err := first.rest.Controllers().List(t.Context(), nil)
		deciders := 0
		for _, c := range list {
			if c.Role == api.RoleDecider {
				deciders++
			}
		}
		return err == nil && len(list) == 3 && deciders == 1
	})
	storetest.Formed(t, b.server.Client())
}

// TestPreconditions: a version that one controller gave holds at another.
func TestPreconditions(t *testing.T) {
	b := newBed(t, 2)
	d := b.decider()
	m := b.other(d)
	b.until("a group is accepted", func() bool { return m.put("g0", spec(0)) == nil })
	g, err := m.rest.Groups().Get(t.Context(), "g0")
	if err != nil {
		t.Fatal(err)
	}
	changed := spec(0)
	changed.Receivers = changed.Receivers[:1]
	put := func(c *controller, version uint64) error {
		_, err := c.rest.Do(t.Context(), http.MethodPut, "/v1/multicast-groups/g0", nil,
			map[string]any{"version": version, "spec": changed})
		return err
	}
	if err := put(d, g.Version); err != nil {
		t.Fatal(err)
	}
	var p *api.Problem
	if err := put(m, g.Version); !errors.As(err, &p) || p.Status != http.StatusPreconditionFailed {
		t.Errorf("an old version at another controller: %v", err)
	}
}
