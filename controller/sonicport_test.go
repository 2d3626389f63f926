package controller_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/runner"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/southbound/sonic/sonictest"
	"github.com/weft-sdn/weft/store"
)

// told are streams to hosts that keep what these should hold.
type told struct {
	mu   sync.Mutex
	last map[string]*hostapi.State
}

func (s *told) Set(host string, state *hostapi.State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[host] = state
	return nil
}
func (s *told) Probe(string, *hostapi.Probe) error { return nil }

func (s *told) SetSelfProbes(string, *hostapi.SelfProbes) error { return nil }
func (s *told) Status(string) (mrc.Stream, bool)                { return mrc.Stream{}, false }
func (s *told) Counters() mrc.StreamCounts                      { return mrc.StreamCounts{} }

// denied returns how many EVs a host is denied.
func (s *told) denied(host string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last[host] == nil {
		return -1
	}
	for _, p := range s.last[host].Profiles {
		n += len(p.Denied)
	}
	return n
}

// TestSONiCPortDown: a port that a SONiC switch reports down takes the link out of use and denies
// the EVs across the link, though the topology's source (a file, "weft speaker") still has the
// link; a port that comes back gives them back.
func TestSONiCPortDown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newSONiCBed(t)
		inv := &f.net.Inventory
		inv.MRC.Probes.Rate = 0 // nobody answers probes
		fabric, err := runner.NewRunner(t.Context(), runner.Options{Inventory: inv, Epoch: 1,
			Store: store.NewMemory()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		hosts := &told{last: make(map[string]*hostapi.State)}
		ended := make(chan error, 1)
		go func() { ended <- fabric.Run(ctx, hosts) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
		f.ports = fabric.SetPorts
		f.start()
		defer f.stop()
		f.synced()
		if err := fabric.SetTopology(t.Context(), f.net.Topology.Build()); err != nil {
			t.Fatal(err)
		}
		for i, h := range inv.Hosts {
			if err := fabric.Hello(h.Name, northboundtest.Hello(i+1)); err != nil {
				t.Fatal(err)
			}
		}
		links := func() (out []string) {
			t.Helper()
			if err := fabric.Do(t.Context(), func(core *mrc.Core) {
				for _, l := range core.Links() {
					if l.Status.Phase != "up" {
						out = append(out, l.Status.FromName+" "+l.Status.ToName+" "+l.Status.Phase+
							map[bool]string{true: " denied"}[l.Status.Denied])
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			slices.Sort(out)
			return out
		}
		turn := func(state string) {
			local := uint32(0)
			for _, l := range f.net.Topology.Build().LinksFrom(f.net.Node("leaf1")) {
				if l.Remote == f.net.Node("spine1") {
					local = inv.Switch("leaf1").Port(l.LocalID, l.LocalPort)
				}
			}
			d := inv.Switch("leaf1").Target()
			f.switches["leaf1"].Change("APPL_DB", "PORT_TABLE", func(t sonictest.Table) {
				t[d.Interface(local)]["oper_status"] = state
			})
		}
		time.Sleep(time.Second)
		if down, n := links(), hosts.denied("h1"); len(down) > 0 || n != 0 {
			t.Fatalf("before: links %v are out of use, and h1 is denied %d EVs; want none", down, n)
		}
		turn("down")
		time.Sleep(time.Second)
		want := []string{"leaf1 spine1 down denied", "spine1 leaf1 down denied"}
		if down, n := links(), hosts.denied("h1"); !slices.Equal(down, want) || n == 0 {
			t.Errorf("links %v are out of use, want %v, and h1 is denied %d EVs", down, want, n)
		}
		if ports := f.synced()["leaf1"].Ports; ports == nil || len(ports.Down) != 1 {
			t.Errorf("ports of leaf1: %+v, want one that is down", ports)
		}
		turn("up")
		time.Sleep(time.Minute)
		if down, n := links(), hosts.denied("h1"); len(down) > 0 || n != 0 {
			t.Errorf("after: links %v are out of use, and h1 is denied %d EVs; want none", down, n)
		}
	})
}
