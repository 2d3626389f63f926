package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// drainer carries out "weft drain" and "weft undrain".
type drainer struct {
	env   environment
	conn  connection
	state api.AdminState
	wait  time.Duration
}

func newDrain(env environment) *cobra.Command {
	d := &drainer{env: env, state: api.AdminDrained}
	c := d.command("drain", "Take a link, switch, plane or port of a host out of use", `Has the hosts of an MRC fabric stop using something, without losing a packet. The last
path between two hosts is not drained.`)
	c.PersistentFlags().DurationVar(&d.wait, "wait", 0, "wait so long until no host uses it any more; 0 does not wait")
	return c
}

func newUndrain(env environment) *cobra.Command {
	d := &drainer{env: env, state: api.AdminUp}
	c := d.command("undrain", "Use something again that was drained", `Has the hosts of an MRC fabric use something again that was drained. They do once a
probe has come through.`)
	c.PersistentFlags().DurationVar(&d.wait, "wait", 0, "wait so long until hosts may use it again; 0 does not wait")
	return c
}

func (d *drainer) command(use, short, long string) *cobra.Command {
	c := family(use, short, long)
	d.conn.register(c)
	names := completer{d.env, &d.conn}
	for _, k := range []struct {
		use, short  string
		least, most int
		complete    []completion
		find        func(ctx context.Context, c *client.Client, args []string) (what, path string, err error)
	}{
		{"link ID | FROM TO", "A link in both directions, by its id or by its ends", 1, 2, []completion{names.linkOrNode, names.nodes}, findLink},
		{"node NAME", "A switch, by its name or id", 1, 1, []completion{names.nodes}, findNode},
		{"plane NUMBER", "A plane", 1, 1, []completion{names.of("planes")}, findPlane},
		{"port HOST PORT", "A port of a host", 2, 2, []completion{names.of("hosts"), names.ports}, func(_ context.Context, _ *client.Client, args []string) (string, string, error) {
			return "port " + args[1] + " of " + args[0], client.Path("v1", "hosts", args[0], "ports", args[1]), nil
		}},
	} {
		c.AddCommand(&cobra.Command{
			Use: k.use, Short: k.short, Args: arguments(k.least, k.most), ValidArgsFunction: inTurn(k.complete...),
			RunE: func(cmd *cobra.Command, args []string) error {
				rest, err := d.conn.open(d.env)
				if err != nil {
					return err
				}
				defer rest.Close()
				what, path, err := k.find(cmd.Context(), rest, args)
				if err != nil {
					return err
				}
				return d.set(cmd.Context(), rest, what, path)
			},
		})
	}
	return c
}

// findLink finds a link by its id, or by the names of its ends.
func findLink(ctx context.Context, c *client.Client, args []string) (what, path string, err error) {
	id := args[0]
	if len(args) == 2 {
		links, err := c.Links().List(ctx, url.Values{"node": {args[0]}})
		if err != nil {
			return "", "", err
		}
		var found []string
		for i := range links {
			s := &links[i].Status
			if (string(s.From) == args[0] || s.FromName == args[0]) && (string(s.To) == args[1] || s.ToName == args[1]) {
				found = append(found, string(links[i].ID))
			}
		}
		switch len(found) {
		case 0:
			return "", "", fmt.Errorf("there is no link from %s to %s", args[0], args[1])
		case 1:
			id = found[0]
		default:
			return "", "", usagef("there are %d links from %s to %s: want the id of one: %s", len(found), args[0], args[1], few(found))
		}
	}
	return "link " + id, client.Path("v1", "links", id), nil
}

// findNode finds a switch by its id, or by its name.
func findNode(ctx context.Context, c *client.Client, args []string) (what, path string, err error) {
	nodes, err := c.Nodes().List(ctx, nil)
	if err != nil {
		return "", "", err
	}
	for i := range nodes {
		if string(nodes[i].ID) == args[0] || nodes[i].Status.Name == args[0] {
			return "node " + args[0], client.Path("v1", "nodes", string(nodes[i].ID)), nil
		}
	}
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = named(nodes[i].Status.Name, nodes[i].ID)
	}
	return "", "", fmt.Errorf("there is no node %s in the fabric: want one of %s", args[0], few(names))
}

// findPlane finds a plane by its number.
func findPlane(ctx context.Context, c *client.Client, args []string) (what, path string, err error) {
	planes, err := c.Planes().List(ctx, nil)
	if err != nil {
		return "", "", err
	}
	var numbers []string
	for i := range planes {
		numbers = append(numbers, fmt.Sprint(planes[i].Plane))
	}
	if !slices.Contains(numbers, args[0]) {
		return "", "", fmt.Errorf("there is no plane %s: want one of %s", args[0], few(numbers))
	}
	return "plane " + args[0], client.Path("v1", "planes", args[0]), nil
}

var (
	errNotDrained = errors.New("not drained")
	errNotUsed    = errors.New("not in use")
)

// drainState is what is looked at of something that is drained, or was.
type drainState struct {
	Status struct {
		Drains []api.Drain `json:"drains"`
		// Of a link, of a node or plane, and of a port of a host.
		Phase       string `json:"phase"`
		Cause       string `json:"cause"`
		Denied      bool   `json:"denied"`
		DeniedLinks int    `json:"deniedLinks"`
		Usable      *bool  `json:"usable"`
	} `json:"status"`
}

// unused says why hosts do not use it all yet, drains aside.
func (s *drainState) unused() string {
	st := &s.Status
	switch {
	case st.Denied && st.Phase != "" && st.Phase != "up":
		return notes(st.Phase, st.Cause)
	case st.Denied:
		return "denied"
	case st.DeniedLinks > 0:
		return fmt.Sprintf("%d links denied", st.DeniedLinks)
	case st.Usable != nil && !*st.Usable:
		return "not usable"
	}
	return ""
}

// set says whether something is to be used, and waits until it is not.
func (d *drainer) set(ctx context.Context, c *client.Client, what, path string) error {
	body := map[string]any{"spec": api.AdminSpec{Admin: d.state}}
	if _, err := c.Do(ctx, http.MethodPut, path, nil, body); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	start, said := time.Now(), ""
	for {
		a, err := c.Get(ctx, path, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		var now drainState
		if err := a.Decode(&now); err != nil {
			return err
		}
		state, done := drainCell(now.Status.Drains), true
		for _, x := range now.Status.Drains {
			done = done && x.Drained
		}
		up := d.state == api.AdminUp
		if up {
			state = notes(state, now.unused())
		}
		switch {
		case up && d.wait == 0:
			_, err = fmt.Fprintln(d.env.stdout, notes(what+" is to be used", drainCell(now.Status.Drains)))
			return err
		case up && state == "":
			_, err = fmt.Fprintf(d.env.stdout, "%s is in use\n", what)
			return err
		case up && time.Since(start) > d.wait:
			return fmt.Errorf("%s: %w after %v: %s", what, errNotUsed, d.wait, state)
		case up:
		case done:
			_, err = fmt.Fprintf(d.env.stdout, "%s drained\n", what)
			return err
		case d.wait == 0:
			_, err = fmt.Fprintf(d.env.stdout, "%s draining: %s\n", what, state)
			return err
		case time.Since(start) > d.wait:
			return fmt.Errorf("%s: %w after %v: %s", what, errNotDrained, d.wait, state)
		}
		if state != said {
			fmt.Fprintf(d.env.stderr, "%s: %s\n", what, state)
			said = state
		}
		if err := pause(ctx, askAgain); err != nil {
			return err
		}
	}
}
