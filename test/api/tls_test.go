package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/internal/certs/certstest"
	"github.com/weft-sdn/weft/service"
)

// serveSwitch runs an embedded switch whose P4Runtime server is secured, and
// returns its address.
func serveSwitch(t *testing.T, files p4rt.TLSConfig) string {
	t.Helper()
	secured, err := files.Credentials()
	if err != nil {
		t.Fatal(err)
	}
	runner, err := live.Start(live.Config{Device: p4rt.Config{ID: 1,
		Switch: dataplane.Config{CPUPort: 510, DropPort: 511}}})
	if err != nil {
		t.Fatal(err)
	}
	server := p4rt.NewServer(p4rt.ServerConfig{Credentials: secured})
	if err := server.Add(runner.Sessions(), runner); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		server.Close(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// TestTLS: a controller configured by a file reaches and programs a switch over mutual TLS, and
// serves TLS itself. The controller refuses a switch with a wrong identity, and a switch that does
// not know the controller.
func TestTLS(t *testing.T) {
	ownCert, ownKey := certstest.SelfSigned(t, "controller")
	cert, key := certstest.SelfSigned(t, "switch")
	otherCert, otherKey := certstest.SelfSigned(t, "other")

	inv, err := inventory.Load(fmt.Appendf(nil, `
switches:
  - {name: friend, address: %q, deviceId: 1, mac: "02:00:00:00:00:01", tls: {ca: %[4]q, cert: %[5]q, key: %[6]q, serverName: 127.0.0.1}}
  - {name: impostor, address: %[2]q, deviceId: 1, mac: "02:00:00:00:00:02", tls: {ca: %[4]q, cert: %[5]q, key: %[6]q}}
  - {name: stranger, address: %[3]q, deviceId: 1, mac: "02:00:00:00:00:03", tls: {ca: %[4]q, cert: %[5]q, key: %[6]q}}
bgp: {asn: 64512, routerId: 10.0.0.100}
api: {listen: "127.0.0.1:0", tls: {cert: %[5]q, key: %[6]q}}
`,
		serveSwitch(t, p4rt.TLSConfig{CertFile: cert, KeyFile: key, ClientCAFile: ownCert}),
		serveSwitch(t, p4rt.TLSConfig{CertFile: otherCert, KeyFile: otherKey, ClientCAFile: ownCert}),
		serveSwitch(t, p4rt.TLSConfig{CertFile: cert, KeyFile: key, ClientCAFile: otherCert}),
		cert, ownCert, ownKey))
	if err != nil {
		t.Fatal(err)
	}
	s, err := service.Start(t.Context(), service.Options{Inventory: *inv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})

	trusted, err := os.ReadFile(ownCert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots,
		MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: patience}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		response, err := client.Get("https://" + s.Addr().String() + "/v1/switches")
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Items []api.SwitchStatus }
		err = json.NewDecoder(response.Body).Decode(&body)
		if _ = response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		status := make(map[string]api.SwitchStatus)
		for _, item := range body.Items {
			status[item.Name] = item
		}
		for _, name := range []string{"impostor", "stranger"} {
			if status[name].Connected {
				t.Fatalf("%s is connected", name)
			}
		}
		if status["friend"].Synced && status["friend"].Entries > 0 &&
			strings.Contains(status["impostor"].Reason, "unknown authority") &&
			strings.Contains(status["stranger"].Reason, "certificate") {
			break
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("the switches are %+v", status)
		}
	}
}
