package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

// TestSchemaRises: while a controller of an older release runs, the store's schema stays, and the
// cluster refuses records unknown to the older release. When all controllers can read the new
// schema, the decider raises the schema.
func TestSchemaRises(t *testing.T) {
	if testing.Short() {
		t.Skip("in real time")
	}
	b := newBed(t, 2)
	b.decider()
	for _, c := range b.controllers {
		c.stop()
	}
	s := b.server.Client()
	put := func(key, value string) {
		t.Helper()
		if _, err := s.Put(t.Context(), key, []byte(value), store.Any); err != nil {
			t.Fatal(err)
		}
	}
	version := func() int {
		t.Helper()
		n, _, err := store.ReadSchema(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	put("schema", `{"version":1,"release":"weft v0"}`)
	put("cluster/members/old", `{"name":"old","release":"weft v0","instance":1}`)
	for _, c := range b.controllers {
		c.start()
	}
	c := b.other(b.decider())
	silence := api.Request[api.SilenceSpec]{Name: "s", Spec: api.SilenceSpec{Cause: "x", Note: "y",
		Until: time.Now().Add(time.Hour)}}
	write := func() error {
		_, err := c.rest.Do(t.Context(), "PUT", "/v1/silences/s", nil, silence)
		return err
	}
	var problem *api.Problem
	b.until("somebody decides", func() bool {
		problem = nil
		err := write()
		return err == nil || errors.As(err, &problem) && problem.Status != 503
	})
	want := fmt.Sprintf("the kind is new with schema 2, and the store has schema 1 until all "+
		"controllers read %d: controller old runs weft v0. Upgrade them, then try again", store.Schema)
	if problem == nil || problem.Status != 409 || !strings.Contains(problem.Detail, want) {
		text, _ := json.Marshal(problem)
		t.Errorf("a kind that the older controller does not know: %s", text)
	}
	if got := version(); got != 1 {
		t.Errorf("the schema is %d while an older controller is there", got)
	}
	put("cluster/members/old", fmt.Sprintf(
		`{"name":"old","release":"weft v1","instance":1,"schema":%d}`, store.Schema))
	b.until("the schema is raised", func() bool { return version() == store.Schema })
	b.until("the kind is taken", func() bool { return write() == nil })
}
