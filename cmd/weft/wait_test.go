package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
	"github.com/weft-sdn/weft/internal/bubble"
)

// TestWait: a wait ends with status 0 when a resource is as it should be, and else with 1.
func TestWait(t *testing.T) {
	fake, err := newFakeAPI()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake.handler)
	defer server.Close()
	vars := map[string]string{"WEFT_SERVER": server.URL}
	set := func(ready bool, phase api.JobPhase, event api.EventType) {
		j := api.Job{Name: "train", Version: 1}
		j.Status.Phase = phase
		j.Status.Conditions.Set(api.Ready, ready, map[bool]string{true: api.ReasonGo,
			false: api.ReasonBlocked}[ready], "", began)
		fake.State.Mu.Lock()
		if fake.Jobs.Items["train"] = j; event == api.EventJobDeleted {
			delete(fake.Jobs.Items, "train")
		}
		fake.State.Mu.Unlock()
		fake.events.Publish(api.Event{Type: event, Object: "train"})
	}
	ends := func(s *started, status int, out string) {
		t.Helper()
		if out != "" {
			if got := s.out.next(t); !strings.HasPrefix(got, out) {
				t.Errorf("line %q, want it to begin with %q", got, out)
			}
		}
		if got := <-s.status; got != status {
			t.Errorf("exit status %d, want %d", got, status)
		}
	}
	wait := func(args ...string) *started {
		return start(t, vars, append([]string{"wait", "job", "train"}, args...)...)
	}
	set(false, api.PhasePending, api.EventJobChanged)

	ready, running := wait("--for", "ready"), wait("--for", "phase=running")
	<-fake.watched
	<-fake.watched
	if got := ready.err.next(t); got != "job train: Ready: Blocked" {
		t.Errorf("meanwhile %q", got)
	}
	set(true, api.PhaseReady, api.EventJobReady)
	ends(ready, exitOK, "job train: ready after ")
	set(false, api.PhaseRunning, api.EventJobChanged)
	ends(running, exitOK, "job train: phase=running after ")
	ends(wait("--for", "ready", "--timeout", "50ms"), exitFailed, "")
	gone := wait("--for", "deleted")
	for range 2 {
		<-fake.watched
	}
	set(false, api.PhaseDone, api.EventJobDeleted)
	ends(gone, exitOK, "job train: deleted after ")

	ends(wait("--for", "ready"), exitFailed, "") // there is no such job
	set(false, api.PhasePending, api.EventJobChanged)
	ends(wait("--for", "sunny"), exitUsage, "")
	ends(wait(), exitUsage, "")
	ends(wait("--for", "ready", "--timeout", "-1s"), exitUsage, "")
}

// TestAwait: what waits looks after an event of a family that it names, looks again where no event
// comes, and gives up after its longest wait.
func TestAwait(t *testing.T) {
	fake, err := newFakeAPI()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake.handler)
	defer server.Close()
	c, err := client.New(client.Config{Server: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, x := range []struct {
		name           string
		longest, again time.Duration
		event          bool
		err            error
	}{
		{"event", 0, time.Hour, true, nil},
		{"no event", 0, time.Millisecond, false, nil},
		{"too long", 20 * time.Millisecond, time.Hour, false, errWaited},
	} {
		t.Run(x.name, func(t *testing.T) {
			looks, opened := 0, make(chan struct{})
			done := make(chan error, 1)
			go func() {
				_, err := await(t.Context(), c, &awaited{
					env: environment{stderr: io.Discard}, what: "link x", events: []string{"link"},
					longest: x.longest, again: x.again,
					look: func(context.Context) (bool, string, error) {
						// The first look precedes the stream of events, the second follows its opening.
						if looks++; looks == 2 {
							close(opened)
						}
						return looks > 2 && x.err == nil, "down", nil
					},
				})
				done <- err
			}()
			if x.event {
				<-opened
				fake.events.Publish(api.Event{Type: api.EventLinkChanged, Object: "x"})
			}
			if err := <-done; !errors.Is(err, x.err) {
				t.Errorf("error %v, want %v", err, x.err)
			}
		})
	}
}

// TestWhileUnready: the command asks a silent server again while the user waits.
func TestWhileUnready(t *testing.T) {
	gone := fmt.Errorf("%w at x", client.ErrUnreachable)
	for _, c := range []struct {
		name    string
		longest time.Duration
		fails   int // calls
		with    error
		calls   int
		took    time.Duration
		want    error
	}{
		{"it answers", 5 * time.Second, 0, gone, 1, 0, nil},
		{"it answers later", 5 * time.Second, 2, gone, 3, 2 * time.Second, nil},
		{"the controller does not serve yet", 5 * time.Second, 1,
			&api.Problem{Status: http.StatusServiceUnavailable}, 2, time.Second, nil},
		{"the controller is not ready", 5 * time.Second, 1, fmt.Errorf("%w: bgp", errNotReady), 2,
			time.Second, nil},
		{"a switch", 5 * time.Second, 1, stream.ErrUnreachable, 2, time.Second, nil},
		{"it never answers", 5 * time.Second, 100, gone, 6, 5 * time.Second, gone},
		{"nobody waits", 0, 1, gone, 1, 0, gone},
		{"another error", 5 * time.Second, 1, io.ErrUnexpectedEOF, 1, 0, io.ErrUnexpectedEOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				began, calls := time.Now(), 0
				var said strings.Builder
				err := whileUnready(t.Context(), environment{stderr: &said}, c.longest, func() error {
					if calls++; calls <= c.fails {
						return c.with
					}
					return nil
				})
				if !errors.Is(err, c.want) || calls != c.calls || time.Since(began) != c.took {
					t.Errorf("%v after %d calls and %v, want %v after %d and %v", err, calls,
						time.Since(began), c.want, c.calls, c.took)
				}
				if n := strings.Count(said.String(), "; trying again for 5s\n"); n != min(1, c.calls-1) {
					t.Errorf("it says %q", said.String())
				}
			})
		})
	}
}
