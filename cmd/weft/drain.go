package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/topology"
)

// drainer carries out "weft drain" and "weft undrain".
type drainer struct {
	env   environment
	conn  connection
	state api.AdminState
	wait  time.Duration
	try   bool // a dry run
	ask   bool // only what jobs would get
}

func newDrain(env environment) *cobra.Command {
	d := &drainer{env: env, state: api.AdminDrained}
	c := d.command("drain", "Take a link, switch, plane or port of a host out of use",
		`Takes a link, switch, plane or port out of use: the hosts of an MRC fabric stop using it, and
no packet is lost. The last path between two hosts cannot be drained.`)
	c.PersistentFlags().DurationVar(&d.wait, "wait", 0,
		"longest wait until no host uses it; 0 does not wait")
	c.PersistentFlags().BoolVar(&d.ask, "what-if", false,
		"only say what jobs would get of the fabric without it, and change nothing")
	return c
}

func newUndrain(env environment) *cobra.Command {
	d := &drainer{env: env, state: api.AdminUp}
	c := d.command("undrain", "Take something drained back into use",
		`Takes a drained link, switch, plane or port back into use. Hosts use it after a successful
probe.`)
	c.PersistentFlags().DurationVar(&d.wait, "wait", 0,
		"wait so long until hosts may use it again; 0 does not wait")
	return c
}

func (d *drainer) command(use, short, long string) *cobra.Command {
	c := family(use, short, long)
	d.conn.register(c)
	c.PersistentFlags().BoolVar(&d.try, "dry-run", false,
		"only check: show what it would take from others, and change nothing")
	names := completer{d.env, &d.conn}
	for _, k := range []struct {
		use, short  string
		least, most int
		complete    []completion
		find        func(ctx context.Context, c *client.Client, args []string) (*drainable, error)
	}{
		{"link ID | FROM TO", "A link in both directions, by its id or by its ends", 1, 2,
			[]completion{names.linkOrNode, names.nodes}, findLink},
		{"node NAME", "A switch, by its name or id", 1, 1, []completion{names.nodes}, findNode},
		{"plane NUMBER", "A plane", 1, 1, []completion{names.of("planes")}, findPlane},
		{"port HOST PORT", "A port of a host", 2, 2, []completion{names.of("hosts"), names.ports},
			findPort},
	} {
		c.AddCommand(&cobra.Command{
			Use: k.use, Short: k.short, Args: arguments(k.least, k.most),
			ValidArgsFunction: inTurn(k.complete...),
			RunE: func(cmd *cobra.Command, args []string) error {
				rest, err := d.conn.open(d.env)
				if err != nil {
					return err
				}
				defer rest.Close()
				x, err := k.find(cmd.Context(), rest, args)
				if err != nil {
					return err
				}
				if d.ask {
					return whatIf(cmd.Context(), rest, d.env.stdout, x.object)
				}
				return d.set(cmd.Context(), rest, x)
			},
		})
	}
	return c
}

// drainable is something that can be drained.
type drainable struct {
	what   string // "link ID"
	object api.SimulationObject
	// put returns what the write takes from others, of a dry run.
	put func(ctx context.Context, spec api.AdminSpec, dryRun bool) ([]api.Taken, error)
	get func(ctx context.Context) (drainState, error)
}

// drainState is the progress of a drain, or its end.
type drainState struct {
	drains []api.Drain
	// unused is why hosts do not use all of it yet, drains aside; empty: they do.
	unused string
	takes  []api.Taken // of a dry run
}

// drainableOf returns the resource of a name and kind; state reads how far it is.
func drainableOf[T any](what string, object api.SimulationObject,
	of client.Resources[api.AdminSpec, T], name string, state func(*T) drainState) *drainable {
	return &drainable{
		what: what, object: object,
		put: func(ctx context.Context, spec api.AdminSpec, dryRun bool) ([]api.Taken, error) {
			t, err := of.Put(ctx, name, spec, client.Write{DryRun: dryRun})
			if err != nil {
				return nil, err
			}
			return state(t).takes, nil
		},
		get: func(ctx context.Context) (drainState, error) {
			t, err := of.Get(ctx, name)
			if err != nil {
				return drainState{}, err
			}
			return state(t), nil
		},
	}
}

func deniedLinks(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d links denied", n)
}

// findLink finds a link by its id, or by the names of its ends.
func findLink(ctx context.Context, c *client.Client, args []string) (*drainable, error) {
	id := args[0]
	if len(args) == 2 {
		links, err := c.Links().List(ctx, url.Values{"node": {args[0]}})
		if err != nil {
			return nil, err
		}
		var found []string
		for i := range links {
			s := &links[i].Status
			if (string(s.From) == args[0] || s.FromName == args[0]) &&
				(string(s.To) == args[1] || s.ToName == args[1]) {
				found = append(found, string(links[i].ID))
			}
		}
		switch len(found) {
		case 0:
			return nil, fmt.Errorf("there is no link from %s to %s", args[0], args[1])
		case 1:
			id = found[0]
		default:
			return nil, usagef("there are %d links from %s to %s: want the id of one: %s", len(found),
				args[0], args[1], few(found))
		}
	}
	object := api.SimulationObject{Link: topology.LinkID(id)}
	return drainableOf("link "+id, object, c.Links(), id, func(l *api.Link) drainState {
		s := drainState{drains: l.Status.Drains, takes: l.Takes}
		switch {
		case l.Status.Denied && l.Status.Phase != "up":
			s.unused = notes(l.Status.Phase, l.Status.Cause)
		case l.Status.Denied:
			s.unused = "denied"
		}
		return s
	}), nil
}

// findNode finds a switch by its id, or by its name.
func findNode(ctx context.Context, c *client.Client, args []string) (*drainable, error) {
	nodes, err := c.Nodes().List(ctx, nil)
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		if string(nodes[i].ID) == args[0] || nodes[i].Status.Name == args[0] {
			return drainableOf("node "+args[0], api.SimulationObject{Node: string(nodes[i].ID)},
				c.Nodes(), string(nodes[i].ID),
				func(n *api.Node) drainState {
					return drainState{n.Status.Drains, deniedLinks(n.Status.DeniedLinks),
						n.Takes}
				}), nil
		}
	}
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = named(nodes[i].Status.Name, nodes[i].ID)
	}
	return nil, fmt.Errorf("there is no node %s in the fabric: want one of %s", args[0],
		inLine(few(names)))
}

// findPlane finds a plane by its number.
func findPlane(ctx context.Context, c *client.Client, args []string) (*drainable, error) {
	planes, err := c.Planes().List(ctx, nil)
	if err != nil {
		return nil, err
	}
	var numbers []string
	for i := range planes {
		numbers = append(numbers, fmt.Sprint(planes[i].Plane))
	}
	if !slices.Contains(numbers, args[0]) {
		return nil, fmt.Errorf("there is no plane %s: want one of %s", args[0], few(numbers))
	}
	number, _ := strconv.Atoi(args[0])
	object := api.SimulationObject{Plane: number}
	return drainableOf("plane "+args[0], object, c.Planes(), args[0], func(p *api.Plane) drainState {
		return drainState{p.Status.Drains, deniedLinks(p.Status.DeniedLinks), p.Takes}
	}), nil
}

// findPort finds a port of a host by its number.
func findPort(_ context.Context, c *client.Client, args []string) (*drainable, error) {
	number, err := strconv.ParseUint(args[1], 10, 8)
	if err != nil {
		return nil, usagef("the port is %q: want its number", args[1])
	}
	object := api.SimulationObject{Host: args[0], Port: uint8(number)}
	return drainableOf("port "+args[1]+" of "+args[0], object, c.HostPorts(args[0]), args[1],
		func(p *api.HostPort) drainState {
			s := drainState{drains: p.Status.Drains, takes: p.Takes}
			if !p.Status.Usable {
				s.unused = "not usable"
			}
			return s
		}), nil
}

var (
	errNotDrained = errors.New("not drained")
	errNotUsed    = errors.New("not in use")
)

// drainEvents are the families of events about what hosts use.
var drainEvents = []string{"drain", "link", "host", "ev-profile", "fabric"}

// set drains something or undoes that, and waits until hosts have followed.
func (d *drainer) set(ctx context.Context, c *client.Client, x *drainable) error {
	spec, up := api.AdminSpec{Admin: d.state}, d.state == api.AdminUp
	takes, err := x.put(ctx, spec, true)
	if err != nil {
		return fmt.Errorf("%s: %w", x.what, err)
	}
	to := d.env.stderr
	if d.try {
		to = d.env.stdout
		what := "drained"
		if up {
			what = "is to be used"
		}
		fmt.Fprintf(to, "%s %s (dry run)\n", x.what, what)
	}
	sayChanges(func(format string, args ...any) {
		fmt.Fprintln(to, inLine(fmt.Sprintf(format, args...)))
	}, nil, takes)
	if d.try {
		return nil
	}
	if _, err := x.put(ctx, spec, false); err != nil {
		return fmt.Errorf("%s: %w", x.what, err)
	}
	look := func(ctx context.Context) (is bool, state string, err error) {
		now, err := x.get(ctx)
		if err != nil {
			return false, "", err
		}
		state, is = inLine(drainCell(now.drains)), true
		for _, one := range now.drains {
			is = is && one.Drained
		}
		if up && d.wait > 0 {
			state = notes(state, inLine(now.unused))
			is = state == ""
		}
		return is, state, nil
	}
	var is bool
	var state string
	if d.wait == 0 {
		is, state, err = look(ctx)
	} else {
		state, err = await(ctx, c, &awaited{env: d.env, what: x.what, events: drainEvents,
			longest: d.wait, look: look})
		is = err == nil
	}
	switch {
	case errors.Is(err, errWaited) && up:
		return fmt.Errorf("%s: %w after %v: %s", x.what, errNotUsed, d.wait, state)
	case errors.Is(err, errWaited):
		return fmt.Errorf("%s: %w after %v: %s", x.what, errNotDrained, d.wait, state)
	case err != nil:
		return fmt.Errorf("%s: %w", x.what, err)
	case up && d.wait == 0:
		_, err = fmt.Fprintln(d.env.stdout, notes(x.what+" is to be used", state))
	case up:
		_, err = fmt.Fprintf(d.env.stdout, "%s is in use\n", x.what)
	case is:
		_, err = fmt.Fprintf(d.env.stdout, "%s drained\n", x.what)
	default:
		_, err = fmt.Fprintf(d.env.stdout, "%s draining: %s\n", x.what, state)
	}
	return err
}
