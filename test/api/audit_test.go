package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/store"
)

// audited has the API keep its users and records in the controller's store.
func audited(t *testing.T) func(*northbound.Config, store.Store) {
	return func(cfg *northbound.Config, s store.Store) {
		c := access.New(access.Config{}, s, "c1", nil)
		err := c.Read(t.Context())
		if err == nil {
			cfg.Access, err = c.Kept(t.Context(), s, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		cfg.Name = "c1"
		cfg.Replace = func(context.Context, string) error { return nil }
		cfg.Backup = func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "everything")
			return err
		}
	}
}

// A step is a request that changes something.
type step struct {
	method, path, body string
	status             int
	key                string // of a record that the change writes; "": it writes none
	before, after      string // what the record of the audit log has; "": nothing
}

const (
	groupSpec = `{"proxyAddress":"2001:db8:ffff::1","designatedQpn":4096,` +
		`"source":{"address":"2001:db8:1::1","qpn":256},"receivers":[{"address":"2001:db8:1::2",` +
		`"qpn":512}]}`
	// Two nodes and a link of weight 10.
	networkSpec = `{"asn":64512,"nodes":[{"name":"o","routerId":"10.9.0.1",` +
		`"loopback":"2001:db8:f::1","locator":"5f00:e:1::/48"},{"name":"p","routerId":"10.9.0.2",` +
		`"loopback":"2001:db8:f::2","locator":"5f00:e:2::/48"}],"links":[{"a":"o","portA":1,"b":"p",` +
		`"portB":1,"metric":10}]}`
	ccSpec = `{"nscc":{"gamma":0.8,"maxMdJump":0.5,"maxCwnd":1048576,"targetDelay":"9us"}}`
)

// TestChangesAreAudited: the controller writes each change of each kind together with its record.
// The record comes first and holds the states before and after. The test tries every changing
// operation.
func TestChangesAreAudited(t *testing.T) {
	inv, snapshot := ring()
	tried := make(map[string]bool)
	ringed := startOn(t, inv, snapshot, audited(t))
	ringed.carryOut(tried, []step{
		{"POST", "/v1/networks", `{"name":"x","spec":` + networkSpec + `}`, 201, "networks/x", "",
			`"metric":10`},
		{"PUT", "/v1/networks/x", `{"spec":` + strings.Replace(networkSpec, ":10}", ":20}", 1) + `}`, 200,
			"networks/x", `"metric":10`, `"metric":20`},
		{"PATCH", "/v1/networks/x", `{"spec":{"asn":64513}}`, 200, "networks/x", `"asn":64512`,
			`"asn":64513`},
		{"DELETE", "/v1/networks/x", "", 204, "networks/x", `"asn":64513`, ""},
		{"POST", "/v1/projects", `{"name":"p","spec":{"slices":[{"slice":9}]}}`, 201, "projects/p", "",
			`"slice":9`},
		{"PUT", "/v1/projects/p", `{"spec":{"slices":[{"slice":8}]}}`, 200, "projects/p", `"slice":9`,
			`"slice":8`},
		{"PATCH", "/v1/projects/p", `{"spec":{"bandwidth":77}}`, 200, "projects/p", `"slice":8`,
			`"bandwidth":77`},
		{"DELETE", "/v1/projects/p", "", 204, "projects/p", `"bandwidth":77`, ""},
		{"POST", "/v1/jobs", `{"name":"j","spec":{"hosts":"ha,hb","layout":{"dp":2}}}`, 201, "jobs/j", "",
			`"dp":2`},
		{"PUT", "/v1/jobs/j", `{"spec":{"hosts":"ha,hb","layout":{"dp":2},"lease":"1h"}}`, 200, "jobs/j",
			`"dp":2`, `"lease":"1h0m0s"`},
		{"PATCH", "/v1/jobs/j", `{"spec":{"priority":9}}`, 200, "jobs/j", `"lease"`, `"priority":9`},
		{"POST", "/v1/jobs/j:renew", "", 200, "jobs/j", "", ""},
		{"DELETE", "/v1/jobs/j", "", 204, "jobs/j", `"priority":9`, ""},
		{"POST", "/v1/leases", `{"name":"l","spec":` + leaseSpec + `}`, 201, "leases/l", "",
			`"bandwidth":5`},
		{"PUT", "/v1/leases/l", `{"spec":` + strings.Replace(leaseSpec, "1h", "2h", 1) + `}`, 200,
			"leases/l", `"1h0m0s"`, `"2h0m0s"`},
		{"PATCH", "/v1/leases/l", `{"spec":{"job":"j"}}`, 200, "leases/l", `"2h0m0s"`, `"job":"j"`},
		{"POST", "/v1/leases/l:renew", "", 200, "leases/l", "", ""},
		{"POST", "/v1/leases", `{"name":"m","spec":{"pairs":[{"from":"ha","to":"hc"}]}}`, 201, "leases/m",
			"", `"hc"`},
		{"POST", "/v1/leases/l:moved", "", 200, "leases/l", "", ""},
		{"POST", "/v1/maintenances", `{"name":"w","spec":` + maintenanceSpec + `}`, 201,
			"maintenances/w", "", `"node":"a"`},
		{"PUT", "/v1/maintenances/w", `{"spec":` + strings.Replace(maintenanceSpec, `"a"`, `"b"`, 1) +
			`}`, 200, "maintenances/w", `"node":"a"`, `"node":"b"`},
		{"PATCH", "/v1/maintenances/w", `{"spec":{"priority":7}}`, 200, "maintenances/w", `"node":"b"`,
			`"priority":7`},
		{"POST", "/v1/silences", `{"name":"s","spec":` + silenceSpec() + `}`, 201, "silences/s", "",
			`"cause":"link/x"`},
		{"PUT", "/v1/silences/s", `{"spec":` + strings.Replace(silenceSpec(), "link/x", "link/y", 1) +
			`}`, 200, "silences/s", `"link/x"`, `"link/y"`},
		{"PATCH", "/v1/silences/s", `{"spec":{"note":"known"}}`, 200, "silences/s", `"link/y"`,
			`"known"`},
		{"DELETE", "/v1/silences/s", "", 204, "silences/s", `"known"`, ""},
		{"POST", "/v1/notifications", `{"name":"n","spec":` + notificationSpec + `}`, 201,
			"notifications/n", "", `"url":"http://127.0.0.1:1/"`},
		{"PUT", "/v1/notifications/n", `{"spec":` +
			strings.Replace(notificationSpec, "0.1:1", "0.1:2", 1) + `}`, 200,
			"notifications/n", `1:1/"`, `1:2/"`},
		{"PATCH", "/v1/notifications/n", `{"spec":{"after":"7s"}}`, 200, "notifications/n", `"10s"`,
			`"7s"`},
		{"POST", "/v1/notifications/n:test", "", 200, "", "", ""},
		{"DELETE", "/v1/notifications/n", "", 204, "notifications/n", `"7s"`, ""},
		{"DELETE", "/v1/maintenances/w", "", 204, "maintenances/w", `"priority":7`, ""},
		{"DELETE", "/v1/leases/l", "", 204, "leases/l", `"job":"j"`, ""},
		{"POST", "/v1/multicast-groups", `{"name":"g","spec":` + groupSpec + `}`, 201, "groups/g", "",
			`"designatedQpn":4096`},
		{"PUT", "/v1/multicast-groups/g", `{"spec":` + strings.Replace(groupSpec, "4096", "4097", 1) +
			`}`, 200, "groups/g", `"designatedQpn":4096`, `"designatedQpn":4097`},
		{"PATCH", "/v1/multicast-groups/g", `{"spec":{"cnpLimit":9}}`, 200, "groups/g", `"cnpLimit":256`,
			`"cnpLimit":9`},
		{"POST", "/v1/multicast-groups/g:reset", "", 200, "epochs/0", "", ""},
		{"DELETE", "/v1/multicast-groups/g", "", 204, "groups/g", `"cnpLimit":9`, ""},
		{"POST", "/v1/srv6-policies",
			`{"name":"x","spec":{"headend":"a","endpoint":"c","segments":[{"node":"b"}]}}`, 201,
			"srv6-policies/x", "", `"headend":"a"`},
		{"PUT", "/v1/srv6-policies/x", `{"spec":{"headend":"a","endpoint":"c","metric":"delay"}}`, 200,
			"srv6-policies/x", `"node":"b"`, `"metric":"delay"`},
		{"PATCH", "/v1/srv6-policies/x", `{"spec":{"metric":"igp"}}`, 200, "srv6-policies/x",
			`"metric":"delay"`, `"headend":"a"`},
		{"POST", "/v1/tenants",
			`{"name":"x","spec":{"slice":1,"priority":3,"sites":[{"switch":"a","port":11},{"switch":"c",` +
				`"port":11}],"policies":["x"]}}`, 201, "tenants/x", "", `"slice":1`},
		{"PATCH", "/v1/tenants/x", `{"spec":{"rate":7000000}}`, 200, "tenants/x", `"slice":1`,
			`"rate":7000000`},
		{"PUT", "/v1/tenants/x",
			`{"spec":{"slice":2,"priority":3,"sites":[{"switch":"a","port":11},{"switch":"c","port":11}],` +
				`"policies":["x"]}}`, 200, "tenants/x", `"slice":1`, `"slice":2`},
		{"POST", "/v1/pfc-policies", `{"name":"x","spec":{"srv6Policy":"x","tenant":"x"}}`, 201,
			"pfc-policies/x", "", `"tenant":"x"`},
		{"PUT", "/v1/pfc-policies/x", `{"spec":{"srv6Policy":"x","tenant":"x","maxPause":"2s"}}`, 200,
			"pfc-policies/x", `"tenant":"x"`, `"maxPause":"2s"`},
		{"PATCH", "/v1/pfc-policies/x", `{"spec":{"maxPause":"3s"}}`, 200, "pfc-policies/x",
			`"maxPause":"2s"`, `"maxPause":"3s"`},
		{"DELETE", "/v1/pfc-policies/x", "", 204, "pfc-policies/x", `"maxPause":"3s"`, ""},
		{"DELETE", "/v1/tenants/x", "", 204, "tenants/x", `"slice":2`, ""},
		{"DELETE", "/v1/srv6-policies/x", "", 204, "srv6-policies/x", `"headend":"a"`, ""},
		{"PUT", "/v1/switches/a/ports/1", `{"spec":{"mtu":9000}}`, 200, "ports/a/1", "", `"mtu":9000`},
		{"PATCH", "/v1/switches/a/ports/1", `{"spec":{"description":"to b"}}`, 200, "ports/a/1",
			`"mtu":9000`, `"description":"to b"`},
		{"DELETE", "/v1/switches/a/ports/1", "", 204, "ports/a/1", `"description":"to b"`, ""},
		{"DELETE", "/v1/orphans?switch=a", "", 200, "", "", ""},
		{"POST", "/v1/controllers/c2:replace", "", 204, "", "", ""},
		{"GET", "/v1/backup", "", 200, "", "", ""},
	})
	fabric := startFabric(t, audited(t))
	fabric.carryOut(tried, []step{
		{"POST", "/v1/cc-profiles", `{"name":"x","spec":` + ccSpec + `}`, 201, "mrc/cc-profiles/x", "",
			`"9µs"`},
		{"PUT", "/v1/cc-profiles/x", `{"spec":` + strings.Replace(ccSpec, "9us", "8us", 1) + `}`, 200,
			"mrc/cc-profiles/x", `"9µs"`, `"8µs"`},
		{"PATCH", "/v1/cc-profiles/x", `{"spec":{"nscc":{"targetDelay":"7us"}}}`, 200,
			"mrc/cc-profiles/x", `"8µs"`, `"7µs"`},
		{"DELETE", "/v1/cc-profiles/x", "", 204, "mrc/cc-profiles/x", `"7µs"`, ""},
		{"PUT", "/v1/ev-profiles/a1:b1", `{"spec":{"minActive":2}}`, 200, "mrc/ev-profiles/a1:b1", "",
			`"minActive":2`},
		{"PATCH", "/v1/ev-profiles/a1:b1", `{"spec":{"minActive":1}}`, 200, "mrc/ev-profiles/a1:b1",
			`"minActive":2`, `"minActive":1`},
		{"DELETE", "/v1/ev-profiles/a1:b1", "", 204, "mrc/ev-profiles/a1:b1", `"minActive":1`, ""},
		{"PUT", "/v1/links/64512:10.0.2.1,11~64512:10.0.2.3,1", `{"spec":{"admin":"drained"}}`, 200,
			"mrc/admin/", "", `"drained"`},
		{"PATCH", "/v1/links/64512:10.0.2.1,11~64512:10.0.2.3,1", `{"spec":{"admin":"up"}}`, 200,
			"mrc/admin/", `"drained"`, `"up"`},
		{"PUT", "/v1/nodes/64512:10.0.2.3", `{"spec":{"admin":"drained"}}`, 200, "mrc/admin/", "",
			`"drained"`},
		{"PATCH", "/v1/nodes/64512:10.0.2.3", `{"spec":{"admin":"up"}}`, 200, "mrc/admin/", `"drained"`,
			`"up"`},
		{"PUT", "/v1/planes/2", `{"spec":{"admin":"drained"}}`, 200, "mrc/admin/", "", `"drained"`},
		{"PATCH", "/v1/planes/2", `{"spec":{"admin":"up"}}`, 200, "mrc/admin/", `"drained"`, `"up"`},
		{"PUT", "/v1/hosts/h1/ports/2", `{"spec":{"admin":"drained"}}`, 200, "mrc/admin/", "",
			`"drained"`},
		{"PATCH", "/v1/hosts/h1/ports/2", `{"spec":{"admin":"up"}}`, 200, "mrc/admin/", `"drained"`,
			`"up"`},
	})
	// The last steps close the API.
	closing := startOn(t, inv, snapshot, audited(t))
	const password, next = "correct horse battery", "staple correct horse"
	closing.carryOut(tried, []step{
		{"POST", "/v1/users", `{"name":"ann","role":"admin","password":"` + password + `"}`, 201,
			"access/users/ann", "", `"role":"admin"`},
	})
	var session api.Session
	closing.carryOut(tried, []step{{"POST", "/v1/session", `{"user":"ann","password":"` + password +
		`"}`, 200, "access/sessions/", "", ""}})
	_, header, body := closing.send("POST", "/v1/session", `{"user":"ann","password":"`+password+`"}`,
		nil)
	if err := json.Unmarshal(body, &session); err != nil {
		t.Fatal(err)
	}
	cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
	closing.headers = []string{"Cookie: " + cookie, access.CSRFHeader + ": " + session.CSRF}
	closing.carryOut(tried, []step{{"POST", "/v1/tokens", `{"name":"ci","role":"admin"}`, 201,
		"access/tokens/", "", `"name":"ci"`}})
	var tokens api.List[api.Token]
	_, _, body = closing.send("GET", "/v1/tokens", "", closing.headers)
	if err := json.Unmarshal(body, &tokens); err != nil || len(tokens.Items) != 1 {
		t.Fatal(err, string(body))
	}
	var sessions api.List[api.OpenSession]
	_, _, body = closing.send("GET", "/v1/sessions", "", closing.headers)
	if err := json.Unmarshal(body, &sessions); err != nil || len(sessions.Items) != 2 {
		t.Fatal(err, string(body))
	}
	closing.carryOut(tried, []step{
		{"POST", "/v1/users", `{"name":"bob","role":"viewer","password":"` + password + `"}`, 201,
			"access/users/bob", "", `"role":"viewer"`},
		{"PUT", "/v1/users/bob/password", `{"password":"` + next + `"}`, 204, "access/users/bob",
			`"name":"bob"`, `"name":"bob"`},
		{"DELETE", "/v1/users/bob", "", 204, "access/users/bob", `"name":"bob"`, ""},
		{"DELETE", "/v1/tokens/" + tokens.Items[0].ID, "", 204, "access/tokens/" + tokens.Items[0].ID,
			`"name":"ci"`, ""},
		{"DELETE", "/v1/sessions/" + sessions.Items[0].ID, "", 204,
			"access/sessions/" + sessions.Items[0].ID, "", ""},
		{"DELETE", "/v1/session", "", 204, "access/sessions/", "", ""},
	})
	for key, text := range closing.texts() {
		if strings.Contains(text, password) || strings.Contains(text, next) ||
			strings.HasPrefix(key, "audit/") && strings.Contains(text, "argon2id") {
			t.Errorf("record %s has a password or its hash: %s", key, text)
		}
	}

	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
		}
	}
	_, _, body = ringed.send("GET", "/openapi.json", "", nil)
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths {
		for method, op := range item {
			// Deleting one orphan is the same as deleting those of a switch; here are none.
			// The start of a device's sign-in changes nothing: its state is in the sealed handle. Nor
			// does a simulation.
			if method != "get" && !tried[op.OperationID] && op.OperationID != "delete-orphan" &&
				op.OperationID != "oidc-device" && op.OperationID != "simulate" {
				t.Errorf("%s %s was not tried", method, path)
			}
		}
	}
}

// texts returns the values of all records.
func (r *running) texts() map[string]string {
	r.t.Helper()
	list, _, err := r.records.List(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	out := make(map[string]string)
	for _, x := range list {
		out[x.Key] = string(x.Value)
	}
	return out
}

// carryOut carries out steps, and checks what the store was given for each.
func (r *running) carryOut(tried map[string]bool, steps []step) {
	r.t.Helper()
	for _, s := range steps {
		r.quiet()
		id := strings.NewReplacer("/", "-", ":", "-", ",", "-", "~", "-", "?", "-", "=",
			"-").Replace(s.method + s.path)
		id = id[:min(64, len(id))]
		r.records.mu.Lock()
		from := len(r.records.applied)
		r.records.mu.Unlock()
		status, _, answer := r.send(s.method, s.path, s.body, append([]string{"X-Request-Id: " + id},
			r.headers...))
		if status != s.status {
			r.t.Errorf("%s %s: %d %s, want %d", s.method, s.path, status, answer, s.status)
			continue
		}
		r.records.mu.Lock()
		applied := slices.Clone(r.records.applied[from:])
		r.records.mu.Unlock()
		found := 0
		for _, ops := range applied {
			record, change := -1, -1
			var a api.AuditRecord
			for i, op := range ops {
				var x api.AuditRecord
				switch {
				case strings.HasPrefix(op.Key, "audit/records/") && json.Unmarshal(op.Value, &x) == nil &&
					x.SessionInfo.ChannelID == id:
					record, a = i, x
				case s.key != "" && strings.HasPrefix(op.Key, s.key):
					change = i
				}
			}
			if record < 0 {
				if change >= 0 && s.key != "epochs/0" && s.key != "groups/g" &&
					!strings.HasPrefix(s.key, "mrc/") {
					r.t.Errorf("%s %s: %s was written without its record", s.method, s.path, s.key)
				}
				continue
			}
			found++
			tried[a.ServiceRequest.RPCName] = true
			path := s.path
			var created struct {
				Name string
				Spec any
			}
			if s.method == http.MethodPost && json.Unmarshal([]byte(s.body), &created) == nil &&
				created.Spec != nil {
				path += "/" + created.Name // the path of what was created
			}
			if a.Outcome != api.AuditSuccess || a.ServiceRequest.Method != s.method ||
				a.ServiceRequest.Path != path {
				r.t.Errorf("%s %s: %+v", s.method, s.path, a)
			}
			if s.key != "" && change < record {
				r.t.Errorf("%s %s: the record is not before %s in its write", s.method, s.path, s.key)
			}
			for _, side := range []struct{ got, want string }{{string(a.Before), s.before},
				{string(a.After), s.after}} {
				if (side.got == "") != (side.want == "") || !strings.Contains(side.got, side.want) {
					r.t.Errorf("%s %s: the record has %s, want %s", s.method, s.path, side.got, side.want)
				}
			}
		}
		if found != 1 {
			r.t.Errorf("%s %s: %d records, want 1", s.method, s.path, found)
		}
	}
	r.verify()
}

// verify checks the chains of the store.
func (r *running) verify() {
	r.t.Helper()
	records, err := audit.Records(r.t.Context(), r.records)
	chains, errChains := audit.Chains(r.t.Context(), r.records)
	if err := errors.Join(err, errChains); err != nil || len(chains) == 0 {
		r.t.Fatal(err)
	}
	if faults := audit.Verify(chains, records); len(faults) > 0 {
		r.t.Error(faults)
	}
}

// TestRefusalsAreAudited: the audit log records refusals, failed sign-ins and reads of secrets, but
// no requests without effect.
func TestRefusalsAreAudited(t *testing.T) {
	inv, snapshot := ring()
	r := startOn(t, inv, snapshot, audited(t))
	for _, s := range []struct{ method, path, body, token string }{
		{"PUT", "/v1/multicast-groups/g", `{"spec":{}}`, ""},
		{"DELETE", "/v1/tenants/none", "", ""},
		{"PUT", "/v1/multicast-groups/g?dryRun=true", `{"spec":` + groupSpec + `}`, ""}, // nothing
		{"GET", "/v1/multicast-groups/none", "", ""},                                    // nothing
		{"POST", "/v1/session", `{"user":"ann","password":"wrong horse battery"}`, ""},
		{"POST", "/v1/users", `{"name":"ann","role":"admin","password":"correct horse battery"}`, ""},
		{"GET", "/v1/topology", "", "weft_" + strings.Repeat("0", 24) + "_" + strings.Repeat("1", 64)},
	} {
		var headers []string
		if s.token != "" {
			headers = append(headers, "Authorization: Bearer "+s.token)
		}
		r.send(s.method, s.path, s.body, headers)
	}
	records, err := audit.Records(t.Context(), r.records)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, a := range records {
		got[a.ServiceRequest.Method+" "+a.ServiceRequest.Path+" "+string(a.Outcome)+" "+
			a.SessionInfo.Authn.Status] = a.Status
		if a.SessionInfo.RemoteAddress != "127.0.0.1" || a.SessionInfo.RemotePort == 0 ||
			a.SessionInfo.ComponentName != "c1" {
			t.Errorf("%+v", a.SessionInfo)
		}
	}
	want := map[string]int{
		"PUT /v1/multicast-groups/g failure SUCCESS": 422, "DELETE /v1/tenants/none failure SUCCESS": 404,
		"POST /v1/session failure FAIL":  401,
		"POST /v1/users success SUCCESS": 0, "GET /v1/topology failure FAIL": 401,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	r.verify()
}

// TestNoChangeWithoutItsRecord: while nothing can be recorded, nothing is changed, and no secret is
// read.
func TestNoChangeWithoutItsRecord(t *testing.T) {
	inv, snapshot := ring()
	r := startOn(t, inv, snapshot, audited(t))
	r.quiet()
	before := r.texts()
	r.records.mu.Lock()
	r.records.fails = store.ErrUnavailable
	r.records.mu.Unlock()
	unknown := http.StatusGatewayTimeout // the store does not say whether it has the change
	for _, s := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/v1/users", `{"name":"ann","role":"admin","password":"correct horse battery"}`,
			unknown}, {"POST", "/v1/tokens", `{"name":"ci","role":"admin"}`, unknown},
		{"GET", "/v1/backup", "", http.StatusServiceUnavailable}, {"POST", "/v1/controllers/c2:replace",
			"", http.StatusServiceUnavailable},
		{"PUT", "/v1/multicast-groups/g", `{"spec":` + groupSpec + `}`, unknown},
	} {
		if status, _, answer := r.send(s.method, s.path, s.body, nil); status != s.status ||
			strings.Contains(string(answer), "everything") {
			t.Errorf("%s %s: %d %s", s.method, s.path, status, answer)
		}
	}
	if after := r.texts(); !maps.Equal(after, before) {
		t.Errorf("%v", after)
	}
	r.records.mu.Lock()
	r.records.fails = nil
	r.records.mu.Unlock()
	if status, _, answer := r.send("POST", "/v1/tokens", `{"name":"ci","role":"admin"}`,
		nil); status != 201 {
		t.Errorf("%d %s", status, answer)
	}
	r.verify()
}
