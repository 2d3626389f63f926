// Package certs makes TLS configurations of PEM files, says by a certificate what its holder is
// ([Identity]), and issues certificates ([Authority]). Errors about a file are *[FileError].
//
// Files are read again when they change: see [Cache].
package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// A FileError reports which file of a configuration cannot be used: ca, cert (with key) or key, the
// names in the sections tls of files.
type FileError struct {
	Field string
	Err   error
}

func (e *FileError) Error() string { return "tls." + e.Field + ": " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// Client names the PEM files of a client; the zero value is plain text.
type Client struct {
	// Enabled turns TLS on; the other fields need it.
	Enabled bool
	// CAFile has the certificates that may sign the server's; the system's when empty.
	CAFile string
	// CertFile and KeyFile are the client's, for mutual TLS; both or neither.
	CertFile, KeyFile string
	// ServerName expected in the server's certificate; the host that is dialed when empty.
	ServerName string
	// Kinds that the server may be. A certificate with the identity of another kind is refused.
	Kinds Kind
	// Place of the files in the configuration, such as switches[3].tls, for listings.
	Place string
	// Cache of the files. Default: one of this configuration's own.
	Cache *Cache
}

// IsZero reports whether c is plain text, without any file.
func (c Client) IsZero() bool { return c.files() == (Client{}) }

func (c Client) files() Client {
	c.Kinds, c.Place, c.Cache = 0, "", nil
	return c
}

// Config reads the files. Config returns nil for plain text. least is the lowest version of TLS,
// such as tls.VersionTLS13. The returned configuration follows changes of the client's certificate,
// but not of the authorities: call Config for each connection, or use Credentials or Dial.
func (c Client) Config(least uint16) (*tls.Config, error) {
	if !c.Enabled {
		if !c.IsZero() {
			return nil, errors.New("tls has files but is not enabled")
		}
		return nil, nil
	}
	cache := c.Cache
	if cache == nil {
		cache = NewCache()
	}
	conf := &tls.Config{MinVersion: least, ServerName: c.ServerName}
	if c.CAFile != "" {
		authorities, err := cache.authorities(c.Place, c.CAFile)
		if err != nil {
			return nil, &FileError{"ca", err}
		}
		conf.RootCAs = authorities
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, errors.New("tls.cert and tls.key go together: want both or none")
	}
	if c.CertFile != "" {
		if _, err := cache.pair(c.Place, c.CertFile, c.KeyFile); err != nil {
			return nil, &FileError{"cert", err}
		}
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return cache.pair(c.Place, c.CertFile, c.KeyFile)
		}
	}
	conf.VerifyConnection = func(state tls.ConnectionState) error {
		cache.saw(c.Place, state)
		return permit(state, c.Kinds)
	}
	return conf, nil
}

// Dial returns a function that connects by TCP and, unless c is plain text, TLS.
func (c Client) Dial(least uint16, dialer *net.Dialer) (func(ctx context.Context, network,
	address string) (net.Conn, error), error) {
	c = c.cached()
	if conf, err := c.Config(least); conf == nil || err != nil {
		return dialer.DialContext, err
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conf, err := c.Config(least)
		if err != nil {
			return nil, err
		}
		return (&tls.Dialer{NetDialer: dialer, Config: conf}).DialContext(ctx, network, address)
	}, nil
}

// Credentials are gRPC's. They follow changes of all files.
func (c Client) Credentials(least uint16) (credentials.TransportCredentials, error) {
	c = c.cached()
	conf, err := c.Config(least)
	if err != nil {
		return nil, err
	}
	if conf == nil {
		return insecure.NewCredentials(), nil
	}
	return &clientCredentials{credentials.NewTLS(conf), c, least}, nil
}

func (c Client) cached() Client {
	if c.Cache == nil {
		c.Cache = NewCache()
	}
	return c
}

// clientCredentials make the configuration of each handshake of what the files are then.
type clientCredentials struct {
	credentials.TransportCredentials
	files Client
	least uint16
}

func (c *clientCredentials) ClientHandshake(ctx context.Context, authority string,
	conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conf, err := c.files.Config(c.least)
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(conf).ClientHandshake(ctx, authority, conn)
}

func (c *clientCredentials) Clone() credentials.TransportCredentials {
	return &clientCredentials{c.TransportCredentials.Clone(), c.files, c.least}
}

// Server names the PEM files of a server; the zero value is plain text.
type Server struct {
	// CertFile and KeyFile are the server's; both or neither.
	CertFile, KeyFile string
	// ClientCAFile has the authorities that may sign client certificates. With ClientCAFile, clients
	// must show a certificate; without, they need none.
	ClientCAFile string
	// Kinds lists the allowed kinds of clients. The server refuses a certificate with an identity of
	// another kind.
	Kinds Kind
	// Place of the files in the configuration, such as mrc.tls, for listings.
	Place string
	// Cache of the files. Default: one of this configuration's own.
	Cache *Cache
}

// IsZero reports whether s is plain text, without any file.
func (s Server) IsZero() bool {
	s.Kinds, s.Place, s.Cache = 0, "", nil
	return s == (Server{})
}

// Config reads the files, and again when they change. It is nil for plain text. least is the lowest
// version of TLS, protocols lists the protocols above TLS (ALPN), most preferred first.
func (s Server) Config(least uint16, protocols ...string) (*tls.Config, error) {
	if s.IsZero() {
		return nil, nil
	}
	if s.CertFile == "" || s.KeyFile == "" {
		return nil, errors.New("tls.cert and tls.key are missing: a server needs both")
	}
	if s.Cache == nil {
		s.Cache = NewCache()
	}
	conf, err := s.now(least, protocols)
	if err != nil {
		return nil, err
	}
	conf.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return s.now(least, protocols)
	}
	return conf, nil
}

// now returns the configuration by what the files are now. Clients with certificates resume no
// session: another authority may have let them in.
func (s Server) now(least uint16, protocols []string) (*tls.Config, error) {
	cert, err := s.Cache.pair(s.Place, s.CertFile, s.KeyFile)
	if err != nil {
		return nil, &FileError{"cert", err}
	}
	conf := &tls.Config{MinVersion: least, Certificates: []tls.Certificate{*cert},
		NextProtos: protocols}
	if s.ClientCAFile != "" {
		if conf.ClientCAs, err = s.Cache.authorities(s.Place, s.ClientCAFile); err != nil {
			return nil, &FileError{"ca", err}
		}
		conf.ClientAuth, conf.SessionTicketsDisabled = tls.RequireAndVerifyClientCert, true
	}
	conf.VerifyConnection = func(state tls.ConnectionState) error {
		s.Cache.saw(s.Place, state)
		return permit(state, s.Kinds)
	}
	return conf, nil
}

// Credentials are gRPC's. They follow changes of all files.
func (s Server) Credentials(least uint16) (credentials.TransportCredentials, error) {
	conf, err := s.Config(least, "h2")
	if err != nil {
		return nil, err
	}
	if conf == nil {
		return insecure.NewCredentials(), nil
	}
	return credentials.NewTLS(conf), nil
}

// CheckPeer reports why peers that trust the same authorities would refuse the server's
// certificate, regardless of the time: no authority has signed the certificate, the key usages lack
// serverAuth or clientAuth, the peers forbid its kind, or the certificate lacks one of the hosts.
// CheckPeer returns nil without certificate files.
func (s Server) CheckPeer(hosts ...string) error {
	if s.CertFile == "" || s.ClientCAFile == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
	if err != nil {
		return &FileError{"cert", err}
	}
	authorities, err := Authorities(s.ClientCAFile)
	if err != nil {
		return &FileError{"ca", err}
	}
	between := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return &FileError{"cert", err}
		}
		between.AddCert(c)
	}
	unfit := func(format string, args ...any) error {
		return &FileError{"cert", fmt.Errorf("%s %w", s.CertFile, fmt.Errorf(format, args...))}
	}
	for _, use := range []struct {
		usage x509.ExtKeyUsage
		name  string
	}{{x509.ExtKeyUsageAny, ""}, {x509.ExtKeyUsageServerAuth, "serverAuth"},
		{x509.ExtKeyUsageClientAuth, "clientAuth"}} {
		err := verifyEver(pair.Leaf, x509.VerifyOptions{
			Roots: authorities, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{use.usage},
		})
		var authority x509.UnknownAuthorityError
		var invalid x509.CertificateInvalidError
		switch {
		case errors.As(err, &authority):
			return unfit("is signed by %q, which is none of the authorities in %s: want one that they "+
				"have signed", pair.Leaf.Issuer.String(), s.ClientCAFile)
		case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
			return unfit("is not for %s: want serverAuth and clientAuth among its extended key usages",
				use.name)
		case err != nil && !isExpired(err): // that of an authority; it is reported with its own file
			return unfit("cannot be used: %w", err)
		}
	}
	if err := permit(tls.ConnectionState{PeerCertificates: []*x509.Certificate{pair.Leaf}},
		s.Kinds); err != nil {
		return unfit("would be refused: %w", err)
	}
	for _, host := range hosts {
		if pair.Leaf.VerifyHostname(host) != nil {
			return unfit("is not of %s, where others reach this controller: want that among its names", host)
		}
	}
	return nil
}

// CheckServes returns an error if the certificate is not for servers: clients would refuse it,
// whatever authorities they trust. It returns nil without files.
func (s Server) CheckServes() error {
	if s.CertFile == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
	if err != nil {
		return &FileError{"cert", err}
	}
	uses := pair.Leaf.ExtKeyUsage
	if len(uses)+len(pair.Leaf.UnknownExtKeyUsage) > 0 &&
		!slices.Contains(uses, x509.ExtKeyUsageServerAuth) &&
		!slices.Contains(uses, x509.ExtKeyUsageAny) {
		return &FileError{"cert", fmt.Errorf(
			"%s is not for serverAuth: want that among its extended key usages", s.CertFile)}
	}
	return nil
}

// verifyEver verifies a certificate at a time when both the certificate and its authorities are
// valid, if such a time exists: an authority may end before a certificate that it signed, or be
// renewed later.
func verifyEver(c *x509.Certificate, o x509.VerifyOptions) (err error) {
	for _, at := range []time.Time{c.NotAfter, c.NotBefore, time.Now()} {
		o.CurrentTime = at
		if _, err = c.Verify(o); !isExpired(err) {
			return err
		}
	}
	return err
}

func isExpired(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

// Authorities reads the certificates of a PEM file, which has one at least.
func Authorities(file string) (*x509.CertPool, error) {
	p, err := readPool(file)
	if err != nil {
		return nil, err
	}
	return p.pool, nil
}

func readPool(file string) (*pool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s %w", file, errNoCertificate)
	}
	p := &pool{pool: x509.NewCertPool(), all: all}
	for _, c := range all {
		p.pool.AddCert(c)
	}
	return p, nil
}

// parse reads the certificates of a PEM text. Other blocks are skipped.
func parse(text []byte) (all []*x509.Certificate, err error) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all, nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
}
