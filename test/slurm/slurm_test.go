package slurm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/clients/scheduler/slurm"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/test/speech"
)

// wait is the longest wait for Slurm or the watch.
const wait = 5 * time.Minute

// cluster is a slurmctld.
type cluster struct {
	t   *testing.T
	dir string
}

// scontrol runs scontrol, and returns what it prints.
func (c *cluster) scontrol(args ...string) (string, error) {
	cmd := exec.Command("scontrol", args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("scontrol %v: %w: %s", args, err, out)
	}
	return string(out), err
}

func (c *cluster) must(args ...string) string {
	c.t.Helper()
	out, err := c.scontrol(args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// node returns a node.
func (c *cluster) node(name string) slurm.Node {
	c.t.Helper()
	nodes := slurm.ParseNodes(c.must("--oneliner", "show", "node", name))
	if len(nodes) != 1 {
		c.t.Fatalf("node %s: %+v", name, nodes)
	}
	return nodes[0]
}

// write writes a file beside slurm.conf.
func (c *cluster) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// needs skips the test where programs are missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not on the PATH: apt-get install slurmctld slurmd slurm-client", program)
		}
	}
}

// freePort returns a port of TCP that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	return free.Addr().(*net.TCPAddr).Port
}

// run starts a daemon, which is killed when the test ends.
func run(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	speech.Of(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		cmd.Wait() // killed
	})
}

// start starts a slurmctld with a topology.conf. more are the lines of slurm.conf that say what
// nodes there are.
func start(t *testing.T, topology, more string) *cluster {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t, t.TempDir()}
	conf := fmt.Sprintf(`ClusterName=weft
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=%d
SlurmUser=%[2]s
SlurmdUser=%[2]s
AuthType=auth/none
CredType=cred/none
StateSaveLocation=%[3]s
SlurmctldPidFile=%[3]s/pid
ProctrackType=proctrack/linuxproc
TopologyPlugin=topology/tree
SelectType=select/linear
%[4]s
PartitionName=all Nodes=ALL Default=YES State=UP
`, freePort(t), me.Username, c.dir, more)
	c.write("slurm.conf", conf)
	c.write("topology.conf", topology)
	t.Setenv("SLURM_CONF", filepath.Join(c.dir, "slurm.conf"))
	run(t, "slurmctld", "-D", "-c")
	c.until(func() error {
		_, err := c.scontrol("show", "topology")
		return err
	})
	return c
}

// until waits until f returns nil.
func (c *cluster) until(f func() error) {
	c.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		err := f()
		if err == nil {
			return
		}
		if time.Since(began) > wait {
			c.t.Fatalf("after %v: %v", wait, err)
		}
	}
}

// TestSlurm: scontrol shows the exported topology. The watch drains nodes with unusable NICs and
// resumes the nodes, even after a restart of the watch, but leaves nodes drained by others alone.
func TestSlurm(t *testing.T) {
	needs(t, "slurmctld", "scontrol")
	fabric, snap := northboundtest.NewFabric(ev.ModeStructured)
	cfg := northbound.DefaultConfig()
	cfg.Multipath = fabric
	server, err := northbound.New(cfg, northboundtest.NewController(snap),
		northbound.NewEvents(16, northboundtest.Began))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	c, err := client.New(client.Config{Server: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	facts, err := scheduler.Read(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var conf strings.Builder
	if err := slurm.WriteConf(&conf, scheduler.NewTree(facts)); err != nil {
		t.Fatal(err)
	}
	s := start(t, conf.String(), "NodeName=h[1-4] NodeAddr=127.0.0.1 State=UNKNOWN")
	// Without a slurmd nodes stay UNKNOWN, until somebody says what they are.
	s.must("update", "nodename=h[1-4]", "state=down", "reason=new")
	s.must("update", "nodename=h[1-4]", "state=resume")
	var shown []string
	for line := range strings.Lines(s.must("show", "topology")) {
		shown = append(shown, strings.Join(strings.Fields(line), " "))
	}
	slices.Sort(shown)
	want := []string{"SwitchName=a1 Level=0 LinkSpeed=1 Nodes=h[1-2]",
		"SwitchName=b1 Level=0 LinkSpeed=1 Nodes=h3", "SwitchName=c1 Level=0 LinkSpeed=1 Nodes=h4",
		"SwitchName=fabric Level=1 LinkSpeed=1 Nodes=h[1-4] Switches=a1,b1,c1"}
	if !slices.Equal(shown, want) {
		t.Errorf("scontrol shows\n%s\nof\n%s", strings.Join(shown, "\n"), conf.String())
	}

	// A topology that has changed takes a reconfiguration, and no restart.
	conf.Reset()
	grouped := *facts
	grouped.Hosts = grouped.Hosts[:3]
	if err := slurm.WriteConf(&conf, scheduler.NewTree(&grouped)); err != nil {
		t.Fatal(err)
	}
	s.write("topology.conf", conf.String())
	s.must("reconfigure")
	s.until(func() error {
		now := s.must("show", "topology")
		if strings.Contains(now, "c1") || !strings.Contains(now, "b1") {
			return fmt.Errorf("after a reconfiguration: %s", now)
		}
		return nil
	})

	s.must("update", "nodename=h2", "state=drain", "reason=memory")
	is := func(name string, drained bool, reason string) func() error {
		return func() error {
			n := s.node(name)
			if slices.Contains(n.State, "DRAIN") != drained || n.Reason != reason {
				return fmt.Errorf("%+v, want drained %t: %q", n, drained, reason)
			}
			return nil
		}
	}
	leaves := facts.Hosts[0].Ports // of h1
	stop := watch(t, c)
	s.until(is("h4", true, "weft: no stream to the controller"))
	for _, p := range leaves {
		fabric.Cut(p.Status.Leaf, p.Status.LeafPort)
	}
	s.until(is("h1", true, "weft: 2 of 2 ports down"))
	if n := s.node("h1"); !slices.Contains(n.State, "IDLE") {
		t.Errorf("%+v", n)
	}
	stop()
	s.must("update", "nodename=h1", "state=down", "reason=weft: 2 of 2 ports down")
	for _, p := range leaves {
		fabric.Mend(p.Status.Leaf, p.Status.LeafPort)
	}
	fabric.Pass(time.Hour) // until it holds no port back
	stop = watch(t, c)
	s.until(is("h1", false, "weft: 2 of 2 ports down"))
	stop()
	if n := s.node("h1"); !slices.Contains(n.State, "DOWN") { // which is not the fabric's to say
		t.Errorf("%+v was down, and is so no longer", n)
	}
	for name, want := range map[string]func() error{"h2": is("h2", true, "memory"),
		"h3": is("h3", false, ""), "h4": is("h4", true, "weft: no stream to the controller")} {
		if err := want(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// watch runs a watch until the function is called that it returns.
func watch(t *testing.T, c *client.Client) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &slurm.Watch{Config: slurm.DefaultConfig(), Interval: 100 * time.Millisecond,
		Hosts: slurm.HostsOf(c), Nodes: slurm.Scontrol("scontrol"),
		Say:  func(a slurm.Action) { t.Logf("%+v", a) },
		Warn: func(text string) { t.Log(text) },
	}
	w.Hold, w.Recover, w.MostPercent = 200*time.Millisecond, 400*time.Millisecond, 100
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
