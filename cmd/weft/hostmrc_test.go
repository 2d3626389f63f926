package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/cmd/weft/mrchost"
	"github.com/weft-sdn/weft/dataplane/live/afpacket"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

// TestHostMRC: a host with two ports, both on the loopback interface, writes into the memory of another by the values that a controller gives it.
func TestHostMRC(t *testing.T) {
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
transport: mrc
name: r1
address: 2001:db8:7::2
ports:
- {interface: lo, mac: 02:00:00:00:78:02, gateway: 02:00:00:00:78:01}
- {interface: lo, mac: 02:00:00:00:79:02, gateway: 02:00:00:00:79:01}
rtt: 10ms
queuePairs: [{qpn: 512, remoteAddress: "2001:db8:7::1", remoteQpn: 256}]
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

	cfg := hosts.DefaultConfig()
	cfg.Epoch = 1
	server, err := hosts.New(cfg, hoststest.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	state, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{{
		Name: "to-r1", Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{16}}, Mode: hostapi.ModeExplicit, Count: 2, MinActive: 2,
		EVs: []hostapi.EV{hostapi.NewEV(1<<16, 1), hostapi.NewEV(2<<16, 2)}, Destinations: []netip.Prefix{netip.MustParsePrefix("2001:db8:7::2/128")},
	}}})
	if err == nil {
		err = server.Set("s1", state)
	}
	if err != nil {
		t.Fatal(err)
	}

	var out, errs strings.Builder
	status := run(t.Context(), []string{
		"host", "--transport", "mrc", "-i", "lo,lo", "--name", "s1", "--address", "2001:db8:7::1", "--mac", "02:00:00:00:78:01,02:00:00:00:79:01",
		"--gateway", "02:00:00:00:78:02,02:00:00:00:79:02", "--controller", listener.Addr().String(), "--rtt", "10ms", "--qpn", "256",
		"--remote", "2001:db8:7::2", "--remote-qpn", "512", "--rkey", "7", "--va", "4096", "--write", file, "--immediate", "99",
	}, environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv})
	if status != exitOK {
		t.Fatalf("status %d\n%s", status, errs.String())
	}
	var sent mrchost.Report
	if err := json.Unmarshal([]byte(out.String()), &sent); err != nil {
		t.Fatal(err)
	}
	if sent.Host != "s1" || sent.Written != 200_000 || sent.Writes[0].Status != "ok" || sent.Controller.Version != "1.1" || len(sent.Profiles) != 1 || sent.Profiles[0].Used != 2 {
		t.Errorf("report %s", out.String())
	}
	if status := <-receiver.status; status != exitOK {
		t.Errorf("status %d of the receiver", status)
	}
	if got, err := os.ReadFile(saved); err != nil || !bytes.Equal(got, data) {
		t.Errorf("saved %d octets, %v", len(got), err)
	}
}

// TestHostMRCErrors: flags that make no sense for a host of MRC, or for one of RoCEv2.
func TestHostMRCErrors(t *testing.T) {
	good := []string{
		"--transport", "mrc", "-i", "no-such-port", "--address", "2001:db8::1", "--gateway", "02:00:00:00:00:01", "--qpn", "256", "--remote", "2001:db8::2",
		"--remote-qpn", "512",
	}
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"nothing to do", good, exitUsage, "nothing to do: want --write, --serve or --config"},
		{"no such interface", with("--serve", "10"), exitFailed, "interface cannot be used: no-such-port"},
		{"ports and gateways", with("--serve", "10", "-i", "a,b"), exitUsage, "host: --gateway has 1 addresses: want 2, one for each --interface"},
		{"ports and MACs", with("--serve", "10", "--mac", "02:00:00:00:00:01,02:00:00:00:00:02"), exitUsage, "host: --mac has 2 addresses: want 1"},
		{"no ports", []string{"--transport", "mrc", "--serve", "10"}, exitUsage, "host: ports: none: want at least one"},
		{"QPN", with("--serve", "10", "--qpn", "2"), exitUsage, "QPN 2: want 3..0xFFFFFE"},
		{"controller", with("--serve", "10", "--controller", "nowhere"), exitUsage, `Controller "nowhere" is not host:port`},
		{"immediate alone", with("--serve", "10", "--immediate", "1"), exitUsage, "host: --immediate without --write"},
		{"save alone", with("--write", "x", "--save", "y"), exitUsage, "--save without --serve"},
		{"no transport", with("--transport", "tcp", "--serve", "10"), exitUsage, `transport: is "tcp": want roce or mrc`},
		{"RoCEv2 with a controller", with("--transport", "roce", "--serve", "10", "--controller", "a:1"), exitUsage, "host: --controller: want --transport mrc with it"},
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
