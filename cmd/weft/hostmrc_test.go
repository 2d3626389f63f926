package main

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/cmd/weft/mrchost"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

// TestHostMRC: a host with two ports, both on the loopback interface, writes into the memory of another by the values that a controller gives it.
func TestHostMRC(t *testing.T) {
	l := serve(t, `
transport: mrc
name: r1
address: 2001:db8:7::2
ports:
- {interface: lo, mac: 02:00:00:00:78:02, gateway: 02:00:00:00:78:01}
- {interface: lo, mac: 02:00:00:00:79:02, gateway: 02:00:00:00:79:01}
rtt: 10ms
queuePairs: [{qpn: 512, remoteAddress: "2001:db8:7::1", remoteQpn: 256}]
regions: [{rkey: 7, va: 4096, size: 200000, save: %q}]
expect: 200000
linger: 100ms
`)
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

	var sent mrchost.Report
	l.write(&sent, "--transport", "mrc", "-i", "lo,lo", "--name", "s1", "--address", "2001:db8:7::1", "--mac", "02:00:00:00:78:01,02:00:00:00:79:01",
		"--gateway", "02:00:00:00:78:02,02:00:00:00:79:02", "--controller", listener.Addr().String(), "--rtt", "10ms", "--qpn", "256",
		"--remote", "2001:db8:7::2", "--remote-qpn", "512", "--rkey", "7", "--va", "4096", "--immediate", "99")
	if sent.Host != "s1" || sent.Written != 200_000 || sent.Writes[0].Status != "ok" || sent.Controller.Version != "1.1" || len(sent.Profiles) != 1 || sent.Profiles[0].Used != 2 {
		t.Errorf("report %+v", sent)
	}
}

// TestHostMRCErrors: flags that make no sense for a host of MRC, or for one of RoCEv2.
func TestHostMRCErrors(t *testing.T) {
	good := []string{
		"--transport", "mrc", "-i", "no-such-port", "--address", "2001:db8::1", "--gateway", "02:00:00:00:00:01", "--qpn", "256", "--remote", "2001:db8::2",
		"--remote-qpn", "512",
	}
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	for _, c := range []hostError{
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
		c.check(t)
	}
}
