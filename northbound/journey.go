package northbound

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/topology"
)

// Bounds of one journey.
const (
	journeySwitches = 48       // that are traced at once: those nearest to the source
	journeyOctets   = 16 << 20 // of traces: the latest are kept
	journeyRoots    = 64       // packets that may be the one
	journeyHops     = 256
)

func (s *Server) registerJourneys() {
	register(s, huma.Operation{
		OperationID: "catch-journey", Method: http.MethodGet, Security: asks(access.Operate),
		Path: "/v1/journeys", Tags: []string{"network"},
		Summary: "Follow one packet through the network",
		Description: fmt.Sprintf("Waits for the next packet that a host sends to another, or a "+
			"source to a group, and "+
			"returns what each switch did with it and with every copy of it. It traces the %d switches "+
			"nearest to the source at most, and keeps the latest %d MiB of traces. The packets are "+
			"forwarded as usual.", journeySwitches, journeyOctets>>20),
		Errors: []int{404, 422, 501, 503},
	}, s.catchJourney)
}

// journeyInput is whose packet to catch.
type journeyInput struct {
	From  string `query:"from" maxLength:"255" doc:"Name of the host that sends it. Default: the source of the group."`
	To    string `query:"to" maxLength:"255" doc:"Name of the host that it must reach. Default: any."`
	Group string `query:"group" maxLength:"255" doc:"Name of the multicast group that it is written to."`
	Wait  string `query:"wait" maxLength:"10" doc:"How long to wait for it, at most 25s. Default 10s."`
}

func (s *Server) catchJourney(ctx context.Context, in *journeyInput) (*api.Journey, error) {
	wait, err := waitOf(in.Wait)
	if err != nil {
		return nil, err
	}
	way, err := s.wayOf(ctx, in)
	if err != nil {
		return nil, err
	}
	if s.cfg.Traces == nil {
		return nil, newProblem(codeNoSection,
			"no switch gives traces: the configuration has no switches[].trace")
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	out, err := way.catch(ctx, s.cfg.Traces)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// way is the expected way of a packet before the switches trace it.
type way struct {
	from, to, group string
	wants           []string // octets that the frame has, in hexadecimal
	starts          map[end]bool
	places          *places
}

// end is a port of a switch.
type end struct {
	sw   string
	port uint32
}

// places has the neighbors and hosts at the ports of switches.
type places struct {
	links map[end]beyond
	hosts map[end]string
	nodes map[string]topology.NodeID
}

// beyond is the other end of a link, and the link to it.
type beyond struct {
	end
	link topology.LinkID
}

// wayOf checks whose packet is wanted, and finds where it enters the network.
func (s *Server) wayOf(ctx context.Context, in *journeyInput) (*way, error) {
	inv := s.controller.Inventory()
	w := &way{from: in.From, to: in.To, group: in.Group, starts: map[end]bool{}}
	if in.Group != "" {
		g, err := kind.Of[api.MulticastGroupSpec, api.MulticastGroup](s.controller.Kinds()).
			Get(ctx, in.Group)
		if err != nil {
			return nil, problemOf(err)
		}
		w.wants = append(w.wants, hexOf(g.Spec.ProxyAddress.AsSlice()))
		if h := inv.Host(g.Spec.Source.Address); w.from == "" && h != nil {
			w.from = h.Name
		}
	}
	byName := func(field, name string) (*inventory.Host, error) {
		i := slices.IndexFunc(inv.Hosts, func(h inventory.Host) bool { return h.Name == name })
		if i < 0 {
			return nil, badQuery(field, name, "the name of a host of the configuration")
		}
		return &inv.Hosts[i], nil
	}
	if w.from == "" {
		return nil, badQuery("from", "", "the name of a host, or a group with a source")
	}
	from, err := byName("from", w.from)
	if err != nil {
		return nil, err
	}
	if w.to != "" {
		if _, err := byName("to", w.to); err != nil {
			return nil, err
		}
		if w.to == w.from {
			return nil, badQuery("to", w.to, "another host than from")
		}
	}
	w.wants = append(w.wants, hexOf(from.Address.AsSlice()))
	w.places, err = s.placesOf(ctx, inv)
	for at, name := range w.places.hosts {
		if name == w.from {
			w.starts[at] = true
		}
	}
	return w, err
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }

// placesOf returns what is at the ports of all switches.
func (s *Server) placesOf(ctx context.Context, inv *inventory.Inventory) (*places, error) {
	p := &places{links: map[end]beyond{}, hosts: map[end]string{}, nodes: map[string]topology.NodeID{}}
	t, err := s.topology(ctx, nil)
	if err != nil {
		return p, err
	}
	switches, err := kind.Views[api.SwitchStatus](ctx, s.controller.Kinds())
	if err != nil {
		return p, problemOf(err)
	}
	names := make(map[topology.NodeID]string)
	for i := range switches {
		node := topology.NodeID(switches[i].Node)
		names[node], p.nodes[switches[i].Name] = switches[i].Name, node
	}
	for i := range t.Links {
		l := &t.Links[i]
		p.links[end{names[l.Local], l.LocalPort}] = beyond{end{names[l.Remote], l.RemotePort}, l.ID}
	}
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		for _, port := range h.AllPorts() {
			p.hosts[end{h.Switch, port}] = h.Name
		}
		for _, a := range h.Planes {
			p.hosts[end{a.Switch, a.Port}] = h.Name
		}
	}
	return p, nil
}

// near returns the switches nearest to where the packet enters, the nearest first.
func (w *way) near() []string {
	next := map[string][]string{}
	for from, to := range w.places.links {
		next[from.sw] = append(next[from.sw], to.sw)
	}
	var out []string
	for at := range w.starts {
		out = append(out, at.sw)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	for i := 0; i < len(out) && len(out) < journeySwitches; i++ {
		around := next[out[i]]
		slices.Sort(around)
		for _, sw := range around {
			if sw != "" && !slices.Contains(out, sw) && len(out) < journeySwitches {
				out = append(out, sw)
			}
		}
	}
	return out
}

// traced is what a journey reads of a trace.Record.
type traced struct {
	Origin  string
	Port    uint32
	Frame   string
	Outcome *struct {
		Result string
		Port   *uint32
		Length int
		Frame  string
		Drop   string
		Reason string
	}
	Copies []*traced

	raw json.RawMessage
}

// arrived is a frame at a port of a switch.
type arrived struct {
	end
	frame string
}

// caught has the traces of the switches so far.
type caught struct {
	*way
	mu     sync.Mutex
	seen   map[arrived]*traced
	order  []arrived // of seen, the oldest first
	roots  []arrived
	dark   map[string]bool
	lost   uint64
	octets int
	best   *api.Journey
}

// catch traces switches until a packet has come to all its ends, or ctx ends.
func (w *way) catch(ctx context.Context, traces Tracer) (*api.Journey, error) {
	c := &caught{way: w, seen: map[arrived]*traced{}, dark: map[string]bool{}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var tasks sync.WaitGroup
	var failed error
	for _, sw := range w.near() {
		tasks.Go(func() {
			err := traces(ctx, sw, TraceFilter{},
				func(t api.PacketTrace, lost uint64) error {
					c.mu.Lock()
					defer c.mu.Unlock()
					if c.take(sw, t, lost) {
						cancel()
					}
					return ctx.Err()
				})
			c.mu.Lock()
			defer c.mu.Unlock()
			switch {
			case errors.Is(err, ErrNoTraces):
				c.dark[sw] = true
			case err != nil && ctx.Err() == nil:
				c.dark[sw] = true
				failed = fmt.Errorf("switch %s: %w", sw, err)
			}
		})
	}
	tasks.Wait()
	if c.best == nil {
		c.look() // what waited for a switch that is dark
	}
	if c.best == nil && failed != nil {
		return nil, newProblem(string(api.CodeUnavailable), failed.Error())
	}
	if c.best == nil {
		c.best = &api.Journey{Hops: []api.JourneyHop{}, Delivered: []string{}}
		for _, sw := range w.near()[:min(1, len(w.near()))] {
			if c.dark[sw] {
				return nil, newProblem(codeNoSection, fmt.Sprintf("switch %s gives no traces: the "+
					"configuration has no switches[].trace for it", sw))
			}
		}
	}
	c.best.From, c.best.To, c.best.Group, c.best.Lost = w.from, w.to, w.group, c.lost
	return c.best, nil
}

// take takes a trace, and reports whether nothing more is needed.
func (c *caught) take(sw string, t api.PacketTrace, lost uint64) (done bool) {
	c.lost += lost
	if len(t.Record) == 0 || c.best != nil && c.best.Complete {
		return c.best != nil && c.best.Complete
	}
	r := &traced{raw: t.Record}
	if json.Unmarshal(t.Record, r) != nil || r.Origin != "received" {
		return false
	}
	at := arrived{end{sw, r.Port}, r.Frame}
	if old := c.seen[at]; old != nil { // sent again
		c.octets -= len(old.raw)
	} else {
		c.order = append(c.order, at)
	}
	c.seen[at] = r
	c.octets += len(r.raw)
	for ; c.octets > journeyOctets; c.order = c.order[1:] {
		c.octets -= len(c.seen[c.order[0]].raw)
		delete(c.seen, c.order[0])
	}
	if c.starts[at.end] && !slices.ContainsFunc(c.wants, func(x string) bool {
		return !strings.Contains(r.Frame, x)
	}) {
		if c.roots = append(c.roots, at); len(c.roots) > journeyRoots {
			c.roots = c.roots[1:]
		}
	}
	return c.look()
}

// look makes journeys of the traces so far, and reports whether a journey is complete.
func (c *caught) look() bool {
	for _, root := range c.roots {
		if j := c.follow(root); len(j.Hops) > 0 && c.fits(j) {
			if c.best == nil || j.Complete || len(j.Hops) > len(c.best.Hops) {
				c.best = j
			}
			if j.Complete {
				return true
			}
		}
	}
	return false
}

// fits reports whether a journey is one that was asked for, or may still become one.
func (c *caught) fits(j *api.Journey) bool {
	return c.to == "" || !j.Complete || slices.Contains(j.Delivered, c.to)
}

// follow puts the journey of a packet together.
func (c *caught) follow(root arrived) *api.Journey {
	j := &api.Journey{Hops: []api.JourneyHop{}, Delivered: []string{}, Complete: true}
	type step struct {
		at     arrived
		before int
		link   topology.LinkID
	}
	for queue := []step{{root, -1, ""}}; len(queue) > 0; queue = queue[1:] {
		now := queue[0]
		r := c.seen[now.at]
		switch {
		case r == nil && c.dark[now.at.sw]:
			j.Dark = append(j.Dark, now.at.sw)
			continue
		case r == nil || len(j.Hops) >= journeyHops:
			j.Complete = false
			continue
		}
		hop := api.JourneyHop{Switch: now.at.sw, Node: string(c.places.nodes[now.at.sw]),
			Port: now.at.port, Before: now.before, Link: string(now.link), Sent: []api.JourneySent{},
			Record: r.raw}
		r.each(func(p *traced) {
			switch o := p.Outcome; {
			case o == nil:
				j.Complete = false
			case o.Result == "dropped":
				hop.Drops = append(hop.Drops, cmp.Or(o.Reason, o.Drop))
			case o.Result == "transmitted" && o.Port != nil:
				from := end{now.at.sw, *o.Port}
				to, host := c.places.links[from], c.places.hosts[from]
				hop.Sent = append(hop.Sent, api.JourneySent{Port: *o.Port, Length: o.Length,
					Switch: to.sw, Host: host})
				switch {
				case host != "":
					j.Delivered = append(j.Delivered, host)
				case to.sw != "":
					queue = append(queue, step{arrived{to.end, o.Frame}, len(j.Hops), to.link})
				}
			}
		})
		j.Hops = append(j.Hops, hop)
	}
	slices.Sort(j.Delivered)
	slices.Sort(j.Dark)
	j.Delivered, j.Dark = slices.Compact(j.Delivered), slices.Compact(j.Dark)
	return j
}

// each calls f with a packet and all that was made of it.
func (t *traced) each(f func(*traced)) {
	f(t)
	for _, copied := range t.Copies {
		copied.each(f)
	}
}
