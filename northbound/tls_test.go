package northbound

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// selfSigned writes a certificate for 127.0.0.1 that may sign, serve and ask.
func selfSigned(t *testing.T, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "EC PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestTLSWithClientCertificates(t *testing.T) {
	cert, key := selfSigned(t, "server")
	friendCert, friendKey := selfSigned(t, "friend")
	strangerCert, strangerKey := selfSigned(t, "stranger")
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
