package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// processes skips a test of programs in processes of their own when tests are short, as with the
// race detector: the detector makes a process many times slower, and finds nothing there that tests
// of its packages do not find.
func processes(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("processes: run without -short")
	}
}

// deployment is Figure 1 in this process, without a controller, with the files of a controller.
type deployment struct {
	t       *testing.T
	network *lab.Live
	config  string
	dataDir string

	inventory inventory.Inventory // that of config
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	return deployWith(t, nil)
}

// deployWith is deploy with the addresses from which controllers connect by BGP-LS.
func deployWith(t *testing.T, collectors []netip.Addr) *deployment {
	t.Helper()
	return deployNetwork(t, lab.Figure1(), collectors)
}

// deployNetwork is deployWith on another network.
func deployNetwork(t *testing.T, network lab.Network, collectors []netip.Addr) *deployment {
	t.Helper()
	processes(t)
	d := &deployment{t: t, config: filepath.Join(t.TempDir(), "weft.yaml"),
		dataDir: filepath.Join(t.TempDir(), "data")}
	var err error
	d.network, err = lab.StartLive(t.Context(), lab.LiveOptions{Network: network,
		Listen: "127.0.0.1:0", Collectors: collectors, Controller: func(inv inventory.Inventory) error {
			d.inventory = inv
			inv.Intervals.Settle = api.Duration(200 * time.Millisecond)
			text, err := yaml.Marshal(inv)
			if err != nil {
				return err
			}
			return os.WriteFile(d.config, text, 0o600)
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.network.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// process is a controller in a process of its own.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	rest *client.Client
	url  string
}

// start starts a controller and waits until its API answers.
func (d *deployment) start() *process {
	d.t.Helper()
	return startProcess(d.t, "--config", d.config, "--data-dir", d.dataDir)
}

// startProcess starts a controller with flags and waits until its API answers.
func startProcess(t *testing.T, flags ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = append([]string{"weft", "controller"}, flags...) // by its name it is weft: see TestMain
	return startCommand(t, cmd)
}

// startCommand starts a command that is a controller and waits until its API answers.
func startCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	log := newLineWriter(t, strings.Join(cmd.Args, " "))
	p := &process{t: t, cmd: cmd}
	// The test makes the pipe itself: the reader sees the end of the pipe right at the process's end,
	// before anybody waits for the process.
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = in, in
	err = errors.Join(p.cmd.Start(), in.Close())
	if err != nil {
		t.Fatal(errors.Join(err, out.Close()))
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, err := io.Copy(log, out)
		log.end(fmt.Sprintf("%s has ended", cmd))
		_ = errors.Join(err, out.Close()) // nothing is left to read
	}()
	t.Cleanup(func() { <-copied }) // after it was killed
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	p.url = "http://" + value(t, log, "api")
	if p.rest, err = client.New(client.Config{Server: p.url}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.rest.Close)
	return p
}

// kill ends the process as a crash does.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait() // it was killed
}

// until polls until a condition holds.
func (p *process) until(what string, holds func() bool) {
	p.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-ticker.C {
		if time.Now().After(deadline) {
			p.t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

func (p *process) ready() {
	p.t.Helper()
	p.until("ready", func() bool {
		r, err := http.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
}

// groups returns the multicast groups by name.
func (p *process) groups() map[string]api.MulticastGroup {
	p.t.Helper()
	list, err := p.rest.List(p.t.Context(), "/v1/multicast-groups", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	out := make(map[string]api.MulticastGroup)
	for _, item := range list.Items {
		var g api.MulticastGroup
		if err := json.Unmarshal(item, &g); err != nil {
			p.t.Fatal(err)
		}
		out[g.Name] = g
	}
	return out
}

// programmed waits until switches hold the groups, and the controller has nothing left to write.
func (p *process) programmed(names ...string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%q programmed, all switches synced and settled", names), func() bool {
		groups := p.groups()
		for _, name := range names {
			g := groups[name]
			if !g.Status.Is(api.Programmed) {
				return false
			}
		}
		return p.settled(6)
	})
}

// settled reports whether that many switches have all that the controller wants, and nothing that
// the controller will remove. While a switch settles, the switch keeps routes that the controller
// planned on a part of the topology.
func (p *process) settled(switches int) bool {
	all, err := p.rest.Switches().List(p.t.Context(), nil)
	return err == nil && len(all) == switches && !slices.ContainsFunc(all,
		func(s api.SwitchStatus) bool { return !s.Synced || s.Settling })
}

// spec returns the spec of the i-th group. newGroupWrites uses none of its queue pairs, because a
// queue pair belongs to one group only.
func spec(i int) api.MulticastGroupSpec {
	host := func(n int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%d::1", n)) }
	return api.MulticastGroupSpec{
		ProxyAddress: netip.MustParseAddr(fmt.Sprintf("2001:db8:ffff::%x", i+1)), DesignatedQPN: 4096,
		Source: api.GroupSource{Address: host(1), QPN: uint32(0x10000 + i)},
		Receivers: []api.GroupReceiver{{Address: host(2), QPN: uint32(0x10000 + i)},
			{Address: host(2 + 1 + i%3), QPN: uint32(0x10000 + i)}},
	}
}

func (p *process) put(name string, spec api.MulticastGroupSpec) error {
	_, err := p.rest.Do(p.t.Context(), http.MethodPut, "/v1/multicast-groups/"+name, nil,
		map[string]any{"spec": spec})
	return err
}

// TestRestart: a controller that was killed goes on where it was. Nobody applies anything again,
// groups keep index and epoch, no switch is written to, and a group that is written to all the
// time loses no packet.
func TestRestart(t *testing.T) {
	d := deploy(t)
	first := d.start()
	first.ready()
	for i := range 3 {
		if err := first.put(fmt.Sprintf("g%d", i), spec(i)); err != nil {
			t.Fatal(err)
		}
	}
	writes := d.newGroupWrites()
	if err := first.put("writes", writes.Spec()); err != nil {
		t.Fatal(err)
	}
	first.programmed("g0", "g1", "g2", "writes")
	first.ready()
	before := first.groups()
	traffic := d.run(writes)
	traffic.more("before the kill")
	first.kill()
	traffic.more("without a controller")
	written := d.network.Written()
	if len(written) < 12 || written["N6 updates"] == 0 {
		t.Fatalf("the switches count no writes: %v", written)
	}

	second := d.start()
	second.ready()
	second.programmed("g0", "g1", "g2", "writes")
	traffic.more("after the restart")
	traffic.end()
	for name, was := range before {
		g := second.groups()[name]
		if g.Version != was.Version || g.Status.Index != was.Status.Index ||
			g.Status.Epoch != was.Status.Epoch || !g.Spec.Equal(&was.Spec) {
			t.Errorf("%s: %+v, was %+v", name, g, was)
		}
	}
	if again := d.network.Written(); !maps.Equal(again, written) {
		t.Errorf("the second controller wrote to switches that agree: %v, were %v", again, written)
	}

	// Deleted resources do not come back.
	if _, err := second.rest.Do(t.Context(), http.MethodDelete, "/v1/multicast-groups/g1", nil,
		nil); err != nil {
		t.Fatal(err)
	}
	second.kill()
	third := d.start()
	third.programmed("g0", "g2")
	if _, there := third.groups()["g1"]; there {
		t.Error("g1 is back")
	}
	third.kill()
}

// TestKill: after kill -9 at any moment, every acknowledged change is there.
func TestKill(t *testing.T) {
	const rounds = 12
	d := deploy(t)
	random := rand.New(rand.NewPCG(seeds.One(t, 1), 0))
	accepted := make(map[string]api.MulticastGroupSpec)
	index := make(map[string]uint16)
	next := 0
	for round := range rounds {
		p := d.start()
		there := p.groups()
		for name, s := range accepted {
			g, ok := there[name]
			if ok = ok && g.Spec.ProxyAddress == s.ProxyAddress && g.Spec.Source == s.Source; !ok {
				t.Fatalf("round %d: %s was accepted and is lost", round, name)
			}
			if i, known := index[name]; known && i != g.Status.Index {
				t.Errorf("round %d: %s has index %d, had %d", round, name, g.Status.Index, i)
			}
			index[name] = g.Status.Index
		}
		p.ready()
		killed := make(chan struct{})
		time.AfterFunc(time.Duration(random.IntN(60))*time.Millisecond, func() {
			_ = p.cmd.Process.Signal(syscall.SIGKILL)
			close(killed)
		})
		for {
			name, s := fmt.Sprintf("g%d", next), spec(next)
			var refused *api.Problem
			if err := p.put(name, s); errors.As(err, &refused) {
				t.Fatalf("round %d: %s: %v", round, name, err)
			} else if err != nil {
				break // the process is gone; whether it took the group is open
			}
			accepted[name] = s
			next++
		}
		next++
		<-killed
		_ = p.cmd.Wait()
	}
	if len(accepted) < rounds {
		t.Errorf("%d groups in %d rounds: too few to say anything", len(accepted), rounds)
	}
}
