package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
)

// startEtcd starts an etcd and returns where it listens.
func startEtcd(t *testing.T) string {
	t.Helper()
	c := embed.NewConfig()
	c.Dir, c.UnsafeNoFsync, c.ZapLoggerBuilder = t.TempDir(), true,
		embed.NewZapLoggerBuilder(zap.NewNop())
	listen := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	c.ListenClientUrls, c.AdvertiseClientUrls, c.ListenPeerUrls = []url.URL{listen}, []url.URL{listen},
		nil
	s, err := embed.StartEtcd(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	<-s.Server.ReadyNotify()
	return s.Clients[0].Addr().String()
}

// team holds three controllers, each in a process, on one etcd and one network.
type team struct {
	*deployment
	members []*teammate

	mu       sync.Mutex
	accepted map[string]api.MulticastGroupSpec
}

type teammate struct {
	*process // nil: it does not run
	name     string
	config   string
	store    []string // flags
	disk     *disk    // nil: that of the machine
}

// newTeam starts three controllers on an external etcd.
func newTeam(t *testing.T) *team {
	t.Helper()
	w := prepareTeam(t, nil)
	at := startEtcd(t)
	for _, m := range w.members {
		m.store = []string{"--store", "etcd://" + at}
		w.run(m)
	}
	return w
}

// newOwnTeam starts three controllers that form an etcd, on disks if there are any.
func newOwnTeam(t *testing.T, on ...*disk) *team {
	t.Helper()
	etcd := make(map[string]string)
	for i := range 3 {
		// An address of its own: on that of all others a connection may take the port meanwhile.
		l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", rand.IntN(250)+2, rand.IntN(250),
			rand.IntN(250)+1))
		if err != nil {
			t.Fatal(err)
		}
		etcd[fmt.Sprintf("c%d", i+1)] = l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	w := prepareTeam(t, etcd)
	var starting sync.WaitGroup // each waits for another one
	for i, m := range w.members {
		if on == nil {
			m.store = []string{"--data-dir", t.TempDir()}
		} else {
			m.disk, m.store = on[i], []string{"--data-dir", filepath.Join(on[i].dir, "data")}
		}
		starting.Go(func() { w.run(m) })
	}
	starting.Wait()
	return w
}

// prepareTeam returns three controllers that do not run yet; etcd lists the members if the
// controllers form an etcd.
func prepareTeam(t *testing.T, etcd map[string]string) *team {
	t.Helper()
	var collectors []netip.Addr
	for i := range 3 {
		collectors = append(collectors, netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 1)}))
	}
	w := &team{deployment: deployWith(t, collectors),
		accepted: make(map[string]api.MulticastGroupSpec)}
	for i, a := range collectors {
		inv := w.inventory
		inv.Intervals.Settle = api.Duration(200 * time.Millisecond)
		inv.Cluster.TTL = api.Duration(2 * time.Second)
		inv.Cluster.Etcd.Members = etcd
		inv.BGP.RouterID = netip.AddrFrom4([4]byte{10, 255, 255, byte(i + 1)})
		inv.BGP.Peers = append([]inventory.Peer(nil), inv.BGP.Peers...)
		for j := range inv.BGP.Peers {
			inv.BGP.Peers[j].LocalAddress = a
		}
		text, err := yaml.Marshal(inv)
		if err != nil {
			t.Fatal(err)
		}
		m := &teammate{name: fmt.Sprintf("c%d", i+1), config: filepath.Join(t.TempDir(), "weft.yaml")}
		if err := os.WriteFile(m.config, text, 0o600); err != nil {
			t.Fatal(err)
		}
		w.members = append(w.members, m)
	}
	return w
}

func (w *team) run(m *teammate) {
	w.t.Helper()
	if m.disk != nil {
		m.process = startCommand(w.t, m.disk.command(append([]string{"controller"}, m.flags()...)...))
		return
	}
	m.process = startProcess(w.t, m.flags()...)
}

// flags returns the flags of a controller.
func (m *teammate) flags() []string {
	return append([]string{"--config", m.config, "--name", m.name, "--peer-listen", "127.0.0.1:0"},
		m.store...)
}

// terminate ends a controller in order.
func (w *team) terminate(m *teammate) {
	w.t.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	if err := m.cmd.Wait(); err != nil {
		w.t.Errorf("%s: %v", m.name, err)
	}
	m.process = nil
}

// decider waits until a controller other than except reports that it decides.
func (w *team) decider(except *teammate) *teammate {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		for _, m := range w.members {
			if m.process == nil || m == except {
				continue
			}
			a, err := m.rest.Get(w.t.Context(), "/v1/controllers/"+m.name, nil)
			var c api.Controller
			if err == nil && json.Unmarshal(a.Body, &c) == nil && c.Role == api.RoleDecider {
				return m
			}
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("nobody decides after %v", patience)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// other returns a running controller except a and b.
func (w *team) other(a, b *teammate) *teammate {
	for _, m := range w.members {
		if m != a && m != b && m.process != nil {
			return m
		}
	}
	w.t.Fatal("there is no other controller")
	return nil
}

// accept applies the i-th group at a controller, repeatedly until the controller takes the group.
func (w *team) accept(m *teammate, i int) {
	w.t.Helper()
	m.until(fmt.Sprintf("g%d is accepted", i), func() bool { return w.try(m, i) })
}

// try applies the i-th group at a controller once, and reports success. A controller may answer 503
// while no controller decides, and 504 if the decider ends before its answer.
func (w *team) try(m *teammate, i int) bool {
	name, s := fmt.Sprintf("g%d", i), spec(i)
	err := m.put(name, s)
	var p *api.Problem
	if errors.As(err, &p) && p.Status != 503 && p.Code != string(api.CodeUnknown) &&
		p.Code != "unreachable" && p.Code != "not_plannable" {
		w.t.Errorf("%s at %s: %v", name, m.name, err)
	}
	if err != nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.accepted[name] = s
	return true
}

// settled waits until a controller reports that every accepted group is programmed, and returns the
// report.
func (w *team) settled(m *teammate) map[string]api.MulticastGroup {
	w.t.Helper()
	var groups map[string]api.MulticastGroup
	m.until("everything accepted is programmed, all switches synced", func() bool {
		list, err := m.rest.List(w.t.Context(), "/v1/multicast-groups", nil)
		if err != nil {
			return false // nobody decides
		}
		groups = make(map[string]api.MulticastGroup)
		for _, item := range list.Items {
			var g api.MulticastGroup
			if json.Unmarshal(item, &g) != nil {
				return false
			}
			groups[g.Name] = g
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for name := range w.accepted {
			g, there := groups[name]
			if !there {
				w.t.Fatalf("%s was accepted and is lost", name)
			}
			if !g.Status.Is(api.Programmed) {
				return false
			}
		}
		return m.settled(6)
	})
	return groups
}

// ask sends requests to a controller that may be stopped. Each returned function waits for an
// answer, and returns its status.
func (w *team) ask(m *teammate, path string) (answers []func() int) {
	w.t.Helper()
	for range 8 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(m.url, "http://"))
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			path); err != nil {
			w.t.Fatal(err)
		}
		answers = append(answers, func() int {
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(patience))
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				w.t.Error(err)
				return 0
			}
			defer r.Body.Close()
			return r.StatusCode
		})
	}
	return answers
}

// kept fails unless groups still have their index and epoch, and no switch got a write.
func (w *team) kept(when string, m *teammate, before map[string]api.MulticastGroup,
	written map[string]uint64) {
	w.t.Helper()
	for name, g := range w.settled(m) {
		was := before[name]
		if g.Version != was.Version || g.Status.Index != was.Status.Index ||
			g.Status.Epoch != was.Status.Epoch {
			w.t.Errorf("%s: %s has version %d, index %d, epoch %d; had %d, %d, %d", when, name, g.Version,
				g.Status.Index, g.Status.Epoch,
				was.Version, was.Status.Index, was.Status.Epoch)
		}
	}
	if again := w.network.Written(); !maps.Equal(again, written) {
		w.t.Errorf("%s: switches that agree were written to: %v, were %v", when, again, written)
	}
}

// TestCluster: three controllers on an etcd. While groups are applied, the test kills the decider,
// pauses it beyond its lease, and restarts all controllers in turn: no accepted group is lost, no
// switch in the wanted state is written to, and a group under constant writes loses no packet.
func TestCluster(t *testing.T) {
	w := newTeam(t)
	first := w.decider(nil)
	for i := range 3 {
		w.accept(w.members[i], i)
	}
	writes := w.newGroupWrites()
	if err := first.put("writes", writes.Spec()); err != nil {
		t.Fatal(err)
	}
	first.programmed("writes")
	before, written := w.settled(w.other(first, nil)), w.network.Written()
	traffic := w.deployment.run(writes)
	traffic.more("before the kill")

	first.kill()
	first.process = nil
	second := w.decider(nil)
	w.kept("after kill -9", w.other(second, nil), before, written)
	traffic.more("after kill -9")
	w.run(first)

	// A decider paused beyond its lease: another controller decides, and its decisions stand after the
	// first one wakes up.
	if err := second.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	third := w.decider(second)
	w.kept("while the decider is paused", third, before, written)
	w.accept(w.other(second, third), 3)
	before, written = w.settled(third), w.network.Written()
	// The paused controller answers these requests after it wakes up: with the state that the others
	// have acknowledged, or not at all.
	questions := w.ask(second, "/v1/multicast-groups/g3")
	if err := second.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, answer := range questions {
		if status := answer(); status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Errorf("a group that another controller had acknowledged: %d of the one that woke up", status)
		}
	}
	second.until("the one that was paused is a member again", func() bool {
		a, err := second.rest.Get(t.Context(), "/v1/controllers/"+second.name, nil)
		var c api.Controller
		return err == nil && json.Unmarshal(a.Body, &c) == nil && c.Role == api.RoleMember && c.Lag > 0
	})
	w.kept("after the one that was paused woke up", second, before, written)
	traffic.more("after the one that was paused woke up")

	// An upgrade in order, under changes. The decider comes last.
	stop, stopped := make(chan struct{}), make(chan struct{})
	decider := w.decider(nil)
	order := append([]*teammate{}, w.members...)
	for i, m := range order {
		if m == decider {
			order[i], order[2] = order[2], order[i]
		}
	}
	applied := 4
	for _, m := range order {
		asked := w.other(m, nil)
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if w.try(asked, applied) {
					applied++
				}
			}
		}()
		w.terminate(m)
		w.run(m)
		m.ready()
		traffic.more("after the restart of " + m.name)
		close(stop)
		<-stopped
		stop, stopped = make(chan struct{}), make(chan struct{})
	}
	if applied < 7 {
		t.Errorf("%d groups were applied: too few to say anything", applied)
	}
	w.settled(w.other(w.decider(nil), nil))
	w.terminate(w.other(w.decider(nil), nil))
	before, written = w.settled(w.decider(nil)), w.network.Written()
	w.terminate(w.decider(nil))
	last := w.decider(nil)
	w.kept("after the decider left in order", last, before, written)
	traffic.more("after the decider left in order")
	traffic.end()
	if out := last.output(t, "get", "controllers"); !strings.Contains(out, last.name+" (asked)") ||
		!strings.Contains(out, "decider") {
		t.Errorf("weft get controllers:\n%s", out)
	}
}

// TestOwnEtcd: three controllers form an etcd. One controller is killed and loses its disk: the
// controller starts only after another controller has replaced it, and then has all data again.
func TestOwnEtcd(t *testing.T) {
	w := newOwnTeam(t)
	decider := w.decider(nil)
	w.accept(w.other(decider, nil), 0)
	before, written := w.settled(decider), w.network.Written()
	decider.kill()
	decider.process = nil
	second := w.decider(nil)
	w.kept("after kill -9", second, before, written)
	second.until("the one that was killed is listed as missing", func() bool {
		return listsMissing(second.process, decider.name, "unreachable", "it does not answer at")
	})
	decider.store = []string{"--data-dir", t.TempDir()}
	var errs strings.Builder
	status := execute(t.Context(), append([]string{"controller"}, decider.flags()...), environment{
		stdin: strings.NewReader(""), stdout: &errs, stderr: &errs, getenv: func(string) string {
			return ""
		},
	})
	if status == exitOK || !strings.Contains(errs.String(), "this member has lost its data") {
		t.Fatalf("without its data it starts: status %d, %s", status, errs.String())
	}
	third := w.other(second, decider)
	if out := third.output(t, "replace", "controller", decider.name); !strings.Contains(out,
		decider.name) {
		t.Errorf("weft replace: %s", out)
	}
	third.until("the one that was replaced is listed so", func() bool {
		return listsMissing(third.process, decider.name, "replaced", "an empty data directory")
	})
	w.run(decider)
	decider.ready()
	w.accept(decider, 1)
	before, written = w.settled(decider), w.network.Written()
	// The replaced controller counts as a member: with another controller away, the two are more than
	// half.
	second.kill()
	second.process = nil
	w.kept("with the one that was replaced", w.decider(nil), before, written)
	w.accept(decider, 2)
	stale := func() (groups []api.MulticastGroup, said string) {
		var out, errs strings.Builder
		status := execute(t.Context(), []string{"get", "groups", "--stale", "-o", "json", "--server",
			decider.url}, environment{
			stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string {
				return ""
			},
		})
		var list api.List[api.MulticastGroup]
		if err := json.Unmarshal([]byte(out.String()), &list); err != nil || status != exitOK {
			t.Fatalf("weft get groups --stale: status %d, %v: %s", status, err, errs.String())
		}
		return list.Items, errs.String()
	}
	decider.until("it has read what was accepted", func() bool {
		groups, _ := stale()
		return len(groups) == len(w.accepted)
	})
	// A controller alone refuses changes, and says why.
	w.other(decider, nil).kill()
	decider.until("it refuses changes", func() bool {
		var p *api.Problem
		return errors.As(decider.put("g3", spec(3)), &p) && p.Code == "store_unavailable"
	})
	// The controller shows the records that it has read from the store, and their age.
	var refused *api.Problem
	if _, err := decider.rest.Get(t.Context(), "/v1/multicast-groups/g0", nil); !errors.As(err,
		&refused) || refused.Status != http.StatusServiceUnavailable {
		t.Errorf("without a quorum, it answers %v", err)
	}
	groups, said := stale()
	if len(groups) != len(w.accepted) ||
		!strings.Contains(said, "the controller read this from the store at most ") {
		t.Errorf("%d groups of %d, and how old that is: %s", len(groups), len(w.accepted), said)
	}
	for _, g := range groups {
		if g.Version == 0 || g.Spec.ProxyAddress != w.accepted[g.Name].ProxyAddress {
			t.Errorf("a stale reading has %+v", g)
		}
	}
	decider.until("it lists the others without a quorum", func() bool {
		return listsMissing(decider.process, second.name, "unreachable", "it does not answer at") &&
			listsMissing(decider.process, third.name, "unreachable", "it does not answer at")
	})
	if again := w.network.Written(); again == nil {
		t.Error("no switch answers")
	}
}

// listsMissing reports whether a controller lists another one as missing, with a reason, a message
// that contains a text, and the time of the last contact, in the API and in weft get controllers.
func listsMissing(p *process, name, reason, message string) bool {
	list, err := p.rest.Controllers().List(p.t.Context(), nil)
	if err != nil {
		return false
	}
	for i := range list {
		c := &list[i]
		if c.Name == name && c.Role == api.RoleMissing && c.Reason == reason &&
			strings.Contains(c.Message, message) && !c.LastContact.IsZero() {
			out := p.output(p.t, "get", "controllers")
			return strings.Contains(out, "missing: "+reason) && strings.Contains(out, message)
		}
	}
	return false
}

// output returns the output of a command that asks a controller.
func (p *process) output(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	status := execute(t.Context(), append(args, "--server", p.url), environment{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string {
			return ""
		},
	})
	if status != exitOK {
		t.Errorf("%v: status %d, %s", args, status, errs.String())
	}
	return out.String()
}
