package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// TestPortTakenDown takes a port of a lab's switch out of service by a file: the embedded switch is
// configured by gNMI, its link goes down at both ends, and a multicast tree leaves it. It comes
// back by the API.
func TestPortTakenDown(t *testing.T) {
	l := start(t, nil, "lab", "figure1", "--listen", "127.0.0.1:0", "--log-level", "error")
	server := ""
	for server == "" {
		if rest, ok := strings.CutPrefix(l.out.next(t), "API: "); ok {
			server, _, _ = strings.Cut(rest, " ")
		}
	}
	command := func(want int, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		status := execute(t.Context(), append(args, "--server", server), environment{
			stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string {
				return ""
			},
		})
		if status != want {
			t.Fatalf("weft %s: status %d: %s%s", strings.Join(args, " "), status, out.String(),
				errs.String())
		}
		return out.String()
	}
	c, err := client.New(client.Config{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	await := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: not in time", what)
			}
		}
	}
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	group := file("g.yaml", `name: g
spec:
  proxyAddress: 2001:db8:ffff::1
  designatedQpn: 4096
  source: {address: "2001:db8:1:1::1", qpn: 256}
  receivers: [{address: "2001:db8:1:2::1", qpn: 512}, {address: "2001:db8:1:4::1", qpn: 513}]
`)
	command(exitOK, "apply", "-f", group, "--wait", patience.String())

	// carrying is a port of N6 by which the tree goes on, and the node behind it.
	carrying := func() (port uint32, child string) {
		t.Helper()
		g, err := c.Groups().Get(t.Context(), "g")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range g.Status.Tree.Nodes {
			if n.Switch == "N6" && len(n.Branches) > 0 {
				return n.Branches[0].Port, n.Branches[0].Child
			}
		}
		t.Fatalf("the tree has no branch at N6: %+v", g.Status.Tree)
		return 0, ""
	}
	was, child := carrying()
	name := fmt.Sprintf("N6/%d", was)
	port := func() *api.Port {
		t.Helper()
		p, err := c.SwitchPorts("N6").Get(t.Context(), fmt.Sprint(was))
		var refused *api.Problem
		if errors.As(err, &refused) && refused.Code == string(api.CodeNotFound) {
			return &api.Port{} // not reported yet
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	await("port "+name+" is reported", func() bool { return port().Status.Oper == "up" })
	p := port()
	if p.Version != 0 || p.Status.Interface == "" || p.Status.MAC == "" || p.Status.Link == "" ||
		p.Status.Config.Enabled == nil || !*p.Status.Config.Enabled {
		t.Errorf("learned: %+v", p)
	}
	if out := command(exitOK, "get", "ports"); !strings.Contains(out, name+"  ") ||
		!strings.Contains(out, "N1/1 ") {
		t.Errorf("get ports: %s", out)
	}
	if out := command(exitOK, "get", "gnmi", "N6"); !strings.Contains(out,
		"dialect openconfig, gNMI ") || !strings.Contains(out, "ON_CHANGE") ||
		!strings.Contains(out, "openconfig-interfaces ") {
		t.Errorf("get gnmi: %s", out)
	}

	// A dry run says that the tree moves, and nothing moves.
	down := file("down.yaml", fmt.Sprintf(
		"kind: port\nname: %s\nspec: {enabled: false, description: to be repaired}\n", name))
	if out := command(exitOK, "apply", "-f", down, "--dry-run"); !strings.Contains(out, "  N6: ") {
		t.Errorf("dry run: %s", out)
	}
	if p := port(); p.Version != 0 || p.Status.Oper != "up" {
		t.Fatalf("after a dry run: %+v", p)
	}
	if out := command(exitFailed, "diff", "-f", down); !strings.Contains(out, "+  enabled: false") {
		t.Errorf("diff: %s", out)
	}
	command(exitOK, "apply", "-f", down, "--wait", patience.String())
	await("the link is down", func() bool { return port().Status.Oper == "down" })
	if p := port(); !p.Status.Conditions.Is(api.Programmed) || p.Status.Conditions.Is(api.Degraded) ||
		*p.Status.Config.Enabled || p.Status.Drift != nil {
		t.Errorf("disabled: %+v", p.Status)
	}
	await("the far end is down", func() bool {
		far, err := c.Ports().List(t.Context(), map[string][]string{"switch": {child}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range far {
			if far[i].Status.Oper == "down" {
				return true
			}
		}
		return false
	})
	await("the tree has moved", func() bool {
		now, _ := carrying()
		g, err := c.Groups().Get(t.Context(), "g")
		if err != nil {
			t.Fatal(err)
		}
		return now != was && g.Status.Is(api.Programmed)
	})
	if out := command(exitOK, "describe", "port", name); !strings.Contains(out, "port.changed") ||
		!strings.Contains(out, "enabled: false") {
		t.Errorf("describe: %s", out)
	}

	// Without a spec the switch keeps what it has; a spec brings it back.
	command(exitOK, "delete", "port", name)
	if p := port(); p.Version != 0 || p.Status.Oper != "down" || *p.Status.Config.Enabled {
		t.Errorf("after the deletion: %+v", p)
	}
	enabled := true
	if _, err := c.SwitchPorts("N6").Put(t.Context(), fmt.Sprint(was), api.PortSpec{Enabled: &enabled},
		client.Write{}); err != nil {
		t.Fatal(err)
	}
	await("the port is up", func() bool {
		p := port()
		return p.Status.Oper == "up" && p.Status.Conditions.Is(api.Programmed)
	})
	l.cancel()
	if status := <-l.status; status != exitOK {
		t.Errorf("exit status %d", status)
	}
}
