package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/lab"
)

// hostStates returns what the hosts of MRC hold.
func (d *deployment) hostStates() map[string]*hostapi.State {
	d.t.Helper()
	out := make(map[string]*hostapi.State)
	if err := d.network.Do(d.t.Context(),
		func(w *lab.World) error { return readStates(w, out) }); err != nil {
		d.t.Fatal(err)
	}
	return out
}

func readStates(w *lab.World, out map[string]*hostapi.State) error {
	for _, name := range w.Network.MRCHosts() {
		node, err := w.MRCHost(name)
		if err != nil {
			return err
		}
		out[name] = node.State()
	}
	return nil
}

// spraying is MRC hosts that write to each other again and again, and must hold the same all the
// while.
type spraying struct {
	w    *lab.World
	mesh *lab.Mesh
	held map[string]*hostapi.State
}

func (d *deployment) newSpraying() *spraying {
	d.t.Helper()
	s := &spraying{held: d.hostStates()}
	if err := d.network.Do(d.t.Context(), func(w *lab.World) (err error) {
		hosts := w.Network.MRCHosts()
		s.w = w
		s.mesh, err = w.NewMesh(lab.MeshConfig{
			Flows: []lab.FlowConfig{{From: hosts[0], To: hosts[len(hosts)-1], Bytes: 32 << 10},
				{From: hosts[len(hosts)-1], To: hosts[0], Bytes: 32 << 10}},
			Message: 16 << 10, Repeat: true,
		})
		if err == nil {
			err = s.mesh.Start()
		}
		return err
	}); err != nil {
		d.t.Fatal(err)
	}
	return s
}

// Step implements load: a unit is 16 KiB.
func (s *spraying) Step() (n uint64, err error) {
	if err := s.mesh.Pump(); err != nil {
		return 0, err
	}
	now := make(map[string]*hostapi.State)
	if err := readStates(s.w, now); err != nil {
		return 0, err
	}
	for name, was := range s.held {
		if !was.Equal(now[name]) {
			return 0, fmt.Errorf("host %s holds %+v, held %+v", name, now[name], was)
		}
	}
	for _, f := range s.mesh.Flows {
		n += uint64(f.Acknowledged() >> 14)
	}
	return n, nil
}

// Drain implements load.
func (s *spraying) Drain() (bool, error) {
	s.mesh.Finish()
	return s.mesh.Done(), nil
}

// Check implements load.
func (s *spraying) Check() error {
	if n := s.mesh.Corrupt(); n > 0 {
		return fmt.Errorf("%d flows have octets that are not what was written", n)
	}
	return nil
}

// TestRestartMRC: a controller of an MRC fabric that was killed goes on where it was. Nobody
// applies anything again: drains, EV profiles and CC profiles are there, hosts hold the same
// entropy values all the time, no switch is written to, and hosts that write all the time lose no
// packet.
func TestRestartMRC(t *testing.T) {
	network := lab.Clos(lab.ClosConfig{Planes: 2, T0: 2, T1: 2, Hosts: 4, Rate: 4_000_000,
		Delay: time.Millisecond})
	if err := network.Complete(); err != nil {
		t.Fatal(err)
	}
	network.MRC = lab.MRCSettings(&network, ev.ModeStructured)
	network.MRC.CCProfile = "slow"
	// A port that is free: hosts find the second controller where the first one was.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	network.MRC.Listen = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	switches := len(network.Switches)
	d := deployNetwork(t, network, nil)
	cfg := agent.DefaultConfig()
	cfg.Controller = network.MRC.Listen
	hosts, err := d.network.World.Subscribe(context.WithoutCancel(t.Context()), d.network.Clock, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hosts.Close)

	first := d.start()
	profile := nscc.DefaultConfig(network.Congestion("H1"))
	cc := api.CCProfileSpecOf(&hostapi.CCProfile{Name: "slow", Algorithm: hostapi.AlgorithmNSCC,
		NSCC: profile.Profile()})
	if _, err := first.rest.CCProfiles().Put(t.Context(), "slow", cc, client.Write{}); err != nil {
		t.Fatal(err)
	}
	first.ready()
	const pair = "P1-T0-1:P1-T0-2"
	first.until("a host that may have the profile is there", func() bool {
		_, err := first.rest.EVProfiles().Get(t.Context(), pair)
		return err == nil
	})
	if _, err := first.rest.EVProfiles().Put(t.Context(), pair,
		api.EVProfileSpec{Mode: api.EVModeExplicit, MinActive: 2}, client.Write{}); err != nil {
		t.Fatal(err)
	}
	drained := func(p *process) (links []api.Link) {
		all, err := p.rest.Links().List(t.Context(), nil)
		if err != nil {
			return nil
		}
		for i := range all {
			if s := &all[i].Status; s.FromName == "P1-T0-1" && s.ToName == "P1-T1-2" {
				links = append(links, all[i])
			}
		}
		return links
	}
	link := drained(first)
	if len(link) != 1 {
		t.Fatalf("links %+v", link)
	}
	if _, err := first.rest.Links().Put(t.Context(), string(link[0].ID),
		api.AdminSpec{Admin: api.AdminDrained}, client.Write{}); err != nil {
		t.Fatal(err)
	}
	held := func(p *process) bool {
		links := drained(p)
		if len(links) != 1 || !links[0].Status.Drained || len(links[0].Status.Drains) != 1 ||
			!links[0].Status.Drains[0].Drained {
			return false
		}
		for _, s := range d.hostStates() {
			q := s.Profile(pair)
			if s.CCProfile("slow") == nil || q != nil && (q.Mode != hostapi.ModeExplicit ||
				q.MinActive != 2 || q.CC != "slow") {
				return false
			}
		}
		s := d.hostStates()["H1"]
		return s.Profile(pair) != nil && len(s.Profile(pair).Denied) > 0
	}
	first.until("hosts hold what clients want, the link is drained, all settled", func() bool {
		return held(first) && first.settled(switches)
	})
	first.ready()
	before, err := first.rest.EVProfiles().Get(t.Context(), pair)
	if err != nil {
		t.Fatal(err)
	}
	linkBefore := drained(first)[0]

	traffic := d.run(d.newSpraying())
	traffic.more("before the kill")
	first.kill()
	written := d.network.Written()
	if written["P1-T0-1 updates"] == 0 {
		t.Fatalf("the switches count no writes: %v", written)
	}
	traffic.more("without a controller")
	second := d.start()
	second.ready()
	second.until("hosts are back at the controller", func() bool {
		all, err := second.rest.Hosts().List(t.Context(), nil)
		for i := range all {
			if !all[i].Connected {
				return false
			}
		}
		return err == nil && len(all) == 4
	})
	second.ready()
	second.until("all is as clients wanted it", func() bool {
		return held(second) && second.settled(switches)
	})
	traffic.more("after the restart")
	traffic.end()

	if again := d.network.Written(); !maps.Equal(again, written) {
		t.Errorf("the second controller wrote to switches that agree: %v, were %v", again, written)
	}
	if after, err := second.rest.EVProfiles().Get(t.Context(), pair); err != nil ||
		after.Version != before.Version {
		t.Errorf("EV profile %+v, was %+v, %v", after, before, err)
	}
	if l := drained(second)[0]; l.Version != linkBefore.Version || l.ID != linkBefore.ID {
		t.Errorf("link %+v, was %+v", l, linkBefore)
	}
	second.kill()
}
