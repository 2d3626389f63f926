package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
)

// waiter waits until a resource has reached the wanted state.
type waiter struct {
	env     environment
	conn    connection
	want    string
	timeout time.Duration
}

func newWait(env environment) *cobra.Command {
	w := &waiter{env: env}
	c := family("wait", "Wait until a resource is well", `
Follows the events of a resource until it has a condition, and ends with status 0 then, or
with 1 after --timeout. --for ready, programmed or another condition waits until that is
true; --for deleted until there is no such resource; --for phase=Running until its status
has the phase.`)
	w.conn.register(c)
	c.PersistentFlags().StringVar(&w.want, "for", "",
		"condition that must be true, deleted, or phase=PHASE")
	c.PersistentFlags().DurationVar(&w.timeout, "timeout", 0, "longest wait; 0 is for ever")
	flagValues(c, "for", values("accepted", "programmed", "ready", forDeleted, "phase=Running"))
	ofEach(c, completer{env, &w.conn}, "Wait for one of the",
		func(k *kind) bool { return k.key != "" }, w.wait)
	return c
}

// forDeleted is the --for value that waits for a resource's deletion.
const forDeleted = "deleted"

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
	began := time.Now()
	state, err := await(ctx, c, &awaited{
		env: w.env, what: k.noun + " " + inLine(name), events: k.Events, longest: w.timeout,
		look: func(ctx context.Context) (is bool, now string, err error) {
			item, err := resources.Get(ctx, key)
			switch {
			case missing(err) && w.want == forDeleted:
				return true, "", nil
			case err != nil:
				return false, "", err
			}
			return w.is(*item)
		},
	})
	switch {
	case errors.Is(err, errWaited):
		return fmt.Errorf("%s %s: not %s after %v: %s", k.noun, inLine(name), inLine(w.want), w.timeout,
			inLine(state))
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(w.env.stdout, "%s %s: %s after %v\n", k.noun, inLine(name), inLine(w.want),
		time.Since(began).Round(time.Millisecond))
	return err
}

// awaited describes the condition that a command waits for.
type awaited struct {
	env  environment
	what string // "job train"
	// events are the families of events after which the command looks again; none: all.
	events []string
	// longest is how long the command waits; 0: for ever.
	longest time.Duration
	// again replaces lookAgain; 0: the command uses lookAgain.
	again time.Duration
	// look reports whether the command may stop waiting, and otherwise describes the current state.
	look func(ctx context.Context) (is bool, now string, err error)
}

// errWaited reports that the command waited for its longest time without success.
var errWaited = errors.New("waited in vain")

// lookAgain is the longest time without an event before the command looks again: hosts acknowledge
// their state without an event.
const lookAgain = time.Second

// await calls look, first at once and then after each event, until the condition holds. await
// prints each new state on standard error, and returns the state printed last.
func await(ctx context.Context, c *client.Client, a *awaited) (state string, err error) {
	state = "nothing is known yet"
	waiting, cancel := context.WithCancelCause(ctx)
	if a.longest > 0 {
		timer := time.AfterFunc(a.longest, func() { cancel(errWaited) })
		defer timer.Stop()
	}
	said := ""
	look := func(ctx context.Context) (bool, error) {
		is, now, err := a.look(ctx)
		if err != nil || is {
			return is, err
		}
		if state = now; state != said {
			fmt.Fprintf(a.env.stderr, "%s: %s\n", a.what, inLine(state))
			said = state
		}
		return false, nil
	}
	if is, err := look(ctx); is || err != nil {
		cancel(nil)
		return state, err
	}
	changed, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- a.follow(waiting, c, changed) }()
	lost := false
	defer func() {
		if cancel(nil); !lost {
			<-ended
		}
	}()
	tick := time.NewTicker(cmp.Or(a.again, lookAgain))
	defer tick.Stop()
	for {
		select {
		case trouble := <-changed:
			if trouble != "" {
				fmt.Fprintln(a.env.stderr, trouble)
			}
		case <-tick.C:
		case err := <-ended:
			lost = true
			if waiting.Err() == nil {
				return state, err
			}
		}
		var is bool
		if waiting.Err() == nil {
			is, err = look(waiting)
		}
		switch {
		case ctx.Err() != nil:
			return state, ctx.Err()
		case waiting.Err() != nil && !is:
			return state, errWaited
		case is || err != nil:
			return state, err
		}
	}
}

// follow sends an empty text to changed after each event of the awaited object, and the reason when
// the stream of events breaks off, until ctx ends or the controller refuses.
func (a *awaited) follow(ctx context.Context, c *client.Client, changed chan<- string) error {
	query := url.Values{}
	if len(a.events) > 0 {
		query.Set("type", strings.Join(a.events, ","))
	}
	tell := func() error {
		select {
		case changed <- "":
		default: // it will be looked at anyway
		}
		return nil
	}
	return c.Events(ctx, client.Path("v1", "events"), query, client.Handlers{
		Opened: tell,
		Event:  func(client.Event) error { return tell() },
		Lost: func(err error, pause time.Duration) {
			select {
			case changed <- fmt.Sprintf("weft: the stream of events broke off: %v; trying again in %v", err,
				pause):
			case <-ctx.Done():
			}
		},
	})
}

// whileUnready calls f again, for longest at most, while nothing answers, the controller does not
// serve requests yet, or f returns errNotReady. whileUnready prints each new reason on standard
// error.
func whileUnready(ctx context.Context, env environment, longest time.Duration,
	f func() error) error {
	began, said := time.Now(), ""
	for {
		err := f()
		unready := errors.Is(err, client.ErrUnreachable) || errors.Is(err, stream.ErrUnreachable) ||
			errors.Is(err, errNotReady) || client.Status(err) == http.StatusServiceUnavailable
		left := longest - time.Since(began)
		if !unready || left <= 0 {
			return err
		}
		if why := inLine(strings.ReplaceAll(err.Error(), "\n", "; ")); why != said {
			fmt.Fprintf(env.stderr, "weft: %s; trying again for %v\n", why, left.Round(time.Second))
			said = why
		}
		select {
		case <-time.After(min(lookAgain, left)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// is reports whether a resource has reached the wanted state, and otherwise describes its state.
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
