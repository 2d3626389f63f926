package p4rt

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"google.golang.org/grpc/credentials"
)

// TLSConfig names the PEM files of a server's identity.
type TLSConfig struct {
	CertFile string // the server's certificate chain
	KeyFile  string // its private key
	// ClientCAFile holds the authorities whose certificates clients must
	// show; empty: clients need none.
	ClientCAFile string
}

// Credentials loads the files. An empty TLSConfig gives nil: no TLS.
func (c TLSConfig) Credentials() (credentials.TransportCredentials, error) {
	if c == (TLSConfig{}) {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("p4rt: server certificate: %w", err)
	}
	out := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if c.ClientCAFile != "" {
		pem, err := os.ReadFile(c.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("p4rt: client authorities: %w", err)
		}
		out.ClientCAs = x509.NewCertPool()
		if !out.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("p4rt: client authorities: no certificate in %s", c.ClientCAFile)
		}
		out.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return credentials.NewTLS(out), nil
}
