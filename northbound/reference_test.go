package northbound

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/test/reference"
)

const generated = "Generated from the program by `go test ./northbound -run TestReference " +
	"-update`.\n\n"

// TestReference: the pages of docs/reference about the API are those that the program makes.
func TestReference(t *testing.T) {
	s, _, _ := newTestServer(t)
	for name, text := range map[string]string{"api.md": apiPage(s), "metrics.md": metricsPage(),
		"events.md": eventsPage(t), "errors.md": errorsPage(t)} {
		reference.Page(t, "..", name, text, *update)
	}
}

// apiPage has the operations of the OpenAPI document with their scopes, and the fields of objects.
func apiPage(s *Server) string {
	var page strings.Builder
	page.WriteString("# REST API: operations and fields\n\n" + generated +
		"[api.md](../api.md) has the rules and examples, [access.md](../access.md) who has which " +
		"scope.\n\n" +
		"## Operations\n\n" + reference.Head("operation", "effect", "parameters", "scope"))
	operations := operationsOf(s)
	byPath := func(a, b string) int {
		_, pathA, _ := strings.Cut(a, " ")
		_, pathB, _ := strings.Cut(b, " ")
		return cmp.Or(cmp.Compare(pathA, pathB), cmp.Compare(a, b))
	}
	for _, at := range slices.SortedFunc(maps.Keys(operations), byPath) {
		op := operations[at]
		var parameters []string
		for _, p := range op.Parameters {
			if p.In == "query" {
				parameters = append(parameters, "`"+p.Name+"`")
			}
		}
		scope, _ := scopeOf(op)
		page.WriteString(reference.Row("`"+at+"`", op.Summary, strings.Join(parameters, ", "),
			"`"+string(scope)+"`"))
	}
	page.WriteString("\n## Objects\n\nA field with * is required.\n")
	schemas := s.api.OpenAPI().Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		schema := schemas[name]
		if len(schema.Properties) == 0 {
			continue
		}
		fmt.Fprintf(&page, "\n### %s\n\n%s", name, reference.Head("field", "type", "meaning"))
		for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
			of, mark := schema.Properties[field], ""
			if slices.Contains(schema.Required, field) {
				mark = "*"
			}
			page.WriteString(reference.Row("`"+field+"`"+mark, typeIn(of), of.Description))
		}
	}
	return page.String()
}

// typeIn returns the type of a field with its bounds, and a link to the object that it holds.
func typeIn(s *huma.Schema) string {
	if s.Ref != "" {
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	}
	if s.Items != nil {
		return "list of " + typeIn(s.Items)
	}
	parts := []string{cmp.Or(s.Format, s.Type, "any value")}
	for _, v := range s.Enum {
		parts = append(parts, fmt.Sprintf("`%v`", v))
	}
	for name, bound := range map[string]*float64{"from ": s.Minimum, "to ": s.Maximum} {
		if bound != nil {
			parts = append(parts, name+strconv.FormatFloat(*bound, 'f', -1, 64))
		}
	}
	slices.Sort(parts[1:])
	if s.MaxLength != nil {
		parts = append(parts, fmt.Sprintf("%d characters at most", *s.MaxLength))
	}
	return strings.Join(parts, ", ")
}

// metricsPage has the metrics of GET /metrics.
func metricsPage() string {
	m, described := NewRequests(), make(chan *prometheus.Desc, 256)
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.watchers, m.rejected,
		m.unaudited, &controllerCollector{}, &bgpCollector{}, &causeCollector{}, &certificateCollector{},
		clusterCollector{}, diskCollector{}, &fabricCollector{}, &losslessCollector{},
		&notificationCollector{}, telemetryCollector{}} {
		c.Describe(described)
	}
	close(described)
	var all []*prometheus.Desc
	for d := range described {
		all = append(all, d)
	}
	return "# Metrics of the controller\n\n" + generated + "`GET /metrics` also has Go's own " +
		"(`go_*`, `process_*`), `weft_build_info`, and with `telemetry.otlp` " +
		"`weft_otlp_exports_total`.\n\n" +
		reference.Metrics(all)
}

// constants returns the comments of the constants of some files, by type and value; the type of
// constants without one is "", or "reason" where their name begins so.
func constants(t *testing.T, pattern string) map[string]map[string]string {
	said := make(map[string]map[string]string)
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			of := ""
			if name, ok := v.Type.(*ast.Ident); ok {
				of = name.Name
			} else if strings.HasPrefix(strings.ToLower(v.Names[0].Name), "reason") {
				of = "reason"
			}
			value, isText := v.Values[0].(*ast.BasicLit)
			if !isText {
				return true
			}
			if said[of] == nil {
				said[of] = make(map[string]string)
			}
			text, _ := strconv.Unquote(value.Value)
			said[of][text] = strings.TrimPrefix(cmp.Or(v.Comment.Text(), v.Doc.Text()),
				v.Names[0].Name+": ")
			return true
		})
	}
	return said
}

// errorsPage has the codes of problems, with the comments of their constants.
func errorsPage(t *testing.T) string {
	page := "# Errors\n\n" + generated + "[api.md](../api.md#errors) has the form of a problem.\n\n" +
		reference.Head("status", "code", "title", "when")
	ofAPI, own := constants(t, "../api/problem.go")["Code"], constants(t, "problem.go")[""]
	byStatus := func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[a].status, kinds[b].status), cmp.Compare(a, b))
	}
	for _, code := range slices.SortedFunc(maps.Keys(kinds), byStatus) {
		when := cmp.Or(ofAPI[code], own[code])
		if when == "" {
			t.Errorf("the constant of %s has no comment", code)
		}
		page += reference.Row(strconv.Itoa(kinds[code].status), "`"+code+"`", kinds[code].title, when)
	}
	return page
}

// eventsPage returns the page of the types of events and conditions, with their comments in package
// api.
func eventsPage(t *testing.T) string {
	said := constants(t, "../api/*.go")
	var page strings.Builder
	page.WriteString("# Events and conditions\n\n" + generated + "[api.md](../api.md#events) has " +
		"the stream of events.\n\n## Events\n\n" + reference.Head("type", "when"))
	for _, name := range api.EventTypes() {
		page.WriteString(reference.Row("`"+string(name)+"`", said["EventType"][string(name)]))
	}
	page.WriteString("\n## Conditions\n\n" + reference.Head("type", "meaning"))
	for _, name := range slices.Sorted(maps.Keys(said["ConditionType"])) {
		page.WriteString(reference.Row("`"+name+"`", said["ConditionType"][name]))
	}
	page.WriteString("\n## Reasons of conditions\n\n" + reference.Head("reason", "condition, meaning"))
	reasons := constants(t, "../controller/mrc/*.go")["reason"]
	maps.Copy(reasons, said["reason"])
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		page.WriteString(reference.Row("`"+name+"`", reasons[name]))
	}
	return page.String()
}
