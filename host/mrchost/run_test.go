package mrchost

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/dataplane/live/livetest"
	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/hostrun/hostruntest"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

const senderText = `
transport: mrc
name: h1
address: 2001:db8:1::1
ports:
- {interface: eth0, mac: 02:00:00:00:01:01, gateway: 02:00:00:00:01:02}
- {interface: eth1, mac: 02:00:00:00:02:01, gateway: 02:00:00:00:02:02}
queuePairs:
- {qpn: 256, remoteAddress: "2001:db8:2::1", remoteQpn: 512, initialPsn: 0xfffff0}
writes:
- {file: %q, rkey: 7, va: 0x1000, message: 65536, immediate: 41}
- {file: %q, rkey: 8, immediate: 42}
`

const receiverText = `
transport: mrc
name: h2
address: 2001:db8:2::1
ports:
- {interface: eth0, mac: 02:00:00:00:01:02, gateway: 02:00:00:00:01:01}
- {interface: eth1, mac: 02:00:00:00:02:02, gateway: 02:00:00:00:02:01}
queuePairs:
- {qpn: 512, remoteAddress: "2001:db8:1::1", remoteQpn: 256, initialPsn: 0xfffff0}
regions:
- {rkey: 7, va: 0x1000, size: 1000000, save: %q}
- {rkey: 8, size: 10}
expect: 1000010
linger: 200ms
`

const controllerText = `
controller: {address: "controller:1"}
`

func config(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Load("host.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// cables join two hosts by two planes. saw is told of every frame that the first host sends, with
// its port.
func cables(oneIn int, saw func(port int, frame []byte)) (a, b []Link, attached func()) {
	var far []*hostruntest.Lossy
	for port := 1; port <= 2; port++ {
		cable := livetest.NewCable()
		here, there := hostruntest.NewLossy(cable.A, oneIn, uint64(port), 0),
			hostruntest.NewLossy(cable.B, oneIn, uint64(port), 1)
		here.Saw = func(f []byte) { saw(port, f) }
		a, b, far = append(a, Link{Port: here}), append(b, Link{Port: there}), append(far, there)
	}
	return a, b, func() {
		for _, l := range far {
			<-l.Attached
		}
	}
}

type outcome struct {
	report *Report
	err    error
}

// TestTransfer: two hosts with two ports each, on wires that lose frames; the receiver holds the
// data that the sender writes, with its immediate data, and both report success.
func TestTransfer(t *testing.T) {
	for _, loss := range []int{0, 17} {
		t.Run(fmt.Sprintf("loss 1 in %d", loss), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				data, file, small, saved := hostruntest.Files(t)
				used := map[int]int{}
				near, far, attached := cables(loss, func(port int, _ []byte) { used[port]++ })
				received := make(chan outcome, 1)
				go func() {
					r, err := Run(ctx, config(t, fmt.Sprintf(receiverText, saved)), far, Options{})
					received <- outcome{r, err}
				}()
				attached()
				sent, err := Run(ctx, config(t, fmt.Sprintf(senderText, file, small)), near, Options{})
				if err != nil {
					t.Fatal(err)
				}
				got := <-received
				if got.err != nil {
					t.Fatal(got.err)
				}
				sum := sha256.Sum256(data)
				want := hex.EncodeToString(sum[:])
				if w := sent.Writes; len(w) != 2 || w[0].Octets != 1_000_000 || w[0].Status != "ok" ||
					w[0].SHA256 != want || w[1].Octets != 10 {
					t.Errorf("writes: %+v", w)
				}
				r := got.report
				if r.Host != "h2" || r.Received != 1_000_010 || r.Regions[0].SHA256 != want ||
					!slices.Equal(r.QueuePairs[0].Immediates, []uint32{41, 42}) {
					t.Errorf("receiver: %+v", r)
				}
				if b, err := os.ReadFile(saved); err != nil || !bytes.Equal(b, data) {
					t.Errorf("saved file differs: %v", err)
				}
				if resent := sent.QueuePairs[0].RequestsResent; (resent > 0) != (loss > 0) {
					t.Errorf("%d packets sent again", resent)
				}
				if used[1] < 100 || used[2] < 100 {
					t.Errorf("frames by port: %v", used)
				}
				if sent.Controller != nil || sent.Profiles != nil || sent.Transport != "mrc" {
					t.Errorf("%+v", sent)
				}
			})
		})
	}
}

// TestController: a host with a controller waits for what it says, and sends with that alone.
func TestController(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, file, small, saved := hostruntest.Files(t)
		observer := &hoststest.Observer{}
		server, dial, stop := serve(t, observer)
		defer stop()

		values := map[string]bool{}
		began := time.Now()
		var first time.Duration
		near, far, attached := cables(0, func(port int, frame []byte) {
			p, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
			if err != nil {
				t.Error(err)
			}
			// answers do not wait: the other host says which ports it has
			if p.BTH.Opcode == packet.OpMRCEndpointResponse {
				return
			}
			if first == 0 {
				first = time.Since(began)
			}
			values[fmt.Sprintf("%#08x@%d", uint32(p.EV()), port)] = true
		})
		received, sent := make(chan outcome, 1), make(chan outcome, 1)
		go func() {
			r, err := Run(ctx, config(t, fmt.Sprintf(receiverText, saved)), far, Options{})
			received <- outcome{r, err}
		}()
		attached()
		go func() {
			r, err := Run(ctx, config(t, fmt.Sprintf(senderText, file, small)+controllerText), near, dial)
			sent <- outcome{r, err}
		}()
		time.Sleep(time.Second)
		if err := server.Set("h1", threeValues(t)); err != nil {
			t.Fatal(err)
		}
		a, b := <-sent, <-received
		if err := errors.Join(a.err, b.err); err != nil {
			t.Fatal(err)
		}
		if first < time.Second {
			t.Errorf("sent after %v, before the controller had said anything", first)
		}
		if len(values) != 2 || !values["0x00010000@1"] || !values["0x00020000@2"] {
			t.Errorf("sent with %v", values)
		}
		r := a.report
		if c := r.Controller; c == nil || !c.Connected || c.Version != "1.1" || c.Error != "" {
			t.Errorf("%+v", c)
		}
		if p := r.Profiles; len(p) != 1 || p[0].Name != "to-h2" || p[0].EVs != 3 || p[0].Used != 2 ||
			p[0].Denied != 1 || p[0].Sent != r.QueuePairs[0].RequestsSent {
			t.Errorf("%+v", p)
		}
		if said := observer.Said("h1"); !slices.Contains(said, "ports 0x6") ||
			!slices.Contains(said, "applied 1") {
			t.Errorf("said %v", said)
		}
	})
}

// serve runs a controller's stream, without epochs before it. The options dial it.
func serve(t *testing.T, observer hosts.Observer) (server *hosts.Server, dial Options,
	stop func()) {
	t.Helper()
	cfg := hosts.DefaultConfig()
	cfg.Epoch = 1
	server, err := hosts.New(cfg, observer)
	if err != nil {
		t.Fatal(err)
	}
	listener := bufconn.Listen(1 << 16)
	serving, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving, listener) }()
	dial.Dial = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn,
		error) {
		return listener.DialContext(ctx)
	})}
	return server, dial, func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// threeValues is a state with three values to the second host, the last of them denied.
func threeValues(t *testing.T) *hostapi.State {
	t.Helper()
	state, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{{
		Name: "to-h2", Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{16}},
		Mode: hostapi.ModeExplicit, Count: 3, MinActive: 1,
		EVs: []hostapi.EV{hostapi.NewEV(1<<16, 1), hostapi.NewEV(2<<16, 2),
			hostapi.NewEV(3<<16, 1)},
		Denied:       []hostapi.EV{hostapi.NewEV(3<<16, 1)},
		Destinations: []netip.Prefix{netip.MustParsePrefix("2001:db8:2::/48")},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// TestKeptState: a host that starts again without hearing its controller sends at once with what
// the controller had configured, a denied value not (OCP MRC 1.0, section 10.2.2). With a damaged
// file it waits, and says why.
func TestKeptState(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, file, small, saved := hostruntest.Files(t)
		kept := filepath.Join(t.TempDir(), "state")
		text := fmt.Sprintf(senderText, file, small) +
			fmt.Sprintf("controller: {address: \"controller:1\", state: %q}\n", kept)
		run := func(ctx context.Context, o Options) (a, b outcome, values map[string]bool) {
			values = make(map[string]bool)
			near, far, attached := cables(0, func(port int, frame []byte) {
				if p, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings()); err == nil &&
					p.BTH.Opcode != packet.OpMRCEndpointResponse && p.BTH.Opcode != packet.OpMRCEndpointRequest {
					values[fmt.Sprintf("%#08x@%d", uint32(p.EV()), port)] = true
				}
			})
			received := make(chan outcome, 1)
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			go func() {
				r, err := Run(ctx, config(t, fmt.Sprintf(receiverText, saved)), far, Options{})
				received <- outcome{r, err}
			}()
			attached()
			r, err := Run(ctx, config(t, text), near, o)
			if err != nil {
				cancel()
			}
			return outcome{r, err}, <-received, values
		}
		want := map[string]bool{"0x00010000@1": true, "0x00020000@2": true}

		server, dial, stop := serve(t, &hoststest.Observer{})
		if err := server.Set("h1", threeValues(t)); err != nil {
			t.Fatal(err)
		}
		a, b, values := run(ctx, dial)
		stop()
		if err := errors.Join(a.err, b.err); err != nil || !maps.Equal(values, want) {
			t.Fatalf("with the controller: %v, sent with %v", err, values)
		}

		var log bytes.Buffer
		gone := Options{Log: slog.New(slog.NewTextHandler(&log, nil)),
			Dial: []grpc.DialOption{grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
				return nil, errors.New("no controller")
			})}}
		a, b, values = run(ctx, gone)
		if err := errors.Join(a.err, b.err); err != nil || !maps.Equal(values, want) {
			t.Fatalf("without the controller: %v, sent with %v", err, values)
		}
		if c := a.report.Controller; c.Connected || c.Version != "1.1" ||
			!strings.Contains(log.String(), "goes on with what it has kept") {
			t.Errorf("%+v, log %s", c, &log)
		}

		text2, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(kept, text2[:len(text2)-1], 0o600); err != nil {
			t.Fatal(err)
		}
		log.Reset()
		brief, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if a, _, values = run(brief, gone); !errors.Is(a.err, hostrun.ErrInterrupted) ||
			len(values) != 0 || !strings.Contains(log.String(), "damaged, or not whole") {
			t.Errorf("with a damaged file: %v, sent with %v, log %s", a.err, values, &log)
		}
	})
}

// TestFailures: what a host that cannot do its work says.
func TestFailures(t *testing.T) {
	defer goleak.VerifyNone(t)
	_, file, _, _ := hostruntest.Files(t)
	sender := fmt.Sprintf(senderText, file, file)
	for _, c := range []struct {
		name, text string
		want       error
		message    string
	}{
		{"told to end", sender, hostrun.ErrInterrupted, "after 0 of 2000000 octets were written"},
		{"told to end without a word of the controller", sender + controllerText, hostrun.ErrInterrupted,
			"octets were written: the controller has sent nothing yet"},
		{"told to end while waiting", fmt.Sprintf(receiverText, ""), hostrun.ErrInterrupted,
			"after 0 of 1000010 octets were received"},
		{"told to end while serving", strings.Replace(fmt.Sprintf(receiverText, ""), "expect: 1000010",
			"", 1), nil, ""},
		{"no such file", fmt.Sprintf(senderText, "/nowhere", file), hostrun.ErrConfig,
			"writes[0]: invalid host configuration: open /nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			near, _, _ := cables(0, func(int, []byte) {})
			_, err := Run(ctx, config(t, c.text), near, Options{})
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.message) {
				t.Errorf("error %v, want %v with %q", err, c.want, c.message)
			}
		})
	}
}

// TestLoadErrors: what makes no sense is named, with its line.
func TestLoadErrors(t *testing.T) {
	good := fmt.Sprintf(senderText, "a", "b") + controllerText
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown field", "rkey: 8", "key: 8", "writes[1].key: unknown field: want one of "},
		{"transport", "transport: mrc", "transport: roce",
			`host.yaml:2: transport: is "roce": want "mrc"`},
		{"no interface", "interface: eth1", "lineRate: 1", "host.yaml:7: ports[1].interface: is missing"},
		{"reserved QPN", "qpn: 256", "qpn: 2",
			"host.yaml:9: queuePairs[0]: host h1: QP 0x2: QPN 2: want 3..0xFFFFFE"},
		{"PSN", "0xfffff0", "0x1000000",
			"host.yaml:9: queuePairs[0]: host h1: QP 0x100: SQPSN 16777216: want 24 bits"},
		{"IPv4", "2001:db8:1::1", "10.0.0.1",
			"host.yaml:9: queuePairs[0]: host h1: QP 0x100: RemoteAddr 2001:db8:2::1: want an " +
				"address of the family of the host's, 10.0.0.1"},
		{"round trip", "name: h1", "name: h1\nrtt: 0s", "Network.RTT 0s"},
		{"message", "65536", "-1", "host.yaml:11: writes[0].message: is -1"},
		{"wrong queue pair", "{file: \"b\"", "{qpn: 9, file: \"b\"",
			"host.yaml:12: writes[1].qpn: 9 is not one of queuePairs"},
		{"no room for immediate data", "remoteQpn: 512", "maxWimm: 0, remoteQpn: 512",
			"host.yaml:11: writes[0].immediate: the queue pair's maxWimm is 0"},
		{"controller", "controller:1", "controller",
			`controller: agent: config: Controller "controller" is not host:port`},
		{"DSCP", "name: h1", "name: h1\nwire: {dscp: {control: 64}}",
			"host.yaml:4: wire: DSCP Control: 64, want at most 63"},
		{"DSCPs that are the same", "name: h1", "name: h1\nwire: {dscp: {trimmed: 7}}",
			"host.yaml:4: wire: DSCP Trimmed: 7, want another than Trimmable has"},
		{"UDP port", "name: h1", "name: h1\nwire: {udpPort: 0}",
			"host.yaml:4: wire: MRC: UDP port 0, want 1 to 65535"},
		{"buffer", "name: h1", "name: h1\nreceive: {rate: 1000, buffer: 100}",
			"host.yaml:4: receive: buffer 100: want at least a packet, 4096 octets"},
		{"bitmap", "name: h1", "name: h1\nreceive: {bitmap: -1}",
			"host.yaml:4: receive.bitmap: is -1: want a number of packets, or 0 for any"},
		{"packets", "name: h1", "name: h1\nreceive: {packets: -2}",
			"host.yaml:4: receive.packets: is -2: want a number of packets, or 0 for any"},
		{"no buffer", "name: h1", "name: h1\nreceive: {buffer: -1}",
			"host.yaml:4: receive.buffer: is -1"},
		{"penalties", "name: h1", "name: h1\nreceive: {rate: 1000, penaltyTo: 5}",
			"host.yaml:4: receive: flow control: High 5: want more than Low (262144 octets)"},
		{"timeout", "remoteQpn: 512", "ackTimeout: 25, remoteQpn: 512",
			"host.yaml:9: queuePairs[0]: host h1: QP 0x100: AckTimeout 25: want 1..24"},
		{"retries", "remoteQpn: 512", "linearRetries: 8, remoteQpn: 512", "LinearRetries 8: want 0..7"},
		{"probes", "remoteQpn: 512", "probeTimeout: 1s, remoteQpn: 512",
			"queuePairs[0]: probeTimeout 1s: want ackTimeout with it"},
		{"MPR", "remoteQpn: 512", "mpr: 9, remoteQpn: 512",
			"queuePairs[0]: QP 0x100: MPR 9: want 1 to Local.MaxMPR"},
		{"peer's MPR", "remoteQpn: 512", "peer: {maxMpr: 256}, remoteQpn: 512",
			"Remote: MaxMPR (MRC_QP_MAX_MPR_DEST) 256: want 1..255"},
		{"region", "writes:", "regions: [{rkey: 1, size: 0}]\nwrites:",
			"host.yaml:10: regions[0].size: is 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("%q is not in the text", c.old)
			}
			_, err := Load("host.yaml", []byte(strings.Replace(good, c.old, c.new, 1)))
			if !errors.Is(err, hostrun.ErrConfig) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error:\n%v\nwant: %s", err, c.want)
			}
		})
	}
	_, err := Load("host.yaml",
		[]byte("transport: mrc\nports: [{gateway: 02:00:00:00:00:02}, {interface: eth1}]\nqueuePairs: "+
			"[]\nregions: [{rkey: 1, size: 0}]\n"))
	for _, want := range []string{"host.yaml:2: ports[0].interface: is missing",
		"queuePairs: none",
		"host.yaml:4: regions[0].size: is 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("all faults of a file:\n%v\nwant also %q", err, want)
		}
	}
	c := config(t, good)
	if err := c.CheckMTU(0, 4188); err != nil {
		t.Error(err)
	}
	if err := c.CheckMTU(1, 4187); !errors.Is(err, hostrun.ErrConfig) ||
		!strings.Contains(err.Error(), "packets of 4188 octets: interface eth1 has an MTU of 4187") {
		t.Errorf("error %v", err)
	}
}
