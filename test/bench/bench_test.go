package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/store/etcd"
	"github.com/weft-sdn/weft/test/bmv2"
)

// TestMain lets the test be the processes that a bench starts.
func TestMain(m *testing.M) {
	if etcd.IsServer() {
		os.Exit(etcd.Serve())
	}
	if len(os.Args) > 1 && os.Args[1] == fakeSwitchCommand {
		if err := fakeSimpleSwitch(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && (os.Args[1] == replayCommand || os.Args[1] == hostsCommand ||
		os.Args[1] == controllerCommand) {
		if err := run(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// fast are workloads that a test has the time for.
func fast(t *testing.T) []workload {
	t.Helper()
	all, err := workloads()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].packets = 0 // one cycle
	}
	return all
}

// workloadOf is a role's with one cycle.
func workloadOf(t *testing.T, r role) workload {
	t.Helper()
	w, err := r.workload()
	if err != nil {
		t.Fatal(err)
	}
	w.packets = 0
	return w
}

// TestWorkloads: with each workload, a switch sends exactly the expected packets, again and again.
func TestWorkloads(t *testing.T) {
	if testing.Short() {
		t.Skip("packets on one goroutine")
	}
	for _, w := range fast(t) {
		t.Run(w.title, func(t *testing.T) {
			l, err := newLoop(w)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := l.compare(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestReplayed: a switch in a process of its own does the same, from file to file.
func TestReplayed(t *testing.T) {
	if testing.Short() {
		t.Skip("packets on one goroutine")
	}
	for _, w := range fast(t) {
		t.Run(w.title, func(t *testing.T) {
			w.packets = 3 * len(w.in)
			dir := t.TempDir()
			if err := w.writeFiles(dir); err != nil {
				t.Fatal(err)
			}
			p, err := replayed(t.Context(), w, dir)
			if err != nil || p.packets != 3*len(w.in) || p.rate() <= 0 || p.cpu <= 0 {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// TestReplayedFails: what is wrong is found.
func TestReplayedFails(t *testing.T) {
	if testing.Short() {
		t.Skip("packets on one goroutine")
	}
	for _, c := range []struct {
		name, want string
		wrong      func(*workload)
	}{
		{"a wrong packet", "other packets came out than must", func(w *workload) {
			w.out[0].frame[40]++
		}},
		{"one too few", "1 packets came out, want 2", func(w *workload) {
			w.out = append(w.out, w.out[0])
		}},
		{"a bad program", "program.json: bad program", func(w *workload) { w.program = []byte("{}") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := workloadOf(t, forwarding())
			c.wrong(&w)
			dir := t.TempDir()
			if err := w.writeFiles(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := replayed(t.Context(), w, dir); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestSimpleSwitch(t *testing.T) {
	if missing := bmv2.MissingSimpleSwitch(); missing != "" {
		t.Skipf("skipped: %s is not on the PATH", missing)
	}
	w := workloadOf(t, delivering(5))
	w.packets = 20
	dir := t.TempDir()
	if err := w.writeFiles(dir); err != nil {
		t.Fatal(err)
	}
	p, err := simplySwitched(t.Context(), w, dir)
	if err != nil || p.packets != 20 || p.rate() <= 0 || p.cpu <= 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// fakeSwitchCommand makes the test a simple_switch that prints without end.
const fakeSwitchCommand = "fake-simple-switch"

// fakeSimpleSwitch listens on simple_switch's Thrift port and prints until killed.
func fakeSimpleSwitch(args []string) error {
	i := slices.Index(args, "--thrift-port")
	if i < 0 || i+1 == len(args) {
		return fmt.Errorf("no --thrift-port in %q", args)
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+args[i+1])
	if err != nil {
		return err
	}
	defer l.Close()
	for {
		if _, err := fmt.Println("the switch prints"); err != nil {
			return err
		}
	}
}

// If simple_switch_CLI fails, the error contains its output. The benchmark reads the switch's
// output, printed all along, after the switch has ended.
func TestSimpleSwitchNotProgrammed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	for name, script := range map[string]string{
		bmv2.SimpleSwitch:   fmt.Sprintf("#!/bin/sh\nexec '%s' %s \"$@\"\n", self, fakeSwitchCommand),
		"simple_switch_CLI": "#!/bin/sh\necho the CLI is broken >&2\nexit 3\n",
	} {
		if err := os.WriteFile(filepath.Join(path, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", path+string(os.PathListSeparator)+os.Getenv("PATH"))
	w := workloadOf(t, delivering(5))
	dir := t.TempDir()
	if err := w.writeFiles(dir); err != nil {
		t.Fatal(err)
	}
	_, err = simplySwitched(t.Context(), w, dir)
	for _, want := range []string{"the CLI is broken", "exit status 3", "the switch prints"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.300v, want %q in it", err, want)
		}
	}
}

func TestWorkloadCheck(t *testing.T) {
	r := workloadOf(t, replicating(2))
	changed := wire{r.out[1].port, bytes.Clone(r.out[1].frame)}
	changed.frame[len(changed.frame)-1]++
	for _, c := range []struct {
		name string
		got  []wire
		ok   bool
	}{
		{"all", r.out, true},
		{"in another order", []wire{r.out[1], r.out[0]}, true},
		{"one missing", r.out[:1], false},
		{"one twice", []wire{r.out[0], r.out[0]}, false},
		{"one too many", append(r.out[:2:2], r.out[0]), false},
		{"one octet", []wire{r.out[0], changed}, false},
		{"another port", []wire{r.out[0], {7, r.out[1].frame}}, false},
	} {
		if err := r.check(c.got); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestFigure(t *testing.T) {
	f := figure{bench: "a/b", unit: "packets/s", value: 123456.789, more: []field{{"receivers", 5},
		{"ratio", 0.0012346}, {"octets", 4_275_200.0}}}
	got, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"bench":"a/b","unit":"packets/s","value":123500,"receivers":5,"ratio":0.001235,"octets":4275200}`; string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		runs runs
		want float64
	}{{runs{3}, 3}, {runs{9, 1, 2}, 2}, {runs{4, 1, 9, 2}, 3}} {
		if got := c.runs.median(); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.runs, got, c.want)
		}
	}
}

func TestCommands(t *testing.T) {
	w := workloadOf(t, replicating(2))
	script, err := w.commands(65536)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"set_queue_depth 65536\n",
		"table_set_default FabricIngress.this_node.node FabricIngress.this_node.set_node " +
			"0x20010db8000000000000000000000001 0x7c\n",
		"table_add FabricIngress.endpoint.local_sid FabricIngress.endpoint.end_replicate " +
			"0x5f0000000001e0000000000000000000/128 => 0x05 0x4a 0x00 0x20010db8000000000000000000000002\n",
		"mc_mgrp_create 74\nmc_node_create 1 2\nmc_node_associate 74 0\nmc_node_create 2 " +
			"3\nmc_node_associate 74 1\n",
	} {
		if !strings.Contains(script, want) {
			t.Errorf("no %q in\n%s", want, script)
		}
	}
}

func TestWants(t *testing.T) {
	for _, c := range []struct {
		asked []string
		name  string
		want  bool
	}{
		{nil, "pcap", true}, {nil, "pcap/route", true}, {[]string{"engine"}, "pcap", false},
		{[]string{"pcap"}, "pcap/route", true},
		{[]string{"pcap/route"}, "pcap", true}, {[]string{"pcap/route"}, "pcap/route", true},
		{[]string{"pcap/route"}, "pcap/forward", false},
		{[]string{"pcap/traffic"}, "pcap/traffic/forward", true},
		{[]string{"pcap/traffic/forward"}, "pcap/traffic/mixed", false},
		{[]string{"engine", "pcap/route"}, "engine/forward", true},
	} {
		if got := (&report{asked: c.asked}).wants(c.name); got != c.want {
			t.Errorf("%v: %s: %v", c.asked, c.name, got)
		}
	}
}

func TestUnknownBench(t *testing.T) {
	if err := run([]string{"nothing"}); err == nil {
		t.Error("no error")
	}
}
