package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
)

const patience = 30 * time.Second

// TestSwitch: a stock client arbitrates with the process and, in the first case,
// installs the fabric program.
func TestSwitch(t *testing.T) {
	program := filepath.Join(t.TempDir(), "fabric.json")
	if err := os.WriteFile(program, p4.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	certFile, keyFile, err := northboundtest.Certificate(files, "switch")
	if err != nil {
		t.Fatal(err)
	}
	clientCert, clientKey, err := northboundtest.Certificate(files, "client")
	if err != nil {
		t.Fatal(err)
	}
	none := southbound.TLSConfig{}
	for _, c := range []struct {
		name    string
		args    []string
		device  uint64
		install bool
		tls     southbound.TLSConfig // the client's
	}{
		{"without a program", []string{"--no-p4", "--grpc-server-addr", "127.0.0.1:0", "--cpu-port", "510"}, 1, true, none},
		{"with one", []string{program, "--grpc-server-addr", "127.0.0.1:0"}, 1, false, none},
		{"options behind the dash", []string{"--no-p4", "--device-id", "3", "--", "--grpc-server-addr", "127.0.0.1:0", "--cpu-port", "510"}, 3, false, none},
		{"TLS", []string{"--no-p4", "--grpc-server-addr", "127.0.0.1:0", "--grpc-server-ssl", "--grpc-server-cert", certFile, "--grpc-server-key", keyFile},
			1, false, southbound.TLSConfig{Enabled: true, CAFile: certFile}},
		{"mutual TLS", []string{"--no-p4", "--", "--grpc-server-addr", "127.0.0.1:0", "--grpc-server-ssl", "--grpc-server-cert", certFile,
			"--grpc-server-key", keyFile, "--grpc-server-cacert", clientCert, "--grpc-server-with-client-auth"},
			1, false, southbound.TLSConfig{Enabled: true, CAFile: certFile, CertFile: clientCert, KeyFile: clientKey}},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			sw := start(t, nil, append([]string{"switch"}, c.args...)...)
			up := <-sw.err.lines
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
			s, err := southbound.Open(ctx, cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.WaitReady(ctx); err != nil {
				t.Error(err)
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
	sw := start(t, nil, "switch", "--grpc-server-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--device-id", "5")
	resp, err := http.Get("http://" + value(t, sw.err.lines, "http") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`weft_build_info{device_id="5"`, "weft_p4runtime_streams 0", `weft_dataplane_drops_total{reason="no_program"} 0`} {
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
		{"port twice", []string{"-i", "1@veth0", "-i", "1@veth1"}, exitUsage, "port 1 is on veth0 already"},
		{"interface twice", []string{"-i", "1@veth0", "-i", "2@veth0"}, exitUsage, "veth0 has port 1 already"},
		{"no such interface", []string{"-i", "1@no-such-port", "--grpc-server-addr", "127.0.0.1:0"}, exitFailed, "interface cannot be used: no-such-port"},
		{"device 0", []string{"--device-id", "0"}, exitUsage, "--device-id is 0"},
		{"two programs", []string{"a", "b"}, exitUsage, "2 programs: want one at most"},
		{"no program file", []string{"/nowhere.json"}, exitUsage, "open /nowhere.json"},
		{"bad program", []string{bad}, exitUsage, "bad.json: "},
		{"program and none", []string{"--no-p4", bad}, exitUsage, "want one of them"},
		{"files without TLS", []string{"--grpc-server-cert", "x"}, exitUsage, "TLS files without --grpc-server-ssl"},
		{"TLS without files", []string{"--grpc-server-ssl"}, exitUsage, "wants --grpc-server-cert and --grpc-server-key"},
		{"half of mutual TLS", []string{"--grpc-server-ssl", "--grpc-server-cert", "x", "--grpc-server-key", "x", "--grpc-server-with-client-auth"}, exitUsage, "go together"},
		{"no certificate", []string{"--grpc-server-ssl", "--grpc-server-cert", "/nowhere", "--grpc-server-key", "/nowhere"}, exitUsage, "server certificate"},
		{"listener", []string{"--grpc-server-addr", "127.0.0.1:x"}, exitFailed, "P4Runtime server: listen tcp"},
		{"HTTP listener", []string{"--grpc-server-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:x"}, exitFailed, "HTTP: listen tcp"},
		{"log level", []string{"--log-level", "loud"}, exitUsage, `--log-level is "loud"`},
		{"log format", []string{"--log-format", "xml"}, exitUsage, `--log-format is "xml"`},
		{"unknown behind the dash", []string{"--no-p4", "--", "--frob"}, exitUsage, "unknown flag: --frob"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs strings.Builder
			status := run(t.Context(), append([]string{"switch"}, c.args...), environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv})
			if status != c.status || !strings.Contains(errs.String(), c.want) {
				t.Errorf("status %d, %q; want %d with %q", status, errs.String(), c.status, c.want)
			}
		})
	}
}
