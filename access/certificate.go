package access

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/certs"
)

// CertificateRule maps a client certificate to a principal.
type CertificateRule struct {
	Name      string `yaml:"name" doc:"principals of client certificates ([access.md](access.md#ways-to-show-who-you-are)); needs 'tls.ca'" default:"none"`
	api.Grant `yaml:",inline"`
}

// names returns the names that a certificate is for. If a certificate has alternative names, its
// common name does not count (RFC 9525, section 2). A client certificate of "weft certs" also has
// the client's short name.
func names(c *x509.Certificate) []string {
	out := slices.Concat(c.DNSNames, c.EmailAddresses)
	if id, err := certs.IdentityOf(c); err == nil && id.Kind == certs.KindClient {
		out = append(out, id.Name)
	}
	for _, u := range c.URIs {
		out = append(out, u.String())
	}
	if len(out) == 0 && c.Subject.CommonName != "" {
		out = append(out, c.Subject.CommonName)
	}
	return out
}

// certificate returns the principal of a certificate signed by a client authority. A signature
// alone does not suffice, because the same authority may sign certificates of hosts, switches and
// controllers. The first rule that names the certificate counts.
func certificate(rules []CertificateRule, c *x509.Certificate) (Principal, error) {
	have := names(c)
	for _, r := range rules {
		if slices.Contains(have, r.Name) {
			return Principal{Name: r.Name, Way: api.WayCertificate, Grant: r.Grant, Expires: c.NotAfter}, nil
		}
	}
	return Principal{}, fmt.Errorf(
		"%w: no principal has the certificate of %q: want one of its names %q in api.access.certificates",
		ErrCredentials, clip(c.Subject.String()), clip(strings.Join(have, " ")))
}
