package northbound

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/controller/mrc/ev"
)

// most is the length of the greatest bodies in octets.
const most = 1<<20 - 1

// repeated returns before, then parts as often as they fit, then after.
func repeated(before string, part func(n int) string, after string, limit int) string {
	var b strings.Builder
	b.WriteString(before)
	for n := range limit {
		p := part(n)
		if n > 0 {
			p = "," + p
		}
		if b.Len()+len(p)+len(after) > most {
			break
		}
		b.WriteString(p)
	}
	return b.String() + after
}

func same(part string) func(int) string { return func(int) string { return part } }

// shapes are bodies that some server would spend much on, whatever the schema.
func shapes() map[string]string {
	out := map[string]string{
		"unknown fields": repeated("{", func(n int) string { return fmt.Sprintf(`"a%d":0`, n) },
			"}", 60_000),
		"unknown fields inside": repeated(`{"spec":{`,
			func(n int) string { return fmt.Sprintf(`"a%d":0`, n) }, "}}", 60_000),
		"unknown nulls": repeated(`{"spec":{`,
			func(n int) string { return fmt.Sprintf(`"a%d":null`, n) }, "}}", 60_000),
		"one field twice": repeated("{", same(`"name":"x"`), "}", most),
		"one field in all ways": repeated("{",
			func(n int) string { return fmt.Sprintf(`"n%cme":"x"`, n%26+'a') }, "}", most),
		"a long name":      `{"` + strings.Repeat("n", most-6) + `":0}`,
		"an escaped name":  `{"` + strings.Repeat(`\u006e`, (most-6)/6) + `":0}`,
		"a long value":     `{"name":"` + strings.Repeat("n", most-11) + `"}`,
		"an escaped value": `{"name":"` + strings.Repeat(`\ud83d\ude00`, (most-11)/12) + `"}`,
		"a long number":    `{"version":` + strings.Repeat("9", most-12) + `}`,
		"numbers":          repeated("[", same("0"), "]", most),
		"numbers inside":   repeated(`{"spec":[`, same("0"), "]}", most),
		"ignored numbers":  repeated(`{"status":[`, same("0"), `]}`, most),
		"ignored objects":  repeated(`{"id":{},"status":[`, same(`{"a":{}}`), `]}`, most),
		"deep objects":     strings.Repeat(`{"a":`, 9_000) + "0" + strings.Repeat("}", 9_000),
		"deep arrays": `{"spec":` + strings.Repeat("[", 9_000) + strings.Repeat("]",
			9_000) + "}",
		"too deep": strings.Repeat("[", most),
		"deep and ignored": `{"status":` + strings.Repeat("[", 9_900) + strings.Repeat("]",
			9_900) + "}",
		"white space":        strings.Repeat(" ", most-2) + "{}",
		"no UTF-8":           `{"name":"` + strings.Repeat("\xff", most-11) + `"}`,
		"the end is missing": repeated("[", same(`{"a":[]}`), "", most),
	}
	return out
}

// arrays adds bodies with 100,000 elements in each array of a schema, and with a long text in each
// string.
func arrays(
	schemas huma.Registry, s *huma.Schema, before, after, at string, out map[string]string,
) {
	for s.Ref != "" {
		s = schemas.SchemaFromRef(s.Ref)
	}
	switch s.Type {
	case huma.TypeArray:
		out[at+" of empty objects"] = repeated(before+"[", same("{}"), "]"+after, 100_000)
		out[at+" of empty texts"] = repeated(before+"[", same(`""`), "]"+after, 100_000)
		item := sample(schemas, s.Items)
		out[at+" of fit values"] = repeated(before+"[", same(item), "]"+after, 100_000)
		out[at+" of different values"] = repeated(before+"[",
			func(n int) string { return strings.Replace(item, "::1", fmt.Sprintf("::%x", n+1), 1) },
			"]"+after, 20_000)
		arrays(schemas, s.Items, before+"[", "]"+after, at+"[]", out)
	case huma.TypeObject:
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			arrays(schemas, s.Properties[name], fmt.Sprintf(`%s{%q:`, before, name), "}"+after, at+"."+name,
				out)
		}
	case huma.TypeString:
		out[at+" long"] = before + `"` + strings.Repeat("a", most-len(before)-len(after)-2) + `"` + after
	}
}

// sample is a value of a schema.
func sample(schemas huma.Registry, s *huma.Schema) string {
	for s.Ref != "" {
		s = schemas.SchemaFromRef(s.Ref)
	}
	switch {
	case len(s.Enum) > 0:
		b, _ := json.Marshal(s.Enum[0])
		return string(b)
	case s.Type == huma.TypeObject:
		var out []string
		for _, name := range s.Required {
			out = append(out, fmt.Sprintf("%q:%s", name, sample(schemas, s.Properties[name])))
		}
		return "{" + strings.Join(out, ",") + "}"
	case s.Type == huma.TypeArray:
		return "[]"
	case s.Type == huma.TypeString:
		return `"2001:db8::1"`
	case s.Type == huma.TypeBoolean:
		return "true"
	}
	return "17"
}

// cost is what a request takes.
type cost struct {
	cpu   time.Duration
	alloc uint64
	code  int
}

// costOf makes a request, and up to three times more when it seems to cost too much: something else
// may have been at work in the process.
func costOf(
	s *Server, method, target, contentType, body string, headers []string, bound cost,
) (best cost) {
	for try := range 4 {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := processorTime()
		s.Handler().ServeHTTP(w, r)
		c := cost{cpu: processorTime() - began, code: w.Code}
		runtime.ReadMemStats(&after)
		c.alloc = after.TotalAlloc - before.TotalAlloc
		if try == 0 || c.cpu < best.cpu {
			best = c
		}
		if best.cpu <= bound.cpu && best.alloc <= bound.alloc {
			break
		}
	}
	return best
}

// processorTime returns the processor time of this process so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// slack multiplies the bounds of processor time, because a busy machine makes requests slower. The
// attacks that the bounds prevent cost a thousand times as much.
const slack = 6

// Bounds of a request with the greatest body: without credentials, and of a permitted principal.
var (
	strangersCost = cost{cpu: slack * 50 * time.Millisecond, alloc: 8 << 20}
	friendsCost   = cost{cpu: slack * 100 * time.Millisecond, alloc: 24 << 20}
)

var parameterRule = regexp.MustCompile(`\{[^}]*\}`)

// TestBodiesCostLittle: a body of 1 MiB of any shape costs little at every operation of the
// document, whoever sends it.
func TestBodiesCostLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("some 2,000 bodies of 1 MiB")
	}
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, _ := newTestServer(t, func(c *Config) { c.TokenFile = file })
	schemas := s.api.OpenAPI().Components.Schemas
	any := shapes()
	var worst [2]cost
	var worstAt [2]string
	tried, seen := 0, make(map[*huma.Schema]bool)
	try := func(who int, op *huma.Operation, target, contentType, name, body string) {
		bound, headers := strangersCost, []string(nil)
		if who == 1 {
			bound, headers = friendsCost, []string{"Authorization", "Bearer secret"}
		}
		c := costOf(s, op.Method, target, contentType, body, headers, bound)
		tried++
		if c.cpu > bound.cpu || c.alloc > bound.alloc {
			t.Errorf("%s %s, %s, credentials %d: %v of processor and %d KiB for an answer %d", op.Method,
				op.Path, name, who, c.cpu, c.alloc>>10, c.code)
		}
		if c.alloc > worst[who].alloc {
			worst[who], worstAt[who] = c, fmt.Sprintf("%s %s, %s", op.Method, op.Path, name)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.api.OpenAPI().Paths)) {
		item := s.api.OpenAPI().Paths[path]
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op == nil || endless(op.Path) {
				continue
			}
			target, contentType := parameterRule.ReplaceAllString(op.Path, "1"), "application/json"
			if op.Method == "PATCH" {
				contentType = mergePatchType
			}
			schema := bodySchema(op)
			again := schema != nil && seen[schema] || schema == nil && op.RequestBody == nil
			seen[schema] = true
			for name, body := range any {
				try(0, op, target, contentType, name, body)
				if !again {
					try(1, op, target, contentType, name, body)
				}
			}
			if schema == nil || again {
				continue
			}
			more := make(map[string]string)
			arrays(schemas, schema, "", "", "", more)
			for name, body := range more {
				try(1, op, target, contentType, name, body)
			}
		}
	}
	if tried < 2000 {
		t.Errorf("%d bodies were tried", tried)
	}
	for who, name := range []string{"without credentials", "with credentials"} {
		t.Logf("%s the worst of %d: %v, %d KiB, %d at %s", name, tried, worst[who].cpu,
			worst[who].alloc>>10, worst[who].code, worstAt[who])
	}
}

// TestQueriesAreBounded: so many parameters, and no more.
func TestQueriesAreBounded(t *testing.T) {
	s, _, _ := newTestServer(t)
	query := func(n int) string {
		return "?" + strings.TrimSuffix(strings.Repeat("dryRun=false&", n), "&")
	}
	if p := problemIn(t, do(s, "GET", sessionPath+query(maxParameters+1), ""), 400,
		"malformed"); !strings.Contains(p.Detail, "at most 64") {
		t.Error(p.Detail)
	}
	if p := problemIn(t, do(s, "GET", sessionPath+query(maxParameters), ""), 400,
		"malformed"); strings.Contains(p.Detail, "at most 64") {
		t.Error(p.Detail)
	}
}

// requestSchema is the schema of the bodies of an operation.
func requestSchema(t testing.TB, s *Server, path, method string) *huma.Schema {
	t.Helper()
	item := s.api.OpenAPI().Paths[path]
	if method == "PUT" {
		return bodySchema(item.Put)
	}
	return bodySchema(item.Post)
}

// TestWalksEnd: the walk of a body ends with enough faults, at an array that is too long, and when
// the client has left.
func TestWalksEnd(t *testing.T) {
	s, _, _ := newTestServer(t)
	schemas, groups := s.api.OpenAPI().Components.Schemas, requestSchema(t, s, groupsPath, "POST")
	receivers := func(n int) string {
		return repeated(`{"name":"g","spec":{"proxyAddress":"2001:db8::1","designatedQpn":17,`+
			`"source":{"address":"2001:db8::1","qpn":17},"receivers":[`, same(`{"address":"2001:db8::1",`+
			`"qpn":17}`), `]}}`, n)
	}
	walk := func(ctx context.Context, body string) *bodyWalk {
		return walked(ctx, schemas, groups, []byte(body), false)
	}
	if w := walk(t.Context(), receivers(1000)); len(w.result.Errors) > 0 || w.steps != 17+1000*5 {
		t.Errorf("%d steps, %v", w.steps, w.result.Errors)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if w := walk(gone, receivers(20_000)); w.steps > contextEvery {
		t.Errorf("%d steps for a client that has left", w.steps)
	}
	if p := s.shaped(gone, groups, []byte(receivers(20_000)), false); p == nil ||
		p.Code != codeTimeout {
		t.Errorf("%+v", p)
	}
	if w := walk(t.Context(), shapes()["unknown fields"]); w.steps > maxShapeFaults+2 ||
		len(w.result.Errors) != maxShapeFaults {
		t.Errorf("%d steps, %d faults", w.steps, len(w.result.Errors))
	}
	many := strings.Replace(receivers(1), `{"address":"2001:db8::1","qpn":17}]`,
		strings.Repeat("{},", 50_000)+"{}]", 1)
	if w := walk(t.Context(), many); w.steps > 100 || len(w.result.Errors) < maxShapeFaults ||
		len(w.result.Errors) > maxShapeFaults+2 {
		t.Errorf("%d steps, %d faults", w.steps, len(w.result.Errors))
	}
	// An array of an unbounded schema has a bound of its own.
	networks := requestSchema(t, s, "/v1/tenants", "POST")
	policies := func(n int) *bodyWalk {
		return walked(t.Context(), schemas, networks,
			[]byte(repeated(`{"name":"t","spec":{"sites":[],"policies":[`, same(`"p"`), `]}}`, n)), false)
	}
	has := func(w *bodyWalk) bool {
		return slices.ContainsFunc(w.result.Errors,
			func(err error) bool {
				return strings.Contains(err.(*huma.ErrorDetail).Message, "array length <=")
			})
	}
	if has(policies(maxItems)) || !has(policies(maxItems+1)) {
		t.Error("an array is not bounded at maxItems")
	}
}

// TestShapes: the findings of the walk that the scripts do not show.
func TestShapes(t *testing.T) {
	s, f, _ := newTestServer(t)
	good := groupBody("g1", 1)
	for _, c := range []struct {
		body, code, say string
		status          int
	}{
		{strings.Replace(good, `{"name":"g1"`, `{"name":"g1","name":"g2"`, 1), "malformed",
			"name is given twice: want it once", 400},
		{strings.Replace(good, `{"name":"g1"`, `{"name":"g1","n\u0061me":"g2"`, 1), "malformed",
			"name is given twice", 400},
		{strings.Replace(good, `"name"`, `"Name"`, 1), "malformed", "Name is given: want no such field",
			400},
		{strings.Replace(good, `"g1"`, "\"g\xff\"", 1), "malformed", "not UTF-8", 400},
		{strings.Replace(good, `"g1"`, `"`+strings.Repeat("g", 254)+`"`, 1), "invalid",
			"name is " + strings.Repeat("g", 64) + "…: want at most 63 characters (limit 63)", 422},
		{strings.Replace(good, `"qpn":33`, `"qpn":33,"b.c":[{"x":"]"}]`, 1), "malformed",
			"spec.source.b.c is given: want no such field", 400},
		{strings.Replace(good, `"qpn":33`, `"qpn":1e999`, 1), "malformed", "spec.source.qpn", 400},
		{strings.Replace(good, `"qpn":33`, `"qpn":3.5`, 1), "malformed",
			"spec.source.qpn is 3.5: want integer", 400},
		{strings.Replace(good, `"qpn":33`, `"qpn":{"a":1}`, 1), "malformed",
			`spec.source.qpn is {"a":1}: want integer`, 400},
		{`{"name":"g1","spec":null}`, "malformed", "spec is null: want object", 400},
		{strings.Replace(good, `"receivers"`, `"receivers":null,"x"`, 1), "malformed",
			"spec.x is given: want no such field", 400},
		{strings.Replace(good, `"qpn":33}`, `"qpn":33},"connect":{"port":1,"receivers":[null]}`, 1),
			"malformed", "spec.connect.receivers[0] is null: want string", 400},
		{good + "{}", "malformed", "body", 400},
		{good[:len(good)-1], "malformed", "unexpected end", 400},
		{`[]`, "malformed", "body is []: want object", 400},
		{`null`, "malformed", "body is null: want object", 400},
	} {
		p := problemIn(t, do(s, "POST", groupsPath, c.body), c.status, c.code)
		if !strings.Contains(p.Detail, c.say) {
			t.Errorf("%s: %q, want %q", c.body, p.Detail, c.say)
		}
	}
	if len(f.Groups.Items) > 0 {
		t.Fatal("something was changed")
	}
	// Ignored values do no harm, and names of any length may have escapes.
	for n, body := range []string{
		strings.Replace(groupBody("g2", 2), `{"name"`,
			`{"status":[[1,{"a":"}"}],"\"]"],"created":"2026-01-02T03:04:05Z","name"`, 1),
		strings.Replace(groupBody("g3", 3), `"name":"g3"`, "\t\n \"n\\u0061me\" : \"\\u00673\" ", 1),
	} {
		if w := do(s, "POST", groupsPath, body); w.Code != 201 {
			t.Errorf("%d: %d %s", n, w.Code, w.Body)
		}
	}
}

// FuzzShape: a walk of any JSON neither fails nor runs past its end, and a body without faults
// decodes.
func FuzzShape(f *testing.F) {
	f.Add([]byte(groupBody("g1", 1)), false)
	f.Add([]byte(`{"spec":{"receivers":[{"address":null}],"source":{"qpn":1e400}},"status":[{}," \"",[]]}`),
		true)
	s, _, _ := newTestServer(f)
	schema := requestSchema(f, s, groupsPath, "POST")
	f.Fuzz(func(t *testing.T, b []byte, partial bool) {
		text := slices.Clone(b)
		if p := s.shaped(t.Context(), schema, text, partial); p == nil && !json.Valid(text) {
			t.Errorf("%q became %q", b, text)
		}
		if len(text) != len(b) {
			t.Error("the text has another length")
		}
	})
}

// TestLongNames: the API refuses a name that is too long for its resource, with the start of the
// name and the bound, in the path of a PUT and in the body of a POST. Names that clients do not
// choose, such as host names, may be longer.
func TestLongNames(t *testing.T) {
	s, _, _ := newTestServer(t)
	for n, want := range map[int]string{
		63: "", 64: "want at most 63 characters (limit 63)", 253: "want at most 63 characters (limit 63)",
		254: "want at most 63 characters (limit 63)", 300: "want at most 63 characters (limit 63)"} {
		name := strings.Repeat("g", n)
		body := groupBody(name, 1)
		for _, w := range []*httptest.ResponseRecorder{do(s, "POST", groupsPath+"?dryRun=true", body),
			do(s, "PUT", groupsPath+"/"+name+"?dryRun=true", body)} {
			said := w.Body.String()
			if (w.Code/100 == 2) != (want == "") || want != "" &&
				(w.Code != 422 || !strings.Contains(said, want) || !strings.Contains(said, "gggg")) {
				t.Errorf("%d characters: %d %.300s", n, w.Code, said)
			}
		}
	}
	f, _ := newFabricServer(t, ev.ModeStructured)
	if w := do(f, "GET", "/v1/hosts/"+strings.Repeat("h", 253), ""); w.Code != http.StatusNotFound {
		t.Errorf("a host of 253 characters: %d %s", w.Code, w.Body)
	}
}
