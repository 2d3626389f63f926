package p4rt

import (
	"crypto/tls"
	"fmt"

	"google.golang.org/grpc/credentials"

	"github.com/weft-sdn/weft/internal/certs"
)

// TLSConfig names the PEM files of a server's identity; they are read again when they change.
type TLSConfig certs.Server

// Credentials loads the files. An empty TLSConfig gives nil: no TLS. Of the clients that have an
// identity ([certs.Identity]) only controllers are let in.
func (c TLSConfig) Credentials() (credentials.TransportCredentials, error) {
	files := certs.Server(c)
	if files.IsZero() {
		return nil, nil
	}
	files.Kinds = certs.KindController
	creds, err := files.Credentials(tls.VersionTLS12)
	if err != nil {
		return nil, fmt.Errorf("p4rt: %w", err)
	}
	return creds, nil
}
