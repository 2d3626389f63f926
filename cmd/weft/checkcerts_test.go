package main

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

// TestCheckCertificates: --check refuses certificates that connections would refuse: expired, not
// yet valid, with a wrong key, of a foreign authority, not for server and client, of a host, or of
// another machine.
func TestCheckCertificates(t *testing.T) {
	ours, theirs := certstest.New(t), certstest.New(t)
	good := certs.Identity{Kind: certs.KindController, Name: "c1"}
	ours.IssueAs(t, "good", good, "192.0.2.1")
	ours.IssueAs(t, "elsewhere", good, "192.0.2.9")
	theirs.IssueAs(t, "foreign", good, "192.0.2.1")
	ours.IssueExpired(t, "expired", "c1", "c1")
	ours.IssueLater(t, "later", "c1", "c1")
	const serves, asks = x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	nobody := certs.Identity{}
	ours.IssueFor(t, "any", nobody, "192.0.2.1")
	ours.IssueFor(t, "both", nobody, "192.0.2.1", asks, serves)
	ours.IssueFor(t, "asks", nobody, "192.0.2.1", asks)
	ours.IssueFor(t, "serves", nobody, "192.0.2.1", serves)
	ours.IssueBeyond(t, "asks longer", nobody, "192.0.2.1", asks)
	ours.IssueBeyond(t, "longer", nobody, "192.0.2.1", asks, serves)
	ours.IssueFor(t, "mails", nobody, "192.0.2.1", x509.ExtKeyUsageEmailProtection)
	ours.IssueFor(t, "192.0.2.1", nobody, "", asks, serves)
	switchs, host := good, good
	switchs.Kind, host.Kind = certs.KindSwitch, certs.KindHost
	ours.IssueAs(t, "switch", switchs, "192.0.2.1")
	ours.IssueAs(t, "host", host, "192.0.2.1")
	ours.IssueFor(t, "able host", host, "192.0.2.1", asks, serves) // but for its kind
	ours.IssueFor(t, "able", good, "192.0.2.1", asks, serves)
	file := func(cert, key, ca string) string {
		text := fmt.Sprintf(`bgp: {asn: 64512, routerId: 192.0.2.1, peers: [{address: 192.0.2.8}]}
cluster:
  name: c1
  listen: 192.0.2.1:9443
  tls: {ca: %s, cert: %s, key: %s}
  etcd: {members: {c1: "192.0.2.1:2380", c2: "192.0.2.2:2380", c3: "192.0.2.3:2380"}}
`, ca, cert, key)
		path := filepath.Join(t.TempDir(), "weft.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	of := func(a *certstest.Authority, name string) (cert, key string) {
		return a.File(name + ".pem"), a.File(name + ".key")
	}
	for _, c := range []struct {
		name      string
		authority *certstest.Authority
		key       string // of another certificate of ours
		want      string // "": it is accepted
	}{
		{"good", ours, "", ""},
		{"expired", ours, "", "expired at"},
		{"later", ours, "", "is valid from"},
		{"good", ours, "elsewhere", "private key does not match"},
		{"foreign", theirs, "", "none of the authorities in " + ours.File("ca.pem")},
		{"any", ours, "", ""},
		{"both", ours, "", ""},
		{"asks", ours, "", "is not for serverAuth: want serverAuth and clientAuth"},
		{"serves", ours, "", "is not for clientAuth: want serverAuth and clientAuth"},
		{"asks longer", ours, "", "is not for serverAuth: want serverAuth and clientAuth"},
		{"longer", ours, "", ""},
		{"mails", ours, "", "is not for serverAuth"},
		{"switch", ours, "", "is not for clientAuth"},
		{"host", ours, "", "is not for serverAuth"},
		{"able host", ours, "", "would be refused"},
		{"able", ours, "", ""},
		{"192.0.2.1", ours, "", "is not of 192.0.2.1, where others reach this controller"},
		{"elsewhere", ours, "", "is not of 192.0.2.1, where others reach this controller"},
	} {
		cert, key := of(c.authority, c.name)
		if c.key != "" {
			_, key = of(ours, c.key)
		}
		path := file(cert, key, ours.File("ca.pem"))
		var out strings.Builder
		status := execute(t.Context(), []string{"controller", "--check", "--config", path}, environment{
			stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(string) string {
				return ""
			},
		})
		switch {
		case c.want == "" && status != exitOK:
			t.Errorf("%s: status %d: %s", c.name, status, out.String())
		case c.want != "" && (status != exitUsage ||
			!strings.Contains(out.String(), path+":5: cluster.tls.cert: ") ||
			!strings.Contains(out.String(), c.want)):
			t.Errorf("%s with the key of %q: status %d: %s, want %q of cluster.tls.cert", c.name, c.key,
				status, out.String(), c.want)
		}
	}
}

// TestCheckServers: --check refuses certificates of the API and of the listener for hosts that are
// not for servers.
func TestCheckServers(t *testing.T) {
	ours := certstest.New(t)
	const serves, asks = x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	for name, uses := range map[string][]x509.ExtKeyUsage{"asks": {asks}, "serves": {serves},
		"both": {asks, serves}, "any": nil, "every": {x509.ExtKeyUsageAny}} {
		ours.IssueFor(t, name, certs.Identity{}, "192.0.2.1", uses...)
		text := fmt.Sprintf(`bgp: {asn: 64512, routerId: 192.0.2.1, peers: [{address: 192.0.2.8}]}
api:
  tls: {cert: %[1]s, key: %[2]s}
mrc:
  tls: {cert: %[1]s, key: %[2]s, ca: %[3]s}
  mode: ecmp
`, ours.File(name+".pem"), ours.File(name+".key"), ours.File("ca.pem"))
		path := filepath.Join(t.TempDir(), "weft.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		status := execute(t.Context(), []string{"controller", "--check", "--config", path}, environment{
			stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(string) string {
				return ""
			},
		})
		want := exitOK
		if name == "asks" {
			want = exitUsage
		}
		for _, at := range []string{":3: api.tls.cert: ", ":5: mrc.tls.cert: "} {
			_, why, found := strings.Cut(out.String(), path+at)
			why, _, _ = strings.Cut(why, "\n")
			if refused := found && strings.Contains(why, "is not for serverAuth"); status != want ||
				refused != (name == "asks") {
				t.Errorf("%s: %s: status %d: %s", name, at, status, out.String())
			}
		}
	}
}
