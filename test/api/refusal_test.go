package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
)

const groups = "/v1/multicast-groups"

// spec returns a valid spec, in the form that JSON decodes. Its queue pairs differ from the queue
// pairs of any spec with another last octet of the proxy address.
func spec(proxy, source string, receivers ...string) map[string]any {
	own := int(netip.MustParseAddr(proxy).As16()[15]) << 12
	s := map[string]any{
		"proxyAddress": proxy, "designatedQpn": 4096,
		"source":    map[string]any{"address": hostAddress[source], "qpn": own + 256},
		"receivers": list(receivers...),
	}
	for i, r := range s["receivers"].([]any) {
		r.(map[string]any)["qpn"] = own + 512 + i
	}
	return s
}

func list(receivers ...string) []any {
	out := make([]any, len(receivers))
	for i, name := range receivers {
		out[i] = map[string]any{"address": hostAddress[name], "qpn": 512 + i}
	}
	return out
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// An edit spoils a spec.
type edit func(spec map[string]any)

// with sets the field at a path such as "receivers.1.qpn".
func with(path string, value any) edit {
	return func(spec map[string]any) {
		steps := strings.Split(path, ".")
		var at any = spec
		for _, step := range steps[:len(steps)-1] {
			if i, err := strconv.Atoi(step); err == nil {
				at = at.([]any)[i]
			} else {
				at = at.(map[string]any)[step]
			}
		}
		at.(map[string]any)[steps[len(steps)-1]] = value
	}
}

func all(edits ...edit) edit {
	return func(spec map[string]any) {
		for _, e := range edits {
			e(spec)
		}
	}
}

const (
	most24 = 1<<24 - 1
	hour   = 3600
)

func invalid(field string) refusal   { return refusal{422, "invalid", field, 0} }
func malformed(field string) refusal { return refusal{400, "malformed", field, 0} }

func over(field string, limit int64) refusal { return refusal{422, "invalid", field, limit} }
func exceeds(field string, limit int64) refusal {
	return refusal{422, "limit_exceeded", field, limit}
}

// specs are the specs to refuse: each is good but for one edit.
var specs = []struct {
	name string
	edit edit
	want refusal
}{
	{"designated QPN of 25 bits", with("designatedQpn", 1<<24), over("spec.designatedQpn", most24)},
	{"designated QPN of 33 bits", with("designatedQpn", 1<<32), over("spec.designatedQpn", most24)},
	{"designated QPN 0", with("designatedQpn", 0), invalid("spec.designatedQpn")},
	{"designated QPN 1", with("designatedQpn", 1), invalid("spec.designatedQpn")},
	{"negative QPN", with("designatedQpn", -5), invalid("spec.designatedQpn")},
	{"source QPN of 25 bits", with("source.qpn", 1<<24), over("spec.source.qpn", most24)},
	{"source QPN 0", with("source.qpn", 0), invalid("spec.source.qpn")},
	{"source QPN 1", with("source.qpn", 1), invalid("spec.source.qpn")},
	{"receiver QPN of 25 bits", with("receivers.1.qpn", 1<<24), over("spec.receivers[1].qpn", most24)},
	{"receiver QPN 0", with("receivers.1.qpn", 0), invalid("spec.receivers[1].qpn")},
	{"receiver QPN 1", with("receivers.0.qpn", 1), invalid("spec.receivers[0].qpn")},
	{"initial PSN of 25 bits", with("initialPsn", 1<<24), over("spec.initialPsn", most24)},
	{"first PSN of 25 bits", with("receivers.1.startPsn", 1<<24), over("spec.receivers[1].startPsn",
		most24)},
	{"first MSN of 25 bits", with("receivers.1.startMsn", 1<<24), over("spec.receivers[1].startMsn",
		most24)},
	{"R_Key of 33 bits", all(with("receivers.1.va", 1), with("receivers.1.rkey", 1<<32)),
		over("spec.receivers[1].rkey", 1<<32-1)},
	{"R_Key alone", with("receivers.1.rkey", 1), invalid("spec.receivers[1].va")},
	{"va in-band", all(with("mode", "inband"), with("receivers.0.va", 4096),
		with("receivers.0.rkey", 1)), invalid("spec.receivers[0].va")},

	{"unknown source", with("source.address", "2001:db8:9::1"), invalid("spec.source.address")},
	{"source that is a switch", with("source.address", "2001:db8::1"), invalid("spec.source.address")},
	{"multicast source", with("source.address", "ff0e::1"), invalid("spec.source.address")},
	{"IPv4 source", with("source.address", "192.0.2.1"), invalid("spec.source.address")},
	{"unknown receiver", with("receivers.1.address", "2001:db8:9::1"),
		invalid("spec.receivers[1].address")},
	{"receiver that is no address", with("receivers.1.address", "r2"),
		invalid("spec.receivers[1].address")},
	{"receiver twice", with("receivers", list("r1", "r2", "r1")),
		invalid("spec.receivers[2].address")},
	{"source as receiver", with("receivers", list("r1", "s1")), invalid("spec.receivers[1].address")},
	{"no receivers", with("receivers", []any{}), invalid("spec.receivers")},

	{"proxy of a host", with("proxyAddress", hostAddress["r1"]), invalid("spec.proxyAddress")},
	{"proxy of the source", with("proxyAddress", hostAddress["s1"]), invalid("spec.proxyAddress")},
	{"proxy in a prefix of a host", with("proxyAddress", "2001:db8:5::1"),
		invalid("spec.proxyAddress")},
	{"proxy of a switch", with("proxyAddress", "2001:db8::2"), invalid("spec.proxyAddress")},
	{"proxy in a locator", with("proxyAddress", "5f00:0:2:77::"), invalid("spec.proxyAddress")},
	{"source's queue pair of another group", with("source.qpn", 2<<12+256),
		refusal{409, "conflict", "spec.source.qpn", 0}},
	{"receiver's queue pair of another group", with("receivers.1.qpn", 2<<12+513),
		refusal{409, "conflict", "spec.receivers[1].qpn", 0}},
	{"proxy of another group", with("proxyAddress", "2001:db8:ffff::2"),
		refusal{409, "conflict", "spec.proxyAddress", 0}},
	{"multicast proxy", with("proxyAddress", "ff0e::1"), invalid("spec.proxyAddress")},
	{"link-local proxy", with("proxyAddress", "fe80::1"), invalid("spec.proxyAddress")},
	{"loopback proxy", with("proxyAddress", "::1"), invalid("spec.proxyAddress")},
	{"unspecified proxy", with("proxyAddress", "::"), invalid("spec.proxyAddress")},
	{"mapped proxy", with("proxyAddress", "::ffff:192.0.2.1"), invalid("spec.proxyAddress")},
	{"proxy with a zone", with("proxyAddress", "2001:db8:ffff::3%eth0"), invalid("spec.proxyAddress")},

	{"33 receivers on one edge", with("receivers", list(wide(receiversPerEdge+1)...)),
		exceeds("spec.receivers[32].address", receiversPerEdge)},
	{"33 branches", all(with("source.address", hostAddress["r2"]),
		with("receivers", list(append(wide(branches), "r1")...))), exceeds("spec.receivers", branches)},
	{"SRH too long", all(with("mode", "inband"), with("receivers", list(wide(receiversPerEdge)...))),
		exceeds("spec.receivers", srhOctets)},
	{"receiver on a switch that is not there", with("receivers", list("r1", "a1")),
		refusal{422, "unreachable", "spec.receivers[1].address", 0}},
	{"receiver on an island", with("receivers", list("r1", "r2", "i1")),
		refusal{422, "unreachable", "spec.receivers[2].address", 0}},
	{"receiver on a switch that nobody programs", with("receivers", list("u1", "r1")),
		refusal{422, "not_plannable", "spec.receivers[0].address", 0}},
	{"source on a switch that is not there", with("source.address", hostAddress["a1"]),
		refusal{422, "unreachable", "spec.source.address", 0}},
	{"source on an island", with("source.address", hostAddress["i1"]),
		refusal{422, "unreachable", "spec.receivers[0].address", 0}},

	{"mode", with("mode", "magic"), invalid("spec.mode")},
	{"objective", with("objective", "fun"), invalid("spec.objective")},
	{"CNP window in words", with("cnpWindow", "five"), invalid("spec.cnpWindow")},
	{"CNP window without a unit", with("cnpWindow", "50"), invalid("spec.cnpWindow")},
	{"negative CNP window", with("cnpWindow", "-1ms"), invalid("spec.cnpWindow")},
	{"CNP window too short", with("cnpWindow", "999ns"), invalid("spec.cnpWindow")},
	{"CNP window too long", with("cnpWindow", "2h"), over("spec.cnpWindow", hour)},
	{"CNP window that overflows", with("cnpWindow", "9999999h"), malformed("body")},
	{"hold-off too short", with("nackHoldoff", "1ns"), invalid("spec.nackHoldoff")},
	{"hold-off too long", with("nackHoldoff", "61m"), over("spec.nackHoldoff", hour)},
	{"eviction too soon", with("evictAfter", "1us"), invalid("spec.evictAfter")},
	{"CNP limit of 25 bits", with("cnpLimit", 1<<24), over("spec.cnpLimit", most24)},

	{"unknown field", with("colour", "red"), malformed("spec.colour")},
	{"unknown field of the source", with("source.port", 4), malformed("spec.source.port")},
	{"unknown field of a receiver", with("receivers.1.rKey", 4), malformed("spec.receivers[1].rKey")},
	{"field in other letters", with("CNPLimit", 9), malformed("spec.CNPLimit")},
	{"number as text", with("designatedQpn", "4096"), malformed("spec.designatedQpn")},
	{"number with a fraction", with("designatedQpn", 4096.5), malformed("spec.designatedQpn")},
	{"number of a duration", with("cnpWindow", 50), malformed("spec.cnpWindow")},
	{"address as a number", with("proxyAddress", 5), malformed("spec.proxyAddress")},
	{"list as an object", with("receivers", map[string]any{"0": "r1"}), malformed("spec.receivers")},
	{"object as text", with("source", "s1"), malformed("spec.source")},
	{"receiver as text", with("receivers", []any{"r1"}), malformed("spec.receivers[0]")},
	{"truth as text", with("rewriteSource", "yes"), malformed("spec.rewriteSource")},
}

// requests are those to refuse for something else than a spec. STALE is an
// earlier ETag of g1, GOOD a group's body that would be accepted, and FILL more
// than a body may have.
var requests = []struct {
	name         string
	method, path string
	body         string
	headers      []string
	want         refusal
}{
	{"create what exists", "POST", "", `{"name":"g1",GOOD}`, nil, refusal{409, "already_exists", "",
		0}},
	{"create without a name", "POST", "", `{GOOD}`, nil, invalid("name")},
	{"create without a spec", "POST", "", `{"name":"g3"}`, nil, invalid("spec")},
	{"bad name", "POST", "", `{"name":"-g",GOOD}`, nil, invalid("name")},
	{"bad name in the path", "PUT", "/g%20g", `{GOOD}`, nil, invalid("name")},
	{"slash in the name in the path", "PUT", "/..%2f", `{GOOD}`, nil, invalid("name")},
	{"long name", "POST", "", `{"name":"` + strings.Repeat("g", 64) + `",GOOD}`, nil,
		over("name", 63)},
	{"another name in the body", "PUT", "/g1", `{"name":"g2",GOOD}`, nil, invalid("name")},
	{"unknown field at the top", "POST", "", `{"name":"g3","colour":"red",GOOD}`, nil,
		malformed("colour")},
	{"unknown parameter", "POST", "?nosuch=1", `{"name":"g3",GOOD}`, nil, malformed("query.nosuch")},
	{"no body", "POST", "", "", nil, malformed("")},
	{"not JSON", "POST", "", "name: g3", nil, malformed("body")},
	{"half a body", "POST", "", `{"name":"g3",`, nil, malformed("body")},
	{"not an object", "POST", "", `["g3"]`, nil, malformed("body")},
	{"not said to be JSON", "POST", "", `{"name":"g3",GOOD}`, []string{"Content-Type: text/plain"},
		refusal{415, "unsupported_media_type", "", 0}},
	{"too large a body", "POST", "", `FILL{"name":"g3",GOOD}`, nil, refusal{413, "body_too_large", "",
		1 << 20}},
	{"too large a body of a PUT", "PUT", "/g1", `FILL{GOOD}`, nil, refusal{413, "body_too_large", "",
		1 << 20}},
	{"too large a patch", "PATCH", "/g1", `FILL{"spec":{"cnpLimit":9}}`, nil,
		refusal{413, "body_too_large", "", 1 << 20}},

	{"patch that is not JSON", "PATCH", "/g1", "cnpLimit: 9", nil, malformed("")},
	{"patch that goes on", "PATCH", "/g1", `{"spec":{"cnpLimit":9}} {}`, nil, malformed("")},
	{"patch that is a JSON patch", "PATCH", "/g1",
		`[{"op":"replace","path":"/spec/cnpLimit","value":9}]`, nil, malformed("body")},
	{"patch that is a number", "PATCH", "/g1", `9`, nil, malformed("body")},
	{"patch that removes everything", "PATCH", "/g1", `null`, nil, malformed("body")},
	{"patch that removes the spec", "PATCH", "/g1", `{"spec":null}`, nil, invalid("spec")},
	{"patch that removes the proxy", "PATCH", "/g1", `{"spec":{"proxyAddress":null}}`, nil,
		invalid("spec.proxyAddress")},
	{"patch of one receiver", "PATCH", "/g1", `{"spec":{"receivers":{"1":null}}}`, nil,
		malformed("spec.receivers")},
	{"patch of the name", "PATCH", "/g1", `{"name":"g3"}`, nil, invalid("name")},
	{"patch with an unknown field", "PATCH", "/g1", `{"colour":"red"}`, nil, malformed("colour")},
	{"patch in other letters", "PATCH", "/g1", `{"Spec":{"cnpLimit":9}}`, nil, malformed("Spec")},
	{"patch of another media type", "PATCH", "/g1", `{"spec":{"cnpLimit":9}}`,
		[]string{"Content-Type: application/json-patch+json"}, refusal{415, "unsupported_media_type", "",
			0}},
	{"patch of no group", "PATCH", "/g3", `{"spec":{"cnpLimit":9}}`, nil,
		refusal{404, "not_found", "", 0}},

	{"stale ETag", "PUT", "/g1", `{GOOD}`, []string{"If-Match: STALE"},
		refusal{412, "version_mismatch", "", 0}},
	{"stale version in the body", "PUT", "/g1", `{"version":VERSION,GOOD}`, nil,
		refusal{412, "version_mismatch", "", 0}},
	{"ETag of what is not there", "PUT", "/g3", `{GOOD}`, []string{"If-Match: STALE"},
		refusal{412, "version_mismatch", "", 0}},
	{"only if absent", "PUT", "/g1", `{GOOD}`, []string{"If-None-Match: *"},
		refusal{412, "version_mismatch", "", 0}},
	{"ETag and version that differ", "PUT", "/g1", `{"version":77,GOOD}`, []string{"If-Match: STALE"},
		invalid("header.If-Match")},
	{"ETag that is none", "PUT", "/g1", `{GOOD}`, []string{"If-Match: 1"}, invalid("header.If-Match")},
	{"list of ETags to differ from", "PUT", "/g1", `{GOOD}`, []string{`If-None-Match: "1", "2"`},
		invalid("header.If-None-Match")},
	{"stale patch", "PATCH", "/g1", `{"spec":{"cnpLimit":9}}`, []string{"If-Match: STALE"},
		refusal{412, "version_mismatch", "", 0}},
	{"stale version in a patch", "PATCH", "/g1", `{"version":VERSION,"spec":{"cnpLimit":9}}`, nil,
		refusal{412, "version_mismatch", "", 0}},
	{"stale deletion", "DELETE", "/g1", "", []string{"If-Match: STALE"},
		refusal{412, "version_mismatch", "", 0}},
	{"deletion of no group", "DELETE", "/g3", "", nil, refusal{404, "not_found", "", 0}},
	{"reset of no group", "POST", "/g3:reset", "", nil, refusal{404, "not_found", "", 0}},
	{"what groups do not do", "POST", "/g1:explode", "", nil, refusal{405, "method_not_allowed", "",
		0}},
	{"method", "DELETE", "", "", nil, refusal{405, "method_not_allowed", "", 0}},
}

// TestRefusals: the API refuses an impossible request with a problem that names the fault and its
// place, and changes nothing: no group, no record, no switch.
func TestRefusals(t *testing.T) {
	r := start(t, func(*inventory.Inventory) {})
	good := func(n int) map[string]any {
		return spec(fmt.Sprintf("2001:db8:ffff::%d", n), "s1", "r1", "r2")
	}
	for n := 1; n <= 2; n++ {
		body := text(t, map[string]any{"name": fmt.Sprintf("g%d", n), "spec": good(n)})
		if status, _, answer := r.send("POST", groups, body, nil); status != http.StatusCreated {
			t.Fatalf("g%d: %d %s", n, status, answer)
		}
	}
	_, header, _ := r.send("GET", groups+"/g1", "", nil)
	stale := header.Get("ETag")
	if status, header, answer := r.send("PATCH", groups+"/g1", `{"spec":{"cnpLimit":8}}`,
		nil); status != http.StatusOK || header.Get("ETag") == stale {
		t.Fatalf("g1: %d %s", status, answer)
	}
	r.quiet()

	for _, c := range specs {
		t.Run(c.name, func(t *testing.T) {
			spoiled := func(n int) map[string]any {
				s := good(n)
				c.edit(s)
				return s
			}
			r.refused(t, c.want, "POST", groups, text(t, map[string]any{"name": "g3", "spec": spoiled(3)}))
			r.refused(t, c.want, "PUT", groups+"/g3", text(t, map[string]any{"spec": spoiled(3)}))
			r.refused(t, c.want, "PUT", groups+"/g1", text(t, map[string]any{"spec": spoiled(1)}))
			r.refused(t, c.want, "PATCH", groups+"/g1", text(t, map[string]any{"spec": spoiled(1)}))
		})
	}
	fill := strings.NewReplacer(
		"STALE", stale, "VERSION", strings.Trim(stale, `"`), "FILL", strings.Repeat(" ", 1<<20),
		"GOOD", `"spec":`+text(t, good(3)),
	)
	for _, c := range requests {
		t.Run(c.name, func(t *testing.T) {
			headers := slices.Clone(c.headers)
			for i := range headers {
				headers[i] = fill.Replace(headers[i])
			}
			r.refused(t, c.want, c.method, groups+c.path, fill.Replace(c.body), headers...)
		})
	}

	// Nothing but the faults was in the way, and what is not refused is seen.
	for _, c := range []struct {
		method, path string
		body         map[string]any
		status       int
	}{
		{"POST", groups, map[string]any{"name": "g3", "spec": good(3)}, http.StatusCreated},
		{"PUT", groups + "/g4", map[string]any{"spec": good(4)}, http.StatusCreated},
		{"PUT", groups + "/g1", map[string]any{"spec": good(1)}, http.StatusOK},
		{"PATCH", groups + "/g1", map[string]any{"spec": spec("2001:db8:ffff::1", "s1",
			wide(receiversPerEdge)...)}, http.StatusOK},
	} {
		before := r.state()
		if status, _, answer := r.send(c.method, c.path, text(t, c.body), nil); status != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, answer)
		}
		r.quiet()
		after := r.state()
		for _, part := range []string{"Groups", "Records", "Revision", "Held", "Wanted", "Writes",
			"Events"} {
			if !slices.Contains(before.changed(&after), part) {
				t.Errorf("%s %s changed only %v", c.method, c.path, before.changed(&after))
			}
		}
	}
}

// TestGroupLimit: a controller has a limit of groups, and clients can still change and replace
// existing groups at the limit.
func TestGroupLimit(t *testing.T) {
	r := start(t, func(inv *inventory.Inventory) { inv.Limits.Groups = 2 })
	body := func(n int) string {
		return text(t, map[string]any{"name": fmt.Sprintf("g%d", n),
			"spec": spec(fmt.Sprintf("2001:db8:ffff::%d", n), "s1", "r1", "r2")})
	}
	for n := 1; n <= 2; n++ {
		if status, _, answer := r.send("POST", groups, body(n), nil); status != http.StatusCreated {
			t.Fatalf("g%d: %d %s", n, status, answer)
		}
	}
	r.quiet()
	r.refused(t, exceeds("name", 2), "POST", groups, body(3))
	r.refused(t, exceeds("name", 2), "PUT", groups+"/g3", body(3))
	if status, _, answer := r.send("PATCH", groups+"/g1", `{"spec":{"cnpLimit":9}}`,
		nil); status != http.StatusOK {
		t.Errorf("a change: %d %s", status, answer)
	}
	if status, _, answer := r.send("DELETE", groups+"/g1", "", nil); status != http.StatusNoContent {
		t.Errorf("a deletion: %d %s", status, answer)
	}
	r.quiet()
	if status, _, answer := r.send("POST", groups, body(3), nil); status != http.StatusCreated {
		t.Errorf("in the room of another: %d %s", status, answer)
	}
}
