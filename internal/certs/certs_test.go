package certs_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

// TestFiles: an error about a file names the field.
func TestFiles(t *testing.T) {
	a := certstest.New(t)
	a.Issue(t, "one", "one", "one")
	garbage := filepath.Join(t.TempDir(), "garbage.pem")
	if err := os.WriteFile(garbage, []byte("not a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	type config interface{ IsZero() bool }
	read := func(c config) (*tls.Config, error) {
		if client, ok := c.(certs.Client); ok {
			return client.Config(tls.VersionTLS13)
		}
		return c.(certs.Server).Config(tls.VersionTLS13)
	}
	ca, cert, key := a.File("ca.pem"), a.File("one.pem"), a.File("one.key")
	for _, c := range []struct {
		config
		want string // "": it works
	}{
		{certs.Client{Enabled: true}, ""},
		{certs.Client{Enabled: true, CAFile: ca, CertFile: cert, KeyFile: key, ServerName: "one"}, ""},
		{certs.Client{CAFile: ca}, "tls has files but is not enabled"},
		{certs.Client{Enabled: true, CAFile: "absent.pem"}, "tls.ca: open absent.pem"},
		{certs.Client{Enabled: true, CAFile: garbage}, "tls.ca: " + garbage + " has no certificate"},
		{certs.Client{Enabled: true, CertFile: cert}, "tls.cert and tls.key go together"},
		{certs.Client{Enabled: true, CertFile: garbage, KeyFile: key}, "tls.cert: "},
		{certs.Client{Enabled: true, CertFile: cert, KeyFile: garbage}, "tls.cert: "},
		{certs.Server{CertFile: cert, KeyFile: key}, ""},
		{certs.Server{CertFile: cert, KeyFile: key, ClientCAFile: ca}, ""},
		{certs.Server{CertFile: cert}, "tls.cert and tls.key are missing"},
		{certs.Server{ClientCAFile: ca}, "tls.cert and tls.key are missing"},
		{certs.Server{CertFile: cert, KeyFile: garbage}, "tls.cert: "},
		{certs.Server{CertFile: cert, KeyFile: key, ClientCAFile: key}, "tls.ca: " + key +
			" has no certificate"},
	} {
		conf, err := read(c.config)
		switch {
		case c.want == "" && (err != nil || conf == nil || conf.MinVersion != tls.VersionTLS13):
			t.Errorf("%+v: %v, %v", c.config, conf, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%+v: %v, want %s", c.config, err, c.want)
		}
	}
	for _, c := range []config{certs.Client{}, certs.Server{}} {
		if conf, err := read(c); conf != nil || err != nil {
			t.Errorf("%T without files: %v, %v; want neither", c, conf, err)
		}
	}
}
