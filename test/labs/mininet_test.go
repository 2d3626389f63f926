//go:build linux

package labs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/kernel"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/export"
)

const mininetAPI = "http://127.0.0.1:8080"

// TestMininet runs labs in network namespaces of their own, where the checks below run as the
// command of the lab: traffic passes, a link fails, and traffic goes on.
func TestMininet(t *testing.T) {
	if testing.Short() {
		t.Skip("processes in real time: the race detector sees nothing of them")
	}
	require(t, "unshare", "ip")
	if err := exec.Command("/usr/bin/python3", "-c", "import mininet.net").Run(); err != nil {
		t.Skip("Mininet is not installed: apt-get install mininet")
	}
	for _, c := range []struct {
		name     string
		network  lab.Network
		program  string
		switches lab.Switches
	}{
		{name: "figure1", network: lab.Figure1(), program: "weft"},
		{name: "fabric", network: fabric(t), program: "weft"},
		{"fabric", fabric(t), "weft", lab.SwitchesLinux},
		{"fabric", fabric(t), "weft", lab.SwitchesMixed},
		{name: "figure1", network: lab.Figure1(), program: "simple_switch_grpc"},
	} {
		what := c.name + " of " + string(c.switches) + c.program
		t.Run(what, func(t *testing.T) {
			if c.program != "weft" {
				require(t, c.program)
			}
			if c.switches != "" {
				capable(t)
			}
			dir := write(t, c.network, export.Options{Tool: export.Mininet, Switches: c.switches})
			logs := filepath.Join(dir, "logs")
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
			defer cancel()
			// The namespaces end with their last process, whatever happens.
			out, err := run(ctx, dir, []string{
				"WEFT_LAB_INSIDE=" + what, "WEFT_LAB_LOGS=" + logs, "WEFT_LAB_PROGRAM=" +
					weft(t), "WEFT_LAB_SELF=" + self,
			}, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
				`ip link set lo up && exec "$@"`, "sh", "./"+c.name+".py",
				"--weft", weft(t), "--logs", logs, "--switch", c.program, "--run", `"$WEFT_LAB_SELF"`)
			if err != nil {
				for _, name := range []string{"controller", "speaker"} {
					log, _ := os.ReadFile(filepath.Join(logs, name+".log")) // where there is one
					out += fmt.Sprintf("\n%s:\n%s", name, log[max(0, len(log)-3000):])
				}
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// capable skips where no kernel can be a switch.
func capable(t *testing.T) {
	t.Helper()
	require(t, "nsenter", "pgrep", "tc")
	if lacks, err := kernel.Lacks(); err != nil || len(lacks) > 0 {
		t.Skipf("no kernel can be a switch here: it lacks %v: %v", lacks, err)
	}
}

// inside checks a running lab of Mininet from its namespaces.
func inside(what string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	switch what {
	case "neighbors":
		return plugIn(ctx)
	case "planes":
		return planes(ctx)
	}
	logs := func(host string) ([]byte, error) {
		return os.ReadFile(filepath.Join(os.Getenv("WEFT_LAB_LOGS"), host+".log"))
	}
	link := func(name, state string) error {
		_, err := run(ctx, ".", nil, "ip", "link", "set", name, state)
		return err
	}
	if strings.HasPrefix(what, "fabric of ") {
		if strings.HasSuffix(what, string(lab.SwitchesLinux)+"weft") {
			link = func(name, state string) error { // in the namespace of the switch
				_, err := run(ctx, ".", nil, "sh", "-c",
					`exec nsenter -n -t "$(pgrep -o -f "mininet:$1\$")" ip link set "$2" "$3"`, "sh",
					"P1-T0-1", name, state)
				return err
			}
		}
		hosts := []string{"H1", "H2", "H3", "H4"}
		phase := func(want string) error {
			return await(ctx, "the link from P1-T0-1 to P1-T1-1", func() error {
				phase, err := linkPhase(ctx, mininetAPI, "P1-T0-1", "P1-T1-1")
				if err == nil && phase != want {
					err = fmt.Errorf("is %s: want %s", phase, want)
				}
				return err
			})
		}
		for _, step := range []func() error{
			func() error { return phase("up") },
			func() error { return more(ctx, logs, 2<<20, hosts...) },
			func() error { return link("P1-T0-1-eth1", "down") },
			func() error { return phase("down") },
			func() error { return more(ctx, logs, 2<<20, hosts...) },
			func() error { return link("P1-T0-1-eth1", "up") },
			func() error { return phase("up") },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
	receivers := []string{"R1", "R2", "R3", "R4", "R5"}
	if _, err := run(ctx, ".", nil, os.Getenv("WEFT_LAB_PROGRAM"), "apply", "-f", "group.yaml",
		"--wait", "60s"); err != nil {
		return err
	}
	if err := more(ctx, logs, 2<<20, receivers...); err != nil || what != "figure1 of weft" {
		return err // the speaker of BMv2 does not know that a link is down
	}
	parent, err := parentOf(ctx, mininetAPI, "g1", "N2")
	if err != nil {
		return err
	}
	// N2 has a link to each of N4 and N5: port 1 and port 2.
	port, other := "N2-eth1", "N5"
	if parent == "N5" {
		port, other = "N2-eth2", "N4"
	}
	if err := link(port, "down"); err != nil {
		return err
	}
	if err := await(ctx, "the tree leaves "+port, func() error {
		now, err := parentOf(ctx, mininetAPI, "g1", "N2")
		if err == nil && now != other {
			err = fmt.Errorf("the parent of N2 is %s: want %s", now, other)
		}
		return err
	}); err != nil {
		return err
	}
	return more(ctx, logs, 2<<20, receivers...)
}
