package arch

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weft-sdn/weft/"

// root is the folder of the repository.
const root = "../.."

// allowed lists our folders that a folder may import (docs/architecture.md): "*" stands for any
// top-level folder but cmd and test, and for the parts in open. A folder below the top with its own
// line is a part of its parent: only folders that list the part may import the part.
var allowed = map[string][]string{
	"internal": {},
	// RDMA CM as a machine, for both ends
	"internal/rdmacm": {"packet"},
	"p4":              {},
	"api/hostapi":     {},
	"web":             {},
	"host/libmrc":     {},
	"packet":          {},
	"topology":        {"internal"},
	"southbound":      {"internal", "p4", "api/hostapi"},
	"api":             {"topology", "api/hostapi"},
	"api/client":      {"internal", "api"},
	"store":           {"internal"},
	"store/etcd":      {"store", "internal"},
	"access":          {"internal", "api", "store"},
	"service/cluster": {"internal", "store", "controller", "southbound"},
	"controller": {"internal", "access", "api", "store", "topology", "southbound", "packet", "p4",
		"api/hostapi", "southbound/target", "controller/reconcile", "internal/rdmacm"},
	// what schedulers get, as clients of the API
	"clients/scheduler": {"internal", "api", "api/client"},
	// what switches without P4 hold, made from what the API shows
	"southbound/target": {"api"},
	"northbound/causes": {"internal", "api", "topology"},
	"northbound": {"internal", "access", "api", "northbound/causes", "controller", "topology",
		"api/hostapi", "telemetry"},
	"dataplane": {"internal", "packet", "p4", "dataplane/bitfield", "dataplane/drop",
		"dataplane/engine", "dataplane/queue", "dataplane/trace", "dataplane/translated"},
	"host":         {"internal", "packet", "api/hostapi", "internal/rdmacm"},
	"host/hostrun": {"internal", "packet", "api", "host", "dataplane"},
	"host/mrchost": {"internal", "packet", "api", "api/hostapi", "host", "host/hostrun",
		"controller", "dataplane"},
	"host/rocehost": {"internal", "packet", "api", "host", "host/hostrun", "controller", "dataplane"},
	"telemetry":     {"internal", "api", "topology", "southbound"},
	"service": {"internal", "host", "access", "api", "service/cluster", "store", "topology",
		"southbound", "controller", "northbound", "northbound/causes", "telemetry", "p4", "api/hostapi",
		"web"},
	"lab": {"*", "controller/reconcile", "dataplane/drop", "dataplane/engine",
		"dataplane/trace"},
	"lab/demo": {"*", "api/client"},
	"test":     {"*", "test", "api/client", "store/etcd", "dataplane/engine"},
	"clients":  {},
	"cmd": {"*", "cmd", "api/client", "store/etcd", "dataplane/engine", "dataplane/trace",
		"dataplane/translated"},

	// The parts of the controller.
	"controller/reconcile": {"internal", "southbound", "store"},

	// The parts of the embedded switch, from the ground up.
	"dataplane/bitfield":   {},
	"dataplane/bmv2hash":   {"packet"},
	"dataplane/bmv2json":   {},
	"dataplane/extern":     {"dataplane/bitfield"},
	"dataplane/drop":       {},
	"dataplane/queue":      {"internal", "packet", "p4", "dataplane/drop"},
	"dataplane/table":      {"dataplane/bitfield"},
	"dataplane/trace":      {},
	"dataplane/ir":         {"dataplane/bitfield"},
	"dataplane/translated": {"dataplane/engine", "p4"},
	"dataplane/engine": {"packet", "dataplane/bitfield", "dataplane/bmv2hash", "dataplane/bmv2json",
		"dataplane/extern", "dataplane/ir",
		"dataplane/table", "dataplane/trace"},
}

// open lists parts of a folder that other folders import as they import a top-level folder.
var open = []string{"api/hostapi", "clients/scheduler", "host/hostrun", "host/mrchost",
	"host/rocehost", "lab/demo", "northbound/causes", "service/cluster", "southbound/target"}

// onlyIn lists packages with the only packages that may import them: features of the controller
// meet in its composition alone, and know each other by the seam.
var onlyIn = map[string][]string{
	"controller/underlay":  {"controller"},
	"controller/multicast": {"controller"},
	"controller/connect":   {"controller"},
	"controller/pfc":       {"controller"},
	"controller/orphan":    {"controller"},
	"controller/port":      {"controller"},
	"controller/networks":  {"controller"},
	"controller/project":   {"controller"},
	"controller/job":       {"controller"},
	"controller/leases":    {"controller"},

	"controller/maintenance":  {"controller"},
	"controller/silence":      {"controller"},
	"controller/notification": {"controller"},
	"controller/discovery":    {"controller", "northbound", "northbound/northboundtest"},
	"controller/neighbor":     {"controller", "northbound", "northbound/northboundtest"},

	"controller/multicast/tree": {"controller/connect", "controller/multicast",
		"controller/multicast/member", "test/bench"},
	"controller/multicast/member": {"controller/connect", "controller/multicast"},
	"controller/pfc/tunnel":       {"controller/pfc", "controller/inventory", "test/bench"},

	"controller/feature": {"controller", "controller/underlay", "controller/multicast",
		"controller/connect", "controller/pfc", "controller/orphan", "controller/port",
		"controller/networks", "controller/discovery", "controller/neighbor", "controller/project",
		"controller/job", "controller/leases", "controller/maintenance", "controller/silence",
		"controller/notification"},
}

// floors lists pure packages, with all of our packages that a pure package may import. A pure
// package knows nothing else of its parent folder.
var floors = map[string][]string{
	"controller/mrc": {"access", "api", "controller/fabricview", "controller/inventory",
		"controller/job/lease",
		"controller/job/ready",
		"controller/kind", "controller/mrc/ev", "controller/mrc/fabric", "controller/mrc/flows",
		"controller/mrc/prove", "controller/resource", "api/hostapi", "internal/natural",
		"internal/plain", "packet", "southbound/hosts", "store", "topology"},
	"controller/mrc/fabric": {"api", "controller/inventory", "controller/mrc/ev", "api/hostapi",
		"internal/damping", "internal/natural", "topology"},
	"controller/mrc/flows": {"api", "api/hostapi", "controller/inventory", "controller/job/layout",
		"controller/mrc/ev", "controller/mrc/fabric", "internal/maxmin", "topology"},
	"controller/mrc/prove": {"api", "controller/inventory", "controller/mrc/ev",
		"controller/mrc/fabric", "controller/mrc/selfprobe", "controller/mrc/suspect", "api/hostapi",
		"internal/natural", "topology"},
	"controller/mrc/selfprobe": {"api", "api/hostapi", "controller/mrc/ev", "controller/mrc/fabric",
		"topology"},
	"controller/mrc/suspect": {"topology"},
	"controller/mrc/ev":      {"api/hostapi", "internal/natural", "packet", "topology"},
	"controller/job/layout":  {"api"},
	"controller/job/lease":   {"api", "topology"},
	"controller/job/ready":   {"api", "api/hostapi"},
	"controller/plan": {"api", "controller/inventory", "controller/mrc/ev", "p4", "packet",
		"southbound/entry", "topology"},
	"controller/multicast/tree": {"api", "controller/inventory", "controller/plan", "p4",
		"southbound/entry", "topology"},
	"controller/pfc/tunnel": {"api", "packet", "topology"},
}

// impure are packages that a pure one has no use for.
var impure = []string{"io", "log", "log/slog", "net", "net/http", "os"}

// TestPureParts: the packages in floors import what they rest on, start no goroutine and read no
// clock.
func TestPureParts(t *testing.T) {
	found := make(map[string]bool)
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		floor, ok := floors[name]
		if !ok {
			continue
		}
		found[name] = true
		for _, imp := range p.Imports {
			ours, isOurs := strings.CutPrefix(imp, module)
			if isOurs && !slices.Contains(floor, ours) || slices.Contains(impure, imp) {
				t.Errorf("%s imports %s: of ours it may import %v", name, imp, floor)
			}
		}
	}
	for name := range floors {
		if !found[name] {
			t.Errorf("there is no package %s", name)
		}
	}
	for _, s := range handwritten(t) {
		if floors[path.Dir(s.path)] != nil && !strings.HasSuffix(s.path, "_test.go") {
			for _, fault := range impurities(s) {
				t.Error(fault)
			}
		}
	}
	s := parse(t, "p.go", "package p\nfunc f() { go f(); time.Now(); time.Unix(0, 0) }")
	if got := impurities(s); len(got) != 2 {
		t.Errorf("%q, want the goroutine and the clock", got)
	}
}

// impurities returns where a file starts a goroutine or reads a clock.
func impurities(s source) (found []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, fmt.Sprintf("%v: a goroutine", s.pos.Position(n.Pos())))
		case *ast.SelectorExpr:
			clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer",
				"NewTicker", "Tick"}
			x, ok := n.X.(*ast.Ident)
			if ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
				found = append(found, fmt.Sprintf("%v: a clock", s.pos.Position(n.Pos())))
			}
		}
		return true
	})
	return found
}

// TestFeaturesMeetInOnePlace: no import of a package in onlyIn but from where it may be.
func TestFeaturesMeetInOnePlace(t *testing.T) {
	found := make(map[string]bool)
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		found[from] = true
		for _, imp := range p.Imports {
			if may, ok := onlyIn[strings.TrimPrefix(imp, module)]; ok && !slices.Contains(may, from) {
				t.Errorf("%s imports %s, which only %v may", from, imp, may)
			}
		}
	}
	for name := range onlyIn {
		if !found[name] {
			t.Errorf("there is no package %s", name)
		}
	}
}

// wrapped lists the libraries whose types stop at one folder each.
var wrapped = map[string][]string{
	"github.com/osrg/gobgp/":          {"topology/bgpls"},
	"go.etcd.io/":                     {"store/etcd"},
	"go.uber.org/zap":                 {"store/etcd"},
	"github.com/danielgtaylor/":       {"northbound"},
	"github.com/spf13/cobra":          {"cmd"},
	"github.com/gopacket/":            {"test"},
	"github.com/goccy/go-yaml/parser": {"internal/strictyaml"},
	"github.com/goccy/go-yaml/lexer":  {"internal/strictyaml"},
	"google.golang.org/grpc": {"southbound", "dataplane", "api/hostapi", "host/agent", "host/mrchost",
		"internal/certs", "internal/sonicdb", "store/etcd", "telemetry/otlp", "lab", "test", "cmd"},
	"github.com/openconfig/gnmi":  {"southbound", "dataplane/gnmi", "internal/sonicdb", "test"},
	"github.com/p4lang/p4runtime": {"p4", "southbound", "dataplane", "controller", "lab", "test"},
}

type goPackage struct {
	ImportPath                string
	Imports                   []string
	TestImports, XTestImports []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports",
		module+"...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < len(allowed) {
		t.Fatalf("go list found %d packages only", len(all))
	}
	return all
}

// folder returns the folder that a package counts to: the package's own folder or the longest
// parent folder with a line in the table of allowed imports.
func folder(path string) string {
	name := strings.TrimPrefix(path, module)
	for {
		if _, ok := allowed[name]; ok {
			return name
		}
		up := strings.LastIndexByte(name, '/')
		if up < 0 {
			return name
		}
		name = name[:up]
	}
}

// TestImportsPointInward: no arrow but those of docs/architecture.md.
func TestImportsPointInward(t *testing.T) {
	for _, p := range packages(t) {
		from := folder(p.ImportPath)
		ok, known := allowed[from]
		if !known {
			t.Errorf("%s: folder %s is not in the table of allowed imports", p.ImportPath, from)
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module) {
				continue
			}
			to := folder(imp)
			any := slices.Contains(ok, "*") && to != "cmd" && to != "test" &&
				(!strings.Contains(to, "/") || slices.Contains(open, to))
			if to != from && !any && !slices.Contains(ok, to) {
				t.Errorf("%s imports %s: %s may import %v", p.ImportPath, imp, from, ok)
			}
		}
	}
}

// TestLibrariesAreWrapped: the big dependencies show in one place each.
func TestLibrariesAreWrapped(t *testing.T) {
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		for _, imp := range p.Imports {
			for library, places := range wrapped {
				if strings.HasPrefix(imp, library) && !slices.ContainsFunc(places, func(place string) bool {
					return path == place || strings.HasPrefix(path, place+"/")
				}) {
					t.Errorf("%s imports %s, which belongs in %v", path, imp, places)
				}
			}
		}
	}
}
