package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
	"github.com/weft-sdn/weft/service"
)

// TestCertificates runs a controller and a switch with certificates as "weft certs" issues them.
// The API lets in clients and no other machines; certificates are renewed while it runs; and it
// shows what it uses, also when a file is broken.
func TestCertificates(t *testing.T) {
	a := certstest.New(t)
	id := func(k certs.Kind, name string) certs.Identity { return certs.Identity{Kind: k, Name: name} }
	a.IssueAs(t, "controller", id(certs.KindController, "c1"), "127.0.0.1")
	a.IssueAs(t, "switch", id(certs.KindSwitch, "n1"), "127.0.0.1")
	a.IssueAs(t, "host", id(certs.KindHost, "h1"))
	a.IssueAs(t, "client", id(certs.KindClient, "admin"))
	address := serveSwitch(t, p4rt.TLSConfig{CertFile: a.File("switch.pem"),
		KeyFile: a.File("switch.key"), ClientCAFile: a.File("ca.pem")})
	impostor := serveSwitch(t, p4rt.TLSConfig{CertFile: a.File("controller.pem"),
		KeyFile: a.File("controller.key"), ClientCAFile: a.File("ca.pem")})
	inv, err := inventory.Load(fmt.Appendf(nil, `
switches:
  - {name: n1, address: %q, mac: "02:00:00:00:00:01", tls: {ca: %[3]q, cert: %[4]q, key: %[5]q}}
  - {name: n2, address: %[2]q, mac: "02:00:00:00:00:02", tls: {ca: %[3]q, cert: %[4]q, key: %[5]q}}
bgp: {asn: 64512, routerId: 10.0.0.100}
api: {listen: "127.0.0.1:0", tls: {ca: %[3]q, cert: %[4]q, key: %[5]q}, access: {certificates: [{name: admin, role: admin}]}}
`, address, impostor, a.File("ca.pem"), a.File("controller.pem"), a.File("controller.key")))
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
	trusted, err := os.ReadFile(a.File("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	// get asks on a connection of its own.
	get := func(path, name string) (body []byte, serial string, err error) {
		conf := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}
		if name != "" {
			pair, err := tls.LoadX509KeyPair(a.File(name+".pem"), a.File(name+".key"))
			if err != nil {
				t.Fatal(err)
			}
			conf.Certificates = []tls.Certificate{pair}
		}
		transport := &http.Transport{TLSClientConfig: conf}
		defer transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.Addr().String()+path, nil)
		if err != nil {
			return nil, "", err
		}
		w, err := transport.RoundTrip(r)
		if err != nil {
			return nil, "", err
		}
		defer w.Body.Close()
		body, err = io.ReadAll(w.Body)
		if err == nil && w.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", w.Status, body)
		}
		return body, w.TLS.PeerCertificates[0].SerialNumber.Text(16), err
	}
	for name, in := range map[string]bool{"client": true, "": false, "host": false,
		"controller": false, "switch": false} {
		if _, _, err := get("/v1/certificates", name); (err == nil) != in {
			t.Errorf("the API and the certificate of %q: %v, want it let in: %t", name, err, in)
		}
	}
	list := func() map[string]api.Certificate {
		t.Helper()
		body, _, err := get("/v1/certificates", "client")
		if err != nil {
			t.Fatal(err)
		}
		var got api.List[api.Certificate]
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		out := make(map[string]api.Certificate)
		for _, c := range got.Items {
			out[c.Place+" "+string(c.Role)+" "+c.Identity] = c
		}
		return out
	}
	// The session with the switch comes some time after the start.
	const peer = "switches[0].tls peer weft://switch/n1"
	deadline := time.Now().Add(patience)
	for list()[peer].State != api.CertificateValid {
		if time.Now().After(deadline) {
			t.Fatalf("the certificate of the switch is not listed: %+v", list())
		}
		time.Sleep(20 * time.Millisecond)
	}
	got := list()
	for _, want := range []string{"api.tls own weft://controller/c1", "api.tls authority ",
		"api.tls peer weft://client/admin", "switches[0].tls own weft://controller/c1"} {
		if c := got[want]; c.State != api.CertificateValid {
			t.Errorf("%s is %+v, want a valid one", want, c)
		}
	}
	if body, _, err := get("/v1/switches/n2", "client"); err != nil ||
		!strings.Contains(string(body), "want one of a switch") {
		t.Errorf("a switch with a controller's certificate: %s, %v, want it refused for that", body, err)
	}
	_, before, err := get("/healthz", "client")
	if err != nil {
		t.Fatal(err)
	}
	a.IssueAs(t, "controller", id(certs.KindController, "c1"), "127.0.0.1")
	_, after, err := get("/healthz", "client")
	if err != nil || after == before {
		t.Errorf("after renewal the API shows %s, as before, %v", after, err)
	}
	if err := os.WriteFile(a.File("controller.pem"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, kept, err := get("/healthz", "client"); err != nil || kept != after {
		t.Errorf("with a broken file the API shows %s, %v, want %s", kept, err, after)
	}
	if c := list()["api.tls own weft://controller/c1"]; c.State != api.CertificateRefused ||
		c.Message == "" {
		t.Errorf("a broken file is listed as %+v", c)
	}
	body, _, err := get("/metrics", "client")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`weft_certificates{place="api.tls",role="own",state="refused"} 1`,
		`weft_certificate_not_after_seconds{place="switches[0].tls",role="peer"} `} {
		if !strings.Contains(string(body), want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
}
