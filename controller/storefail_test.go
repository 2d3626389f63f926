package controller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
	"github.com/weft-sdn/weft/topology"
)

// groupsOn returns the indexes of the groups with entries on a switch.
func groupsOn(south *controllertest.Southbound, sw string) (out []int) {
	south.With(sw, func(d *controllertest.Device) {
		for _, e := range d.Entities {
			if i := plan.GroupOf(e); i >= 0 {
				out = append(out, i)
			}
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// routesOf returns the routes of a switch as text.
func routesOf(south *controllertest.Southbound, sw string) string {
	var out []string
	south.With(sw, func(d *controllertest.Device) {
		for _, e := range d.Entities {
			if t, ok := e.(entry.Table); ok && t.Name == p4.TableIpv6Route {
				out = append(out, t.String())
			}
		}
	})
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// TestStoreFails: a change that the store does not keep in time may have been kept; from then on
// changes are refused, nothing of the change reaches a switch, a client or an event, what is in
// force stays, and routes follow the topology. The next controller has what the store has, and
// gives other versions.
func TestStoreFails(t *testing.T) {
	broken := errors.New("no space left on device")
	for name, c := range map[string]struct {
		fail func(*storetest.Faulty)
		kept bool // all the same
	}{
		"fails":        {func(s *storetest.Faulty) { s.Fail(broken) }, false},
		"hangs":        {(*storetest.Faulty).Hang, false},
		"says nothing": {func(s *storetest.Faulty) { s.Answer(keepSilently) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				net := sample.Figure1()
				net.Inventory.Intervals.Settle, net.Inventory.Intervals.Stall = 0, 0
				s, south := new(storetest.Faulty), new(controllertest.Southbound)
				r := run(t, net, s, south)
				put := func(name string, spec api.MulticastGroupSpec) (api.MulticastGroup, error) {
					g, _, err := r.Groups().Put(t.Context(), name, spec, resource.Precondition{})
					return g, err
				}
				time.Sleep(time.Second)
				if _, err := put("g", net.Spec(1, "s1", "r1", "r3", "r5")); err != nil {
					t.Fatal(err)
				}
				g := r.programmed(t, "g")
				time.Sleep(time.Second)

				c.fail(s)
				began := time.Now()
				var unknown *api.Error
				if _, err := put("first", net.Spec(2, "s1", "r1")); !errors.As(err, &unknown) ||
					unknown.Code != api.CodeUnknown || unknown.Version <= g.Version ||
					time.Since(began) > 6*time.Second {
					t.Fatalf("after %v: %v", time.Since(began), err)
				}
				for _, refused := range []func() error{
					func() error { _, err := put("second", net.Spec(3, "s1", "r1")); return err },
					func() error { _, err := put("g", net.Spec(1, "s1", "r1")); return err },
					func() error { return r.Groups().Delete(t.Context(), "g", resource.Precondition{}) },
					func() error {
						_, err := r.Groups().Ask(t.Context(), "g", api.ResetGroup{}, resource.Precondition{})
						return err
					},
					func() error {
						_, _, err := r.Groups().Put(t.Context(), "try", net.Spec(4, "s1", "r1"),
							resource.Precondition{Trial: &resource.Trial{}})
						return err
					},
					func() error { _, err := r.Groups().Get(t.Context(), "first"); return err },
					func() error { _, err := r.Groups().List(t.Context(), kind.Query{}); return err },
					func() error { _, err := r.Switches(t.Context()); return err },
				} {
					if err := refused(); !errors.Is(err, controller.ErrStore) {
						t.Errorf("after the store %s: %v", name, err)
					}
				}
				// The link to n5 is lost: routes move at once, the tree waits for the store.
				routes := routesOf(south, "n6")
				for _, l := range net.Topology.Build().Links {
					if n6, n5 := net.Node("n6"), net.Node("n5"); l.Local == n6 && l.Remote == n5 ||
						l.Local == n5 && l.Remote == n6 {
						net.Topology.RemoveLink(l.ID)
					}
				}
				if err := r.SetTopology(t.Context(), net.Topology.Build()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if routesOf(south, "n6") == routes {
					t.Error("routes wait for the store")
				}
				time.Sleep(10 * time.Minute)
				for _, sw := range []string{"n1", "n6"} {
					if on := groupsOn(south, sw); !slices.Equal(on, []int{int(g.Status.Index)}) {
						t.Errorf("%s has groups %v, want that of before alone", sw, on)
					}
				}
				r.mu.Lock()
				var of []string
				for _, e := range r.events {
					if strings.HasPrefix(string(e.Type), "store.") || e.Object == "first" {
						of = append(of, string(e.Type))
					}
				}
				r.mu.Unlock()
				if !slices.Equal(of, []string{"store.failed"}) {
					t.Errorf("events %q", of)
				}
				s.Fail(nil)
				time.Sleep(10 * time.Second)
				if _, err := put("third", net.Spec(5, "s1", "r2")); !errors.Is(err, controller.ErrStore) {
					t.Errorf("of a controller that knows more than the store: %v", err)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}

				r = run(t, net, s, south)
				time.Sleep(10 * time.Second)
				first, err := r.Groups().Get(t.Context(), "first")
				if c.kept && (err != nil || first.Version != unknown.Version) || !c.kept &&
					!errors.Is(err, api.ErrNotFound) {
					t.Errorf("version %d, %v: want %d if it was kept, which is %v", first.Version, err,
						unknown.Version, c.kept)
				}
				third, err := put("third", net.Spec(5, "s1", "r2"))
				if err != nil || third.Version <= unknown.Version {
					t.Errorf("version %d after %d: %v", third.Version, unknown.Version, err)
				}
				r.programmed(t, "third")
				if now := r.programmed(t, "g"); now.Version != g.Version || now.Status.Index != g.Status.Index {
					t.Errorf("%+v, was %+v", now, g)
				}
				if _, err := r.Groups().Get(t.Context(), "second"); !errors.Is(err, api.ErrNotFound) {
					t.Errorf("a refused group: %v", err)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// keepSilently makes a write and does not say so.
func keepSilently(ctx context.Context, apply func() error) error {
	err := apply()
	<-ctx.Done()
	return errors.Join(err, ctx.Err())
}

// TestReadsShowWhatIsKept: what a change makes is not seen before the store has it, by a reading, a
// list, a refusal or an event; then it is.
func TestReadsShowWhatIsKept(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		net := sample.Figure1()
		net.Inventory.Intervals.Settle = 0
		s := new(storetest.Faulty)
		r := run(t, net, s, new(controllertest.Southbound))
		time.Sleep(time.Second)
		var kept atomic.Bool
		s.Answer(func(_ context.Context, apply func() error) error {
			time.Sleep(4 * time.Second)
			err := apply()
			kept.Store(true)
			return err
		})
		pre := resource.Precondition{Absent: true}
		var all sync.WaitGroup
		all.Go(func() {
			if _, _, err := r.Groups().Put(t.Context(), "g", net.Spec(1, "s1", "r1"), pre); err != nil ||
				!kept.Load() {
				t.Errorf("acknowledged when kept is %v: %v", kept.Load(), err)
			}
		})
		time.Sleep(time.Second)
		for name, ask := range map[string]func() (seen bool, err error){
			"get": func() (bool, error) {
				_, err := r.Groups().Get(t.Context(), "g")
				return err == nil, err
			},
			"list": func() (bool, error) {
				l, err := r.Groups().List(t.Context(), kind.Query{})
				return len(l.Items) == 1, err
			},
			"put": func() (bool, error) {
				_, _, err := r.Groups().Put(t.Context(), "g", net.Spec(1, "s1", "r2"), pre)
				return errors.Is(err, api.ErrExists), nil
			},
			"same": func() (bool, error) {
				_, created, err := r.Groups().Put(t.Context(), "g", net.Spec(1, "s1", "r1"),
					resource.Precondition{})
				return err == nil && !created, err
			},
		} {
			all.Go(func() {
				if seen, err := ask(); !seen || err != nil || !kept.Load() {
					t.Errorf("%s: answered when kept is %v, seen %v: %v", name, kept.Load(), seen, err)
				}
			})
		}
		time.Sleep(time.Second)
		told := func() (told bool) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return slices.ContainsFunc(r.events, func(e api.Event) bool { return e.Object == "g" })
		}
		if told() || kept.Load() {
			t.Error("an event tells of what is not kept")
		}
		all.Wait()
		s.Fail(nil)
		time.Sleep(time.Second)
		if !told() {
			t.Error("no event tells of what is kept")
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestDeposed: a controller that may not decide any more answers nothing, and acknowledges only
// what the store took from it.
func TestDeposed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		net := sample.Figure1()
		net.Inventory.Intervals.Settle = 0
		var over atomic.Bool
		r := runOptions(t, net, new(controllertest.Southbound),
			controller.Options{Store: store.NewMemory(), Current: func() error {
				if over.Load() {
					return errors.New("the lease is over")
				}
				return nil
			}})
		if err := r.SetTopology(t.Context(), net.Topology.Build()); err != nil {
			t.Fatal(err)
		}
		put := func(name string) error {
			_, _, err := r.Groups().Put(t.Context(), name, net.Spec(1, "s1", "r1"), resource.Precondition{})
			return err
		}
		time.Sleep(time.Second)
		if err := put("g"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // what follows from the group is kept: no write of it is under way
		over.Store(true)
		for name, err := range map[string]error{
			"get":     func() error { _, err := r.Groups().Get(t.Context(), "g"); return err }(),
			"missing": func() error { _, err := r.Groups().Get(t.Context(), "x"); return err }(),
			"list":    func() error { _, err := r.Groups().List(t.Context(), kind.Query{}); return err }(),
			"same":    put("g"),
		} {
			if !errors.Is(err, controller.ErrDeposed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := r.Groups().Delete(t.Context(), "g", resource.Precondition{}); err != nil {
			t.Errorf("a change that the store took: %v", err)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestTooEarly: what the topology lacks is refused for the time being until the topology has
// settled, and for good from then on.
func TestTooEarly(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		net := sample.Figure1()
		settle := net.Inventory.Intervals.Settle.D()
		if settle == 0 {
			t.Fatal("the sample does not settle")
		}
		whole, part := net.Topology.Build(), topology.NewBuilder()
		part.SetNode(*whole.Node(net.Node("n1")))
		r := runOptions(t, net, new(controllertest.Southbound),
			controller.Options{Store: store.NewMemory()})
		code := func(name string, trial *resource.Trial) api.Code {
			_, _, err := r.Groups().Put(t.Context(), name, net.Spec(1, "s1", "r1", "r5"),
				resource.Precondition{Trial: trial})
			var refused *api.Error
			if errors.As(err, &refused) {
				return refused.Code
			}
			if err != nil {
				t.Error(err)
			}
			return ""
		}
		set := func(s *topology.Snapshot) {
			if err := r.SetTopology(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		set(topology.Empty())
		time.Sleep(time.Minute)
		if c := code("g", nil); c != api.CodeSettling {
			t.Errorf("nothing is known: %q", c)
		}
		set(part.Build())
		time.Sleep(settle - time.Nanosecond)
		for _, trial := range []*resource.Trial{nil, {}} {
			if c := code("g", trial); c != api.CodeSettling {
				t.Errorf("just before it has settled: %q", c)
			}
		}
		if err := func() error {
			spec := net.Spec(1, "s1", "r1")
			spec.Receivers = nil
			_, _, err := r.Groups().Put(t.Context(), "g", spec, resource.Precondition{})
			return err
		}(); err == nil || strings.Contains(err.Error(), "whole") {
			t.Errorf("what is wrong in any topology: %v", err)
		}
		time.Sleep(2 * time.Nanosecond)
		for _, trial := range []*resource.Trial{nil, {}} {
			if c := code("g", trial); c != api.CodeNotPlannable && c != api.CodeUnreachable &&
				c != api.CodeInvalid {
				t.Errorf("when it has settled: %q", c)
			}
		}
		// A peer that has not sent everything once leaves it open, however long that takes.
		late := part.Build()
		late.Stale = &topology.Staleness{Reason: "peer p has not sent everything", Incomplete: true}
		set(late)
		if c := code("g", nil); c != api.CodeSettling {
			t.Errorf("a peer has not sent everything: %q", c)
		}
		set(whole)
		if c := code("g", nil); c != "" {
			t.Errorf("in the whole topology: %q", c)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}
