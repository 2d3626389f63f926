package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
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
