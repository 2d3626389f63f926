package p4rt

import (
	"crypto/tls"
	"fmt"

	"google.golang.org/grpc/credentials"

	"github.com/weft-sdn/weft/internal/certs"
)

// TLSConfig names the PEM files of a server's identity; they are read once.
type TLSConfig certs.Server

// Credentials loads the files. An empty TLSConfig gives nil: no TLS.
func (c TLSConfig) Credentials() (credentials.TransportCredentials, error) {
	conf, err := certs.Server(c).Config(tls.VersionTLS12)
	if err != nil {
		return nil, fmt.Errorf("p4rt: %w", err)
	}
	if conf == nil {
		return nil, nil
	}
	return certs.Credentials(conf), nil
}
