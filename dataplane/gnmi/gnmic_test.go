package gnmi_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// gnmic runs openconfig/gnmic, a client that is not ours, against the switch of a bed.
type gnmic struct {
	*bed
	address string
}

func newGNMIc(t *testing.T) *gnmic {
	if _, err := exec.LookPath("gnmic"); err != nil {
		t.Skip("no gnmic on the PATH")
	}
	b := newBed(t)
	return &gnmic{b, b.listen()}
}

func (g *gnmic) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "gnmic", append([]string{"-a", g.address, "--insecure"},
		args...)...)
	cmd.Env = []string{"HOME=" + g.t.TempDir(), "PATH=" + os.Getenv("PATH")}
	return cmd
}

// run returns what a command that ends prints; err is its status.
func (g *gnmic) run(args ...string) (out string, err error) {
	ctx, cancel := context.WithTimeout(g.ctx, 30*time.Second)
	defer cancel()
	b, err := g.command(ctx, args...).CombinedOutput()
	return string(b), err
}

// follow reads the output of a command that does not end, until the output contains all of want, in
// order. It calls then after the first match.
func (g *gnmic) follow(then func(), want []string, args ...string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.ctx, 30*time.Second)
	defer cancel()
	cmd := g.command(ctx, args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		g.t.Fatal(err)
	}
	var all strings.Builder
	lines, found := bufio.NewScanner(out), 0
	for found < len(want) && lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if !strings.Contains(lines.Text(), want[found]) {
			continue
		}
		if found++; found == 1 && then != nil {
			then()
		}
	}
	cancel()
	_ = cmd.Wait() // it was killed
	if found < len(want) {
		g.t.Errorf("gnmic %s: nothing of %q; it printed\n%s", strings.Join(args, " "), want[found:],
			all.String())
	}
}

// TestGNMIc has gnmic do each RPC and each mode of a subscription.
func TestGNMIc(t *testing.T) {
	g := newGNMIc(t)
	const leaf = "/interfaces/interface[name=eth1]/"
	for _, c := range []struct {
		args []string
		want string // a regular expression
		bad  bool
	}{
		{args: []string{"capabilities"},
			want: `(?s)gNMI version: 0.10.0.*openconfig-interfaces, OpenConfig working group, ` +
				`3.8.1.*weft-pfc, Weft, 0.1.0.*JSON_IETF`},
		{args: []string{"get", "-e", "json_ietf", "--path", leaf + "state/oper-status"},
			want: `"interfaces/interface/state/oper-status": "UP"`},
		{args: []string{"get", "-e", "json_ietf", "--path", leaf + "config"},
			want: `(?s)"openconfig-interfaces:enabled": true.*"openconfig-interfaces:type": ` +
				`"iana-if-type:ethernetCsmacd"`},
		{args: []string{"get", "-e", "proto", "--path", leaf + "state/counters/in-pkts"},
			want: `"interfaces/interface/state/counters/in-pkts": 0`},
		{args: []string{"get", "-e", "json", "--type", "config", "--path", "/"},
			want: `(?s)"hostname": "s1"`},
		{args: []string{"get", "--path", "/interfaces/interface[name=eth9]"}, want: "NotFound",
			bad: true},
		{args: []string{"get", "--path", "/bgp"}, want: "InvalidArgument.*no such leaf", bad: true},
		{args: []string{"get", "-e", "json_ietf", "--path",
			"/qos/interfaces/interface[interface-id=eth1]/output/queues/queue[name=3]/state"},
			want: `"openconfig-qos:transmit-pkts": "0"`},
		{args: []string{"set", "--update", leaf + "config/description:::string:::to T1"},
			want: `"operation": "UPDATE"`},
		{args: []string{"set", "--update-path", leaf + "config/enabled", "--update-value", "false"},
			want: `"operation": "UPDATE"`},
		{args: []string{"get", "-e", "json_ietf", "--path", leaf + "state/admin-status"}, want: `"DOWN"`},
		{args: []string{"get", "-e", "json_ietf", "--path", leaf + "config"},
			want: `(?s)"openconfig-interfaces:description": "to T1".*"openconfig-interfaces:enabled": ` +
				`false`},
		{args: []string{"set", "-e", "json_ietf", "--replace-path", leaf + "config", "--replace-value",
			`{"description": "again"}`}, want: `"operation": "REPLACE"`},
		{args: []string{"get", "-e", "json_ietf", "--path", leaf + "config"},
			want: `(?s)"openconfig-interfaces:description": "again".*"openconfig-interfaces:enabled": true`},
		{args: []string{"set", "--delete", leaf + "config/description"}, want: `"operation": "DELETE"`},
		{args: []string{"set", "-e", "json_ietf", "--update-path", leaf + "config/mtu", "--update-value",
			"9000"}, want: `config/mtu: value 9000; want none`, bad: true},
		{args: []string{"set", "--update", leaf + "state/oper-status:::string:::UP"}, want: "it is state",
			bad: true},
		{args: []string{"subscribe", "--mode", "once", "-e", "json_ietf", "--path",
			leaf + "state/counters"}, want: `(?s)interfaces/interface\[name=eth1\].*in-octets`},
		{args: []string{"subscribe", "--mode", "once", "--path", "/.../oper-status"},
			want: `(?s)oper-status.*ACTIVE`},
	} {
		out, err := g.run(c.args...)
		if (err != nil) != c.bad || !regexp.MustCompile(c.want).MatchString(out) {
			t.Errorf("gnmic %s: %v\n%s\nwant %s", strings.Join(c.args, " "), err, out, c.want)
		}
	}

	up := true
	flip := func() {
		up = !up
		g.cables[0].SetUp(up)
	}
	g.follow(flip, []string{"UP", "DOWN"}, "subscribe", "--stream-mode", "on-change", "--path",
		leaf+"state/oper-status")
	flip()
	g.follow(nil, []string{"in-pkts", "in-pkts", "in-pkts"}, "subscribe", "--stream-mode", "sample",
		"--sample-interval", "100ms", "--path", leaf+"state/counters/in-pkts")
	g.follow(nil, []string{"sync-response", "in-pkts"}, "subscribe", "--stream-mode", "sample",
		"--sample-interval", "100ms", "--updates-only", "--path", leaf+"state/counters/in-pkts")
	g.follow(flip, []string{"UP", "DOWN"}, "subscribe", "--stream-mode", "target-defined", "--path",
		leaf+"state/oper-status")
	flip()
	g.follow(nil, []string{"UP", "UP", "UP"}, "subscribe", "--stream-mode", "on-change",
		"--heartbeat-interval", "100ms", "--path", leaf+"state/oper-status")
	g.follow(nil, []string{"in-pkts", "in-pkts"}, "subscribe", "--stream-mode", "sample",
		"--sample-interval", "100ms", "--suppress-redundant", "--heartbeat-interval", "200ms", "--path",
		leaf+"state/counters/in-pkts")
}

// TestExamples runs the commands of gnmic that docs/gnmi.md shows.
func TestExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/gnmi.md")
	if err != nil {
		t.Fatal(err)
	}
	g := newGNMIc(t)
	examples := regexp.MustCompile(
		`(?m)^gnmic -a 127\.0\.0\.1:9559 --insecure (.*)$`).FindAllStringSubmatch(string(page), -1)
	if len(examples) < 5 {
		t.Errorf("%d examples only", len(examples))
	}
	word := regexp.MustCompile(`'[^']*'|\S+`)
	for _, e := range examples {
		var args []string
		for _, w := range word.FindAllString(strings.ReplaceAll(e[1], "veth0", "eth1"), -1) {
			args = append(args, strings.Trim(w, "'"))
		}
		if args[0] == "subscribe" && !slices.Contains(args, "once") {
			g.follow(nil, []string{"sync-response"}, args...)
			continue
		}
		if out, err := g.run(args...); err != nil {
			t.Errorf("gnmic %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
