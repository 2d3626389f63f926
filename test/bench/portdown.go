package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/topology"
)

const (
	portDowns = 100
	portHold  = 10 * time.Millisecond // until a link is used again, so that it can fail again
	portLimit = 2 * time.Minute       // for all of it
)

// leavingPorts measures the time from the failure of a link, still advertised by BGP-LS, until the
// affected tree is programmed without the link: Figure 1 in real time, with gNMI, P4Runtime, REST
// and BGP-LS on loopback.
func leavingPorts(ctx context.Context, out *report) error { return leavePorts(ctx, out, portDowns) }

func leavePorts(ctx context.Context, out *report, failures int) (err error) {
	ctx, cancel := context.WithTimeout(ctx, portLimit)
	defer cancel()
	out.tell("ports: %d failures of links of a tree on Figure 1", failures)
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: lab.Figure1(), Listen: "127.0.0.1:0",
		Tune: func(inv *inventory.Inventory) {
			inv.Ports.Hold, inv.Ports.MaxHold = api.Duration(portHold), api.Duration(portHold)
		}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, live.Close()) }()
	if err := live.Ready(ctx); err != nil {
		return err
	}
	p := &portDown{live: live, url: live.URL() + "/v1/multicast-groups/bench"}
	hosts := live.World.Network.Hosts
	spec := api.MulticastGroupSpec{
		ProxyAddress: netip.MustParseAddr("2001:db8:ffff::1"), DesignatedQPN: designatedQPN,
		Source: api.GroupSource{Address: hosts[0].Address, QPN: sourceQPN},
	}
	for k, r := range hosts[1:] {
		spec.Receivers = append(spec.Receivers, api.GroupReceiver{Address: r.Address, QPN: receiverQPN +
			uint32(k)})
	}
	if _, err := timeToProgrammed(ctx, live.URL()+"/v1/multicast-groups", "bench", spec); err != nil {
		return err
	}
	if err := p.reported(ctx); err != nil {
		return err
	}
	var took []time.Duration
	for i := range failures {
		d, err := p.fail(ctx, i)
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	return out.print(latency("ports/tree", took, field{"switches", len(live.World.Network.Switches)},
		field{"receivers", len(hosts) - 1}))
}

// portDown is a network with a group whose tree loses links.
type portDown struct {
	live *lab.Live
	url  string
}

// reported waits until each switch has reported its ports.
func (p *portDown) reported(ctx context.Context) error {
	return p.until(ctx, "switches report their ports", func(c *controller.Core) bool {
		seen := make(map[string]bool)
		for _, x := range c.Ports().List() {
			seen[x.Status.Switch] = seen[x.Status.Switch] || x.Status.Oper == "up"
		}
		return len(seen) == len(p.live.World.Network.Switches)
	})
}

// fail takes a link of the tree down, measures the time until the tree is programmed without it,
// and brings the link back.
func (p *portDown) fail(ctx context.Context, i int) (time.Duration, error) {
	group, err := exchange(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return 0, err
	}
	links := linksOf(group.Status.Tree)
	links = slices.DeleteFunc(links, func(l [2]string) bool {
		return !p.replaceable(l[0]) || !p.replaceable(l[1])
	})
	if len(links) == 0 {
		return 0, fmt.Errorf("the tree of %s uses no link that it can do without: %+v", group.Name,
			group.Status)
	}
	link := links[i%len(links)]
	ticker := time.NewTicker(programPoll)
	defer ticker.Stop()
	start := time.Now()
	if err := p.live.Do(ctx,
		func(w *lab.World) error { return w.SetLink(link[0], link[1], false) }); err != nil {
		return 0, err
	}
	for {
		if group, err = exchange(ctx, http.MethodGet, p.url, nil); err != nil {
			return 0, err
		}
		if c := group.Status.Condition(api.Programmed); c != nil && c.Status &&
			!contains(linksOf(group.Status.Tree), link) {
			break
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("the tree has not left %s - %s: %w: %+v", link[0], link[1], ctx.Err(),
				group.Status.Conditions)
		}
	}
	took := time.Since(start)
	advertised := false
	if err := p.live.Service.Controller().Do(ctx, func(c *controller.Core) {
		advertised = isAdvertised(c.Topology(), link)
	}); err != nil {
		return 0, err
	}
	if !advertised {
		return 0, fmt.Errorf("the link %s - %s is withdrawn: the tree may have moved for that", link[0],
			link[1])
	}
	if err := p.live.Do(ctx,
		func(w *lab.World) error { return w.SetLink(link[0], link[1], true) }); err != nil {
		return 0, err
	}
	return took, p.until(ctx, "all links are used again", func(c *controller.Core) bool {
		for _, x := range c.Ports().List() {
			if x.Status.Oper == "down" || x.Status.Damping != nil && x.Status.Damping.Out {
				return false
			}
		}
		for _, s := range c.Switches() {
			if !s.Synced {
				return false
			}
		}
		return true
	})
}

// replaceable reports whether a switch has links to several other switches, so the switch can lose
// one link.
func (p *portDown) replaceable(sw string) bool {
	n, network := 0, p.live.World.Network
	isSwitch := func(name string) bool {
		return slices.ContainsFunc(network.Switches, func(s lab.Switch) bool { return s.Name == name })
	}
	for _, l := range network.Links {
		if l.A == sw && isSwitch(l.B) || l.B == sw && isSwitch(l.A) {
			n++
		}
	}
	return n > 1
}

// until waits until something is true of the controller.
func (p *portDown) until(ctx context.Context, what string,
	holds func(*controller.Core) bool) error {
	return p.live.Wait(ctx, what, func() (ok bool, err error) {
		err = p.live.Service.Controller().Do(ctx, func(c *controller.Core) { ok = holds(c) })
		return ok, err
	})
}

// linksOf returns the links between the switches of a tree, by the names of their ends.
func linksOf(tree *api.GroupTree) (links [][2]string) {
	if tree == nil {
		return nil
	}
	for _, n := range tree.Nodes {
		for _, b := range n.Branches {
			if b.Child != "" {
				links = append(links, [2]string{n.Switch, b.Child})
			}
		}
	}
	return links
}

func contains(links [][2]string, link [2]string) bool {
	return slices.Contains(links, link) || slices.Contains(links, [2]string{link[1], link[0]})
}

// isAdvertised reports whether BGP-LS has the link between two switches in both directions.
func isAdvertised(s *topology.Snapshot, link [2]string) bool {
	names := make(map[topology.NodeID]string)
	for _, n := range s.Nodes {
		names[n.ID] = n.Name
	}
	found := make(map[[2]string]bool)
	for _, l := range s.Links {
		found[[2]string{names[l.Local], names[l.Remote]}] = true
	}
	return found[link] && found[[2]string{link[1], link[0]}]
}
