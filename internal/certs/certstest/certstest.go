// Package certstest makes certificates for tests, in PEM files that are good for an hour.
package certstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/certs"
)

// An Authority signs certificates into files of a folder.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority, whose own certificate is File("ca.pem").
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{dir: t.TempDir(), key: newKey(t)}
	a.cert = template()
	a.cert.Subject.CommonName, a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = "ca", true,
		true, x509.KeyUsageCertSign
	write(t, a.dir, "ca", a.cert, a.cert, a.key, a.key)
	return a
}

// File is the path of a file that the authority wrote: ca.pem, and name.pem and name.key of what it
// issued.
func (a *Authority) File(name string) string { return filepath.Join(a.dir, name) }

// Issue writes name.pem and name.key, a certificate for servers and clients of a common name with
// DNS names.
func (a *Authority) Issue(t testing.TB, name, commonName string, dns ...string) {
	t.Helper()
	c := template()
	c.Subject.CommonName, c.DNSNames = commonName, dns
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	key := newKey(t)
	write(t, a.dir, name, c, a.cert, key, a.key)
}

// IssueAs writes name.pem and name.key, the certificate of an identity with DNS names and
// addresses, as "weft certs" makes them.
func (a *Authority) IssueAs(t testing.TB, name string, id certs.Identity, hosts ...string) {
	t.Helper()
	authority, err := certs.LoadAuthority(a.File("ca.pem"), a.File("ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	// its authority lasts longer
	p, err := authority.Issue(certs.Request{Identity: id, Hosts: hosts}, time.Now(), life/2)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(a.File(name), true); err != nil {
		t.Fatal(err)
	}
}

// IssueExpired is Issue of a certificate that ended a minute ago.
func (a *Authority) IssueExpired(t testing.TB, name, commonName string, dns ...string) {
	t.Helper()
	c := template()
	c.Subject.CommonName, c.DNSNames, c.NotAfter = commonName, dns, time.Now().Add(-time.Minute)
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	key := newKey(t)
	write(t, a.dir, name, c, a.cert, key, a.key)
}

// IssueLater is Issue of a certificate that begins in half an hour.
func (a *Authority) IssueLater(t testing.TB, name, commonName string, dns ...string) {
	t.Helper()
	c := template()
	c.Subject.CommonName, c.DNSNames, c.NotBefore = commonName, dns, time.Now().Add(30*time.Minute)
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	key := newKey(t)
	write(t, a.dir, name, c, a.cert, key, a.key)
}

// IssueFor writes a certificate for some uses, or for any when there are none, at an address; ""
// has it name none. The identity may be the zero value; other certificates of the authority never
// have the zero value.
func (a *Authority) IssueFor(t testing.TB, name string, id certs.Identity, address string,
	uses ...x509.ExtKeyUsage) {
	t.Helper()
	a.issueFor(t, template(), name, id, address, uses)
}

// IssueBeyond acts like IssueFor, with a certificate that ends a day after its authority.
func (a *Authority) IssueBeyond(t testing.TB, name string, id certs.Identity, address string,
	uses ...x509.ExtKeyUsage) {
	t.Helper()
	c := template()
	c.NotAfter = c.NotAfter.Add(24 * time.Hour)
	a.issueFor(t, c, name, id, address, uses)
}

func (a *Authority) issueFor(t testing.TB, c *x509.Certificate, name string, id certs.Identity,
	address string, uses []x509.ExtKeyUsage) {
	t.Helper()
	c.Subject.CommonName, c.ExtKeyUsage = name, uses
	if id != (certs.Identity{}) {
		c.URIs = []*url.URL{id.URI()}
	}
	if address != "" {
		c.IPAddresses = []net.IP{net.ParseIP(address)}
	}
	key := newKey(t)
	write(t, a.dir, name, c, a.cert, key, a.key)
}

// SelfSigned writes a certificate for 127.0.0.1, which may sign, serve and ask, and its key. It is
// its own authority.
func SelfSigned(t testing.TB, name string) (certFile, keyFile string) {
	t.Helper()
	dir, c, key := t.TempDir(), template(), newKey(t)
	c.Subject.CommonName, c.IPAddresses, c.IsCA, c.BasicConstraintsValid = name,
		[]net.IP{net.IPv4(127, 0, 0, 1)}, true, true
	c.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	write(t, dir, name, c, c, key, key)
	return filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
}

// life is how long certificates are good: longer than the longest test.
const life = 24 * time.Hour

func template() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life),
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t testing.TB, dir, name string, c, signer *x509.Certificate, key,
	signerKey *ecdsa.PrivateKey) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, signer, &key.PublicKey, signerKey)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der},
		name + ".key": {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
