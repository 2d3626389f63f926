package upgrade

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/test/speech"
	"github.com/weft-sdn/weft/test/worktree"
)

// release returns the program of this source, or of a commit of the history.
func release(t *testing.T, commit string) worktree.Release {
	t.Helper()
	to := filepath.Join(t.TempDir(), "weft")
	if commit == "" {
		r, err := worktree.Build("../..", to)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r, err := worktree.Earlier("../..", commit, to)
	if errors.Is(err, worktree.ErrNoCommit) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the release before has schema %d", r.Schema)
	return r
}

// trio is three controllers, which form an etcd, as processes.
type trio struct {
	traffic
	nodes   []*node
	written map[string]uint64
	groups  map[string]api.MulticastGroup
}

// node is one of the three.
type node struct {
	name, config, data string
	url                string // of the API
	rest               *client.Client
	cmd                *exec.Cmd
	said               *speech.Speech
}

// newTrio returns controllers that do not run yet.
func newTrio(t *testing.T) *trio {
	t.Helper()
	w := &trio{traffic: traffic{t: t}}
	// Addresses of their own: on that of all others a connection may take a port meanwhile.
	var addresses []netip.Addr
	base := [2]byte{byte(2 + rand.IntN(250)), byte(rand.IntN(250))}
	for i := range 3 {
		addresses = append(addresses, netip.AddrFrom4([4]byte{127, base[0], base[1], byte(1 + i)}))
	}
	var inv inventory.Inventory
	var err error
	w.network, err = lab.StartLive(t.Context(), lab.LiveOptions{Network: lab.Figure1(),
		Listen: "127.0.0.1:0", Collectors: addresses, Controller: func(i inventory.Inventory) error {
			inv = i
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.network.Close(); err != nil {
			t.Error(err)
		}
	})
	at := func(i, port int) string {
		return net.JoinHostPort(addresses[i].String(), strconv.Itoa(port))
	}
	members := make(map[string]string)
	for i := range addresses {
		members[fmt.Sprintf("c%d", i+1)] = at(i, 2380)
	}
	for i, a := range addresses {
		n := &node{name: fmt.Sprintf("c%d", i+1), data: filepath.Join(t.TempDir(), "data"),
			config: filepath.Join(t.TempDir(), "weft.yaml"), url: "http://" + at(i, 8080)}
		c := inv
		c.Intervals.Settle, c.Cluster.TTL = api.Duration(200*time.Millisecond),
			api.Duration(2*time.Second)
		c.API.Listen, c.Cluster.Listen, c.Cluster.Name = at(i, 8080), at(i, 8081), n.name
		c.Cluster.Etcd.Members, c.API.LoopbackWebhooks = members, false // that is newer than untagged
		c.BGP.RouterID = netip.AddrFrom4([4]byte{10, 255, 255, byte(i + 1)})
		c.BGP.Peers = slices.Clone(c.BGP.Peers)
		for j := range c.BGP.Peers {
			c.BGP.Peers[j].LocalAddress = a
		}
		text, err := worktree.Changed(c, inventory.Default())
		if err == nil {
			err = os.WriteFile(n.config, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n.rest, err = client.New(client.Config{Server: n.url}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.rest.Close)
		w.nodes = append(w.nodes, n)
	}
	return w
}

// run starts a controller of a release.
func (w *trio) run(n *node, r worktree.Release) {
	w.t.Helper()
	n.said = speech.New(w.t, n.name)
	n.cmd = exec.Command(r.Path, "controller", "--config", n.config, "--data-dir", n.data)
	n.cmd.Stdout, n.cmd.Stderr = n.said, n.said
	if err := n.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { n.kill() })
}

func (n *node) kill() {
	if n.cmd != nil {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait() // it was killed
		n.cmd = nil
	}
}

// end ends a controller in order.
func (w *trio) end(n *node) {
	w.t.Helper()
	err := n.cmd.Process.Signal(syscall.SIGTERM)
	if err = errors.Join(err, n.cmd.Wait()); err != nil {
		w.t.Errorf("%s: %v", n.name, err)
	}
	n.cmd = nil
}

// command runs a command of a release.
func (w *trio) command(r worktree.Release, args ...string) {
	w.t.Helper()
	if out, err := exec.Command(r.Path, args...).CombinedOutput(); err != nil {
		w.t.Fatalf("weft %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// settled waits until a controller is ready, all three are there with their shares of the switches,
// and everything is programmed, and returns the decider and the groups.
func (w *trio) settled(asked *node) (decider *node, groups map[string]api.MulticastGroup) {
	w.t.Helper()
	ctx := w.t.Context()
	why := ""
	defer func() {
		if w.t.Failed() {
			w.t.Log(why)
		}
	}()
	w.until(asked.name+" is ready, and all is programmed", func() bool {
		decider, groups = nil, make(map[string]api.MulticastGroup)
		if _, err := asked.rest.Get(ctx, "/readyz", nil); err != nil {
			why = err.Error()
			return false
		}
		controllers, err := asked.rest.Controllers().List(ctx, nil)
		if err != nil {
			return false
		}
		for _, c := range controllers {
			if len(c.Owns) != 2 {
				why = fmt.Sprintf("controller %s has role %s and owns %q", c.Name, c.Role, c.Owns)
				return false
			}
			if c.Role == api.RoleDecider {
				decider = w.nodes[slices.IndexFunc(w.nodes, func(n *node) bool { return n.name == c.Name })]
			}
		}
		list, err := asked.rest.List(ctx, "/v1/multicast-groups", nil)
		if err != nil || decider == nil || len(controllers) != len(w.nodes) {
			return false
		}
		for _, item := range list.Items {
			var g api.MulticastGroup
			if json.Unmarshal(item, &g) != nil || !g.Status.Is(api.Programmed) {
				return false
			}
			groups[g.Name] = g
		}
		switches, err := asked.rest.Switches().List(ctx, nil)
		for i := range switches {
			if err != nil || !switches[i].Synced || switches[i].Settling {
				return false
			}
		}
		return len(switches) == len(w.network.World.Network.Switches)
	})
	return decider, groups
}

// kept fails unless all is as it was: groups have the index and epoch that they had, no switch was
// written to, and the group that is written to went on. It returns the decider.
func (w *trio) kept(when string, asked *node) *node {
	w.t.Helper()
	decider, groups := w.settled(asked)
	for name, was := range w.groups {
		is, there := groups[name]
		if !there || is.Version != was.Version || is.Status.Index != was.Status.Index ||
			is.Status.Epoch != was.Status.Epoch || !is.Spec.Equal(&was.Spec) {
			w.t.Errorf("%s: group %s is %+v, was %+v", when, name, is, was)
		}
	}
	if written := w.network.Written(); !maps.Equal(written, w.written) {
		w.t.Errorf("%s: switches that agree were written to: %v, were %v", when, written, w.written)
		w.written = written
	}
	w.running()
	longest, stood := w.pause()
	w.t.Logf("%s: writes paused for %v at most; pauses of %v and more: %v", when,
		longest.Round(time.Millisecond), standstill, stood.Round(time.Millisecond))
	if tooLong(longest, stood) {
		w.t.Errorf("%s: writes paused for %v, and %v in all, want less than %v", when, longest, stood,
			most)
	}
	return decider
}

// TestReleases: three controllers are upgraded one after the other, the decider last, while a group
// is written to. Nothing is lost or written again, and the schema of the store rises when all of
// them read it. Before that each may go back. Afterwards the release before refuses the store, and
// a backup leads back. WEFT_UPGRADE_FROM has it begin with a release of the history.
func TestReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("in real time, with programs that it builds")
	}
	next := release(t, "")
	before := next
	if commit := os.Getenv(worktree.FromVariable); commit != "" {
		before = release(t, commit)
	}
	if before.Program != next.Program {
		t.Skip("the release before has another P4 program: TestProgramChanges is the test of that")
	}
	w := newTrio(t)
	for _, n := range w.nodes {
		w.run(n, before)
	}
	data := bytes.Repeat([]byte("weft"), 1<<20)
	spec := w.open(len(data))
	w.settled(w.nodes[0])
	put := func(n *node, path string, value any) error {
		_, err := n.rest.Do(t.Context(), http.MethodPut, path, nil, map[string]any{"spec": value})
		return err
	}
	if err := put(w.nodes[1], "/v1/multicast-groups/g", spec); err != nil {
		t.Fatal(err)
	}
	decider, groups := w.settled(w.nodes[0])
	w.groups, w.written = groups, w.network.Written()
	if len(groups) != 1 {
		t.Fatalf("%d groups are programmed, want one", len(groups))
	}
	backup := filepath.Join(t.TempDir(), "weft.backup")
	w.command(before, "backup", backup, "--server", w.nodes[0].url)
	defer w.write(data)()

	order := append(slices.DeleteFunc(slices.Clone(w.nodes), func(n *node) bool {
		return n == decider
	}), decider)
	replace := func(n *node, r worktree.Release, what string) {
		t.Helper()
		w.end(n)
		w.run(n, r)
		w.kept(what, n)
	}
	const raised = "the schema of the store is raised"
	replace(order[0], next, "the first has the next release")
	if before != next {
		replace(order[0], before, "the first has gone back")
		replace(order[0], next, "the first has the next release again")
	}
	replace(order[1], next, "the second has the next release")
	// The release before decides, and refuses a field of schema 4 by itself.
	const path = "/v1/projects/p"
	newer := api.ProjectSpec{ExclusiveLeases: true}
	var problem *api.Problem
	if err := put(order[0], path, newer); before.Schema < 4 && (!errors.As(err, &problem) ||
		problem.Status >= http.StatusInternalServerError) {
		t.Errorf("a field that the release before does not know: %v", err)
	}
	for _, n := range w.nodes {
		if strings.Contains(n.said.String(), raised) {
			t.Errorf("%s raises the schema while %s runs the release before", n.name, decider.name)
		}
	}
	replace(order[2], next, "all have the next release")
	if before.Schema < next.Schema {
		w.until("the schema is raised", func() bool {
			return slices.ContainsFunc(w.nodes, func(n *node) bool {
				return strings.Contains(n.said.String(), raised)
			})
		})
		if err := put(order[0], path, newer); err != nil {
			t.Errorf("a field that all know: %v", err)
		}
		w.end(order[0])
		w.run(order[0], before)
		if err := order[0].cmd.Wait(); err == nil {
			t.Error("the release before starts on a store of the next one")
		}
		order[0].cmd = nil
		said := order[0].said.String()
		for _, want := range []string{store.ErrSchema.Error(),
			fmt.Sprintf("schema %d", next.Schema)} {
			if !strings.Contains(said, want) {
				t.Errorf("the release before does not say %q: %s", want, said)
			}
		}
		w.run(order[0], next)
		w.kept("the release before has refused the store", order[0])
	}

	for _, n := range w.nodes {
		w.end(n)
		n.data = filepath.Join(t.TempDir(), "data")
		w.command(before, "restore", backup, "--config", n.config, "--data-dir", n.data)
	}
	for _, n := range w.nodes {
		w.run(n, before)
	}
	w.kept("the backup is restored at the release before", w.nodes[0])
}
