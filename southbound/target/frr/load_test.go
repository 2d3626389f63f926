package frr

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/target"
)

// models returns the models that the controller makes of a sample network.
const models = "../../../controller/plan/node/testdata"

// daemons of FRR, where Debian and FRR's own packages have them: each knows commands of its own.
const daemons = "/usr/lib/frr"

// TestFRRLoads: the installed FRR accepts the configuration rendered for its version.
func TestFRRLoads(t *testing.T) {
	staticd := filepath.Join(daemons, "staticd")
	out, err := exec.CommandContext(t.Context(), staticd, "--version").Output()
	if err != nil {
		t.Skipf("there is no FRR in %s", daemons)
	}
	version := regexp.MustCompile(`version ([0-9.]+)`).FindSubmatch(out)
	if version == nil {
		t.Fatalf("staticd has no version: %s", out)
	}
	t.Logf("FRR %s", version[1])
	d := target.Device{Name: "leaf1", System: target.FRR, Version: string(version[1])}
	for _, name := range []string{"links-leaf1", "nodes-leaf1", "nodes-spine2", "ecmp-leaf1"} {
		text, err := os.ReadFile(filepath.Join(models, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var m api.SwitchModel
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		config, err := Render(&d, &m)
		if err != nil {
			t.Fatal(err)
		}
		if refused := load(t, config); len(refused) > 0 {
			t.Errorf("%s: FRR refuses\n%s", name, strings.Join(refused, "\n"))
		}
		if refused := load(t, append([]byte("ipv6 path nowhere\n"), config...)); len(refused) != 1 {
			t.Errorf("%s: of one wrong line FRR refuses %q", name, refused)
		}
	}
}

var (
	refusal = regexp.MustCompile(`(?m)No such command on config line \d+: *(.*)$`)
	static  = regexp.MustCompile(`^ *(ipv6 route|sid|static-sids|ipv6 path) ?`)
)

// load returns the lines that FRR refuses: lines of static routes and SIDs that are missing in
// staticd's configuration afterwards, and any other line unknown to zebra.
func load(t *testing.T, config []byte) (refused []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "frr") // daemons change to a user of their own, who must get there
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "frr.conf")
	if err := os.WriteFile(file, config, 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(daemon, stdin string, args ...string) []byte {
		args = append(args, "-i", filepath.Join(dir, daemon+".pid"), "--vty_socket", dir,
			"--log", "stdout")
		c := exec.CommandContext(t.Context(), filepath.Join(daemons, daemon), args...)
		c.Stdin = strings.NewReader(stdin)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Skipf("%s: %v: %s", daemon, err, out)
		}
		return out
	}
	said := run("zebra", "", "-f", file, "-C", "-z", filepath.Join(dir, "zebra.sock"))
	for _, m := range refusal.FindAllSubmatch(said, -1) {
		if line := string(m[1]); !static.MatchString(line) && !slices.Contains(refused, line) {
			refused = append(refused, line)
		}
	}
	var typed strings.Builder
	for line := range strings.Lines(string(config)) {
		if static.MatchString(line) {
			typed.WriteString(line)
		}
	}
	none := filepath.Join(dir, "none.conf")
	if err := os.WriteFile(none, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	answer := string(run("staticd", "enable\nconfigure terminal\n"+typed.String()+
		"end\nshow running-config\nexit\n", "-t", "-f", none))
	_, holds, _ := strings.Cut(answer, "Current configuration:")
	for line := range strings.Lines(typed.String()) {
		if !strings.Contains(strings.ReplaceAll(holds, "\r", ""), "\n"+line) {
			refused = append(refused, strings.TrimSpace(line))
		}
	}
	return refused
}
