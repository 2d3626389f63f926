package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

// TestCheckCertificates: --check refuses certificates that connections would refuse: expired, not valid
// yet, with the key of another one, signed by another authority, or of another machine.
func TestCheckCertificates(t *testing.T) {
	ours, theirs := certstest.New(t), certstest.New(t)
	good := certs.Identity{Kind: certs.KindController, Name: "c1"}
	ours.IssueAs(t, "good", good, "192.0.2.1")
	ours.IssueAs(t, "elsewhere", good, "192.0.2.9")
	theirs.IssueAs(t, "foreign", good, "192.0.2.1")
	ours.IssueExpired(t, "expired", "c1", "c1")
	ours.IssueLater(t, "later", "c1", "c1")
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
		{"elsewhere", ours, "", "is not of 192.0.2.1, where others reach this controller"},
	} {
		cert, key := of(c.authority, c.name)
		if c.key != "" {
			_, key = of(ours, c.key)
		}
		path := file(cert, key, ours.File("ca.pem"))
		var out strings.Builder
		status := run(t.Context(), []string{"controller", "--check", "--config", path}, environment{
			stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(string) string { return "" },
		})
		switch {
		case c.want == "" && status != exitOK:
			t.Errorf("%s: status %d: %s", c.name, status, out.String())
		case c.want != "" && (status != exitUsage || !strings.Contains(out.String(), path+":5: cluster.tls.cert: ") || !strings.Contains(out.String(), c.want)):
			t.Errorf("%s with the key of %q: status %d: %s, want %q of cluster.tls.cert", c.name, c.key, status, out.String(), c.want)
		}
	}
}
