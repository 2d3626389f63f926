// Package libraries runs the examples of docs/libraries.md against libraries made from the source
// beside the page.
package libraries

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/topology"
)

// example returns the one example of docs/libraries.md in a language.
func example(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/libraries.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\n```" + language + "\n(.*?)```")
	found := block.FindAllStringSubmatch(string(text), -1)
	if len(found) != 1 {
		t.Fatalf("docs/libraries.md has %d examples in %s, want 1", len(found), language)
	}
	return found[0][1]
}

// needs skips a test where a program is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not on the PATH", p)
		}
	}
}

// write writes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// try runs a program in a folder with more variables, and returns all that it writes.
func try(t *testing.T, dir string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run is try for a program that must not fail.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := try(t, dir, env, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// root returns the folder of the source.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// serve runs an API that knows three switches, and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	server, err := northbound.New(northbound.DefaultConfig(),
		northboundtest.NewController(topology.NewBuilder().Build()),
		northbound.NewEvents(16, northboundtest.Began))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler())
	t.Cleanup(web.Close)
	return web.URL
}

// shown is what the examples for Go and TypeScript print of that API.
const shown = "n1 true\nn6 true\nn9 false\n"

// TestGo: a foreign module compiles and runs the example for Go. The program contains nothing from
// Weft's server, and only seven modules beside Weft.
func TestGo(t *testing.T) {
	dir, src := t.TempDir(), root(t)
	sums, err := os.ReadFile(filepath.Join(src, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(src, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, requires, _ := strings.Cut(string(module), "\nrequire (") // the versions that are there
	requires, _, _ = strings.Cut(requires, "\ntool (")
	write(t, dir, map[string]string{"main.go": example(t, "go"), "go.sum": string(sums),
		"go.mod": "module example.org/program\n\ngo 1.26.0\n\nrequire github.com/weft-sdn/weft v0.0.0\n" +
			"replace github.com/weft-sdn/weft => " + src + "\n\nrequire (" + requires})
	env := []string{"GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off"}
	run(t, dir, env, "go", "build", "-o", "program", ".")
	if out := run(t, dir, nil, "./program", serve(t)); out != shown {
		t.Errorf("the example printed\n%swant\n%s", out, shown)
	}
	out := run(t, dir, env, "go", "list", "-deps", "-f",
		"{{if not .Standard}}{{.Module.Path}} {{.ImportPath}}{{end}}", ".")
	var modules, ours []string
	for line := range strings.Lines(out) {
		of, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch of {
		case "example.org/program":
		case "github.com/weft-sdn/weft":
			ours = append(ours, strings.TrimPrefix(path, of+"/"))
		default:
			modules = append(modules, of)
		}
	}
	slices.Sort(ours)
	slices.Sort(modules)
	if want := []string{"api", "api/client", "api/hostapi", "api/hostapi/hostpb", "internal/certs",
		"internal/strictyaml", "topology",
		"topology/static"}; !slices.Equal(ours, want) {
		t.Errorf("the client is made of %v, want %v", ours, want)
	}
	if got, want := slices.Compact(modules), []string{"github.com/goccy/go-yaml", "golang.org/x/net",
		"golang.org/x/sys", "golang.org/x/text", "google.golang.org/genproto/googleapis/rpc",
		"google.golang.org/grpc", "google.golang.org/protobuf"}; !slices.Equal(got, want) {
		t.Errorf("the client takes %v, want %v", got, want)
	}
}

// TestTypeScript: tsc compiles the example with the packed types, and refuses an example with a
// wrong field.
func TestTypeScript(t *testing.T) {
	needs(t, "node", "npm", "make")
	src, dir := root(t), t.TempDir()
	modules := filepath.Join(src, "web/node_modules")
	if _, err := os.Stat(filepath.Join(modules, ".bin/tsc")); err != nil {
		t.Skip("web/node_modules has no tsc: make web")
	}
	run(t, src, nil, "make", "-s", "npm", "NPM="+dir)
	packed, err := filepath.Glob(filepath.Join(dir, "weft-sdn-api-*.tgz"))
	if err != nil || len(packed) != 1 {
		t.Fatalf("%v, %v: want one package", packed, err)
	}
	write(t, dir, map[string]string{"package.json": "{}", "list.mts": example(t, "ts"),
		"wrong.mts": strings.Replace(example(t, "ts"), "s.connected", "s.conected", 1)})
	run(t, dir, nil, "npm", "install", "--offline", "--no-audit", "--no-fund", packed[0])
	tsc := func(file string) (string, error) {
		return try(t, dir, nil, filepath.Join(modules, ".bin/tsc"), "--strict", "--module", "nodenext",
			"--target", "es2023", "--types", "node", "--typeRoots", filepath.Join(modules, "@types"), file)
	}
	if out, err := tsc("list.mts"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out := run(t, dir, nil, "node", "list.mjs", serve(t)); out != shown {
		t.Errorf("the example printed\n%swant\n%s", out, shown)
	}
	out, err := tsc("wrong.mts")
	if err == nil || !strings.Contains(out, "'conected' does not exist") {
		t.Errorf("a field that no switch has: %v\n%s", err, out)
	}
}

// TestC: the example for C compiles with the flags from pkg-config, and prints why connecting
// fails.
func TestC(t *testing.T) {
	needs(t, "cc", "make", "pkg-config")
	dir := t.TempDir()
	write(t, dir, map[string]string{"source.c": example(t, "c")})
	if out, err := try(t, dir, nil, "sh", "-c",
		"echo '#include <rdma/rdma_cma.h>' | cc -E -x c - >/dev/null"); err != nil {
		t.Skipf("no <rdma/rdma_cma.h>: apt-get install librdmacm-dev libibverbs-dev\n%s", out)
	}
	run(t, root(t), nil, "make", "-s", "-C", "clients/c", "OUT="+dir+"/lib")
	run(t, dir, []string{"PKG_CONFIG_PATH=" + dir + "/lib"}, "sh", "-c",
		"cc -Wall -Wextra -Werror -o source source.c $(pkg-config --cflags --libs weft)")
	out, err := try(t, dir, nil, "./source", "no address")
	if want := "no address: Invalid argument\n"; err == nil || out != want {
		t.Errorf("without a group: %v, %q, want %q", err, out, want)
	}
}

// TestPython: pip makes two equal wheels without a network, and installs the wheel; the example for
// Python prints why connecting fails.
func TestPython(t *testing.T) {
	needs(t, "python3")
	src, dir := root(t), t.TempDir()
	if out, err := try(t, dir, nil, "python3", "-c", "import ensurepip, venv"); err != nil {
		t.Skipf("python3 has no pip: apt-get install python3-venv\n%s", out)
	}
	write(t, dir, map[string]string{"source.py": example(t, "python")})
	run(t, dir, nil, "python3", "-m", "venv", "env")
	pip := func(args ...string) {
		t.Helper()
		run(t, dir, nil, "env/bin/python", append([]string{"-m", "pip",
			"--disable-pip-version-check"}, args...)...)
	}
	var wheels []string
	for _, to := range []string{"one", "two"} {
		pip("wheel", "--no-index", "--no-deps", "--no-cache-dir", "-w", to,
			filepath.Join(src, "clients/python"))
		text, err := os.ReadFile(filepath.Join(dir, to, "weft_sdn-0-py3-none-any.whl"))
		if err != nil {
			t.Fatal(err)
		}
		wheels = append(wheels, string(text))
	}
	if wheels[0] != wheels[1] {
		t.Error("two wheels of the same source differ")
	}
	pip("install", "--no-index", "one/weft_sdn-0-py3-none-any.whl")
	out, err := try(t, dir, nil, "env/bin/python", "source.py", "no address")
	if err == nil || !strings.HasPrefix(out, "no address: ") {
		t.Errorf("without a group: %v, %q", err, out)
	}
}
