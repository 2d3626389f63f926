package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/weft-sdn/weft/cmd/weft/run"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

// TestListenersOfSwitch: each service of a switch is open only to the intended credentials.
func TestListenersOfSwitch(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ours, theirs := certstest.New(t), certstest.New(t)
	ours.IssueAs(t, "switch", certs.Identity{Kind: certs.KindSwitch, Name: "n1"}, "127.0.0.1")
	ours.IssueAs(t, "host", certs.Identity{Kind: certs.KindHost, Name: "h1"})
	ours.IssueAs(t, "client", certs.Identity{Kind: certs.KindClient, Name: "prometheus"})
	for _, a := range []*certstest.Authority{ours, theirs} {
		a.IssueAs(t, "controller", certs.Identity{Kind: certs.KindController, Name: "c1"}, "127.0.0.1")
	}
	ours.IssueExpired(t, "expired", "c1")
	ours.Issue(t, "plain", "prometheus") // it names no kind of machine
	sw := start(t, nil, "switch", "--grpc-server-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0",
		"--grpc-server-ssl", "--grpc-server-with-client-auth",
		"--grpc-server-cert", ours.File("switch.pem"), "--grpc-server-key", ours.File("switch.key"),
		"--grpc-server-cacert", ours.File("ca.pem"))
	web, rpc := value(t, sw.err, "http"), value(t, sw.err, "p4runtime")

	files := func(from *certstest.Authority, name string) certs.Client {
		c := certs.Client{Enabled: true, CAFile: ours.File("ca.pem")}
		if name != "" {
			c.CertFile, c.KeyFile = from.File(name+".pem"), from.File(name+".key")
		}
		return c
	}
	call := func(do func(context.Context, grpc.ClientConnInterface) error) func(certs.Client) error {
		return func(c certs.Client) error {
			creds, err := c.Credentials(tls.VersionTLS12)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := grpc.NewClient(rpc, grpc.WithTransportCredentials(creds))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			return do(ctx, conn)
		}
	}
	get := func(path string) func(certs.Client) error {
		return func(c certs.Client) error {
			client, url := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+web+
				path
			if c.Enabled {
				client, url = run.SecureClient(c), "https://"+web+path
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Do(r)
			if err != nil {
				return err
			}
			if err := answer.Body.Close(); err != nil {
				return err
			}
			if answer.StatusCode != http.StatusOK {
				return fmt.Errorf("%s", answer.Status)
			}
			return nil
		}
	}
	services := []struct {
		name    string
		clients bool // are let in too
		ask     func(certs.Client) error
	}{
		{"P4Runtime", false, call(func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := p4v1.NewP4RuntimeClient(c).Capabilities(ctx, new(p4v1.CapabilitiesRequest))
			return err
		})},
		{"gNMI", false, call(func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := gpb.NewGNMIClient(c).Capabilities(ctx, new(gpb.CapabilityRequest))
			return err
		})},
		{"gRPC health", false, call(func(ctx context.Context, c grpc.ClientConnInterface) error {
			_, err := healthpb.NewHealthClient(c).Check(ctx, new(healthpb.HealthCheckRequest))
			return err
		})},
		{"metrics", true, get("/metrics")},
		{"traces", true, get(stream.Path)},
	}
	for _, c := range []struct {
		name            string
		files           certs.Client
		machine, client bool
	}{
		{"plain text", certs.Client{}, false, false},
		{"no certificate", files(nil, ""), false, false},
		{"a controller of another authority", files(theirs, "controller"), false, false},
		{"an expired certificate", files(ours, "expired"), false, false},
		{"a host", files(ours, "host"), false, false},
		{"a switch", files(ours, "switch"), false, false},
		{"a client", files(ours, "client"), false, true},
		{"a controller", files(ours, "controller"), true, true},
		{"a certificate without an identity", files(ours, "plain"), true, true},
	} {
		for _, s := range services {
			if err := s.ask(c.files); (err == nil) != (c.machine || c.client && s.clients) {
				t.Errorf("%s with %s: %v", s.name, c.name, err)
			}
		}
	}

	// weft trace has the flags for it.
	refused := start(t, nil, "trace", "--switch", web, "--ca", ours.File("ca.pem"))
	if status := <-refused.status; status == exitOK {
		t.Error("weft trace is let in without a certificate")
	}
	tracing := start(t, nil, "trace", "--switch", web, "--ca", ours.File("ca.pem"), "--cert",
		ours.File("client.pem"), "--key", ours.File("client.key"))
	sw.cancel() // which ends the traces too
	if status := <-sw.status; status != exitOK {
		t.Errorf("exit status %d", status)
	}
	<-tracing.status
}

// TestHTTPOfSwitchIsBounded: connections that do nothing leave room for a client that asks.
func TestHTTPOfSwitchIsBounded(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	sw := start(t, nil, "switch", "--grpc-server-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0",
		"--grpc-max-connections", "8", "--grpc-max-strangers", "4", "--grpc-max-per-client", "8")
	web := value(t, sw.err, "http")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var idle []net.Conn
	for range 40 {
		conn, err := net.Dial("tcp", web)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	answer, err := client.Get("http://" + web + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	for _, conn := range idle {
		conn.Close()
	}
	if count := regexp.MustCompile(
		`weft_p4runtime_clients_turned_away_total\{reason="strangers"\} [1-9]`); !count.Match(text) {
		t.Errorf("no %s in\n%s", count, text)
	}
	sw.cancel()
	if status := <-sw.status; status != exitOK {
		t.Errorf("exit status %d", status)
	}
}
