package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// waiter waits until a resource is as it should be.
type waiter struct {
	env     environment
	conn    connection
	want    string
	timeout time.Duration
}

func newWait(env environment) *cobra.Command {
	w := &waiter{env: env}
	c := family("wait", "Wait until a resource is as it should be", `
Follows the events of a resource until it has a condition, and ends with status 0 then, or
with 1 after --timeout. --for ready, programmed or another condition waits until that is
true; --for deleted until there is no such resource; --for phase=Running until its status
has the phase.`)
	w.conn.register(c)
	c.PersistentFlags().StringVar(&w.want, "for", "",
		"condition that must be true, deleted, or phase=PHASE")
	c.PersistentFlags().DurationVar(&w.timeout, "timeout", 0, "longest wait; 0 is for ever")
	ofEach(c, completer{env, &w.conn}, "Wait for one of the",
		func(k *kind) bool { return k.key != "" }, w.wait)
	return c
}

// forDeleted is what --for has for a resource that is gone.
const forDeleted = "deleted"

// errIsSo ends the stream of events when the resource is as it should be.
var errIsSo = errors.New("it is")

// wait waits for a resource of a kind.
func (w *waiter) wait(ctx context.Context, k *kind, name string) error {
	switch {
	case w.want == "":
		return usagef("--for: want a condition such as ready or programmed, deleted, or phase=PHASE")
	case w.timeout < 0:
		return usagef("--timeout is %v: want 0 or more", w.timeout)
	}
	c, err := w.conn.open(w.env)
	if err != nil {
		return err
	}
	defer c.Close()
	resources, key, err := k.of(c, name)
	if err != nil {
		return err
	}
	state, said := "nothing is known yet", ""
	look := func(ctx context.Context) error {
		item, err := resources.Get(ctx, key)
		switch {
		case missing(err) && w.want == forDeleted:
			return errIsSo
		case err != nil:
			return err
		}
		is, now, err := w.is(*item)
		if err != nil {
			return err
		}
		if is {
			return errIsSo
		}
		if state = now; state != said {
			fmt.Fprintf(w.env.stderr, "%s %s: %s\n", k.noun, inLine(name), inLine(state))
			said = state
		}
		return nil
	}
	began := time.Now()
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if w.timeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, w.timeout)
	}
	defer cancel()
	events := url.Values{}
	if len(k.events) > 0 {
		events.Set("type", strings.Join(k.events, ","))
	}
	err = c.Events(waiting, client.Path("v1", "events"), events, client.Handlers{
		Opened: func() error { return look(waiting) },
		Event:  func(client.Event) error { return look(waiting) },
		Lost: func(err error, pause time.Duration) {
			fmt.Fprintf(w.env.stderr, "weft: the stream of events broke off: %v; trying again in %v\n", err,
				pause)
		},
	})
	switch {
	case errors.Is(err, errIsSo):
		_, err := fmt.Fprintf(w.env.stdout, "%s %s: %s after %v\n", k.noun, inLine(name), inLine(w.want),
			time.Since(began).Round(time.Millisecond))
		return err
	case ctx.Err() == nil && waiting.Err() != nil:
		return fmt.Errorf("%s %s: not %s after %v: %s", k.noun, inLine(name), inLine(w.want), w.timeout,
			inLine(state))
	}
	return err
}

// is reports whether a resource is as it should be, and else how it is.
func (w *waiter) is(item json.RawMessage) (is bool, now string, err error) {
	o, err := objectOf(item)
	if err != nil {
		return false, "", err
	}
	var status struct {
		api.Progress
		Phase string `json:"phase"`
	}
	if len(o.Status) > 0 {
		if err := (&client.Answer{Body: o.Status}).Decode(&status); err != nil {
			return false, "", err
		}
	}
	if w.want == forDeleted {
		return false, "it is there", nil
	}
	if phase, ok := strings.CutPrefix(w.want, "phase="); ok {
		if status.Phase == "" {
			return false, "", usagef("--for is %s: this kind has no phases", w.want)
		}
		return strings.EqualFold(phase, status.Phase), "phase " + status.Phase, nil
	}
	if !status.Of(o.Version) {
		return false, "its status is about an earlier version", nil
	}
	var types []string
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if strings.EqualFold(string(c.Type), w.want) {
			now := fmt.Sprintf("%s: %s %s", c.Type, c.Reason, c.Message)
			return c.Status, strings.TrimSpace(now), nil
		}
		types = append(types, string(c.Type))
	}
	if len(types) == 0 {
		return false, "it has no conditions yet", nil
	}
	return false, "", usagef("--for is %s: want one of %s, deleted, or phase=PHASE", w.want,
		strings.Join(types, ", "))
}
