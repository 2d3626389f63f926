package northbound

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/internal/certs/certstest"
)

func TestTLSWithClientCertificates(t *testing.T) {
	cert, key := certstest.SelfSigned(t, "server")
	friendCert, friendKey := certstest.SelfSigned(t, "friend")
	strangerCert, strangerKey := certstest.SelfSigned(t, "stranger")
	s, _, _ := newTestServer(t, func(c *Config) {
		c.TLS = TLSConfig{CertFile: cert, KeyFile: key, ClientCAFile: friendCert}
	})
	base, _ := serve(t, s)
	base = strings.Replace(base, "http:", "https:", 1)
	trusted, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	get := func(cert, key string) (*http.Response, error) {
		conf := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		if cert != "" {
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			conf.Certificates = []tls.Certificate{pair}
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
		defer client.CloseIdleConnections()
		resp, err := client.Get(base + "/healthz")
		if err == nil {
			_ = resp.Body.Close()
		}
		return resp, err
	}
	if resp, err := get(friendCert, friendKey); err != nil || resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Errorf("a friend got %v, %v", resp, err)
	}
	if _, err := get("", ""); err == nil {
		t.Error("a client without a certificate was served")
	}
	if _, err := get(strangerCert, strangerKey); err == nil {
		t.Error("a stranger was served")
	}
}
