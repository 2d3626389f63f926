// Package certs makes TLS configurations of PEM files. Errors about a file are *[FileError].
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// A FileError reports which file of a configuration cannot be used: ca, cert (with key) or key, as
// the sections tls of files have it.
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
}

// Config reads the files. It is nil for plain text. least is the lowest version of TLS, such as tls.VersionTLS13.
func (c Client) Config(least uint16) (*tls.Config, error) {
	if !c.Enabled {
		if c != (Client{}) {
			return nil, errors.New("tls has files but is not enabled")
		}
		return nil, nil
	}
	conf := &tls.Config{MinVersion: least, ServerName: c.ServerName}
	if c.CAFile != "" {
		pool, err := Authorities(c.CAFile)
		if err != nil {
			return nil, &FileError{"ca", err}
		}
		conf.RootCAs = pool
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, errors.New("tls.cert and tls.key go together: want both or none")
	}
	if c.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, &FileError{"cert", err}
		}
		conf.Certificates = []tls.Certificate{cert}
	}
	return conf, nil
}

// Server names the PEM files of a server; the zero value is plain text.
type Server struct {
	// CertFile and KeyFile are the server's; both or neither.
	CertFile, KeyFile string
	// ClientCAFile has the certificates that may sign clients'. With it clients must show one, without it they need none.
	ClientCAFile string
}

// Config reads the files. It is nil for plain text. least is the lowest version of TLS.
func (s Server) Config(least uint16) (*tls.Config, error) {
	if s == (Server{}) {
		return nil, nil
	}
	if s.CertFile == "" || s.KeyFile == "" {
		return nil, errors.New("tls.cert and tls.key are missing: a server needs both")
	}
	cert, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
	if err != nil {
		return nil, &FileError{"cert", err}
	}
	conf := &tls.Config{MinVersion: least, Certificates: []tls.Certificate{cert}}
	if s.ClientCAFile != "" {
		if conf.ClientCAs, err = Authorities(s.ClientCAFile); err != nil {
			return nil, &FileError{"ca", err}
		}
		conf.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return conf, nil
}

// Authorities reads the certificates of a PEM file, which has one at least.
func Authorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	return pool, nil
}

// Credentials are gRPC's: plain text for nil.
func Credentials(c *tls.Config) credentials.TransportCredentials {
	if c == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(c)
}
