package slurm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/internal/bubble"
)

// TestParseNodes reads lines as Slurm 22.05 writes them.
func TestParseNodes(t *testing.T) {
	text := "NodeName=h1 CoresPerSocket=1  CPUAlloc=0 NodeAddr=127.0.0.1 NodeHostName=h1  " +
		"RealMemory=1 State=IDLE+DRAIN ThreadsPerCore=1 Partitions=all  BootTime=None " +
		"Reason=weft: 2 of 2 ports down [root@2026-11-26T02:51:13]\n" +
		"NodeName=h2 CPUAlloc=0 State=MIXED* ThreadsPerCore=1\n" +
		"NodeName=h3 State=DOWN*+DRAIN+NOT_RESPONDING Weight=1 " +
		"Reason=x State=IDLE Reason=y [z] [slurm@2026-01-02T03:04:05] Comment=later\n" +
		"No nodes in the system\nNodeName=h4\n"
	want := []Node{
		{"h1", []string{"IDLE", "DRAIN"}, "weft: 2 of 2 ports down"},
		{"h2", []string{"MIXED"}, ""},
		{"h3", []string{"DOWN", "DRAIN", "NOT_RESPONDING"}, "x State=IDLE Reason=y [z]"},
		{"h4", []string{""}, ""},
	}
	if got := ParseNodes(text); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// cluster is a Slurm in memory.
type cluster struct {
	nodes map[string]*Node
	log   []string
	fail  error
}

func newCluster(n int) *cluster {
	c := &cluster{nodes: make(map[string]*Node)}
	for i := range n {
		name := fmt.Sprint("h", i+1)
		c.nodes[name] = &Node{Name: name, State: []string{"IDLE"}}
	}
	return c
}

func (c *cluster) Nodes(context.Context) (out []Node, err error) {
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		out = append(out, *c.nodes[name])
	}
	return out, c.fail
}

func (c *cluster) Do(_ context.Context, a Action) error {
	n := c.nodes[a.Node]
	c.log = append(c.log, fmt.Sprintf("%s %q", a.Node, a.Reason))
	if a.Reason != "" {
		n.State, n.Reason = []string{"IDLE", "DRAIN"}, a.Reason
	} else {
		n.State, n.Reason = []string{"IDLE"}, ""
	}
	return nil
}

// hosts returns n hosts with one port each. The ports are up, except on the bad hosts.
func hosts(n int, bad ...string) []api.Host {
	var out []api.Host
	for i := range n {
		h := api.Host{Name: fmt.Sprint("h", i+1), Connected: true, Ports: make([]api.HostPort, 1)}
		h.Ports[0].Status.Usable = !slices.Contains(bad, h.Name)
		h.Ports[0].Status.LinkDown = !h.Ports[0].Status.Usable
		out = append(out, h)
	}
	return out
}

// bed lets a watcher look at hosts every second.
type bed struct {
	t       *testing.T
	w       *Watcher
	slurm   *cluster
	now     time.Time
	skipped int
}

func newBed(t *testing.T, n int) *bed {
	b := &bed{t: t, slurm: newCluster(n), now: time.Unix(0, 0)}
	b.restart()
	return b
}

func (b *bed) restart() { b.w = NewWatcher(DefaultConfig(), nil, b.now) }

// pass lets time pass with hosts in the given states, and returns the actions carried out.
func (b *bed) pass(d time.Duration, hosts []api.Host) string {
	b.slurm.log = nil
	for end := b.now.Add(d); b.now.Before(end); b.now = b.now.Add(time.Second) {
		b.w.Observe(b.now, hosts, true)
		nodes, err := b.slurm.Nodes(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		var actions []Action
		actions, b.skipped = b.w.Act(b.now, nodes)
		for _, a := range actions {
			if err := b.slurm.Do(b.t.Context(), a); err != nil {
				b.t.Fatal(err)
			}
			b.w.Done(b.now, a)
		}
	}
	return strings.Join(b.slurm.log, ", ")
}

func (b *bed) want(got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("at %v: %s, want %s", b.now.Unix(), got, want)
	}
}

func TestDrainAndResume(t *testing.T) {
	b := newBed(t, 4)
	b.want(b.pass(time.Hour, hosts(4)), "")
	b.want(b.pass(30*time.Second, hosts(4, "h2")), "")
	b.want(b.pass(time.Second, hosts(4, "h2")), `h2 "weft: 1 of 1 ports down"`)
	b.want(b.pass(time.Hour, hosts(4, "h2")), "")
	b.want(b.pass(time.Minute, hosts(4)), "")
	b.want(b.pass(time.Second, hosts(4)), `h2 ""`)
	b.want(b.pass(time.Hour, hosts(4)), "")
}

// TestRestart: a new watcher resumes the nodes drained by the previous watcher, and drains no node
// twice.
func TestRestart(t *testing.T) {
	b := newBed(t, 4)
	b.want(b.pass(40*time.Second, hosts(4, "h2")), `h2 "weft: 1 of 1 ports down"`)
	b.restart()
	b.want(b.pass(time.Hour, hosts(4, "h2")), "")
	b.restart()
	b.want(b.pass(61*time.Second, hosts(4)), `h2 ""`)
}

// TestNodesOfOthers: what administrators have drained, or have taken over, stays; nodes that are
// down or that Weft does not know are not touched.
func TestNodesOfOthers(t *testing.T) {
	b := newBed(t, 30)
	b.slurm.nodes["h1"] = &Node{"h1", []string{"IDLE", "DRAIN"}, "memory"}
	b.slurm.nodes["h2"] = &Node{"h2", []string{"DOWN"}, "power"}
	b.slurm.nodes["other"] = &Node{"other", []string{"IDLE", "DRAIN"}, Mark + "x"}
	b.want(b.pass(time.Hour, hosts(4, "h1", "h2", "h3")), `h3 "weft: 1 of 1 ports down"`)
	b.slurm.nodes["h3"].Reason = "checked by hand, keep"
	b.want(b.pass(time.Hour, hosts(4)), "")
}

// TestNodesOfSeveralNICs: a node is out of use when one of its NICs is.
func TestNodesOfSeveralNICs(t *testing.T) {
	b := newBed(t, 4)
	names, err := scheduler.ParsePattern("{host}-{nic}")
	if err != nil {
		t.Fatal(err)
	}
	b.w = NewWatcher(DefaultConfig(), names, b.now)
	nics := hosts(4, "h3", "h4")
	for i := range nics {
		nics[i].Name = []string{"h1-0", "h1-1", "h2-0", "h2-1"}[i]
	}
	b.want(b.pass(time.Minute, nics),
		`h2 "weft: NIC h2-0: 1 of 1 ports down, and 1 more of 2 NICs"`)
}

// TestFlapping: a link that flaps fast drains nothing, or one time; one that flaps slowly keeps its
// node drained for longer each time.
func TestFlapping(t *testing.T) {
	b := newBed(t, 4)
	for range 100 {
		b.want(b.pass(20*time.Second, hosts(4, "h1")), "")
		b.want(b.pass(20*time.Second, hosts(4)), "")
	}
	drains, resumes := 0, 0
	for range 60 { // two hours of 31 s down, 89 s up
		if b.pass(31*time.Second, hosts(4, "h1")) != "" {
			drains++
		}
		if b.pass(89*time.Second, hosts(4)) != "" {
			resumes++
		}
	}
	if drains != 2 || resumes != 1 {
		t.Errorf("drained %d times, resumed %d times in two hours; want 2 and 1", drains, resumes)
	}
	b.want(b.pass(2*time.Minute+time.Second, hosts(4)), `h1 ""`)
}

// TestMost: a fault of many nodes drains few of these nodes.
func TestMost(t *testing.T) {
	b := newBed(t, 30)
	gone := hosts(30)
	for i := range gone {
		gone[i].Connected = false
	}
	got := b.pass(time.Minute, gone)
	if n := len(b.slurm.log); n != 3 || b.skipped != 27 {
		t.Errorf("drained %d (%s), and withheld %d; want 3 and 27", n, got, b.skipped)
	}
	if b.pass(time.Hour, hosts(30)); len(b.slurm.log) != 3 || b.skipped != 0 {
		t.Errorf("resumed %v", b.slurm.log)
	}
}

// TestRun: the loop acts by itself, says each thing once, changes nothing in a dry run or while the
// fabric is not known whole, and outlives failures.
func TestRun(t *testing.T) {
	for _, dry := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			slurm := newCluster(4)
			var mu sync.Mutex // of the next line
			now, known, failure := hosts(4), true, error(nil)
			var said, warned []string
			w := &Watch{Config: DefaultConfig(), Interval: 5 * time.Second, DryRun: dry, Nodes: slurm,
				Hosts: func(context.Context) ([]api.Host, bool, error) {
					mu.Lock()
					defer mu.Unlock()
					return now, known, failure
				},
				Say:  func(a Action) { said = append(said, fmt.Sprint(a.Node, " ", a.Reason)) },
				Warn: func(text string) { warned = append(warned, text) },
			}
			done := make(chan error)
			go func() { done <- w.Run(ctx) }()
			pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
			pass(time.Minute)
			mu.Lock()
			known, now = false, hosts(4, "h1")
			mu.Unlock()
			pass(time.Minute)
			if len(said) != 0 || len(warned) != 1 || !strings.Contains(warned[0], "whole fabric") {
				t.Errorf("dry %t: said %q, warned %q", dry, said, warned)
			}
			mu.Lock()
			known, failure = true, errors.New("no answer")
			mu.Unlock()
			pass(time.Minute)
			mu.Lock()
			failure = nil
			mu.Unlock()
			pass(time.Minute)
			if !slices.Equal(said, []string{"h1 weft: 1 of 1 ports down"}) ||
				!slices.Equal(warned[1:], []string{"no answer"}) {
				t.Errorf("dry %t: said %q, warned %q", dry, said, warned)
			}
			if changed := len(slurm.log) > 0; changed == dry {
				t.Errorf("dry %t: %v", dry, slurm.log)
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
}
