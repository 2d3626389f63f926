package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/api"
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
