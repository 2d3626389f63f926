package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

const ifAbsent, ifAny, ifOther = "If-None-Match: *", "If-Match: *", `If-Match: "999999"`

// sender returns a function that sends a request, fails the test when its answer has another status
// or problem than wanted, and returns the ETag.
func (r *running) sender(t *testing.T) func(step, method, path, body string, status int,
	problem string, headers ...string) string {
	return func(step, method, path, body string, status int, problem string,
		headers ...string) string {
		t.Helper()
		got, header, answer := r.send(method, path, body, headers)
		var p struct{ Code string }
		if status >= 400 {
			if err := json.Unmarshal(answer, &p); err != nil {
				t.Fatalf("%s %s: %v: %s", step, path, err, answer)
			}
		}
		if got != status || p.Code != problem {
			t.Fatalf("%s: %s %s: %d %s, want %d %s\n%s", step, method, path, got, p.Code, status, problem,
				answer)
		}
		return header.Get("ETag")
	}
}

// creatable returns the kinds that clients create in [ring], with a spec of each, in the order in
// which they refer to each other.
func creatable() []struct{ path, spec string } {
	return []struct{ path, spec string }{
		{"/v1/networks/", networkSpec},
		{"/v1/projects/",
			`{"hosts":[{"name":"ha"},{"name":"hb"}],"ports":[{"switch":"a","port":11},{"switch":"c",` +
				`"port":11}],"proxies":[{"prefix":"2001:db8:ffff::/64"}],` +
				`"qpns":[{"first":4096,"last":4096}],"slices":[{"slice":1}],"priorities":[{"priority":3}]}`},
		{"/v1/jobs/", `{"hosts":"ha,hb","layout":{"dp":2}}`},
		{"/v1/leases/", leaseSpec},
		{"/v1/maintenances/", maintenanceSpec},
		{"/v1/silences/", silenceSpec()},
		{"/v1/notifications/", notificationSpec},
		{"/v1/multicast-groups/",
			`{"proxyAddress":"2001:db8:ffff::1","designatedQpn":4096,"source":{"address":"2001:db8:1::1",` +
				`"qpn":256},"receivers":[{"address":"2001:db8:1::2","qpn":512}]}`},
		{"/v1/srv6-policies/", `{"headend":"a","endpoint":"c","segments":[{"node":"b"}]}`},
		{"/v1/tenants/",
			`{"slice":1,"priority":3,"sites":[{"switch":"a","port":11},{"switch":"c","port":11}],` +
				`"policies":["x"]}`},
		{"/v1/pfc-policies/", `{"srv6Policy":"x","tenant":"x"}`},
	}
}

// TestEveryKindAnswersAlike: conditional requests (RFC 9110 section 13) for existing and for
// missing resources get the same answers for every kind.
func TestEveryKindAnswersAlike(t *testing.T) {
	inv, snapshot := ring()
	r := startOn(t, inv, snapshot)
	kinds := creatable()
	send := r.sender(t)
	for _, k := range kinds {
		path, body := k.path+"x", `{"spec":`+k.spec+`}`
		send("missing", http.MethodGet, path, "", 404, "not_found")
		send("missing", http.MethodDelete, path, "", 404, "not_found")
		send("missing", http.MethodDelete, path, "", 404, "not_found", ifOther)
		send("missing", http.MethodPatch, path, body, 404, "not_found")
		send("missing", http.MethodPut, path, body, 412, "version_mismatch", ifOther)
		tag := send("created", http.MethodPut, path, body, 201, "", ifAbsent)
		if tag == "" {
			t.Fatalf("%s: no ETag", path)
		}
		if again := send("same", http.MethodPut, path, body, 200, ""); again != tag {
			t.Errorf("%s: the same spec again changes %s to %s", path, tag, again)
		}
		send("present", http.MethodPut, path, body, 412, "version_mismatch", ifAbsent)
		send("present", http.MethodPost, k.path[:len(k.path)-1], `{"name":"x","spec":`+k.spec+`}`, 409,
			"already_exists")
		send("present", http.MethodPut, path, body, 412, "version_mismatch", ifOther)
		send("present", http.MethodPatch, path, body, 412, "version_mismatch", ifOther)
		send("present", http.MethodDelete, path, "", 412, "version_mismatch", ifOther)
		send("present", http.MethodPut, path, body, 200, "", ifAny)
		send("present", http.MethodPut, path, body, 200, "", "If-Match: "+tag)
	}
	for i := len(kinds) - 1; i >= 0; i-- {
		path := kinds[i].path + "x"
		send("tried", http.MethodDelete, path+"?dryRun=true", "", 412, "version_mismatch", ifOther)
		send("tried", http.MethodDelete, path+"?dryRun=true", "", 200, "")
		tag := send("present", http.MethodGet, path, "", 200, "")
		send("deleted", http.MethodDelete, path, "", 204, "", "If-Match: "+tag)
		send("deleted", http.MethodGet, path, "", 404, "not_found")
	}
}

// A conditional is a resource whose kind is tried.
type conditional struct {
	path, missing string
	spec, other   string
	list          string // where POST creates one; empty: a client creates none
	deleted       bool   // there is a DELETE
	stays         bool   // it is there by itself
}

// TestKindsOfMRCAnswerAlike: the kinds of an MRC fabric have the same answers.
func TestKindsOfMRCAnswerAlike(t *testing.T) {
	r := startFabric(t)
	// All that is drained is of plane 2: a former link is used again only after probes, which no host
	// answers here.
	const drained, up = `{"admin":"drained"}`, `{"admin":"up"}`
	for _, k := range []conditional{
		{path: "/v1/cc-profiles/x", missing: "/v1/cc-profiles/x", list: "/v1/cc-profiles", deleted: true,
			spec:  `{"nscc":{"gamma":0.8,"maxMdJump":0.5,"maxCwnd":1048576,"targetDelay":"9us"}}`,
			other: `{"nscc":{"gamma":0.8,"maxMdJump":0.5,"maxCwnd":1048576,"targetDelay":"8us"}}`},
		{path: "/v1/ev-profiles/a1:b1", missing: "/v1/ev-profiles/a1:z1", deleted: true, stays: true,
			spec: `{"minActive":2}`, other: `{"minActive":1}`},
		{path: "/v1/links/64512:10.0.2.1,11~64512:10.0.2.3,1",
			missing: "/v1/links/64512:10.0.2.1,99~64512:10.0.2.3,1", stays: true, spec: drained, other: up},
		{path: "/v1/nodes/64512:10.0.2.3", missing: "/v1/nodes/64512:10.0.2.9", stays: true,
			spec: drained, other: up},
		{path: "/v1/planes/2", missing: "/v1/planes/7", stays: true, spec: drained, other: up},
		{path: "/v1/hosts/h1/ports/2", missing: "/v1/hosts/h1/ports/9", stays: true, spec: drained,
			other: up},
		{path: "/v1/hosts/h2/ports/2", missing: "/v1/hosts/h9/ports/1", stays: true, spec: drained,
			other: up},
	} {
		r.answersAlike(t, &k)
	}
}

// TestPortsAnswerAlike: switch ports give the same answers as other kinds, whether or not the
// switch has reported the port.
func TestPortsAnswerAlike(t *testing.T) {
	inv, snapshot := ring()
	r := startOn(t, inv, snapshot)
	r.reportPorts("a", snapshot.LinksFrom("64512:10.0.0.1"))
	r.answersAlike(t, &conditional{
		path: "/v1/switches/a/ports/1", missing: "/v1/switches/z/ports/1", deleted: true, stays: true,
		spec: `{"mtu":9000}`, other: `{"mtu":9216,"enabled":true}`,
	})
}

// answersAlike tries conditional requests. A resource that exists by itself has no version before a
// client writes the spec, and a missing resource gets 404 under any condition (RFC 9110 section
// 13.2.1).
func (r *running) answersAlike(t *testing.T, k *conditional) {
	t.Helper()
	send := r.sender(t)
	body, other := `{"spec":`+k.spec+`}`, `{"spec":`+k.other+`}`
	gone := func(step string) {
		t.Helper()
		send(step, http.MethodGet, k.missing, "", 404, "not_found")
		send(step, http.MethodPatch, k.missing, body, 404, "not_found")
		send(step, http.MethodPatch, k.missing, body, 404, "not_found", ifOther)
		if k.deleted {
			send(step, http.MethodDelete, k.missing, "", 404, "not_found")
			send(step, http.MethodDelete, k.missing, "", 404, "not_found", ifOther)
		}
	}
	gone("missing")
	if k.stays {
		send("missing", http.MethodPut, k.missing, body, 404, "not_found")
		send("missing", http.MethodPut, k.missing, body, 404, "not_found", ifOther)
		send("missing", http.MethodPut, k.missing, body, 404, "not_found", ifAbsent)
		send("missing", http.MethodPut, k.missing+"?dryRun=true", body, 404, "not_found", ifOther)
		if tag := send("unwritten", http.MethodGet, k.path, "", 200, ""); tag != "" {
			t.Errorf("%s has the ETag %s before a client writes it", k.path, tag)
		}
	}
	send("unwritten", http.MethodPut, k.path, body, 412, "version_mismatch", ifOther)
	send("unwritten", http.MethodPatch, k.path, body, 422, "invalid", ifAbsent)
	created := 201
	if k.stays {
		send("unwritten", http.MethodPatch, k.path, body, 412, "version_mismatch", ifOther)
		created = 200
	}
	send("tried", http.MethodPut, k.path+"?dryRun=true", body, created, "", ifAbsent)
	tag := send("written", http.MethodPut, k.path, body, created, "", ifAbsent)
	if tag == "" {
		t.Fatalf("%s: no ETag", k.path)
	}
	if again := send("same", http.MethodPut, k.path, body, 200, ""); again != tag {
		t.Errorf("%s: the same spec again changes %s to %s", k.path, tag, again)
	}
	if k.list != "" {
		send("written", http.MethodPost, k.list, `{"name":"x","spec":`+k.spec+`}`, 409, "already_exists")
	}
	send("written", http.MethodPut, k.path, other, 412, "version_mismatch", ifAbsent)
	send("written", http.MethodPut, k.path, other, 412, "version_mismatch", ifOther)
	send("written", http.MethodPut, k.path+"?dryRun=true", other, 412, "version_mismatch", ifOther)
	send("written", http.MethodPatch, k.path, other, 412, "version_mismatch", ifOther)
	send("written", http.MethodPut, k.path, other, 422, "invalid", ifOther, ifAbsent)
	send("written", http.MethodPut, k.path, body, 200, "", ifAny)
	if now := send("refused", http.MethodGet, k.path, "", 200, ""); now != tag {
		t.Errorf("%s: refused writes change %s to %s", k.path, tag, now)
	}
	next := send("changed", http.MethodPut, k.path, other, 200, "", "If-Match: "+tag)
	if next == tag || next == "" {
		t.Errorf("%s: another spec changes %s to %q", k.path, tag, next)
	}
	send("changed", http.MethodPatch, k.path, other, 412, "version_mismatch", "If-Match: "+tag)
	send("changed", http.MethodPatch, k.path, other, 200, "", "If-Match: "+next)
	if !k.deleted {
		send("there by itself", http.MethodDelete, k.path, "", 405, "method_not_allowed")
		return
	}
	send("tried", http.MethodDelete, k.path+"?dryRun=true", "", 412, "version_mismatch", ifOther)
	send("tried", http.MethodDelete, k.path+"?dryRun=true", "", 200, "", "If-Match: "+next)
	send("changed", http.MethodDelete, k.path, "", 412, "version_mismatch", ifOther)
	send("deleted", http.MethodDelete, k.path, "", 204, "", "If-Match: "+next)
	if k.stays {
		if tag := send("deleted", http.MethodGet, k.path, "", 200, ""); tag != "" {
			t.Errorf("%s has the ETag %s after its deletion", k.path, tag)
		}
		return
	}
	gone("deleted")
}

// startFabric starts a controller with the MRC fabric of northboundtest.
func startFabric(t *testing.T, configure ...func(*northbound.Config, store.Store)) *running {
	t.Helper()
	inv, snapshot := mrcFabric()
	return startOn(t, inv, snapshot, configure...)
}

// mrcFabric returns the MRC fabric of northboundtest.
func mrcFabric() (inventory.Inventory, *topology.Snapshot) {
	_, snapshot := northboundtest.NewFabric(ev.ModeStructured)
	inv := inventory.Default()
	inv.MRC.Mode = ev.ModeStructured.String()
	for i, leaf := range []string{"a", "a", "b"} {
		port := uint32(101 + i)
		inv.Hosts = append(inv.Hosts, inventory.Host{
			Name: fmt.Sprint("h", i+1), Address: netip.MustParseAddr(fmt.Sprintf("2001:db8:1::%d", i+1)),
			MAC: inventory.MAC{2, 1, 5: byte(i)}, Switch: leaf + "1", Port: port,
			Planes: []inventory.Attachment{{Switch: leaf + "2", Port: port,
				MAC: inventory.MAC{2, 2, 5: byte(i)}}},
		})
	}
	for i, name := range []string{"a1", "b1", "x1", "y1", "a2", "b2", "x2", "y2"} {
		inv.Switches = append(inv.Switches,
			inventory.Switch{Name: name, MAC: inventory.MAC{2, 3, 5: byte(i)}})
	}
	return inv, snapshot
}
