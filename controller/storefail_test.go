package controller_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store/storetest"
)

// groupsOn returns the indexes of the groups that a switch has entries of.
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

// TestStoreFails: while the store fails or hangs, changes are refused with the reason, nothing of
// them reaches a switch, what is in force stays, and routes follow the topology. Without a restart
// everything goes on when the store recovers.
func TestStoreFails(t *testing.T) {
	for name, fail := range map[string]func(*storetest.Faulty){
		"fails": func(s *storetest.Faulty) { s.Fail(errors.New("no space left on device")) },
		"hangs": (*storetest.Faulty).Hang,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := sample.Figure1()
				net.Inventory.Intervals.Settle, net.Inventory.Intervals.Stall = 0, 0
				s, south := new(storetest.Faulty), new(controllertest.Southbound)
				r := run(t, net, s, south)
				put := func(name string, spec api.MulticastGroupSpec) error {
					_, _, err := r.Groups().Put(t.Context(), name, spec, resource.Precondition{})
					return err
				}
				time.Sleep(time.Second)
				if err := put("g", net.Spec(1, "s1", "r1", "r3", "r5")); err != nil {
					t.Fatal(err)
				}
				g := r.programmed(t, "g")
				time.Sleep(time.Second)

				fail(s)
				began := time.Now()
				if err := put("first", net.Spec(2, "s1", "r1")); !errors.Is(err, controller.ErrStore) || time.Since(began) > 6*time.Second {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				for _, refused := range []func() error{
					func() error { return put("second", net.Spec(3, "s1", "r1")) },
					func() error { return put("g", net.Spec(1, "s1", "r1")) },
					func() error { return r.Groups().Delete(t.Context(), "g", resource.Precondition{}) },
					func() error {
						_, err := r.ResetGroup(t.Context(), "g", resource.Precondition{})
						return err
					},
				} {
					if err := refused(); !errors.Is(err, controller.ErrStore) {
						t.Errorf("a change while the store %s: %v", name, err)
					}
				}
				if trial := (&resource.Trial{}); true {
					_, _, err := r.Groups().Put(t.Context(), "try", net.Spec(4, "s1", "r1"), resource.Precondition{Trial: trial})
					if err != nil || len(trial.Changes) == 0 {
						t.Errorf("a dry run: %v, %d changes", err, len(trial.Changes))
					}
				}
				// The link to n5 is lost: routes move at once, the tree waits for the store.
				routes := routesOf(south, "n6")
				for _, l := range net.Topology.Build().Links {
					if n6, n5 := net.Node("n6"), net.Node("n5"); l.Local == n6 && l.Remote == n5 || l.Local == n5 && l.Remote == n6 {
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

				s.Fail(nil)
				time.Sleep(10 * time.Second)
				if err := put("third", net.Spec(5, "s1", "r2")); err != nil {
					t.Errorf("after recovery: %v", err)
				}
				r.programmed(t, "third")
				if now := r.programmed(t, "g"); now.Version != g.Version || now.Status.Index != g.Status.Index {
					t.Errorf("%+v, was %+v", now, g)
				}
				if _, err := r.Groups().Get(t.Context(), "second"); !errors.Is(err, api.ErrNotFound) {
					t.Errorf("a refused group: %v", err)
				}
				r.programmed(t, "first") // it was tried before the failure was known
				for _, key := range []string{"groups/first", "groups/third", "groups/g"} {
					if _, err := s.Get(t.Context(), key); err != nil {
						t.Error(err)
					}
				}
				r.mu.Lock()
				var types []api.EventType
				for _, e := range r.events {
					if strings.HasPrefix(string(e.Type), "store.") {
						types = append(types, e.Type)
					}
				}
				r.mu.Unlock()
				if !slices.Equal(types, []api.EventType{api.EventStoreFailed, api.EventStoreRecovered}) {
					t.Errorf("events %q", types)
				}
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
