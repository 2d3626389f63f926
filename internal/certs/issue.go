package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
)

// An Authority issues certificates. Its own certificate signs no further authority.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// skew is how far another machine's clock may be behind.
const skew = 5 * time.Minute

// PEM is a certificate and its private key.
type PEM struct{ Cert, Key []byte }

// NewAuthority makes the certificate of an authority of a name, from now on for some time.
func NewAuthority(name string, now time.Time, valid time.Duration) (PEM, error) {
	if name == "" || valid <= 0 {
		return PEM{}, fmt.Errorf("name is %q and valid is %v: want a name and a positive time", name,
			valid)
	}
	template, key, err := newTemplate(name, now, valid)
	if err != nil {
		return PEM{}, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	return sign(template, template, key, key)
}

// LoadAuthority reads an authority's PEM files.
func LoadAuthority(certFile, keyFile string) (*Authority, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(keyFile); err == nil && info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("%s has mode %#o: want one that others cannot use, such as 0600", keyFile,
			info.Mode().Perm())
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA || pair.Leaf.KeyUsage&x509.KeyUsageCertSign == 0 {
		return nil, fmt.Errorf("%s is no certificate of an authority", certFile)
	}
	return &Authority{cert: pair.Leaf, key: key}, nil
}

// Request describes a certificate.
type Request struct {
	Identity
	// Hosts lists the DNS names and IP addresses at which others reach the holder. A reachable holder
	// (a controller, a switch) needs at least one.
	Hosts []string
}

// usages defines what each kind uses its certificate for. Hosts and clients serve nobody; switches
// connect to nobody.
var usages = map[Kind][]x509.ExtKeyUsage{
	KindController: {x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	KindSwitch:     {x509.ExtKeyUsageServerAuth},
	KindHost:       {x509.ExtKeyUsageClientAuth},
	KindClient:     {x509.ExtKeyUsageClientAuth},
}

// Issue makes a certificate. Errors name the field.
func (a *Authority) Issue(r Request, now time.Time, valid time.Duration) (PEM, error) {
	usage, ok := usages[r.Kind]
	serves := r.Kind&(KindController|KindSwitch) != 0
	switch {
	case !ok:
		return PEM{}, fmt.Errorf("kind is %q: want %s", r.Kind, strings.Join(kindNames, ", "))
	case r.Name == "" || strings.ContainsFunc(r.Name, func(c rune) bool {
		return c <= ' ' || c > '~'
	}):
		return PEM{}, fmt.Errorf("name is %q: want printable ASCII without spaces", r.Name)
	case serves && len(r.Hosts) == 0:
		return PEM{}, fmt.Errorf("%s %s has no DNS name and no address: want those at which others "+
			"reach it", r.Kind, r.Name)
	case valid <= 0:
		return PEM{}, fmt.Errorf("valid is %v: want a positive time", valid)
	case now.Add(valid).After(a.cert.NotAfter):
		return PEM{}, fmt.Errorf("valid is %v: the authority expires before, at %s", valid,
			a.cert.NotAfter.UTC().Format(time.RFC3339))
	}
	template, key, err := newTemplate(r.Name, now, valid)
	if err != nil {
		return PEM{}, err
	}
	template.KeyUsage, template.ExtKeyUsage, template.URIs = x509.KeyUsageDigitalSignature, usage,
		[]*url.URL{r.URI()}
	for _, h := range r.Hosts {
		ip := net.ParseIP(h)
		switch {
		case ip != nil:
			template.IPAddresses = append(template.IPAddresses, ip)
		case h == "" || strings.ContainsAny(h, " /:\\*"):
			return PEM{}, fmt.Errorf("DNS name is %q: want a name such as n6.example, or an IP address", h)
		default:
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	return sign(template, a.cert, key, a.key)
}

func newTemplate(name string, now time.Time, valid time.Duration) (*x509.Certificate,
	*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	// RFC 5280, section 4.1.2.2
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), Subject: pkix.Name{CommonName: name,
			Organization: []string{"Weft"}},
		NotBefore: now.Add(-skew), NotAfter: now.Add(valid), BasicConstraintsValid: true,
	}, key, nil
}

func sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey, signer crypto.Signer) (PEM,
	error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return PEM{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return PEM{}, err
	}
	return PEM{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}, nil
}

// ReadFile returns the certificates of a PEM file, the holder's first.
func ReadFile(file string) ([]Certificate, error) {
	p, err := readPool(file)
	if err != nil {
		return nil, err
	}
	out := make([]Certificate, len(p.all))
	for i, x := range p.all {
		out[i] = certificate("", x)
		out[i].File, out[i].Authority = file, x.IsCA
	}
	return out, nil
}

// ErrExists reports an existing file that must not be replaced.
var ErrExists = errors.New("exists")

// Write writes prefix.pem, and prefix.key with mode 0600. Without replace, if either file exists,
// Write writes neither and returns ErrExists. A reader sees the old or the new content of a file.
func (p PEM) Write(prefix string, replace bool) error {
	files := []struct {
		name string
		text []byte
		mode os.FileMode
	}{{prefix + ".key", p.Key, 0o600}, {prefix + ".pem", p.Cert, 0o644}}
	if !replace {
		for _, f := range files {
			if _, err := os.Lstat(f.name); err == nil {
				return fmt.Errorf("%s %w", f.name, ErrExists)
			}
		}
	}
	for _, f := range files {
		if err := write(f.name, f.text, f.mode, replace); err != nil {
			return err
		}
	}
	return nil
}

func write(name string, text []byte, mode os.FileMode, replace bool) error {
	at := name
	if replace {
		at = name + ".new"
		if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(at))
	}
	if replace {
		return os.Rename(at, name)
	}
	return nil
}
