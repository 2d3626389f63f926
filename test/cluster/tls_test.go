package cluster

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

// TestTLS: controllers reach each other over mutual TLS. A client without a controller certificate
// reaches no controller there.
func TestTLS(t *testing.T) {
	authority := certstest.New(t)
	authority.IssueAs(t, "controllers", certs.Identity{Kind: certs.KindController, Name: "c"},
		"127.0.0.1")
	authority.IssueAs(t, "switch", certs.Identity{Kind: certs.KindSwitch, Name: "n1"}, "127.0.0.1")
	authority.IssueAs(t, "host", certs.Identity{Kind: certs.KindHost, Name: "h1"})
	authority.IssueAs(t, "client", certs.Identity{Kind: certs.KindClient, Name: "admin"})
	authority.IssueExpired(t, "expired", "c")
	b := newBed(t, 2, func(inv *inventory.Inventory) {
		inv.Cluster.TLS = &inventory.TLS{CA: authority.File("ca.pem"),
			Cert: authority.File("controllers.pem"), Key: authority.File("controllers.key")}
	})
	d := b.decider()
	m := b.other(d)
	b.until("a group is accepted by way of a member", func() bool {
		return m.put("g0", spec(0)) == nil
	})
	var peers string
	b.until("all controllers answer each other", func() bool {
		list, err := m.rest.Controllers().List(t.Context(), nil)
		if err != nil || len(list) != 2 {
			return false
		}
		for _, c := range list {
			if c.Role == api.RoleUnreachable {
				return false
			}
			if c.Name == d.name {
				peers = c.Peers
			}
		}
		return true
	})
	ask := func(cert, key string) error {
		conf := &tls.Config{InsecureSkipVerify: true}
		if cert != "" {
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			conf.Certificates = []tls.Certificate{pair}
		}
		c := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: conf}}
		r, err := c.Get("https://" + peers + "/v1/multicast-groups")
		if err == nil {
			err = r.Body.Close()
		}
		return err
	}
	if err := ask(authority.File("controllers.pem"), authority.File("controllers.key")); err != nil {
		t.Errorf("with a controller's certificate: %v", err)
	}
	refused := func(what, cert, key string) {
		t.Helper()
		if err := ask(cert, key); err == nil || !strings.Contains(err.Error(), "tls") {
			t.Errorf("%s: %v, want an error of TLS", what, err)
		}
	}
	cert, key := certstest.SelfSigned(t, "stranger")
	refused("without a certificate", "", "")
	refused("with a stranger's certificate", cert, key)
	for _, name := range []string{"expired", "switch", "host", "client"} {
		refused("with the certificate "+name, authority.File(name+".pem"), authority.File(name+".key"))
	}
}
