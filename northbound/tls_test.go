package northbound

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

// TestClientCertificates: a certificate named by a rule identifies a principal. A certificate from
// the same authority without a rule identifies no principal, whatever its rights elsewhere. Any
// other certificate ends the handshake. Health checks need no certificate.
func TestClientCertificates(t *testing.T) {
	cert, key := certstest.SelfSigned(t, "server")
	ours, theirs := certstest.New(t), certstest.New(t)
	ours.Issue(t, "ops", "nobody looks here", "ops.example.com")
	ours.Issue(t, "ci", "ci")
	ours.Issue(t, "host", "H1", "h1.example.com")
	// the server ignores the common name of a certificate with a SAN
	ours.Issue(t, "posing", "ops.example.com", "h2.example.com")
	ours.IssueExpired(t, "expired", "ops.example.com", "ops.example.com")
	theirs.Issue(t, "ops", "ops.example.com", "ops.example.com")
	s, _, _ := newTestServer(t, func(c *Config) {
		c.TLS = TLSConfig{CertFile: cert, KeyFile: key, ClientCAFile: ours.File("ca.pem")}
		var err error
		c.Access, err = access.InMemory(t.Context(), access.Config{Verified: true, Now: c.Now,
			Certificates: []access.CertificateRule{
				{Name: "ops.example.com", Grant: api.Grant{Role: api.RoleOperator}},
				{Name: "ci", Grant: api.Grant{Role: api.RoleTenant, Tenant: "acme"}},
			}})
		if err != nil {
			t.Fatal(err)
		}
	})
	base, _ := serve(t, s)
	base = strings.Replace(base, "http:", "https:", 1)
	trusted, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	get := func(from *certstest.Authority, name, path string) (status int, body string) {
		conf := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		if name != "" {
			pair, err := tls.LoadX509KeyPair(from.File(name+".pem"), from.File(name+".key"))
			if err != nil {
				t.Fatal(err)
			}
			// Whatever the server asks for.
			conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate,
				error) {
				return &pair, nil
			}
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true,
			ForceAttemptHTTP2: true}}
		defer client.CloseIdleConnections()
		resp, err := client.Get(base + path)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.ProtoMajor != 2 {
			t.Errorf("%s: %s, %v", name, resp.Proto, err)
		}
		return resp.StatusCode, string(b)
	}
	for _, c := range []struct {
		from       *certstest.Authority
		name, path string
		status     int // 0: no handshake
		say        string
	}{
		{ours, "", "/healthz", 200, ""}, {ours, "", "/v1/topology", 401, "asks for credentials"},
		{ours, "ops", "/v1/topology", 200, ""}, {ours, "ops", sessionPath, 200, `"role":"operator"`},
		{ours, "ops", tokensPath, 403, "administer"},
		{ours, "ci", groupsPath, 200, ""}, {ours, "ci", "/v1/topology", 403, "tenant/acme"},
		{ours, "host", "/v1/topology", 401, "h1.example.com"},
		{ours, "host", groupsPath, 401, "no principal"}, {ours, "host", "/healthz", 200, ""},
		{ours, "posing", "/v1/topology", 401, "no principal"},
		{ours, "expired", "/healthz", 0, ""}, {theirs, "ops", "/healthz", 0, ""},
	} {
		if status, body := get(c.from, c.name, c.path); status != c.status ||
			!strings.Contains(body, c.say) {
			t.Errorf("%s of %s: %d %s, want %d with %q", c.path, c.name, status, body, c.status, c.say)
		}
	}
}
