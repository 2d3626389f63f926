package southbound

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// authority signs certificates for a test and writes them to files.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir(), pool: x509.NewCertPool()}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	a.write(t, "ca.pem", "CERTIFICATE", der)
	return a
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// issue writes name.pem and name.key.
func (a *authority) issue(t *testing.T, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+".pem", "CERTIFICATE", der)
	k, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+".key", "EC PRIVATE KEY", k)
}

func TestMutualTLS(t *testing.T) {
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	ours.issue(t, "switch")
	ours.issue(t, "controller")
	theirs.issue(t, "controller")
	server, err := tls.LoadX509KeyPair(ours.file("switch.pem"), ours.file("switch.key"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFakeSwitch(t, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ours.pool, MinVersion: tls.VersionTLS12,
	})))
	good := TLSConfig{
		Enabled: true, CAFile: ours.file("ca.pem"), ServerName: "switch",
		CertFile: ours.file("controller.pem"), KeyFile: ours.file("controller.key"),
	}
	for name, c := range map[string]struct {
		tls func(*TLSConfig)
		ok  bool
	}{
		"right":          {func(*TLSConfig) {}, true},
		"plain text":     {func(c *TLSConfig) { *c = TLSConfig{} }, false},
		"no certificate": {func(c *TLSConfig) { c.CertFile, c.KeyFile = "", "" }, false},
		"a stranger's certificate": {func(c *TLSConfig) {
			c.CertFile, c.KeyFile = theirs.file("controller.pem"), theirs.file("controller.key")
		}, false},
		"a switch of another name":     {func(c *TLSConfig) { c.ServerName = "n2" }, false},
		"a switch of another's":        {func(c *TLSConfig) { c.CAFile = theirs.file("ca.pem") }, false},
		"a name from the target alone": {func(c *TLSConfig) { c.ServerName = "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := f.config()
			cfg.TLS = good
			c.tls(&cfg.TLS)
			s, ev := open(t, cfg)
			if c.ok {
				if err := s.WaitReady(t.Context()); err != nil {
					t.Error(err)
				}
				return
			}
			if d := next[Down](t, ev); !errors.Is(d.Err, ErrNotConnected) {
				t.Errorf("%v", d.Err)
			}
			if st, _ := s.State(); st == StateReady {
				t.Error("connected")
			}
		})
	}
}

func TestTLSFilesThatDoNotParse(t *testing.T) {
	a := newAuthority(t, "ours")
	a.issue(t, "controller")
	garbage := filepath.Join(a.dir, "garbage.pem")
	if err := os.WriteFile(garbage, []byte("not a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]TLSConfig{
		"CA":          {Enabled: true, CAFile: garbage},
		"certificate": {Enabled: true, CertFile: garbage, KeyFile: a.file("controller.key")},
		"key":         {Enabled: true, CertFile: a.file("controller.pem"), KeyFile: garbage},
	} {
		if _, err := c.credentials(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
