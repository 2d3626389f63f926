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
)

// projects is a ring with hosts of two projects: acme's hosts at port 11 of a and c, globex's hosts
// at port 12 of all switches. tokens holds a token for each role.
type projects struct {
	*running
	tokens map[string]string
}

// Objects of globex. Answers to a member of acme contain these texts only if the member has sent
// them.
const (
	theirHost  = "2001:db8:1::12"
	theirProxy = "2001:db8:bbbb::1"
	theirGroup = "globex-secret"
)

var theirTexts = []string{theirHost, "2001:db8:1::11", "2001:db8:1::13", "2001:db8:bbbb",
	theirGroup, "globex", `"ga"`, `"gb"`, `"gc"`}

func startProjects(t *testing.T) *projects {
	t.Helper()
	inv, snapshot := ring()
	for i, sw := range []string{"a", "b", "c"} {
		n := byte(0x11 + i)
		inv.Hosts = append(inv.Hosts, inventory.Host{
			Name: "g" + sw, Switch: sw, Port: 12,
			Address: netip.MustParseAddr(fmt.Sprintf("2001:db8:1::%x", n)), MAC: inventory.MAC{2, 1, 5: n},
		})
	}
	p := &projects{running: startOn(t, inv, snapshot, audited(t)), tokens: make(map[string]string)}
	as := ""
	must := func(method, path, body string, status int) []byte {
		t.Helper()
		var headers []string
		if as != "" {
			headers = []string{"Authorization: Bearer " + as}
		}
		got, _, answer := p.send(method, path, body, headers)
		if got != status {
			t.Fatalf("%s %s: %d %s", method, path, got, answer)
		}
		return answer
	}
	ids := make(map[string]string)
	for _, who := range []struct{ name, grant string }{
		{"admin", `"role":"admin"`}, {"viewer", `"role":"viewer"`}, {"operator", `"role":"operator"`},
		{"tenant", `"role":"tenant","tenant":"acme"`}, {"editor", `"role":"member"`},
		{"watcher", `"role":"member"`}, {"stranger", `"role":"member"`},
	} {
		var made struct{ ID, Secret string }
		if err := json.Unmarshal(must("POST", "/v1/tokens", `{"name":"`+who.name+`",`+who.grant+`}`, 201),
			&made); err != nil {
			t.Fatal(err)
		}
		p.tokens[who.name], ids[who.name] = made.Secret, made.ID
		if who.name == "admin" {
			as = made.Secret
		}
	}
	members := `"members":[{"way":"token","name":"` + ids["editor"] +
		`","role":"editor"},{"way":"token","name":"` + ids["watcher"] + `","role":"viewer"}],`
	must("PUT", "/v1/projects/acme", `{"spec":{`+members+`"hosts":[{"name":"ha"},{"name":"hc"}],`+
		`"ports":[{"switch":"a","port":11},{"switch":"c","port":11}],
		"proxies":[{"prefix":"2001:db8:aaaa::/64"}],"qpns":[{"first":4096,"last":4099}],`+
		`"slices":[{"slice":1},{"slice":4}],"priorities":[{"priority":3}]}}`, 201)
	must("PUT", "/v1/projects/globex", `{"spec":{"hosts":[{"name":"ga"},{"name":"gb"},`+
		`{"name":"gc"}],"ports":[{"switch":"a","port":12},{"switch":"b","port":12},{"switch":"c",`+
		`"port":12}],
		"proxies":[{"prefix":"2001:db8:bbbb::/64"}],"qpns":[{"first":5000,"last":5003}],`+
		`"slices":[{"slice":2}],"priorities":[{"priority":2}]}}`, 201)
	must("PUT", "/v1/srv6-policies/wan",
		`{"spec":{"headend":"a","endpoint":"c","segments":[{"node":"b"}]}}`, 201)
	must("PUT", "/v1/srv6-policies/other", `{"spec":{"headend":"a","endpoint":"b"}}`, 201)
	must("PUT", "/v1/multicast-groups/"+theirGroup, `{"spec":{"proxyAddress":"`+theirProxy+
		`","designatedQpn":5000,"source":{"address":"2001:db8:1::11","qpn":7},"receivers":[{"address":"`+
		theirHost+`","qpn":8}]}}`, 201)
	must("PUT", "/v1/tenants/"+theirGroup,
		`{"spec":{"slice":2,"priority":2,"sites":[{"switch":"a","port":12},{"switch":"b","port":12}],`+
			`"policies":["other"]}}`, 201)
	must("PUT", "/v1/pfc-policies/"+theirGroup, `{"spec":{"srv6Policy":"other","tenant":"`+theirGroup+
		`"}}`, 201)
	for path, body := range own {
		must("PUT", path+"/acme", `{"spec":`+body+`}`, 201)
	}
	must("PUT", "/v1/pfc-policies/acme", `{"spec":`+ownPolicy+`}`, 201)
	must("PUT", "/v1/jobs/acme", `{"spec":`+ownJob+`}`, 201)
	must("PUT", "/v1/leases/acme", `{"spec":`+ownLease+`}`, 201)
	p.headers = []string{"Authorization: Bearer " + as}
	return p
}

// own are good specs of acme, by the path of their kind.
var own = map[string]string{
	"/v1/multicast-groups": `{"proxyAddress":"2001:db8:aaaa::1","designatedQpn":4096,` +
		`"source":{"address":"2001:db8:1::1","qpn":256},"receivers":[{"address":"2001:db8:1::3",` +
		`"qpn":512}]}`,
	"/v1/tenants": `{"slice":1,"priority":3,"sites":[{"switch":"a","port":11,` +
		`"prefixes":["2001:db8:1::1/128"]},{"switch":"c","port":11}],"policies":["wan"]}`,
}

// ownLease is a lease, and ownJob and ownRanks are jobs of acme: hosts as a list of names, and rank
// by rank.
const (
	ownLease = `{"pairs":[{"from":"ha","to":"hc"}]}`
	ownJob   = `{"hosts":"ha,hc","layout":{"dp":2}}`
	ownRanks = `{"ranks":[{"host":"ha"},{"host":"hc"}],"layout":{"dp":2}}`
)

const ownPolicy = `{"srv6Policy":"wan","tenant":"acme"}`

// theirs are things that are not acme's, by kind: a resource of another project, and a missing one.
// A queue pair goes with its host, a prefix with its port, and a rate is counted.
var theirs = map[string][]any{
	"host": {theirHost, "2001:db8:1::99"}, "proxy": {theirProxy, "2001:db8:cccc::1"},
	"designatedQpn": {5000, 6000},
	"switch":        {"b", "nowhere"}, "port": {12, 99}, "slice": {2, 3}, "priority": {2, 5},
	"srv6Policy": {"other", "none"}, "tenant": {theirGroup, "globex-none"},
	"queuePair": nil, "prefix": nil, "rate": nil,
}

// A place is a property of a body that names a thing.
type place struct {
	path string // as "spec.sites.0.port", from the top of the body
	kind string
}

// places returns those of a schema of the document, with the first element of each array.
func places(t *testing.T, doc map[string]any, schema map[string]any, at string) (out []place) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		schema = doc["components"].(map[string]any)["schemas"].(map[string]any)[name].(map[string]any)
	}
	if kind, ok := schema["x-weft-names"].(string); ok {
		if schema["items"] != nil {
			at += ".0"
		}
		if _, known := theirs[kind]; !known {
			t.Errorf("%s names a %s: say in this test what is another's", at, kind)
		}
		return []place{{at, kind}}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		return places(t, doc, items, at+".0")
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		next := name
		if at != "" {
			next = at + "." + name
		}
		out = append(out, places(t, doc, p.(map[string]any), next)...)
	}
	return out
}

// TestForeignThings tries, for every documented operation with a spec with marked properties, every
// role and every such property, an object of another project and a nonexistent object. The API
// refuses both, nothing changes, and no answer reveals the other project to a principal without
// access.
func TestForeignThings(t *testing.T) {
	p := startProjects(t)
	_, _, text := p.send("GET", "/openapi.json", "", p.headers)
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	p.quiet()
	_, before, _ := p.records.List(t.Context(), "groups/")
	cells, kinds := 0, make(map[string]bool)
	for path, item := range doc["paths"].(map[string]any) {
		for method, o := range item.(map[string]any) {
			op, ok := o.(map[string]any)
			if !ok || op["requestBody"] == nil {
				continue
			}
			var fields []place
			collection := strings.TrimSuffix(path, "/{name}")
			good, isOwn := own[collection]
			if collection == "/v1/pfc-policies" {
				good, isOwn = ownPolicy, true
			}
			if collection == "/v1/jobs" {
				good, isOwn = ownJob, true
			}
			if collection == "/v1/leases" {
				good, isOwn = ownLease, true
			}
			for _, content := range op["requestBody"].(map[string]any)["content"].(map[string]any) {
				schema, _ := content.(map[string]any)["schema"].(map[string]any)
				fields = append(fields, places(t, doc, schema, "")...)
			}
			if method == "patch" && isOwn { // a merge patch may have any of the fields of a PUT
				put := item.(map[string]any)["put"].(map[string]any)["requestBody"].(map[string]any)["content"].(map[string]any)["application/json"].(map[string]any)["schema"]
				fields = places(t, doc, put.(map[string]any), "")
			}
			if len(fields) == 0 {
				continue
			}
			if !isOwn {
				t.Fatalf("%s %s takes what may be a project's: give this test a good spec", method, path)
			}
			for _, f := range fields {
				kinds[f.kind] = true
				values, good := theirs[f.kind], good
				if collection == "/v1/jobs" { // hosts by name
					values = []any{"gb,ha", "nowhere,ha"}
					if f.path != "spec.hosts" {
						values, good = []any{"gb", "nowhere"}, ownRanks
					}
				}
				if collection == "/v1/leases" {
					values = []any{"gb", "nowhere"}
				}
				for _, value := range values {
					var spec map[string]any
					if err := json.Unmarshal([]byte(good), &spec); err != nil {
						t.Fatal(err)
					}
					if good == ownRanks && method == "patch" {
						spec["hosts"], spec["nicsPerHost"] = nil, nil
					}
					if list, ok := strings.CutSuffix(f.path, ".0"); ok {
						with(strings.TrimPrefix(list, "spec."), []any{value})(spec)
					} else {
						with(strings.TrimPrefix(f.path, "spec."), value)(spec)
					}
					for role, token := range p.tokens {
						for _, dry := range []string{"", "?dryRun=true"} {
							name := "acme"
							if method == "post" {
								name = "acme-new"
							}
							body, err := json.Marshal(map[string]any{"name": name, "spec": spec})
							if err != nil {
								t.Fatal(err)
							}
							status, _, answer := p.send(strings.ToUpper(method), strings.ReplaceAll(path, "{name}",
								"acme")+dry, string(body), []string{"Authorization: Bearer " + token})
							cells++
							at := fmt.Sprintf("%s %s%s: %s, %s = %v", method, path, dry, role, f.path, value)
							if status != http.StatusForbidden {
								t.Errorf("%s: %d %s", at, status, answer)
							}
							writes := slices.Contains([]string{"admin", "tenant", "editor"}, role)
							field := strings.NewReplacer(".0", "[0]").Replace(strings.TrimSuffix(f.path, ".switch"))
							if good == ownRanks {
								field = "spec.ranks" // it names the host
							}
							if writes && !strings.Contains(string(answer), `"`+field) {
								t.Errorf("%s: %s does not name the field", at, answer)
							}
							if role != "admin" && role != "viewer" && role != "operator" {
								silent(t, at, string(answer), fmt.Sprint(value))
							}
						}
					}
				}
			}
		}
	}
	for kind, values := range theirs {
		if !kinds[kind] {
			t.Errorf("no operation names a %s", kind)
		}
		_ = values
	}
	if cells < 500 {
		t.Errorf("only %d cells", cells)
	}
	t.Logf("%d cells", cells)
	p.quiet()
	if after, revision, _ := p.records.List(t.Context(), "groups/"); len(after) != 2 {
		t.Errorf("records of groups: %v at %d, after %d", after, revision, before)
	}
}

// silent checks that an answer contains nothing of globex, except for text sent by the client.
func silent(t *testing.T, at, answer, sent string) {
	t.Helper()
	rest := strings.ReplaceAll(answer, sent, "")
	for name := range strings.SplitSeq(sent, ",") { // of a list of hosts
		rest = strings.ReplaceAll(rest, `"`+name+`"`, "")
	}
	for _, text := range theirTexts {
		if strings.Contains(rest, text) {
			t.Errorf("%s: the answer has %q: %.300s", at, text, answer)
		}
	}
}

// TestNothingLeaks sends every documented operation without a body, as every member of acme, for a
// name of the other project and for a nonexistent name. Both answers are alike and contain nothing
// of the other project.
func TestNothingLeaks(t *testing.T) {
	p := startProjects(t)
	_, _, text := p.send("GET", "/openapi.json", "", p.headers)
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for path, item := range doc.Paths {
		for method := range item {
			if !slices.Contains([]string{"get", "delete", "post"}, method) || path == "/v1/events" ||
				path == "/v1/telemetry/ports" ||
				path == "/v1/session" || strings.HasPrefix(path, "/v1/oidc") {
				continue
			}
			for _, role := range []string{"tenant", "editor", "watcher", "stranger"} {
				var answers [2]string
				for i, name := range []string{theirGroup, "globex-nothing"} {
					target := path
					for strings.Contains(target, "{") {
						from, to := strings.Index(target, "{"), strings.Index(target, "}")
						target = target[:from] + name + target[to+1:]
					}
					status, _, answer := p.send(strings.ToUpper(method), target, "",
						[]string{"Authorization: Bearer " + p.tokens[role], "X-Request-Id: same"})
					tried++
					silent(t, fmt.Sprintf("%s %s: %s", method, target, role), string(answer), name)
					answers[i] = fmt.Sprint(status, " ", strings.ReplaceAll(string(answer), name, "NAME"))
					if !strings.Contains(path, "{") {
						answers[1] = answers[0]
						break
					}
				}
				if answers[0] != answers[1] {
					t.Errorf("%s %s: %s can tell what there is from what there is not: %s; %s", method, path, role,
						answers[0], answers[1])
				}
			}
		}
	}
	if tried < 300 {
		t.Errorf("only %d requests", tried)
	}
	// Members see their own resources, and events of these alone.
	for role, want := range map[string]int{"tenant": 1, "editor": 1, "watcher": 1, "stranger": 0,
		"admin": 2} {
		as := []string{"Authorization: Bearer " + p.tokens[role]}
		for _, path := range []string{"/v1/multicast-groups", "/v1/tenants", "/v1/pfc-policies",
			"/v1/projects"} {
			status, _, answer := p.send("GET", path, "", as)
			var list struct{ Items []json.RawMessage }
			if err := json.Unmarshal(answer, &list); role == "stranger" && status == 403 || status == 200 &&
				err == nil && len(list.Items) == want {
				continue
			}
			t.Errorf("%s: GET %s: %d %s", role, path, status, answer)
		}
	}
	for _, role := range []string{"tenant", "admin"} {
		_, _, answer := p.send("GET", "/v1/events/latest?limit=1000", "",
			[]string{"Authorization: Bearer " + p.tokens[role]})
		if !strings.Contains(string(answer), `"acme"`) ||
			strings.Contains(string(answer), theirGroup) != (role == "admin") {
			t.Errorf("events for %s: %s", role, answer)
		}
	}
}

// TestTheirQueuePairs: a group of a project's own with the queue pairs of another's is refused, and
// by an administrator's hand too.
func TestTheirQueuePairs(t *testing.T) {
	p := startProjects(t)
	taken := strings.NewReplacer("2001:db8:aaaa::1",
		"2001:db8:aaaa::2").Replace(own["/v1/multicast-groups"])
	for role, sees := range map[string]bool{"tenant": true, "admin": true} {
		p.headers = []string{"Authorization: Bearer " + p.tokens[role]}
		status, _, answer := p.send("POST", "/v1/multicast-groups", `{"name":"acme-2","spec":`+taken+`}`,
			p.headers)
		if status != http.StatusConflict || strings.Contains(string(answer), `\"acme\"`) != sees {
			t.Errorf("%s: %d %s", role, status, answer)
		}
		status, _, answer = p.send("POST", "/v1/multicast-groups", `{"name":"acme-2","spec":`+
			strings.NewReplacer("2001:db8:1::1\",\"qpn\":256", "2001:db8:1::11\",\"qpn\":7").Replace(taken)+
			`}`, p.headers)
		if status != http.StatusForbidden ||
			strings.Contains(string(answer), "globex") != (role == "admin") {
			t.Errorf("%s: %d %s", role, status, answer)
		}
	}
}

// TestTrialsOfMembers: a dry run gives a project member the number of changes by switch and table.
// Entries reveal the network and other tenants, so only principals who may see the network get
// entries. A dry run of a deletion answers like a dry run of a change.
func TestTrialsOfMembers(t *testing.T) {
	p := startProjects(t)
	p.quiet()
	group := strings.NewReplacer("2001:db8:aaaa::1", "2001:db8:aaaa::2", "4096", "4097", "\"qpn\":256",
		"\"qpn\":257", "\"qpn\":512", "\"qpn\":513").Replace(own["/v1/multicast-groups"])
	for _, ask := range []struct{ method, path, body string }{
		{"PUT", "/v1/multicast-groups/acme-2", `{"spec":` + group + `}`}, {"POST", "/v1/multicast-groups",
			`{"name":"acme-2","spec":` + group + `}`},
		{"DELETE", "/v1/multicast-groups/acme", ""}, {"DELETE", "/v1/pfc-policies/acme", ""},
		{"PUT", "/v1/tenants/acme", `{"spec":` + strings.Replace(own["/v1/tenants"], `"slice":1`,
			`"slice":4`, 1) + `}`},
	} {
		counts := make(map[string]string)
		for _, role := range []string{"admin", "tenant", "editor"} {
			status, _, answer := p.send(ask.method, ask.path+"?dryRun=true", ask.body,
				[]string{"Authorization: Bearer " + p.tokens[role]})
			var got struct{ Changes []api.SwitchChange }
			if err := json.Unmarshal(answer, &got); err != nil || status/100 != 2 {
				t.Fatalf("%s %s: %s: %d %s", ask.method, ask.path, role, status, answer)
			}
			entries := false
			for _, c := range got.Changes {
				tables := make(map[string]int)
				for _, u := range c.Updates {
					table, _, ok := strings.Cut(u.Entity, "/")
					entries = entries || ok
					tables[u.Type+" "+table]++
				}
				counts[role] += fmt.Sprint(c.Switch, tables)
			}
			if len(got.Changes) == 0 || entries != (role == "admin") {
				t.Errorf("%s %s: %s gets %.300s", ask.method, ask.path, role, answer)
			}
			if role != "admin" {
				silent(t, ask.path+": "+role, string(answer), ask.path)
			}
		}
		if counts["tenant"] != counts["admin"] || counts["editor"] != counts["admin"] {
			t.Errorf("%s %s: a member counts otherwise than an administrator: %v", ask.method, ask.path,
				counts)
		}
	}
}

// TestWhatOthersUse: the refusal to delete a resource in use reports the use but not the users.
func TestWhatOthersUse(t *testing.T) {
	inv, snapshot := ring()
	p := startOn(t, inv, snapshot)
	for _, x := range [][2]string{
		{"/v1/srv6-policies/other", `{"headend":"a","endpoint":"b"}`},
		{"/v1/tenants/late",
			`{"slice":5,"priority":5,"sites":[{"switch":"a","port":11},{"switch":"b","port":11}],` +
				`"policies":["other"]}`},
		{"/v1/pfc-policies/zz-secret", `{"srv6Policy":"other","tenant":"late"}`},
		{"/v1/projects/late",
			`{"ports":[{"switch":"a","port":11},{"switch":"b","port":11}],"slices":[{"slice":5}],` +
				`"priorities":[{"priority":5}]}`},
	} {
		if status, _, answer := p.send("PUT", x[0], `{"spec":`+x[1]+`}`,
			p.headers); status != http.StatusCreated {
			t.Fatalf("%s: %d %s", x[0], status, answer)
		}
	}
	for _, dry := range []string{"", "?dryRun=true"} {
		for member, narrow := range map[bool]string{true: "late", false: ""} {
			headers := slices.Clone(p.headers)
			if member {
				headers = append(headers, "X-Weft-Project: "+narrow)
			}
			status, _, answer := p.send("DELETE", "/v1/tenants/late"+dry, "", headers)
			if status != http.StatusConflict || strings.Contains(string(answer), "zz-secret") == member ||
				strings.Contains(string(answer), "others") != member {
				t.Errorf("as a member %v%s: %d %s", member, dry, status, answer)
			}
		}
	}
}
