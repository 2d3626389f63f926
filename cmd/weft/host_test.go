package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/live/afpacket"
	"github.com/weft-sdn/weft/host/rocehost"
)

// loopback is a host that serves memory on the loopback interface, and a file for it. Addresses are
// not the kernel's, which drops the frames.
type loopback struct {
	t           *testing.T
	data        []byte // of the file
	file, saved string
	receiver    *started
}

// serve starts the host; config has a place for the file that the memory is saved to.
func serve(t *testing.T, config string) *loopback {
	t.Helper()
	port, err := afpacket.Open("lo", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("no packet socket on lo: %v", err)
	}
	dir := t.TempDir()
	l := &loopback{t: t, data: bytes.Repeat([]byte("weft"), 50_000), file: filepath.Join(dir, "data"),
		saved: filepath.Join(dir, "saved")}
	name := filepath.Join(dir, "host.yaml")
	if err := errors.Join(port.Close(), os.WriteFile(l.file, l.data, 0o600),
		os.WriteFile(name, fmt.Appendf(nil, config, l.saved), 0o600)); err != nil {
		t.Fatal(err)
	}
	l.receiver = start(t, nil, "host", "--config", name)
	if up := l.receiver.err.next(t); !strings.Contains(up, "host is up") {
		t.Fatalf("first line %q", up)
	}
	return l
}

// write writes the file from the second host, reads the report, and checks the file that the first
// host saved.
func (l *loopback) write(report any, args ...string) {
	l.t.Helper()
	var out, errs strings.Builder
	status := execute(l.t.Context(), append([]string{"host", "--write", l.file}, args...),
		environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv})
	if status != exitOK {
		l.t.Fatalf("status %d\n%s", status, errs.String())
	}
	if err := json.Unmarshal([]byte(out.String()), report); err != nil {
		l.t.Fatal(err)
	}
	if status := <-l.receiver.status; status != exitOK {
		l.t.Errorf("status %d of the receiver", status)
	}
	if got, err := os.ReadFile(l.saved); err != nil || !bytes.Equal(got, l.data) {
		l.t.Errorf("saved %d octets, %v", len(got), err)
	}
}

// TestHost: one process writes a file into the memory of another.
func TestHost(t *testing.T) {
	l := serve(t, `
interface: lo
name: r1
address: 2001:db8::2
mac: 02:00:00:00:77:02
gateway: 02:00:00:00:77:01
queuePairs: [{qpn: 512, remoteAddress: "2001:db8::1", remoteQpn: 256}]
regions: [{rkey: 7, va: 4096, size: 200000, save: %q}]
expect: 200000
linger: 100ms
`)
	var sent rocehost.Report
	l.write(&sent, "-i", "lo", "--name", "s1", "--address", "2001:db8::1", "--mac",
		"02:00:00:00:77:01", "--gateway", "02:00:00:00:77:02",
		"--qpn", "256", "--remote", "2001:db8::2", "--remote-qpn", "512", "--rkey", "7", "--va", "4096")
	if sent.Host != "s1" || sent.Written != 200_000 || sent.Writes[0].Status != "ok" {
		t.Errorf("report %+v", sent)
	}
}

// A hostError holds invalid arguments of "weft host" and the expected error.
type hostError struct {
	name   string
	args   []string
	status int
	want   string
}

func (c hostError) check(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		var out, errs strings.Builder
		status := execute(t.Context(), append([]string{"host"}, c.args...),
			environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv})
		if status != c.status || !strings.Contains(errs.String(), c.want) {
			t.Errorf("status %d, %q; want %d with %q", status, errs.String(), c.status, c.want)
		}
	})
}

func TestHostErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("interface: lo\ncolour: red\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := []string{"-i", "no-such-port", "--address", "2001:db8::1", "--gateway",
		"02:00:00:00:00:01", "--qpn", "256", "--remote", "2001:db8::2", "--remote-qpn", "512"}
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	for _, c := range []hostError{
		{"nothing to do", good, exitUsage, "nothing to do: want --write, --serve or --config"},
		{"no interface", []string{"--serve", "10"}, exitUsage, "host: interface: is missing"},
		{"no such interface", with("--serve", "10"), exitFailed,
			"interface cannot be used: no-such-port"},
		{"address", with("--serve", "10", "--address", "224.0.0.1"), exitUsage,
			"Addr 224.0.0.1 is not a unicast address of IPv6 or IPv4"},
		{"not an address", with("--serve", "10", "--remote", "x"), exitUsage, "host: --remote: "},
		{"not a MAC", with("--serve", "10", "--gateway", "x"), exitUsage, "host: --gateway: MAC \"x\""},
		{"QPN", with("--serve", "10", "--qpn", "16777216"), exitUsage, "QPN 16777216: want 2..0xFFFFFE"},
		{"PMTU", with("--serve", "10", "--pmtu", "1500"), exitUsage,
			"PMTU 1500: want 256, 512, 1024, 2048 or 4096"},
		{"save alone", with("--write", "x", "--save", "y"), exitUsage, "--save without --serve"},
		{"config and flags", []string{"--config", bad, "--qpn", "2"}, exitUsage,
			"--config and --qpn: want one of them"},
		{"no config", []string{"--config", "/nowhere"}, exitUsage, "open /nowhere"},
		{"bad config", []string{"--config", bad}, exitUsage,
			`bad.yaml:2: invalid host configuration: colour: unknown field`},
	} {
		c.check(t)
	}
}
