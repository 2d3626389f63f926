package southbound

import (
	"crypto/tls"
	"errors"
	"testing"

	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

func TestMutualTLS(t *testing.T) {
	ours, theirs := certstest.New(t), certstest.New(t)
	ours.Issue(t, "switch", "switch", "switch")
	ours.Issue(t, "controller", "controller", "controller")
	theirs.Issue(t, "controller", "controller", "controller")
	server, err := certs.Server{CertFile: ours.File("switch.pem"), KeyFile: ours.File("switch.key"),
		ClientCAFile: ours.File("ca.pem")}.Credentials(tls.VersionTLS12)
	if err != nil {
		t.Fatal(err)
	}
	f := newFakeSwitch(t, grpc.Creds(server))
	good := TLSConfig{
		Enabled: true, CAFile: ours.File("ca.pem"), ServerName: "switch",
		CertFile: ours.File("controller.pem"), KeyFile: ours.File("controller.key"),
	}
	for name, c := range map[string]struct {
		tls func(*TLSConfig)
		ok  bool
	}{
		"right":          {func(*TLSConfig) {}, true},
		"plain text":     {func(c *TLSConfig) { *c = TLSConfig{} }, false},
		"no certificate": {func(c *TLSConfig) { c.CertFile, c.KeyFile = "", "" }, false},
		"a stranger's certificate": {func(c *TLSConfig) {
			c.CertFile, c.KeyFile = theirs.File("controller.pem"), theirs.File("controller.key")
		}, false},
		"a switch of another name":     {func(c *TLSConfig) { c.ServerName = "n2" }, false},
		"a switch of another's":        {func(c *TLSConfig) { c.CAFile = theirs.File("ca.pem") }, false},
		"a name from the target alone": {func(c *TLSConfig) { c.ServerName = "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := f.config()
			cfg.TLS = good
			c.tls(&cfg.TLS)
			s, ev := open(t, cfg)
			if c.ok {
				if err := s.WaitReady(t.Context()); err != nil {
					t.Error(err)
				}
				return
			}
			if d := next[Down](t, ev); !errors.Is(d.Err, ErrNotConnected) {
				t.Errorf("%v", d.Err)
			}
			if st, _ := s.State(); st == StateReady {
				t.Error("connected")
			}
		})
	}
}
