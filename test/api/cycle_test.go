package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/topology"
)

// ring is three switches, a, b and c, each of them linked to the other two and able to handle PFC,
// and a host at port 11 of each.
func ring() (inventory.Inventory, *topology.Snapshot) {
	inv, b, pfc := inventory.Default(), topology.NewBuilder(), topology.DefaultPFCBehaviors()
	inv.Intervals.Settle, inv.Intervals.Drain, inv.Intervals.Stall, inv.Intervals.Audit = 0, 0, 0, 0
	names := []string{"a", "b", "c"}
	id := func(i int) topology.NodeID { return topology.NodeID(fmt.Sprintf("64512:10.0.0.%d", i+1)) }
	sid := func(i, function int) netip.Addr {
		return netip.MustParseAddr(fmt.Sprintf("5f00:0:%x:%x::", i+1, function))
	}
	for i, name := range names {
		n := byte(i + 1)
		inv.Switches = append(inv.Switches,
			inventory.Switch{Name: name, Address: fmt.Sprintf("192.0.2.%d:9559", n), DeviceID: uint64(n),
				MAC: inventory.MAC{2, 5: n}})
		inv.Hosts = append(inv.Hosts, inventory.Host{
			Name: "h" + name, Switch: name, Port: 11,
			Address: netip.MustParseAddr(fmt.Sprintf("2001:db8:1::%x", n)), MAC: inventory.MAC{2, 1, 5: n},
		})
		b.SetNode(topology.Node{
			ID: id(i), Name: name, Loopback: netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n)),
			Locators: []topology.Locator{{Prefix: netip.MustParsePrefix(fmt.Sprintf("5f00:0:%x::/48", n))}},
			SIDs: []topology.SID{{Address: sid(i, 1), Behavior: topology.BehaviorEnd},
				{Address: sid(i, 3), Behavior: pfc.End}},
		})
		next, previous := (i+1)%3, (i+2)%3
		for port, to := range map[uint32]int{1: next, 2: previous} {
			b.SetLink(topology.Link{
				Local: id(i), Remote: id(to), LocalID: port, RemoteID: 3 - port, IGPMetric: 10,
				MaxBandwidth: 1e9,
				EndX: []topology.EndX{{SID: topology.SID{Address: sid(i, 0x300+int(port)),
					Behavior: pfc.EndX}}},
			})
		}
	}
	return inv, b.Build()
}

// conditionOf returns a condition and the circle of a PFC policy, as shown by the API.
func (r *running) conditionOf(name string, which api.ConditionType) (c api.Condition,
	cycle []string) {
	r.t.Helper()
	status, _, body := r.send(http.MethodGet, "/v1/pfc-policies/"+name, "", nil)
	var p api.PFCPolicy
	if err := json.Unmarshal(body, &p); status != http.StatusOK || err != nil {
		r.t.Fatalf("%s: %d %s, %v", name, status, body, err)
	}
	if found := p.Status.Conditions.Find(which); found != nil {
		c = *found
	}
	return c, p.Status.Cycle
}

// TestCycleOverHTTP: of three PFC policies around a ring the one that would close the circle is
// refused, with the circle in the problem, and has changed nothing; with allowCycle it is taken,
// and all three are Degraded and show the circle.
func TestCycleOverHTTP(t *testing.T) {
	inv, snapshot := ring()
	r := startOn(t, inv, snapshot)
	post := func(collection, name string, spec map[string]any) (int, []byte) {
		status, _, body := r.send(http.MethodPost, "/v1/"+collection,
			text(t, map[string]any{"name": name, "spec": spec}), nil)
		return status, body
	}
	created := func(collection, name string, spec map[string]any) {
		t.Helper()
		if status, body := post(collection, name, spec); status != http.StatusCreated {
			t.Fatalf("%s %s: %d %s", collection, name, status, body)
		}
	}
	for _, ends := range [][4]string{{"one", "a", "b", "c"}, {"two", "b", "c", "a"},
		{"three", "c", "a", "b"}} {
		created("srv6-policies", ends[0], map[string]any{"headend": ends[1], "endpoint": ends[3],
			"segments": []any{map[string]any{"node": ends[2]}}})
	}
	var sites []any
	for _, sw := range []string{"a", "b", "c"} {
		sites = append(sites, map[string]any{"switch": sw, "port": 11})
	}
	created("tenants", "t", map[string]any{"slice": 1, "priority": 3, "sites": sites,
		"policies": []any{"one", "two", "three"}})
	lossless := func(policy string) map[string]any {
		return map[string]any{"srv6Policy": policy, "tenant": "t"}
	}
	created("pfc-policies", "p1", lossless("one"))
	created("pfc-policies", "p2", lossless("two"))
	r.quiet()

	before := r.state()
	status, body := post("pfc-policies", "p3", lossless("three"))
	var problem struct{ Code, Field, Detail string }
	if err := json.Unmarshal(body, &problem); err != nil || status != http.StatusConflict ||
		problem.Code != string(api.CodeConflict) || problem.Field != "spec.allowCycle" {
		t.Fatalf("%d %s, %v", status, body, err)
	}
	for _, queue := range []string{"a/1/3", "b/1/3", "c/1/3"} {
		if !strings.Contains(problem.Detail, queue) {
			t.Errorf("the problem does not name %s: %s", queue, body)
		}
	}
	after := r.state()
	before.Packets, after.Packets = nil, nil // tunnels are probed all the time
	if changed := before.changed(&after); len(changed) > 0 {
		t.Errorf("refused, and has changed %v", changed)
	}
	if c, cycle := r.conditionOf("p1", api.Degraded); c.Status || len(cycle) != 0 {
		t.Errorf("p1 after the refusal: %+v, %v", c, cycle)
	}
	if status, _, _ := r.send(http.MethodGet, "/v1/pfc-policies/p3", "",
		nil); status != http.StatusNotFound {
		t.Errorf("p3 is there: %d", status)
	}

	allowed := lossless("three")
	allowed["allowCycle"] = true
	created("pfc-policies", "p3", allowed)
	for _, name := range []string{"p1", "p2", "p3"} {
		c, cycle := r.conditionOf(name, api.Degraded)
		slices.Sort(cycle)
		if !c.Status || c.Reason != api.ReasonDeadlock ||
			!slices.Equal(slices.Compact(cycle), []string{"a/1/3", "b/1/3", "c/1/3"}) {
			t.Errorf("%s: %+v, circle %v", name, c, cycle)
		}
		if c, _ := r.conditionOf(name, api.Accepted); !c.Status {
			t.Errorf("%s: %+v", name, c)
		}
	}

	// A project member learns about the cycle but not about its queues: in the policy, the list, a dry
	// run, a change and the dry run of a deletion.
	var ports []any
	for _, sw := range []string{"a", "b", "c"} {
		ports = append(ports, map[string]any{"switch": sw, "port": 11})
	}
	for _, name := range []string{"t", "p1", "p2", "p3"} { // that of t has what it uses
		spec := map[string]any{}
		if name == "t" {
			spec = map[string]any{"ports": ports, "slices": []any{map[string]any{"slice": 1}},
				"priorities": []any{map[string]any{"priority": 3}}}
		}
		if status, _, body := r.send(http.MethodPut, "/v1/projects/"+name,
			text(t, map[string]any{"spec": spec}), nil); status != http.StatusCreated {
			t.Fatalf("%d %s", status, body)
		}
	}
	for _, ask := range []struct {
		method, path, body string
		headers            []string
	}{
		{http.MethodGet, "/v1/pfc-policies/p3", "", nil}, {http.MethodGet, "/v1/pfc-policies", "", nil},
		{http.MethodDelete, "/v1/pfc-policies/p3?dryRun=true", "", nil},
		{http.MethodGet, "/v1/events/latest", "", nil},
	} {
		for _, member := range []bool{true, false} {
			headers := slices.Clone(ask.headers)
			if member {
				headers = append(headers, "X-Weft-Project: p3")
			}
			status, _, body := r.send(ask.method, ask.path, ask.body, headers)
			if status != http.StatusOK || !strings.Contains(string(body), "DeadlockRisk") {
				t.Fatalf("%s %s: %d %s", ask.method, ask.path, status, body)
			}
			shows := strings.Contains(string(body), "b/1/3")
			if member && shows || !member && !shows && !strings.Contains(ask.path, "events") {
				t.Errorf("%s %s, as a member %v: %s", ask.method, ask.path, member, body)
			}
		}
	}

	if _, _, body := r.send(http.MethodGet, "/v1/topology", "", nil); !strings.Contains(string(body),
		`"behavior":"End.X.PFC","codepoint":32784`) ||
		!strings.Contains(string(body), `"behavior":"End.PFC"`) {
		t.Errorf("the topology names no End.X.PFC and End.PFC: %s", body)
	}

	// Whoever takes a policy out of the circle opens it.
	if status, _, body := r.send(http.MethodDelete, "/v1/pfc-policies/p2", "", nil); status/100 != 2 {
		t.Fatalf("%d %s", status, body)
	}
	for _, name := range []string{"p1", "p3"} {
		if c, cycle := r.conditionOf(name, api.Degraded); c.Reason == api.ReasonDeadlock ||
			len(cycle) != 0 {
			t.Errorf("%s, opened: %+v, %v", name, c, cycle)
		}
	}
}
