package northbound

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
)

// TestSimulate: a simulation answers what jobs get, and names the field of a wrong event. What a
// tried drain does to the steps of a job is a clause for its dry run.
func TestSimulate(t *testing.T) {
	s, _ := newFabricServer(t, ev.ModeStructured)
	w := do(s, http.MethodPost, "/v1/simulations",
		`{"events":[{"action":"fail","object":{"node":"x1"}}]}`)
	var out api.Simulation
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK ||
		len(out.Jobs) != 1 || out.Jobs[0].After.Step <= out.Jobs[0].Before.Step ||
		len(out.Events) != 1 || out.Events[0] != "fail node x1" {
		t.Errorf("%d %s: %v", w.Code, w.Body, err)
	}
	for body, want := range map[string]string{
		`{"events":[{"action":"fail","object":{"node":"x1","plane":2}}]}`:  "events[0].object",
		`{"events":[{"action":"burn","object":{"plane":2}}]}`:              "events[0].action",
		`{"jobs":[{"name":"a","compute":"2h"}]}`:                           "jobs[0].compute",
		`{"jobs":[{"name":"a","data":[{"communicator":"b","bytes":-1}]}]}`: "jobs[0].data[0].bytes",
	} {
		w := do(s, http.MethodPost, "/v1/simulations", body)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want 422 of %s", body, w.Code, w.Body, want)
		}
	}
	drained := api.Plane{Plane: 1, Spec: api.AdminSpec{Admin: api.AdminDrained}}
	if got := s.stepsAfter(t.Context(), happening(drained, nil))["train"]; got !=
		"; its steps take 10.0 % longer" {
		t.Errorf("a drain says %q", got)
	}
	drained.Spec.Admin = api.AdminUp
	if got := s.stepsAfter(t.Context(), happening(drained, nil)); len(got) > 0 {
		t.Errorf("what is used again says %q", got)
	}
	plain, _, _ := newTestServer(t)
	if w := do(plain, http.MethodPost, "/v1/simulations", `{}`); w.Code != http.StatusNotImplemented {
		t.Errorf("without a fabric: %d %s", w.Code, w.Body)
	}
}
