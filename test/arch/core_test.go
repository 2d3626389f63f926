package arch

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mostFunctions bounds the fields of function type in a struct of functionStructs. A field of
// function type acts like a method of an interface.
const mostFunctions = 5

// functionStructs are the names of structs that hand functions to a part.
var functionStructs = map[string]bool{"Options": true, "Config": true, "Env": true, "Outside": true}

// manyFunctions lists structs over mostFunctions with the number. A number only goes down.
var manyFunctions = map[string]int{
	"controller/reconcile/reconciler.go Config": 6,
	"northbound/config.go Config":               7,
	"service/cluster/node.go Config":            7,
}

// TestFewFunctions: parts hand each other interfaces and data, not bundles of functions.
func TestFewFunctions(t *testing.T) {
	for _, s := range handwritten(t) {
		if strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !functionStructs[spec.Name.Name] {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			functions := 0
			for _, f := range fields.Fields.List {
				if _, ok := f.Type.(*ast.FuncType); ok {
					functions += len(f.Names)
				}
			}
			name := s.path + " " + spec.Name.Name
			switch most, listed := manyFunctions[name]; {
			case listed && functions != most:
				t.Errorf("%s has %d functions: set its number in manyFunctions to that if it is fewer "+
					"than %d, and take it out at %d", name, functions, most, mostFunctions)
			case !listed && functions > mostFunctions:
				t.Errorf("%s has %d functions, want at most %d: an interface, or data", name, functions,
					mostFunctions)
			}
			return true
		})
	}
}

// wallClock is a reading of the clock of the machine, or a wait by it.
var wallClock = regexp.MustCompile(`\btime\.(Now|After|NewTimer|NewTicker)\(`)

// clocked lists files of controller/ with the number of readings of the clock. A number only goes
// down. The ledger and connections may read the clock.
var clocked = map[string]int{
	"controller/mrc/runner/follower.go": 1,
	"controller/mrc/runner/runner.go":   1,
	"controller/mrc/runner/switches.go": 2,
	"controller/notify.go":              1,
	"controller/runner.go":              1,
	"controller/standby.go":             4,
	"controller/turns.go":               1,
}

// TestTimeIsPassedIn: the core gets the time as an input and runs in virtual time.
func TestTimeIsPassedIn(t *testing.T) {
	found := make(map[string]int)
	for _, s := range handwritten(t) {
		if strings.HasPrefix(s.path, "controller/") && !strings.HasSuffix(s.path, "_test.go") &&
			!strings.HasPrefix(s.path, "controller/ledger/") && s.path != "controller/connection.go" {
			found[s.path] = len(wallClock.FindAllString(s.text, -1))
		}
	}
	for path, n := range found {
		if n > clocked[path] {
			t.Errorf("%s reads the clock %d times, want at most %d: take the time from the core", path, n,
				clocked[path])
		}
	}
	for path, n := range clocked {
		if found[path] < n {
			t.Errorf("%s reads the clock %d times: set its number in clocked to that", path, found[path])
		}
	}
}

// offered finds the method of the core for each kind with records.
var offered = regexp.MustCompile(`\boffer\(\w+\.\w+, \(\*Core\)\.(\w+),`)

// TestFaultsOfKinds: test/faults puts resources of every kind with records.
func TestFaultsOfKinds(t *testing.T) {
	kinds, err := os.ReadFile(filepath.Join(root, "controller/kinds.go"))
	if err != nil {
		t.Fatal(err)
	}
	var faults strings.Builder
	for _, s := range handwritten(t) {
		if strings.HasPrefix(s.path, "test/faults/") {
			faults.WriteString(s.text)
		}
	}
	all := offered.FindAllStringSubmatch(string(kinds), -1)
	if len(all) < 10 {
		t.Fatalf("found %d kinds only", len(all))
	}
	for _, m := range all {
		if !strings.Contains(faults.String(), "."+m[1]+"().Put(") {
			t.Errorf("no test of test/faults puts %s", m[1])
		}
	}
}
