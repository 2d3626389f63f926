//go:build linux

package kernels

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/dataplane/kernel"
	"github.com/weft-sdn/weft/lab"
)

// TestBlackHole: the kernel of a T0 drops what its SIDs send to a T1, with all ports up and its
// agent well. The probes of hosts to themselves name the link, and nothing else.
func TestBlackHole(t *testing.T) {
	b := start(t, lab.SwitchesLinux, ev.ModeUSIDStructured, nil)
	b.write()
	rest, err := client.New(client.Config{Server: b.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer rest.Close()
	accused := func() (out []api.Suspect) {
		a, err := rest.Get(b.ctx, client.Path("v1", "suspects"), nil)
		if err == nil {
			var list struct{ Items []api.Suspect }
			err = json.Unmarshal(a.Body, &list)
			out = list.Items
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	links := rest.Links()
	err = b.Until(b.ctx, "hosts probe every link", func(*lab.World) (bool, error) {
		all, err := links.List(b.ctx, nil)
		proven := 0
		for _, l := range all {
			if p := l.Status.Truth; p != nil && p.Probes != nil && p.Probes.Passed > 3 {
				proven++
			}
		}
		return len(all) > 0 && proven == len(all), errors.Join(err, b.mesh.Pump())
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := accused(); len(s) > 0 {
		t.Fatalf("before the fault %+v are suspects", s)
	}
	const at, beyond = "P1-T0-1", "P1-T1-1"
	var port uint32
	b.do(func(w *lab.World) error {
		wire, err := w.Wire(at, beyond)
		port = wire.FromPort
		return err
	})
	began := time.Now()
	if err := b.InKernel(at, func() error { return dropTo(kernel.NameOf(port)) }); err != nil {
		t.Fatal(err)
	}
	// Packets that are lost may accuse several links before probes tell which.
	var found []api.Suspect
	if err := b.Until(b.ctx, "probes name a suspect", func(*lab.World) (bool, error) {
		found = slices.DeleteFunc(accused(), func(s api.Suspect) bool { return s.By != "selfProbes" })
		return len(found) > 0, b.mesh.Pump()
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("named after %v", time.Since(began))
	for _, s := range found {
		ends := []string{s.FromName, s.ToName}
		if s.Kind != "blackHole" || !slices.Contains(ends, at) || !slices.Contains(ends, beyond) {
			t.Errorf("%+v, want a black hole between %s and %s alone", s, at, beyond)
		}
	}
	b.do(func(w *lab.World) error {
		wire, err := w.Wire(at, beyond)
		if err == nil && !wire.Up() {
			err = fmt.Errorf("the port of %s to %s is down", at, beyond)
		}
		return err
	})
	b.finish()
}

// dropTo has the kernel drop what it would route by an interface.
func dropTo(name string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	routes, err := netlink.RouteList(l, netlink.FAMILY_V6)
	if err != nil {
		return err
	}
	dropped := 0
	for i := range routes {
		r := &routes[i]
		if r.Gw == nil && r.Encap == nil || r.Dst == nil {
			continue // what the kernel has of its own
		}
		// Its metric beats the metric of the agent's route, which stays.
		if err := netlink.RouteAdd(&netlink.Route{Dst: r.Dst, Type: unix.RTN_BLACKHOLE,
			Priority: 1}); err != nil {
			return fmt.Errorf("%v: %w", r, err)
		}
		dropped++
	}
	if dropped == 0 {
		return fmt.Errorf("no route of %d leads to %s", len(routes), name)
	}
	return nil
}
