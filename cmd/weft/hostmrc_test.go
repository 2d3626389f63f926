package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrchost"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

// TestHostMRC: a host with two ports, both on the loopback interface, writes into the memory of
// another by the values that a controller gives it.
func TestHostMRC(t *testing.T) {
	l := serve(t, `
transport: mrc
name: r1
address: 2001:db8:7::2
ports:
- {interface: lo, mac: 02:00:00:00:78:02, gateway: 02:00:00:00:78:01}
- {interface: lo, mac: 02:00:00:00:79:02, gateway: 02:00:00:00:79:01}
rtt: 10ms
wire: {udpPort: 5791, dscp: {control: 30}}
receive: {rate: 80000000, buffer: 65536}
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
		Name: "to-r1", Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{16}},
		Mode: hostapi.ModeExplicit, Count: 2, MinActive: 2,
		EVs:          []hostapi.EV{hostapi.NewEV(1<<16, 1), hostapi.NewEV(2<<16, 2)},
		Destinations: []netip.Prefix{netip.MustParsePrefix("2001:db8:7::2/128")},
	}}})
	if err == nil {
		err = server.Set("s1", state)
	}
	if err != nil {
		t.Fatal(err)
	}

	var sent mrchost.Report
	l.write(&sent, "--transport", "mrc", "-i", "lo,lo", "--name", "s1", "--address", "2001:db8:7::1",
		"--mac", "02:00:00:00:78:01,02:00:00:00:79:01",
		"--gateway", "02:00:00:00:78:02,02:00:00:00:79:02", "--controller", listener.Addr().String(),
		"--rtt", "10ms", "--qpn", "256",
		"--remote", "2001:db8:7::2", "--remote-qpn", "512", "--rkey", "7", "--va", "4096", "--immediate",
		"99",
		"--udp-port", "5791", "--dscp", "control=30")
	if sent.Host != "s1" || sent.Written != 200_000 || sent.Writes[0].Status != "ok" ||
		sent.Controller.Version != "1.1" || len(sent.Profiles) != 1 || sent.Profiles[0].Used != 2 {
		t.Errorf("report %+v", sent)
	}
	if q := sent.QueuePairs[0]; q.PenaltiesReceived == 0 {
		t.Errorf("report %+v: want penalties of a receiver that is slow", q)
	}
}

// TestHostMRCFlags: every flag sets what the configuration file would.
func TestHostMRCFlags(t *testing.T) {
	for _, c := range []struct{ flags, file string }{
		{"", ""},
		{"--udp-port=5791", "wire: {udpPort: 5791}"},
		{"--dscp=noTrim=1,trimmable=2,trimmableRetx=4,trimmed=20,trimmedLastHop=21,control=30",
			"wire: {dscp: {noTrim: 1, trimmable: 2, trimmableRetx: 4, trimmed: 20, trimmedLastHop: 21, " +
				"control: 30}}"},
		{"--no-port-updates", "portUpdates: false"},
		{"--receive-rate=1000 --receive-buffer=5000 --adapt-mpr",
			"receive: {rate: 1000, buffer: 5000, adaptMpr: true}"},
		{"--receive-bitmap=32 --receive-packets=8", "receive: {bitmap: 32, packets: 8}"},
		{"--receive-rate=1000 --no-flow-control", "receive: {rate: 1000, flowControl: false}"},
		{"--max-wimm=0 --max-mpr=3 --mpr=2", "QP: maxWimm: 0, maxMpr: 3, mpr: 2"},
		{"--ack-timeout=12 --probe-timeout=0s --linear-retries=0 --exponential-retries=3",
			"QP: ackTimeout: 12, probeTimeout: 0s, linearRetries: 0, exponentialRetries: 3"},
		{"--no-dynamic-mpr --no-trim-nack --no-service-time",
			"QP: dynamicMpr: false, trimNack: false, serviceTime: false"},
		{"--no-trim --no-timestamps", "QP: trimmable: false, timestamps: false"},
	} {
		var m mrcFlags
		f := pflag.NewFlagSet("host", pflag.ContinueOnError)
		m.register(f)
		if err := f.Parse(strings.Fields(c.flags)); err != nil {
			t.Fatal(err)
		}
		got := mrchost.Default()
		got.QueuePairs = []mrchost.QueuePair{{QPN: 5, RemoteAddress: netip.MustParseAddr("2001:db8::2"),
			RemoteQPN: 6}}
		if err := m.over(&got); err != nil {
			t.Errorf("%s: %v", c.flags, err)
		}
		qp, file := "", c.file
		if more, ok := strings.CutPrefix(c.file, "QP: "); ok {
			qp, file = ", "+more, ""
		}
		want, err := mrchost.Load("host.yaml", []byte(fmt.Sprintf(`
transport: mrc
address: 2001:db8::1
ports: [{interface: a, gateway: 02:00:00:00:00:01}]
queuePairs: [{qpn: 5, remoteAddress: "2001:db8::2", remoteQpn: 6%s}]
%s
`, qp, file)))
		if err != nil {
			t.Fatal(err)
		}
		if got.Receive.Buffer == 1<<20 {
			want.Receive.Buffer = 1 << 20 // the default
		}
		show := func(c *mrchost.Config) string {
			b, err := json.Marshal([]any{c.Wire, c.Receive, c.PortUpdates, c.QueuePairs})
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		if show(&got) != show(want) {
			t.Errorf("%s:\n got %s\nwant %s", c.flags, show(&got), show(want))
		}
	}
}

// TestHostMRCErrors: flags without sense for an MRC host, or for a RoCEv2 host.
func TestHostMRCErrors(t *testing.T) {
	good := []string{
		"--transport", "mrc", "-i", "no-such-port", "--address", "2001:db8::1", "--gateway",
		"02:00:00:00:00:01", "--qpn", "256", "--remote", "2001:db8::2",
		"--remote-qpn", "512",
	}
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	for _, c := range []hostError{
		{"nothing to do", good, exitUsage, "nothing to do: want --write, --serve or --config"},
		{"no such interface", with("--serve", "10"), exitFailed,
			"interface cannot be used: no-such-port"},
		{"ports and gateways", with("--serve", "10", "-i", "a,b"), exitUsage,
			"host: --gateway has 1 addresses: want 2, one for each --interface"},
		{"ports and MACs", with("--serve", "10", "--mac", "02:00:00:00:00:01,02:00:00:00:00:02"),
			exitUsage, "host: --mac has 2 addresses: want 1"},
		{"no ports", []string{"--transport", "mrc", "--serve", "10"}, exitUsage,
			"host: ports: none: want at least one"},
		{"QPN", with("--serve", "10", "--qpn", "2"), exitUsage, "QPN 2: want 3..0xFFFFFE"},
		{"controller", with("--serve", "10", "--controller", "nowhere"), exitUsage,
			`Controller "nowhere" is not host:port`},
		{"immediate alone", with("--serve", "10", "--immediate", "1"), exitUsage,
			"host: --immediate without --write"},
		{"save alone", with("--write", "x", "--save", "y"), exitUsage, "--save without --serve"},
		{"DSCP", with("--serve", "10", "--dscp", "control=64"), exitUsage,
			"wire: DSCP Control: 64, want at most 63"},
		{"no such DSCP", with("--serve", "10", "--dscp", "voice=46"), exitUsage,
			`host: --dscp: "voice": want one of control, noTrim, trimmable`},
		{"DSCP beyond", with("--serve", "10", "--dscp", "control=300"), exitUsage,
			"host: --dscp: control=300: want 0 to 63"},
		{"timeout", with("--serve", "10", "--ack-timeout", "25"), exitUsage, "AckTimeout 25: want 1..24"},
		{"RoCEv2 with a UDP port", with("--transport", "roce", "--serve", "10", "--udp-port", "1"),
			exitUsage, "host: --udp-port: want --transport mrc with it"},
		{"no transport", with("--transport", "tcp", "--serve", "10"), exitUsage,
			`transport: is "tcp": want roce or mrc`},
		{"RoCEv2 with a controller", with("--transport", "roce", "--serve", "10", "--controller", "a:1"),
			exitUsage, "host: --controller: want --transport mrc with it"},
	} {
		c.check(t)
	}
}
