package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/cmd/weft/run"
	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
	"github.com/weft-sdn/weft/internal/certs/certstest"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
)

const patience = 4 * time.Minute

// TestSwitch: a stock client arbitrates with the process and, in the first case,
// installs the fabric program.
func TestSwitch(t *testing.T) {
	program := filepath.Join(t.TempDir(), "fabric.json")
	if err := os.WriteFile(program, p4.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := certstest.SelfSigned(t, "switch")
	clientCert, clientKey := certstest.SelfSigned(t, "client")
	none := southbound.TLSConfig{}
	for _, c := range []struct {
		name    string
		args    []string
		device  uint64
		install bool
		tls     southbound.TLSConfig // the client's
	}{
		{"without a program", []string{"--no-p4", "--grpc-server-addr", "127.0.0.1:0", "--cpu-port",
			"510"}, 1, true, none},
		{"with one", []string{program, "--grpc-server-addr", "127.0.0.1:0"}, 1, false, none},
		{"options behind the dash", []string{"--no-p4", "--device-id", "3", "--", "--grpc-server-addr",
			"127.0.0.1:0", "--cpu-port", "510"}, 3, false, none},
		{"TLS", []string{"--no-p4", "--grpc-server-addr", "127.0.0.1:0", "--grpc-server-ssl",
			"--grpc-server-cert", certFile, "--grpc-server-key", keyFile},
			1, false, southbound.TLSConfig{Enabled: true, CAFile: certFile}},
		{"mutual TLS", []string{"--no-p4", "--", "--grpc-server-addr", "127.0.0.1:0", "--grpc-server-ssl",
			"--grpc-server-cert", certFile,
			"--grpc-server-key", keyFile, "--grpc-server-cacert", clientCert,
			"--grpc-server-with-client-auth"},
			1, false, southbound.TLSConfig{Enabled: true, CAFile: certFile, CertFile: clientCert,
				KeyFile: clientKey}},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			sw := start(t, nil, append([]string{"switch"}, c.args...)...)
			up := sw.err.next(t)
			address := regexp.MustCompile(`p4runtime=(\S+)`).FindStringSubmatch(up)
			if address == nil {
				t.Fatalf("first line %q", up)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cfg := southbound.DefaultConfig()
			cfg.Target, cfg.DeviceID, cfg.Election = address[1], c.device, southbound.ElectionID{Low: 1}
			cfg.TLS = c.tls
			if c.install {
				var err error
				if cfg.Pipeline, err = southbound.NewPipeline(p4.P4Info(), p4.JSON()); err != nil {
					t.Fatal(err)
				}
			}
			ports := make(chan southbound.Ports, 16)
			s, err := southbound.Open(ctx, cfg, func(_ context.Context, e southbound.Event) {
				if p, ok := e.(southbound.Ports); ok {
					ports <- p
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.WaitReady(ctx); err != nil {
				t.Error(err)
			}
			select { // gNMI is at the same port
			case p := <-ports:
				if p.Up == nil || len(p.Up) > 0 || p.Err != nil {
					t.Errorf("ports: %+v; want that there are none", p)
				}
			case <-ctx.Done():
				t.Error("the switch says nothing of its ports")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			sw.cancel()
			if status := <-sw.status; status != exitOK {
				t.Errorf("exit status %d", status)
			}
		})
	}
}

// TestSwitchMetrics: Prometheus finds the switch where the log says.
func TestSwitchMetrics(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	sw := start(t, nil, "switch", "--grpc-server-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0",
		"--device-id", "5")
	resp, err := http.Get("http://" + value(t, sw.err, "http") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`weft_build_info{device_id="5"`, "weft_p4runtime_streams 0",
		`weft_dataplane_drops_total{reason="no_program"} 0`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	sw.cancel()
	if status := <-sw.status; status != exitOK {
		t.Errorf("exit status %d", status)
	}
}

// TestSwitchOfScripts: the flags that Mininet scripts pass to simple_switch_grpc start the switch,
// which names flags without effect once.
func TestSwitchOfScripts(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	program, logs, port := filepath.Join(dir, "fabric.json"), filepath.Join(dir, "s1.log"), freePort(t)
	if err := os.WriteFile(program, p4.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	sw := start(t, nil, "switch", "--pcap", dir, "--nanolog", "ipc:///tmp/bm-0-log.ipc", "--device-id",
		"0", program, "--debugger",
		"--thrift-port", port, "--notifications-addr", "ipc:///tmp/n.ipc", "--max-port-count", "512",
		"--log-file", logs, "-L", "trace",
		"--log-flush", "--queue-rate", "1=1000", "--queue-depth", "1/0=100", "--priority-queues", "2",
		"--", "--grpc-server-addr", "127.0.0.1:0", "--cpu-port", "255", "--drop-port", "511",
		"--disable-swap")
	for deadline := time.Now().Add(patience); ; {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("the Thrift port says something: %v", err)
			}
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	var text []byte
	for deadline := time.Now().Add(patience); !strings.Contains(string(text), "switch is up"); {
		var err error
		if text, err = os.ReadFile(logs); err != nil || time.Now().After(deadline) {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	sw.cancel()
	if status := <-sw.status; status != exitOK {
		t.Errorf("exit status %d", status)
	}
	for _, option := range []string{"thrift-port", "nanolog", "notifications-addr", "debugger",
		"log-flush", "disable-swap"} {
		if n := strings.Count(string(text), "option=--"+option+" "); n != 1 {
			t.Errorf("%d warnings of --%s:\n%s", n, option, text)
		}
	}
	if !strings.Contains(string(text), "device=0 ") {
		t.Errorf("no device 0 in\n%s", text)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// TestQueueLimits: the last word on a queue counts.
func TestQueueLimits(t *testing.T) {
	q, err := parseQueues([]string{"500", "3=40", "3/1=7"}, []string{"2/0=1000"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	sw := dataplane.New(dataplane.Config{Priorities: 2}, nil)
	q.set(sw)
	sw.SetQueueRate(4, 0, 0) // makes the port's queues
	got := map[[2]int][2]int{}
	for s := range sw.Queues() {
		got[[2]int{int(s.Port), s.Priority}] = [2]int{s.Depth, int(s.Rate)}
	}
	want := map[[2]int][2]int{
		{2, 0}: {500, 1000}, {2, 1}: {500, 0}, {3, 0}: {40, 0}, {3, 1}: {7, 0}, {4, 0}: {500, 0},
		{4, 1}: {500, 0},
	}
	if !maps.Equal(got, want) {
		t.Errorf("queues (port, priority): (depth, rate)\n%v, want\n%v", got, want)
	}
	// A rate without a depth does not fill the memory.
	if q, err = parseQueues(nil, []string{"10"}, 2); err != nil {
		t.Fatal(err)
	}
	q.set(sw)
	for s := range sw.Queues() {
		if s.Depth != defaultDepth || s.Rate != 10 {
			t.Errorf("%+v", s)
		}
	}
}

// TestSwitchTraces: a switch is asked for traces until it ends, and then ends at
// once.
func TestSwitchTraces(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	sw := start(t, nil, "switch", "--grpc-server-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
	address := value(t, sw.err, "http")
	// the header says that it has subscribed
	answer, err := http.Get("http://" + address + stream.Path + "?port=1")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	sw.cancel()
	if text, err := io.ReadAll(answer.Body); err != nil || len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	if status := <-sw.status; status != exitOK {
		t.Errorf("exit status %d", status)
	}
	if took := time.Since(began); took >= run.StopGrace {
		t.Errorf("the switch took %v to end", took)
	}
	http.DefaultClient.CloseIdleConnections()
	tr := start(t, nil, "trace", "--switch", address)
	if line, status := tr.err.next(t), <-tr.status; status != exitUnreachable ||
		!strings.Contains(line, "cannot reach the switch at http://"+address) {
		t.Errorf("status %d: %s", status, line)
	}
}

func TestSwitchErrors(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"interface", []string{"-i", "veth0"}, exitUsage, `--interface is "veth0": want PORT@INTERFACE`},
		{"port", []string{"-i", "512@veth0"}, exitUsage, "port 512 cannot be used: want 0 to 511"},
		{"CPU port", []string{"-i", "7@veth0", "--cpu-port", "7"}, exitUsage, "neither the CPU port 7"},
		{"port twice", []string{"-i", "1@veth0", "-i", "1@veth1"}, exitUsage,
			"port 1 is on veth0 already"},
		{"interface twice", []string{"-i", "1@veth0", "-i", "2@veth0"}, exitUsage,
			"veth0 has port 1 already"},
		{"no such interface", []string{"-i", "1@no-such-port", "--grpc-server-addr", "127.0.0.1:0"},
			exitFailed, "interface cannot be used: no-such-port"},
		{"two programs", []string{"a", "b"}, exitUsage, "2 programs: want one at most"},
		{"no program file", []string{"/nowhere.json"}, exitUsage, "open /nowhere.json"},
		{"bad program", []string{bad}, exitUsage, "bad.json: "},
		{"files without TLS", []string{"--grpc-server-cert", "x"}, exitUsage,
			"TLS files without --grpc-server-ssl"},
		{"TLS without files", []string{"--grpc-server-ssl"}, exitUsage,
			"wants --grpc-server-cert and --grpc-server-key"},
		{"half of mutual TLS", []string{"--grpc-server-ssl", "--grpc-server-cert", "x",
			"--grpc-server-key", "x", "--grpc-server-with-client-auth"}, exitUsage, "go together"},
		{"no certificate", []string{"--grpc-server-ssl", "--grpc-server-cert", "/nowhere",
			"--grpc-server-key", "/nowhere"}, exitUsage, "--grpc-server-cert: open /nowhere"},
		{"listener", []string{"--grpc-server-addr", "127.0.0.1:x"}, exitUsage,
			`--grpc-server-addr is "127.0.0.1:x": the port is "x": want 0 to 65535`},
		{"HTTP listener", []string{"--grpc-server-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:x"},
			exitUsage, `--http-addr is "127.0.0.1:x": the port is "x": want 0 to 65535`},
		{"log level", []string{"--log-level", "loud"}, exitUsage,
			`--log-level is "loud": want trace, debug, info, warn, error or off`},
		{"two logs", []string{"--log-console", "--log-file", "x"}, exitUsage,
			"--log-console and --log-file: want one of them"},
		{"log file", []string{"--log-file", "/no/such/log"}, exitUsage, "--log-file: open /no/such/log"},
		{"too many interfaces", []string{"-i", "1@a", "-i", "2@b", "--max-port-count", "1"}, exitUsage,
			"2 interfaces: want at most --max-port-count 1"},
		{"no priorities", []string{"--priority-queues", "33"}, exitUsage,
			"--priority-queues is 33: want 1 to 32"},
		{"queue depth", []string{"--queue-depth", "many"}, exitUsage,
			`--queue-depth is "many": want a number`},
		{"queue rate", []string{"--queue-rate", "1/8=5"}, exitUsage,
			`--queue-rate is "1/8=5": priority "8": want 0 to 7`},
		{"queue port", []string{"--queue-rate", "512=5"}, exitUsage, `port "512": want 0 to 511`},
		{"dump", []string{"--dump-packet-data", "-1"}, exitUsage, "--dump-packet-data is -1"},
		{"no connections", []string{"--grpc-max-connections", "0"}, exitUsage,
			"--grpc-max-connections is 0: want 1 or more"},
		{"too many strangers", []string{"--grpc-max-strangers", "300"}, exitUsage,
			"--grpc-max-strangers is 300: want 1 to 256, or 0 for the default"},
		{"no connections of a client", []string{"--grpc-max-per-client", "0"}, exitUsage,
			"--grpc-max-per-client is 0"},
		{"long messages", []string{"--grpc-max-message", "257"}, exitUsage,
			"--grpc-max-message is 257: want 1 to 256"},
		{"no time", []string{"--grpc-stall-time", "0s"}, exitUsage,
			"--grpc-stall-time is 0s: want more than 0"},
		{"pcap", []string{"--pcap=/no/such"}, exitUsage, `--pcap is "/no/such": want a directory`},
		{"Thrift port", []string{"--thrift-port", "70000"}, exitUsage, `--thrift-port is "70000"`},
		{"files for ports", []string{"--use-files", "1", bad}, exitUsage,
			"--use-files of simple_switch_grpc is not supported: weft replay"},
		{"refused behind the dash", []string{"--", "--dp-grpc-server-addr", "x"}, exitUsage,
			"--dp-grpc-server-addr of simple_switch_grpc is not supported"},
		{"log format", []string{"--log-format", "xml"}, exitUsage, `--log-format is "xml"`},
		{"unknown behind the dash", []string{"--no-p4", "--", "--frob"}, exitUsage,
			"unknown flag: --frob"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs strings.Builder
			status := execute(t.Context(), append([]string{"switch"}, c.args...),
				environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv})
			if status != c.status || !strings.Contains(errs.String(), c.want) {
				t.Errorf("status %d, %q; want %d with %q", status, errs.String(), c.status, c.want)
			}
		})
	}
}
