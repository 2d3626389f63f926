package lab

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/topology"
)

// TestLiveFaults kills, revives and cuts by the API for faults, twice each, and looks at what the
// controller learns.
func TestLiveFaults(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	live, err := StartLive(ctx, LiveOptions{Network: Figure1(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := live.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(live.FaultAPI())
	defer served.Close()
	rest, err := client.New(client.Config{Server: served.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer rest.Close()
	// ask makes a request twice: what is so already stays so.
	ask := func(method, path string, body any) (report FaultReport) {
		t.Helper()
		for range 2 {
			a, err := rest.Do(ctx, method, path, nil, body)
			if err == nil {
				report = FaultReport{}
				err = a.Decode(&report)
			}
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
		}
		return report
	}
	until := func(what string, done func(s *topology.Snapshot) bool) {
		t.Helper()
		if err := live.Wait(ctx, what, func() (bool, error) {
			return done(live.Service.Controller().Topology()), nil
		}); err != nil {
			s := live.Service.Controller().Topology()
			t.Fatalf("%v; %d nodes, %d links, stale %v", err, len(s.Nodes), len(s.Links), s.Stale)
		}
	}
	const links = 12
	connected := func(name string) bool {
		switches, err := live.Service.Controller().Switches(ctx)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(switches, func(s api.SwitchStatus) bool { return s.Name == name })
		return switches[i].Connected
	}

	report := ask(http.MethodPut, PartPath(Part{PartSwitch, "N4"}), nil)
	if len(report.Dead) != 1 || report.Dead[0] != (Part{PartSwitch, "N4"}) {
		t.Errorf("%+v is dead, want N4", report.Dead)
	}
	// The neighbors withdraw their ends. The advertisements of N4 stay, as stale: its session is lost.
	until("N4 is away", func(s *topology.Snapshot) bool {
		return s.Stale != nil && len(s.Links) == links-3 && !connected("N4")
	})
	report = ask(http.MethodDelete, PartPath(Part{PartSwitch, "N4"}), nil)
	if len(report.Dead) != 0 {
		t.Errorf("%+v is dead after it was revived", report.Dead)
	}
	until("N4 is back", func(s *topology.Snapshot) bool {
		return s.Stale == nil && len(s.Links) == links && connected("N4")
	})
	until("N4 is programmed", func(*topology.Snapshot) bool {
		program := false
		if err := live.Do(ctx, func(w *World) error {
			sw, err := w.Switch("N4")
			program = sw.Device().Switch().Program() != nil && sw.Restarts == 1
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return program
	})

	ask(http.MethodPut, PartPath(Part{PartBGP, "N4"}), nil)
	until("N4 is silent", func(s *topology.Snapshot) bool {
		return s.Stale != nil && len(s.Links) == links
	})
	if !connected("N4") {
		t.Error("N4 has lost its P4Runtime session, want BGP-LS only")
	}
	// A dead speaker stays dead while its switch goes down and comes up again.
	ask(http.MethodPut, PartPath(Part{PartSwitch, "N4"}), nil)
	report = ask(http.MethodDelete, PartPath(Part{PartSwitch, "N4"}), nil)
	if len(report.Dead) != 1 || report.Dead[0].Kind != PartBGP {
		t.Errorf("%+v is dead, want the speaker of N4", report.Dead)
	}
	ask(http.MethodDelete, PartPath(Part{PartBGP, "N4"}), nil)
	until("N4 advertises itself again", func(s *topology.Snapshot) bool {
		return s.Stale == nil && len(s.Links) == links
	})

	report = ask(http.MethodPatch, LinkFaultsPath("N6", "N4")+"?direction=b-a",
		FaultChange{Down: pointer(true), Loss: pointer(0.5)})
	if len(report.Links) != 1 || report.Links[0].From != "N4" || !report.Links[0].Down ||
		report.Links[0].Loss != 0.5 {
		t.Errorf("%+v, want the direction from N4 to N6", report.Links)
	}
	until("a direction is withdrawn", func(s *topology.Snapshot) bool {
		return len(s.Links) == links-1
	})
	report = ask(http.MethodPatch, LinkFaultsPath("N6", "N4"), FaultChange{Down: pointer(false)})
	if len(report.Links) != 1 || report.Links[0].Down || report.Links[0].Loss != 0.5 {
		t.Errorf("%+v, want the loss alone", report.Links)
	}
	until("the link is whole", func(s *topology.Snapshot) bool { return len(s.Links) == links })
	for _, down := range []bool{true, false} {
		asking, giveUp := context.WithCancel(ctx)
		if err := live.change(asking, func(w *World) ([]string, error) {
			giveUp()
			return w.ChangeFaults(LinkRef{A: "N6", B: "N4"}, FaultChange{Down: &down})
		}); err != nil {
			t.Errorf("the client gave up when the link was changed: %v", err)
		}
		until(fmt.Sprintf("both ends say that the link is down: %t", down),
			func(s *topology.Snapshot) bool { return len(s.Links) == links-2 == down })
	}

	ask(http.MethodPut, PartPath(Part{PartHost, "R1"}), nil)
	report = ask(http.MethodGet, FaultsPath, nil)
	if len(report.Dead) != 1 || report.Dead[0] != (Part{PartHost, "R1"}) || len(report.Links) != 1 {
		t.Errorf("%+v", report)
	}
	if report = ask(http.MethodDelete, FaultsPath, nil); len(report.Dead)+len(report.Links) > 0 {
		t.Errorf("%+v after everything was cleared", report)
	}
	if err := live.Do(ctx, func(w *World) error {
		if w.stopped("R1") {
			return fmt.Errorf("R1 is dead")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	a, err := rest.Get(ctx, LinksPath, nil)
	var all []LinkState
	if err == nil {
		err = a.Decode(&all)
	}
	if err != nil || len(all) != 24 {
		t.Errorf("%d directions of links, %v; want 24", len(all), err)
	}
}

// TestFaultAPIErrors: the error of a bad request names the field and the accepted values.
func TestFaultAPIErrors(t *testing.T) {
	w, err := NewWorld(Figure1(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	live := &Live{World: w, Clock: w.StartClock(), mute: map[string]bool{}}
	defer live.Clock.Stop()
	handler := live.FaultAPI()
	for _, c := range []struct {
		method, path, body string
		header             [2]string
		status             int
		want               string
	}{
		{http.MethodPut, PartPath(Part{PartSwitch, "N9"}), "", [2]string{}, http.StatusNotFound,
			`"value":"\"N9\"","want":"a switch of the lab, one of N1, N2`},
		{http.MethodPut, PartPath(Part{"rack", "N1"}), "", [2]string{}, http.StatusNotFound,
			`"field":"kind"`},
		{http.MethodPatch, LinkFaultsPath("N6", "N4"), `{"loss":2}`, [2]string{},
			http.StatusUnprocessableEntity,
			`"field":"loss","code":"invalid","value":"2","want":"a probability from 0 to 1"`},
		{http.MethodPatch, LinkFaultsPath("N6", "N4"), `{"los":1}`, [2]string{}, http.StatusBadRequest,
			`unknown field \"los\": want a JSON object`},
		{http.MethodPatch, LinkFaultsPath("N6", "N4"), `{"delay":5}`, [2]string{}, http.StatusBadRequest,
			`5 is not a duration`},
		{http.MethodPatch, LinkFaultsPath("N6", "N4"), ``, [2]string{}, http.StatusBadRequest, `EOF`},
		{http.MethodPatch, LinkFaultsPath("N6", "N4") + "?way=up", `{"loss":0}`, [2]string{},
			http.StatusUnprocessableEntity, `"field":"way"`},
		{http.MethodPatch, LinkFaultsPath("N6", "N4") + "?port=x", `{"loss":0}`, [2]string{},
			http.StatusUnprocessableEntity, `"field":"port"`},
		{http.MethodDelete, LinkFaultsPath("N6", "N1"), "", [2]string{}, http.StatusNotFound,
			`a node with a link to N6, one of S1, N4, N5`},
		{http.MethodGet, "/v1/fault", "", [2]string{}, http.StatusNotFound,
			`want GET or DELETE /v1/faults`},
		{http.MethodDelete, FaultsPath, "", [2]string{"Sec-Fetch-Site", "cross-site"},
			http.StatusForbidden, `no page of another origin`},
		{http.MethodGet, FaultsPath, "", [2]string{"Host", "lab.example.org"}, http.StatusForbidden,
			`a name without a dot`},
		{http.MethodGet, FaultsPath, "", [2]string{"Host", "lab:8081"}, http.StatusOK, `"links":[]`},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Host = "127.0.0.1:8081"
		if c.header[0] == "Host" {
			r.Host = c.header[1]
		} else if c.header[0] != "" {
			r.Header.Set(c.header[0], c.header[1])
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.want) {
			t.Errorf("%s %s %s: %d %s; want %d with %s", c.method, c.path, c.body, answer.Code, answer.Body,
				c.status, c.want)
		}
	}
	for _, s := range w.Links() {
		if s.faulty() {
			t.Errorf("%+v after requests that were refused", s)
		}
	}
}
