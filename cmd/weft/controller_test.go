package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
)

// value waits for the line of a log that has a key, and returns its value.
func value(t *testing.T, log *lineWriter, key string) string {
	t.Helper()
	find := regexp.MustCompile(`\b` + key + `=(\S+)`)
	for {
		if m := find.FindStringSubmatch(log.next(t)); m != nil {
			return m[1]
		}
	}
}

// TestController: a controller and a switch as processes. The controller installs
// its pipeline, and its API shows the switch.
func TestController(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	sw := start(t, nil, "switch", "--grpc-server-addr", "127.0.0.1:0", "--device-id", "4")
	config := filepath.Join(t.TempDir(), "weft.yaml")
	err := os.WriteFile(config, []byte(`
switches:
- {name: n1, address: "`+value(t, sw.err, "p4runtime")+`", deviceId: 4, mac: "02:00:00:00:00:01"}
hosts:
- {name: h1, address: "2001:db8::1", mac: "02:00:00:00:01:01", switch: n1, port: 1}
bgp: {listen: "127.0.0.1:0", asn: 64512, routerId: 10.0.0.254}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, nil, "controller", "--config", config, "--listen", "127.0.0.1:0")
	server := "http://" + value(t, c.err, "api")
	get := func(args ...string) (int, string, string) {
		var out, errs strings.Builder
		status := execute(t.Context(), append(append([]string{"get"}, args...), "--server", server),
			environment{
				stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string {
					return ""
				},
			})
		return status, out.String(), errs.String()
	}
	for deadline := time.Now().Add(patience); ; {
		status, out, errs := get("switches", "-o", "json")
		var list struct{ Items []api.SwitchStatus }
		if err := json.Unmarshal([]byte(out), &list); status != exitOK || err != nil {
			t.Fatalf("status %d: %s%v", status, errs, err)
		}
		if len(list.Items) == 1 && list.Items[0].Connected {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not connected after %v: %s", patience, out)
		}
	}
	if _, out, _ := get("tables", "n1"); !strings.Contains(out, "\nmt_group ") {
		t.Errorf("tables:\n%s", out)
	}
	if _, out, _ := get("topology"); !strings.Contains(out, "h1    2001:db8::1  n1") {
		t.Errorf("topology:\n%s", out)
	}
	if status, _, errs := get("entries", "n1", "nosuch"); status != exitFailed ||
		!strings.Contains(errs, "404 not_found") {
		t.Errorf("status %d, %s", status, errs)
	}
	c.cancel()
	if status := <-c.status; status != exitOK {
		t.Errorf("exit status %d of the controller", status)
	}
	sw.cancel()
	if status := <-sw.status; status != exitOK {
		t.Errorf("exit status %d of the switch", status)
	}
}

// TestDefaults: a controller without a file starts, says where its data, dashboard and API are, and
// how to add a switch. Each obstacle of a first start is one line with the remedy.
func TestDefaults(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	c := start(t, map[string]string{"WEFT_DATA_DIR": dir}, "controller", "--listen", "127.0.0.1:0")
	server := value(t, c.err, "api")
	var said strings.Builder
	for !strings.Contains(said.String(), "topology:") {
		said.WriteString(c.out.next(t) + "\n")
	}
	for _, want := range []string{"Data: " + dir + "\n", "Dashboard: http://" + server + "/ ",
		"API: http://" + server + " "} {
		if !strings.Contains(said.String(), "\n"+want) {
			t.Errorf("it does not say %q:\n%s", want, said.String())
		}
	}
	_, lines, _ := strings.Cut(said.String(), "\nswitches:\n")
	if inv, err := inventory.Load([]byte("switches:\n" + lines)); err != nil ||
		len(inv.Switches) != 1 || !inv.Switches[0].Managed() {
		t.Errorf("what it says to write is no configuration with a switch: %v", err)
	}

	for _, f := range []struct{ dir, listen, want string }{
		{dir, "127.0.0.1:0", "another process uses it: process " + strconv.Itoa(os.Getpid()) +
			": end it, or give this controller another directory: --data-dir DIR\n"},
		{t.TempDir(), server, "api.listen: listen tcp " + server + ": bind: address already in use: " +
			`another program listens there ("ss -ltnp" names it): end that program, or choose another ` +
			"address\n"},
		{"/proc/nosuch/dir", "127.0.0.1:0",
			"data directory: mkdir /proc/nosuch: no such file or directory: make the directory above it " +
				"first\n"},
	} {
		var errs strings.Builder
		status := execute(t.Context(), []string{"controller", "--data-dir", f.dir, "--listen", f.listen,
			"--log-level", "error"}, environment{stdin: strings.NewReader(""), stdout: &errs,
			stderr: &errs, getenv: func(string) string { return "" }})
		if status != exitFailed || !strings.HasPrefix(errs.String(), "weft: ") ||
			!strings.HasSuffix(errs.String(), f.want) || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("status %d: %swant %s", status, errs.String(), f.want)
		}
	}
	c.cancel()
	if status := <-c.status; status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

// TestDefaultExamples: the commented examples of the built-in configuration are valid.
func TestDefaultExamples(t *testing.T) {
	text := regexp.MustCompile(`(?m)^#(switches:|- |bgp:)`).ReplaceAllString(
		strings.Replace(string(defaultConfig), "switches: []\n", "", 1), "$1")
	inv, err := inventory.Load([]byte(text))
	if err != nil || len(inv.Switches) != 1 || len(inv.BGP.Peers) != 1 || !inv.Topology.API {
		t.Errorf("%v:\n%s", err, text)
	}
}
