package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/cmd/weft/rocehost"
	"github.com/weft-sdn/weft/dataplane/live/afpacket"
)

// TestHost: one process writes a file into the memory of another, on the
// loopback interface; addresses are not the kernel's, which drops the frames.
func TestHost(t *testing.T) {
	port, err := afpacket.Open("lo", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("no packet socket on lo: %v", err)
	}
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, saved, config := filepath.Join(dir, "data"), filepath.Join(dir, "saved"), filepath.Join(dir, "host.yaml")
	data := bytes.Repeat([]byte("weft"), 50_000)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(config, []byte(`
interface: lo
name: r1
address: 2001:db8::2
mac: 02:00:00:00:77:02
gateway: 02:00:00:00:77:01
queuePairs: [{qpn: 512, remoteAddress: "2001:db8::1", remoteQpn: 256}]
regions: [{rkey: 7, va: 4096, size: 200000, save: `+saved+`}]
expect: 200000
linger: 100ms
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	receiver := start(t, nil, "host", "--config", config)
	if up := receiver.err.next(t); !strings.Contains(up, "host is up") {
		t.Fatalf("first line %q", up)
	}
	var out, errs strings.Builder
	status := run(t.Context(), []string{
		"host", "-i", "lo", "--name", "s1", "--address", "2001:db8::1", "--mac", "02:00:00:00:77:01", "--gateway", "02:00:00:00:77:02",
		"--qpn", "256", "--remote", "2001:db8::2", "--remote-qpn", "512", "--rkey", "7", "--va", "4096", "--write", file,
	}, environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv})
	if status != exitOK {
		t.Fatalf("status %d\n%s", status, errs.String())
	}
	var sent rocehost.Report
	if err := json.Unmarshal([]byte(out.String()), &sent); err != nil {
		t.Fatal(err)
	}
	if sent.Host != "s1" || sent.Written != 200_000 || sent.Writes[0].Status != "ok" {
		t.Errorf("report %+v", sent)
	}
	if status := <-receiver.status; status != exitOK {
		t.Errorf("status %d of the receiver", status)
	}
	if got, err := os.ReadFile(saved); err != nil || !bytes.Equal(got, data) {
		t.Errorf("saved %d octets, %v", len(got), err)
	}
}

func TestHostErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("interface: lo\ncolour: red\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := []string{"-i", "no-such-port", "--address", "2001:db8::1", "--gateway", "02:00:00:00:00:01", "--qpn", "256", "--remote", "2001:db8::2", "--remote-qpn", "512"}
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"nothing to do", good, exitUsage, "nothing to do: want --write, --serve or --config"},
		{"no interface", []string{"--serve", "10"}, exitUsage, "host: interface: is missing"},
		{"no such interface", with("--serve", "10"), exitFailed, "interface cannot be used: no-such-port"},
		{"address", with("--serve", "10", "--address", "10.0.0.1"), exitUsage, "Addr 10.0.0.1 is not an IPv6 unicast address"},
		{"not an address", with("--serve", "10", "--remote", "x"), exitUsage, "host: --remote: "},
		{"not a MAC", with("--serve", "10", "--gateway", "x"), exitUsage, "host: --gateway: MAC \"x\""},
		{"QPN", with("--serve", "10", "--qpn", "16777216"), exitUsage, "QPN 16777216: want 2..0xFFFFFE"},
		{"PMTU", with("--serve", "10", "--pmtu", "1500"), exitUsage, "PMTU 1500: want 256, 512, 1024, 2048 or 4096"},
		{"save alone", with("--write", "x", "--save", "y"), exitUsage, "--save without --serve"},
		{"config and flags", []string{"--config", bad, "--qpn", "2"}, exitUsage, "--config and --qpn: want one of them"},
		{"no config", []string{"--config", "/nowhere"}, exitUsage, "open /nowhere"},
		{"bad config", []string{"--config", bad}, exitUsage, `bad.yaml:2: invalid host configuration: unknown field "colour"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs strings.Builder
			status := run(t.Context(), append([]string{"host"}, c.args...), environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv})
			if status != c.status || !strings.Contains(errs.String(), c.want) {
				t.Errorf("status %d, %q; want %d with %q", status, errs.String(), c.status, c.want)
			}
		})
	}
}
