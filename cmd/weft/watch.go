package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/internal/printable"
)

func newWatch(env environment) *cobra.Command {
	v := &viewer{env: env}
	watch := family("watch", "Follow events",
		`Shows events until it is interrupted. A broken stream resumes after its last event. -o json
prints one JSON object a line.`)
	v.conn.register(watch)
	v.output.register(watch)
	for _, c := range []struct {
		use, short string
		families   []string // of event types
	}{
		{"events [NAME]", "All events, or those of one resource", nil},
		{"groups [NAME]", "Multicast groups and their receivers", []string{"group", "receiver"}},
		{"switches [NAME]", "Switches", []string{"switch"}},
		{"topology", "The network", []string{"topology"}},
		{"tenants [NAME]", "SRv6 policies, tenants and PFC policies", []string{"srv6-policy", "tenant",
			"pfc-policy", "pfc"}},
		{"fabric [NAME]", "The MRC fabric: links, drains, EV profiles, hosts and suspects",
			[]string{"fabric", "link", "drain", "ev-profile", "suspect", "host"}},
	} {
		most := strings.Count(c.use, " ")
		watch.AddCommand(&cobra.Command{
			Use: c.use, Short: c.short, Args: arguments(0, most),
			RunE: func(cmd *cobra.Command, args []string) error {
				query := url.Values{}
				if c.families != nil {
					// One value: the API splits it at commas.
					query.Set("type", strings.Join(c.families, ","))
				}
				if len(args) > 0 {
					query.Set("object", args[0])
				}
				return watchEvents(cmd.Context(), v, query)
			},
		})
	}
	return watch
}

// addEvents adds "weft get events", which shows events that there were.
func addEvents(v *viewer, add addFunc) {
	var follow bool
	var limit int
	var object string
	var types []string
	c := add("events", "The latest events, the oldest first", 0, nil,
		func(ctx context.Context, _ []string) error {
			query := url.Values{}
			if len(types) > 0 {
				query.Set("type", strings.Join(types, ","))
			}
			if object != "" {
				query.Set("object", object)
			}
			if follow {
				return watchEvents(ctx, v, query)
			}
			query.Set("limit", strconv.Itoa(limit))
			return list(ctx, v, client.Path("v1", "events", "latest"), query,
				func(w *bytes.Buffer, events []api.Event) {
					for i := range events {
						fmt.Fprintln(w, eventLine(&events[i]))
					}
				})
		})
	f := c.Flags()
	f.BoolVarP(&follow, "watch", "w", false, "follow what comes, as \"weft watch events\" does")
	f.IntVar(&limit, "limit", 100, "events at most, 1 to 1000")
	f.StringVar(&object, "object", "", "only events about this group, switch, host or other object")
	f.StringSliceVar(&types, "type", nil,
		"only events of these types, such as group.changed, or of families of them, such as group")
}

// watchEvents shows events until ctx ends.
func watchEvents(ctx context.Context, v *viewer, query url.Values) error {
	c, err := v.conn.open(v.env)
	if err != nil {
		return err
	}
	defer c.Close()
	err = c.Events(ctx, client.Path("v1", "events"), query, client.Handlers{
		Event: v.event,
		Lost: func(err error, pause time.Duration) {
			fmt.Fprintf(v.env.stderr, "weft: the stream of events broke off: %v; trying again in %v\n", err,
				pause)
		},
	})
	if interrupted(ctx, err) {
		return nil // what a watch is ended by
	}
	return err
}

func (v *viewer) event(e client.Event) error {
	if !v.output.forPeople() {
		return v.output.writeNext(v.env.stdout, e.Data)
	}
	var ev api.Event
	if err := (&client.Answer{Body: e.Data}).Decode(&ev); err != nil {
		return err
	}
	_, err := fmt.Fprintln(v.env.stdout, eventLine(&ev))
	return err
}

func eventLine(ev *api.Event) string {
	return strings.TrimRight(fmt.Sprintf("%-20s  %-18s  %-12s  %s", clockTime(ev.Time),
		inLine(string(ev.Type)), inLine(ev.Object), eventText(ev)), " ")
}

// eventText is what an event says, in a line.
func eventText(ev *api.Event) string {
	return printable.Text(strings.Join(strings.Fields(ev.Sentence), " "))
}
