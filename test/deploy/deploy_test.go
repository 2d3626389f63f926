// Package deploy tests the files of deploy/ against what controllers and switches serve.
package deploy

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/host/mrchost"
)

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var metric = regexp.MustCompile(`\bweft_[a-z0-9_]+`)

// served returns the names of metrics in the sources of controllers and switches.
func served(t *testing.T) map[string]bool {
	t.Helper()
	quoted := regexp.MustCompile(`"(weft_[a-z0-9_]+)"`)
	out := map[string]bool{}
	for _, dir := range []string{"northbound", "dataplane/live/metrics", "dataplane/p4rt",
		"cmd/weft"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
				out[m[1]] = true
			}
		}
	}
	if len(out) < 50 {
		t.Fatalf("only %d metrics found", len(out))
	}
	return out
}

type rules struct {
	Groups []struct {
		Rules []struct{ Record, Alert, Expr string }
	}
}

// expressions returns the expressions of rules and of the dashboard, by their place.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, file := range []string{"weft.rules.yml", "weft.alerts.yml"} {
		var r rules
		if err := yaml.Unmarshal([]byte(read(t, "deploy/prometheus/"+file)), &r); err != nil {
			t.Fatal(err)
		}
		for _, g := range r.Groups {
			for _, rule := range g.Rules {
				out[file+": "+rule.Record+rule.Alert] = rule.Expr
			}
		}
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "deploy/grafana/weft.json")), &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			out["weft.json: "+p.Title+": "+target.Expr] = target.Expr
		}
	}
	return out
}

// TestMetricsExist: programs serve each metric that rules and the dashboard ask for.
func TestMetricsExist(t *testing.T) {
	known := served(t)
	all := expressions(t)
	if len(all) < 50 {
		t.Fatalf("only %d expressions found", len(all))
	}
	var records []string
	for where := range all {
		if _, name, ok := strings.Cut(where, "weft.rules.yml: "); ok {
			records = append(records, name)
		}
	}
	for where, expr := range all {
		for _, name := range metric.FindAllString(expr, -1) {
			base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"),
				"_sum")
			if !known[name] && !known[base] {
				t.Errorf("%s: nothing serves %s", where, name)
			}
		}
		for _, name := range regexp.MustCompile(`\bweft:[a-z0-9_:]+`).FindAllString(expr, -1) {
			if !slices.Contains(records, name) {
				t.Errorf("%s: no rule records %s", where, name)
			}
		}
	}
}

// TestRules: Prometheus's own tool accepts the rules, and their cases hold.
func TestRules(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not on the PATH: apt-get install prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "weft.rules.yml", "weft.alerts.yml"},
		{"test", "rules", "weft.test.yml"}} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = filepath.Join(root, "deploy/prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
}

// TestUnit: the unit takes unneeded rights from the controller, and systemd rates the unit
// accordingly.
func TestUnit(t *testing.T) {
	const file = "deploy/systemd/weft.service"
	unit := read(t, file)
	for _, want := range []string{
		"DynamicUser=yes", "CapabilityBoundingSet=CAP_NET_BIND_SERVICE", "NoNewPrivileges=yes",
		"ProtectSystem=strict", "ProtectHome=yes",
		"ProtectProc=invisible", "ProtectClock=yes", "ProtectControlGroups=yes", "ProtectHostname=yes",
		"ProtectKernelLogs=yes", "ProtectKernelModules=yes",
		"ProtectKernelTunables=yes", "PrivateDevices=yes", "PrivateTmp=yes", "RemoveIPC=yes",
		"RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX",
		"RestrictNamespaces=yes", "RestrictRealtime=yes", "RestrictSUIDSGID=yes", "LockPersonality=yes",
		"MemoryDenyWriteExecute=yes",
		"SystemCallArchitectures=native", "SystemCallFilter=@system-service",
		"SystemCallFilter=~@privileged @resources", "SystemCallErrorNumber=EPERM", "UMask=0077",
	} {
		if !strings.Contains(unit, "\n"+want+"\n") {
			t.Errorf("%s lacks %s", file, want)
		}
	}
	// The controller takes the size of the machine's memory from /proc/meminfo.
	if strings.Contains(unit, "\nProcSubset=pid\n") {
		t.Errorf("%s hides /proc/meminfo", file)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not on the PATH: apt-get install systemd")
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true",
		"--no-pager", filepath.Join(root, file)).CombinedOutput()
	if strings.Contains(string(out), "nrecognized option") {
		t.Skip("systemd-analyze has no --offline: it is older than 250")
	}
	rating := regexp.MustCompile(`Overall exposure level for \S+ ([0-9.]+)`).FindSubmatch(out)
	if rating == nil {
		t.Fatalf("%v: %s", err, out)
	}
	if exposure, err := strconv.ParseFloat(string(rating[1]), 64); err != nil || exposure >= 3 {
		t.Errorf("the exposure is %s: want less than 3.0", rating[1])
	}
}

// TestUnits: every unit runs a command of weft whose flags exist, under a user of its own, with one
// capability at most, and the documents name the unit.
func TestUnits(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "deploy/systemd/*.service"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v: want the units of controller, switch and NIC", files, err)
	}
	pages := read(t, "docs/operations.md") + read(t, "docs/reference/cli.md") +
		read(t, "docs/libmrc.md") + read(t, "docs/agent.md")
	for _, file := range files {
		name := filepath.Base(file)
		unit := strings.ReplaceAll(read(t, "deploy/systemd/"+name), "\\\n", " ")
		start := regexp.MustCompile(`(?m)^ExecStart=weft (\S+)(.*)$`).
			FindStringSubmatch(unit)
		if start == nil {
			t.Errorf("%s starts no command of weft", name)
			continue
		}
		for _, flag := range regexp.MustCompile(`--[a-z0-9-]+`).FindAllString(start[2], -1) {
			if !strings.Contains(pages, "`"+flag) && !strings.Contains(pages, flag+" ") {
				t.Errorf("%s: no page has %s of weft %s", name, flag, start[1])
			}
		}
		bound := regexp.MustCompile(`(?m)^CapabilityBoundingSet=(CAP_\w+)?$`)
		user := regexp.MustCompile(`(?m)^(DynamicUser=yes|User=weft-\w+)$`)
		if !bound.MatchString(unit) || !user.MatchString(unit) ||
			!strings.Contains(unit, "\nNoNewPrivileges=yes\n") {
			t.Errorf("%s: want a user of its own with one capability at most, and no way to more", name)
		}
		for _, m := range regexp.MustCompile(`%d/(\S+)`).FindAllStringSubmatch(unit, -1) {
			if !strings.Contains(unit, "\nLoadCredential="+m[1]+":") {
				t.Errorf("%s uses %s, which it does not load", name, m[0])
			}
		}
		if !strings.Contains(pages, name) {
			t.Errorf("no page names %s", name)
		}
	}
	if !strings.Contains(pages, "LoadCredential=") {
		t.Error("docs/operations.md: nothing about LoadCredential")
	}
}

// TestChart: the golden files belong to the present chart, and a controller or a NIC takes each
// configuration in them.
func TestChart(t *testing.T) {
	const dir = "test/chart/testdata/"
	sources := 0
	for line := range strings.Lines(read(t, dir+"sources.sha256")) {
		sum, path, _ := strings.Cut(strings.TrimSpace(line), "  ")
		text, err := os.ReadFile(filepath.Join(root, "test/chart", path))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(text)) != sum {
			t.Errorf("%s has changed since the golden files were made (%v): make test-chart "+
				"UPDATE=-update", path, err)
		}
		sources++
	}
	have := 0
	err := filepath.WalkDir(filepath.Join(root, "deploy/helm/weft"),
		func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				have++
			}
			return err
		})
	golden, err2 := filepath.Glob(filepath.Join(root, dir, "*.golden.yaml"))
	if err = errors.Join(err, err2); err != nil || have+len(golden) != sources {
		t.Errorf("the chart has %d files and %d of values, and sums of %d are kept (%v): make "+
			"test-chart UPDATE=-update", have, len(golden), sources, err)
	}
	for _, path := range golden {
		name := filepath.Base(path)
		for _, document := range strings.Split(read(t, dir+name), "\n---\n") {
			var m struct {
				Kind     string
				Metadata struct{ Name string }
				Data     map[string]string
			}
			if err := yaml.Unmarshal([]byte(document), &m); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for file, text := range m.Data {
				if m.Metadata.Name == "weft-nic" {
					if _, err := mrchost.Load(file, []byte(text)); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				} else if inv, err := inventory.Load([]byte(text)); err != nil ||
					inv.Cluster.Name+".yaml" != file || !inv.Cluster.Etcd.On() {
					t.Errorf("%s: %s: %v", name, file, err)
				}
			}
		}
	}
}

// TestNotice: NOTICE lists the modules in the programs and nothing else, each under a licence that
// goes together with Apache-2.0, MIT and BSD.
func TestNotice(t *testing.T) {
	allowed := []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "OFL-1.1"}
	listed := map[string]bool{}
	_, list, _ := strings.Cut(read(t, "NOTICE"), "\n\n")
	for line := range strings.Lines(list) {
		name, licences, _ := strings.Cut(strings.TrimSpace(line), "  ")
		for _, l := range strings.Split(licences, " AND ") {
			if !slices.Contains(allowed, l) {
				t.Errorf("NOTICE: %s: its licence is %q: want one of %v", name, l, allowed)
			}
		}
		listed[name] = true
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		`{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}`, "./cmd/weft", "./cmd/weft-dl")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	contained := map[string]bool{"Go standard library": true}
	for line := range strings.Lines(string(out)) {
		if path := strings.TrimSpace(line); path != "" {
			contained[path] = true
		}
	}
	var lock struct{ Packages map[string]struct{ Dev bool } }
	if err := json.Unmarshal([]byte(read(t, "web/package-lock.json")), &lock); err != nil {
		t.Fatal(err)
	}
	for path, p := range lock.Packages {
		if path != "" && !p.Dev {
			contained["npm: "+strings.TrimPrefix(path, "node_modules/")] = true
		}
	}
	for name := range contained {
		if !listed[name] {
			t.Errorf("NOTICE lacks %s: make notice", name)
		}
	}
	for name := range listed {
		if !contained[name] {
			t.Errorf("NOTICE has %s, which the programs do not contain: make notice", name)
		}
	}
}

// TestLabsHaveUsers: the parts of a lab that need root say so, and the others are not root.
func TestLabsHaveUsers(t *testing.T) {
	for _, file := range []string{"docker-compose.yml", "deploy/compose/fabric/docker-compose.yml",
		"deploy/compose/cluster/docker-compose.yml"} {
		var lab struct {
			Switch     struct{ User string } `yaml:"x-switch"`
			Host       struct{ User string } `yaml:"x-host"`
			Controller struct{ User string } `yaml:"x-controller"`
		}
		if err := yaml.Unmarshal([]byte(read(t, file)), &lab); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if lab.Switch.User != "0:0" || lab.Host.User != "0:0" || lab.Controller.User != "65532:65532" {
			t.Errorf("%s: users are %+v, %+v and %+v", file, lab.Switch, lab.Host, lab.Controller)
		}
	}
}
