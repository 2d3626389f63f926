package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Cache keeps what PEM files hold. The cache looks at a file for each connection and reads a
// changed file again, so renewed certificates and authorities need no restart. When the new file
// cannot be used, the last good one stays in use and the listing has the reason.
//
// A Cache also remembers the certificates of the other sides of connections. Its methods are safe
// for concurrent use.
type Cache struct {
	mu    sync.Mutex
	pairs map[[2]string]*kept[*tls.Certificate]
	pools map[string]*kept[*pool]
	uses  map[use]struct{}
	peers map[peerKey]Certificate
}

// maxPeers bounds the certificates of other sides that a Cache remembers.
const maxPeers = 16384

// racy is how recently a file may have changed for its time and size to say nothing: a second
// change may have the same.
const racy = 2 * time.Second

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{
		pairs: make(map[[2]string]*kept[*tls.Certificate]), pools: make(map[string]*kept[*pool]),
		uses: make(map[use]struct{}), peers: make(map[peerKey]Certificate),
	}
}

// pool is the content of a file of authorities.
type pool struct {
	pool *x509.CertPool
	all  []*x509.Certificate
}

// use is a place of a configuration that names files; cert and key are empty for authorities.
type use struct{ place, cert, key, ca string }

type peerKey struct{ place, subject string }

// kept is the last good content of files.
type kept[T any] struct {
	value  T
	good   bool
	fault  error // why the present content is not value; nil when it is
	stamps []stamp
	read   time.Time
}

// stamp has the attributes of a file at the last read.
type stamp struct {
	info os.FileInfo
	err  error
}

func stampsOf(files []string) []stamp {
	out := make([]stamp, len(files))
	for i, f := range files {
		out[i].info, out[i].err = os.Stat(f)
	}
	return out
}

// same reports whether files are certainly what they were at the given time.
func same(old, now []stamp, read time.Time) bool {
	return slices.EqualFunc(old, now, func(a, b stamp) bool {
		if a.err != nil || b.err != nil {
			return a.err != nil && b.err != nil && a.err.Error() == b.err.Error()
		}
		return os.SameFile(a.info, b.info) && a.info.Size() == b.info.Size() &&
			a.info.ModTime().Equal(b.info.ModTime()) &&
			read.Sub(a.info.ModTime()) > racy
	})
}

// get returns the content of files, and reads changed files again. get returns an error only if the
// files were never usable.
func get[K comparable, T any](m map[K]*kept[T], key K, read func() (T, error), files ...string) (T,
	error) {
	k := m[key]
	if k == nil {
		k = &kept[T]{}
		m[key] = k
	}
	now := stampsOf(files)
	if k.read.IsZero() || !same(k.stamps, now, k.read) {
		k.stamps, k.read = now, time.Now()
		value, err := read()
		k.fault = err
		if err == nil {
			k.value, k.good = value, true
		}
	}
	if !k.good {
		return k.value, k.fault
	}
	return k.value, nil
}

func (c *Cache) pair(place, certFile, keyFile string) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses[use{place: place, cert: certFile, key: keyFile}] = struct{}{}
	return c.pairLocked(certFile, keyFile)
}

func (c *Cache) pairLocked(certFile, keyFile string) (*tls.Certificate, error) {
	key := [2]string{certFile, keyFile}
	return get(c.pairs, key, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, err
		}
		old := c.pairs[key]
		if now := time.Now(); old.good && now.After(pair.Leaf.NotAfter) &&
			now.Before(old.value.Leaf.NotAfter) {
			return nil, fmt.Errorf("%s expired at %s", certFile,
				pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
		}
		return &pair, nil
	}, certFile, keyFile)
}

func (c *Cache) authorities(place, file string) (*x509.CertPool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses[use{place: place, ca: file}] = struct{}{}
	p, err := c.poolLocked(file)
	if err != nil {
		return nil, err
	}
	return p.pool, nil
}

func (c *Cache) poolLocked(file string) (*pool, error) {
	return get(c.pools, file, func() (*pool, error) { return readPool(file) }, file)
}

// saw records the certificate of a connection's peer. With too many certificates, saw drops the
// certificate that expires last.
func (c *Cache) saw(place string, state tls.ConnectionState) {
	if len(state.PeerCertificates) == 0 {
		return
	}
	cert := certificate(place, state.PeerCertificates[0])
	cert.Peer, cert.Seen = true, time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers[peerKey{place, cert.name()}] = cert
	if len(c.peers) <= maxPeers {
		return
	}
	var last peerKey
	for key, p := range c.peers {
		if last == (peerKey{}) || p.NotAfter.After(c.peers[last].NotAfter) {
			last = key
		}
	}
	delete(c.peers, last)
}

// Certificate is one that connections use, or used at their last handshake.
type Certificate struct {
	// Place is the section of the configuration, such as api.tls.
	Place string
	// File is the PEM file; empty for a peer's certificate.
	File string
	// Identity is the certificate's URI weft://KIND/NAME, Names its DNS names and addresses.
	Identity, Subject, Issuer, Serial string
	Names                             []string
	NotBefore, NotAfter               time.Time
	// Authority reports that the file has authorities, Peer that the other side showed the
	// certificate, at Seen.
	Authority, Peer bool
	Seen            time.Time
	// Fault is why the present content of the file is not in use.
	Fault string
}

// name distinguishes the certificates of one place.
func (c *Certificate) name() string {
	if c.Identity != "" {
		return c.Identity
	}
	return c.Subject + " " + strings.Join(c.Names, ",")
}

func certificate(place string, x *x509.Certificate) Certificate {
	c := Certificate{
		Place: place, Subject: x.Subject.String(), Issuer: x.Issuer.String(),
		Serial: x.SerialNumber.Text(16), NotBefore: x.NotBefore, NotAfter: x.NotAfter,
		Names: slices.Clone(x.DNSNames),
	}
	for _, a := range x.IPAddresses {
		c.Names = append(c.Names, a.String())
	}
	if id, err := IdentityOf(x); err == nil {
		c.Identity = id.String()
	}
	return c
}

// List looks at all files and returns the certificates in use, by place, those of files first. A
// nil Cache has none.
func (c *Cache) List() []Certificate {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Certificate
	fault := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	for u := range c.uses {
		if u.ca != "" {
			p, err := c.poolLocked(u.ca)
			if err != nil {
				continue // the configuration was refused
			}
			for _, x := range p.all {
				one := certificate(u.place, x)
				one.File, one.Authority, one.Fault = u.ca, true, fault(c.pools[u.ca].fault)
				out = append(out, one)
			}
			continue
		}
		pair, err := c.pairLocked(u.cert, u.key)
		if err != nil {
			continue
		}
		one := certificate(u.place, pair.Leaf)
		one.File, one.Fault = u.cert, fault(c.pairs[[2]string{u.cert, u.key}].fault)
		out = append(out, one)
	}
	for _, p := range c.peers {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Certificate) int {
		return slices.Compare([]string{order(a), a.Place, a.File, a.name(), a.Serial},
			[]string{order(b), b.Place, b.File, b.name(), b.Serial})
	})
	return out
}

func order(c Certificate) string {
	switch {
	case c.Peer:
		return "2"
	case c.Authority:
		return "1"
	}
	return "0"
}

// errNoCertificate reports a file of authorities without any.
var errNoCertificate = errors.New("has no certificate")
