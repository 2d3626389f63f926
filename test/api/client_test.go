package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// open returns a client of the running controller.
func (r *running) open() *client.Client {
	r.t.Helper()
	c, err := client.New(client.Config{Server: r.url, Timeout: patience})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// refusedAs fails unless an error is a problem of a code.
func refusedAs(t *testing.T, step string, err error, code api.Code) {
	t.Helper()
	var p *api.Problem
	if !errors.As(err, &p) || p.Code != string(code) {
		t.Errorf("%s: %v, want a problem with %s", step, err, code)
	}
}

// TestClient: the Go client creates, reads, changes and deletes resources, under conditions and
// as dry runs, lists them by pages, and replays events.
func TestClient(t *testing.T) {
	inv, snapshot := ring()
	r := startOn(t, inv, snapshot)
	c := r.open()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	groups := c.Groups()
	spec := api.MulticastGroupSpec{
		ProxyAddress: netip.MustParseAddr("2001:db8:ffff::1"), DesignatedQPN: 4096,
		Source:    api.GroupSource{Address: netip.MustParseAddr("2001:db8:1::1"), QPN: 256},
		Receivers: []api.GroupReceiver{{Address: netip.MustParseAddr("2001:db8:1::2"), QPN: 512}},
	}

	tried, err := groups.Create(ctx, "x", spec, client.Write{DryRun: true})
	if err != nil || len(tried.Changes) == 0 {
		t.Fatalf("dry run: %+v, %v", tried, err)
	}
	_, err = groups.Get(ctx, "x")
	refusedAs(t, "after a dry run", err, api.CodeNotFound)

	made, err := groups.Create(ctx, "x", spec, client.Write{})
	if err != nil || made.Name != "x" || made.Version == 0 {
		t.Fatalf("created %+v, %v", made, err)
	}
	_, err = groups.Create(ctx, "x", spec, client.Write{})
	refusedAs(t, "create again", err, api.CodeExists)
	_, err = groups.Put(ctx, "x", spec, client.Write{Absent: true})
	refusedAs(t, "put an absent one", err, api.CodeVersion)
	same, err := groups.Put(ctx, "x", spec, client.Write{Version: made.Version})
	if err != nil || same.Version != made.Version {
		t.Errorf("the same again: %+v, %v", same, err)
	}
	patch := json.RawMessage(`{"spec":{"cnpLimit":9}}`)
	_, err = groups.Patch(ctx, "x", patch, client.Write{Version: made.Version + 1})
	refusedAs(t, "patch another version", err, api.CodeVersion)
	patched, err := groups.Patch(ctx, "x", patch, client.Write{Version: made.Version})
	if err != nil || patched.Spec.CNPLimit != 9 || patched.Version == made.Version {
		t.Errorf("patched %+v, %v", patched, err)
	}

	// Two to a page: the second page begins after the second switch.
	var names []string
	for s, err := range c.Switches().All(ctx, url.Values{"limit": {"2"}}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, s.Name)
	}
	if len(names) != len(inv.Switches) {
		t.Errorf("switches %v, want %d", names, len(inv.Switches))
	}
	if links, err := c.Links().List(ctx, nil); err != nil || len(links) != 6 {
		t.Errorf("%d links, %v", len(links), err)
	}

	// An event that was before the watch comes again after its predecessor's id.
	spec.CNPLimit = 10
	first := ""
	for e, err := range c.Watch(ctx, client.Watch{Types: []api.EventType{"group"}, Object: "x",
		Handlers: client.Handlers{Opened: func() error {
			_, err := groups.Put(ctx, "x", spec, client.Write{})
			return err
		}}}) {
		if err != nil || e.Group == nil || e.Group.Spec.CNPLimit != 10 {
			t.Fatalf("event %+v, %v", e, err)
		}
		first = e.ID
		break
	}
	if err := groups.Delete(ctx, "x", client.Write{Version: made.Version}); err == nil {
		t.Error("another version is deleted")
	}
	r.quiet()
	gone, err := groups.TryDelete(ctx, "x", client.Write{})
	if err != nil || gone.Name != "x" || len(gone.Changes) == 0 {
		t.Errorf("dry run of a deletion: %+v, %v", gone, err)
	}
	for _, s := range gone.Changes {
		for _, u := range s.Updates {
			if u.Type == "insert" {
				t.Errorf("%s: a deletion inserts %s", s.Switch, u.Entity)
			}
		}
	}
	if err := groups.Delete(ctx, "x", client.Write{}); err != nil {
		t.Fatal(err)
	}
	for e, err := range c.Watch(ctx, client.Watch{Types: []api.EventType{api.EventGroupDeleted},
		After: first}) {
		if err != nil || e.Object != "x" || e.Type != api.EventGroupDeleted {
			t.Fatalf("replayed %+v, %v", e, err)
		}
		break
	}
	for _, err := range c.Watch(ctx, client.Watch{Types: []api.EventType{"nosuch"}}) {
		refusedAs(t, "watch what no event is", err, api.CodeInvalid)
	}
	var p *api.Problem
	if err := c.Links().Delete(ctx, "x", client.Write{}); !errors.As(err, &p) ||
		p.Status != http.StatusMethodNotAllowed {
		t.Errorf("delete a link: %v", err)
	}
}
