// Package deploy tests the files of deploy/ against what controllers and switches serve.
package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
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

// expressions returns those of rules and of the dashboard, by where they are.
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

// TestMetricsExist: rules and the dashboard ask for nothing that no program serves.
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

// TestUnit: the unit takes from the controller what it does not need, and systemd rates it so.
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

// TestImageHasAUser: the image does not run as root, and what of a lab needs root says so.
func TestImageHasAUser(t *testing.T) {
	if text := read(t, "deploy/image/Dockerfile"); !strings.Contains(text, "\nUSER 65532:65532\n") ||
		!strings.Contains(text, "COPY --chown=65532:65532 state /var/lib/weft\n") {
		t.Error("deploy/image/Dockerfile: no user, or its records belong to another")
	}
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
