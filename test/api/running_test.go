package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc/runner"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits that are short unless the machine is overloaded.
const patience = 30 * time.Second

// recorded is a store that remembers its writes.
type recorded struct {
	store.Memory

	// mu guards the fields below it.
	mu      sync.Mutex
	applied [][]store.Op
	fails   error // of writes from now on
}

// Apply implements [store.Store].
func (r *recorded) Apply(ctx context.Context, ops []store.Op) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails != nil {
		return r.fails
	}
	r.applied = append(r.applied, slices.Clone(ops))
	return r.Memory.Apply(ctx, ops)
}

// losses implements [fabricview.Losses]: it knows every object, and no job depends on any.
type losses struct{}

func (losses) Unknown(api.Part) string { return "" }

func (losses) Of([]api.Part, *ready.Need) ready.Impact { return ready.Impact{} }

func (losses) Links(api.Part) ([]topology.LinkID, topology.NodeID) { return nil, "" }

// silenceSpec returns a good spec of a silence.
func silenceSpec() string {
	return `{"cause":"link/x","until":"` +
		time.Now().UTC().Add(24*time.Hour).Format(time.RFC3339) + `"}`
}

// notificationSpec is a good spec of a notification, at whose receiver nobody listens.
const notificationSpec = `{"url":"http://127.0.0.1:1/","secret":"` +
	`whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`

// maintenanceSpec is a good spec of a maintenance.
const maintenanceSpec = `{"objects":[{"node":"a"}],"from":"2096-01-02T03:04:05Z",` +
	`"until":"2096-01-02T04:04:05Z"}`

// leaseSpec is a good spec of a lease.
const leaseSpec = `{"pairs":[{"from":"ha","to":"hb"}],"bandwidth":5,"heartbeat":"1h"}`

// running is a controller on a network, its switches and its API.
type running struct {
	*controller.Controller
	t        *testing.T
	inv      inventory.Inventory
	switches controllertest.Southbound
	records  *recorded
	events   *northbound.Events
	views    uint64 // of leasable, so far
	client   *http.Client
	url      string
	headers  []string // of requests of carryOut
}

// leasable returns a newer view, with two links between every two hosts. Link down fails.
func (r *running) leasable(down topology.LinkID) *fabricview.View {
	links := make(map[topology.LinkID]lease.Link)
	for i := range r.inv.Hosts {
		for k := range r.inv.Hosts {
			id := topology.LinkID(r.inv.Hosts[i].Name + "-" + r.inv.Hosts[k].Name)
			links[id] = lease.Link{Capacity: 100, Up: true}
			links[id+"2"] = links[id]
		}
	}
	r.views++
	return &fabricview.View{Revision: 1<<32 + r.views, Losses: losses{}, Leases: &lease.Network{
		Links: func() map[topology.LinkID]lease.Link { return links },
		Down:  map[topology.LinkID]bool{down: true},
		Paths: func(from, to string) []lease.Path {
			id := topology.LinkID(from + "-" + to)
			return []lease.Path{{Links: []topology.LinkID{id}}, {Links: []topology.LinkID{id + "2"}}}
		}}}
}

// publish publishes an event. From the grant of lease m on, one link from ha to hb is down.
func (r *running) publish(e api.Event) {
	r.events.Publish(e)
	if e.Type == api.EventLeaseChanged && e.Object == "m" {
		r.SetFabric(r.leasable("ha-hb"))
	}
}

func start(t *testing.T, change func(*inventory.Inventory)) *running {
	t.Helper()
	inv, snapshot := fabric()
	change(&inv)
	return startOn(t, inv, snapshot)
}

// startOn starts a controller on a network.
func startOn(t *testing.T, inv inventory.Inventory, snapshot *topology.Snapshot,
	configure ...func(*northbound.Config, store.Store)) *running {
	t.Helper()
	return startWith(t, &recorded{}, inv, snapshot, configure...)
}

// startWith is startOn with records of an earlier controller.
func startWith(t *testing.T, records *recorded, inv inventory.Inventory,
	snapshot *topology.Snapshot, configure ...func(*northbound.Config, store.Store)) *running {
	t.Helper()
	r := &running{t: t, inv: inv, records: records, events: northbound.NewEvents(1024, time.Now())}
	ctx, cancel := context.WithCancel(t.Context())
	var group errgroup.Group
	t.Cleanup(func() {
		cancel()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
	var err error
	r.Controller, err = controller.NewController(ctx, controller.Options{
		Inventory: inv, Store: r.records, Southbound: &r.switches, Events: r.publish,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.SetFabric(r.leasable(""))
	cfg := northbound.DefaultConfig()
	var fabric *runner.Runner
	if inv.MRC.On() {
		fabric, err = runner.NewRunner(ctx, runner.Options{Inventory: &inv, Epoch: 1, Store: r.records,
			Switches: r.Controller, Events: r.events.Publish})
		if err != nil {
			t.Fatal(err)
		}
		streamed := service.HostsConfig(&inv.MRC)
		streamed.Epoch = 1
		streams, err := hosts.New(streamed, fabric)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Multipath = fabric
		group.Go(func() error { return fabric.Run(ctx, streams) })
	}
	for _, c := range configure {
		c(&cfg, r.records)
	}
	server, err := northbound.New(cfg, r.Controller, r.events)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + listener.Addr().String()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	r.client = &http.Client{Transport: transport, Timeout: patience}
	group.Go(func() error { return r.Run(ctx) })
	group.Go(func() error { return server.Serve(ctx, listener) })
	if err := r.SetTopology(ctx, snapshot); err != nil {
		t.Fatal(err)
	}
	if fabric != nil {
		if err := fabric.SetTopology(ctx, snapshot); err != nil {
			t.Fatal(err)
		}
		for i, h := range inv.Hosts {
			if err := fabric.Hello(h.Name, northboundtest.Hello(i+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.quiet()
	return r
}

// reportPorts has a switch report the ports at which links begin, and waits until the API shows
// them.
func (r *running) reportPorts(sw string, links []*topology.Link) {
	r.t.Helper()
	p := controller.PortStates{Up: make(map[uint32]bool)}
	for _, l := range links {
		enabled := true
		p.Up[l.LocalPort] = true
		p.Interfaces = append(p.Interfaces, gnmi.Interface{
			Name: fmt.Sprintf("eth%d", l.LocalPort), Port: l.LocalPort, Oper: gnmi.OperUp,
			Config: gnmi.Settings{Enabled: &enabled},
		})
	}
	r.switches.SetPorts(sw, p)
	r.await("the ports of "+sw, func(c *controller.Core) bool {
		_, err := c.Ports().Get(fmt.Sprintf("%s/%d", sw, links[0].LocalPort))
		return err == nil
	})
}

// await waits until a condition of the controller holds.
func (r *running) await(what string, holds func(*controller.Core) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for done := false; !done; {
		if err := r.Do(ctx, func(c *controller.Core) { done = holds(c) }); err != nil {
			r.t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			r.t.Fatalf("%s: not in time", what)
		}
	}
}

// quiet waits until every group and switch is programmed as needed and no tree is changing.
func (r *running) quiet() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !r.isQuiet() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			r.t.Fatal("the controller did not finish in time")
		}
	}
}

func (r *running) isQuiet() bool {
	r.t.Helper()
	done := true
	err := r.Do(r.t.Context(), func(c *controller.Core) {
		for _, s := range c.Switches() {
			done = done && (s.Synced || !s.Managed)
		}
		for _, g := range c.Groups().List() {
			done = done && g.Status.Is(api.Programmed)
		}
	})
	records, _, listErr := r.records.List(r.t.Context(), "")
	if err != nil || listErr != nil {
		r.t.Fatal(err, listErr)
	}
	for _, record := range records {
		switch kind, _, _ := strings.Cut(record.Key, "/"); kind {
		case "leaving-groups":
			done = false
		case "groups":
			var g struct{ Decided struct{ Phase int } }
			if err := json.Unmarshal(record.Value, &g); err != nil {
				r.t.Fatal(err)
			}
			done = done && g.Decided.Phase == 0
		}
	}
	return done
}

// state is all that a request can change.
type state struct {
	Groups   string // as the API lists them, with their versions
	Records  []store.Record
	Revision int64
	Held     map[string]map[entry.Key]entry.Entity // by switch: what it has,
	Wanted   map[string][]entry.Entity             // and what it is to have
	Writes   map[string]int
	Packets  map[string]int // packet-outs
	Events   uint64
}

func (r *running) state() state {
	r.t.Helper()
	s := state{
		Held: make(map[string]map[entry.Key]entry.Entity), Wanted: make(map[string][]entry.Entity),
		Writes: make(map[string]int), Packets: make(map[string]int),
	}
	status, _, body := r.send("GET", "/v1/multicast-groups", "", nil)
	if status != http.StatusOK {
		r.t.Fatalf("the list of groups: %d %s", status, body)
	}
	s.Groups = string(body)
	var err error
	if s.Records, s.Revision, err = r.records.List(r.t.Context(), ""); err != nil {
		r.t.Fatal(err)
	}
	if err := r.Do(r.t.Context(), func(c *controller.Core) {
		for _, sw := range r.inv.Switches {
			s.Wanted[sw.Name] = c.Wanted(sw.Name)
		}
	}); err != nil {
		r.t.Fatal(err)
	}
	for _, sw := range r.inv.Switches {
		r.switches.With(sw.Name, func(d *controllertest.Device) {
			s.Held[sw.Name], s.Writes[sw.Name], s.Packets[sw.Name] = maps.Clone(d.Entities), d.Writes,
				len(d.Packets)
		})
	}
	s.Events = r.events.Published()
	return s
}

// changed names the parts in which two states differ.
func (s *state) changed(o *state) []string {
	var out []string
	a, b := reflect.ValueOf(s).Elem(), reflect.ValueOf(o).Elem()
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			out = append(out, a.Type().Field(i).Name)
		}
	}
	return out
}

// send sends a request; headers are "Name: value".
func (r *running) send(method, path, body string, headers []string) (status int, header http.Header,
	answer []byte) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path,
		strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	switch {
	case body == "":
	case method == http.MethodPatch:
		request.Header.Set("Content-Type", "application/merge-patch+json")
	default:
		request.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	response, err := r.client.Do(request)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	answer, err = io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return response.StatusCode, response.Header, answer
}

// refusal has the expected parts of a problem.
type refusal struct {
	status int
	code   string
	field  string
	limit  int64 // 0: none
}

// refused sends a request that must be refused, and change nothing.
func (r *running) refused(t *testing.T, want refusal, method, path, body string,
	headers ...string) {
	t.Helper()
	before := r.state()
	status, header, answer := r.send(method, path, body, headers)
	after := r.state()
	if parts := before.changed(&after); len(parts) > 0 {
		t.Errorf("%s changed %v", method, parts)
	}
	var p api.Problem
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		t.Fatalf("%s: %d, not a problem (%v): %s", method, status, err, answer)
	}
	got := refusal{status: status, code: p.Code, field: p.Field}
	if p.Limit != nil {
		got.limit = *p.Limit
	}
	if got != want {
		t.Errorf("%s: refused with %+v, want %+v\n%s", method, got, want, answer)
	}
	if kind := header.Get("Content-Type"); kind != "application/problem+json" || p.Status != status ||
		p.Type != "urn:weft:problem:"+p.Code {
		t.Errorf("%s: Content-Type %q, type %q, status %d in an answer of status %d", method, kind,
			p.Type, p.Status, status)
	}
	if p.Detail == "" || p.Instance == "" || p.Field != "" &&
		(len(p.Errors) == 0 || p.Errors[0].Field != p.Field || p.Errors[0].Want == "") {
		t.Errorf("%s: it does not say all it should: %s", method, answer)
	}
}
