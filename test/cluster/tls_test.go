package cluster

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

// TestTLS: controllers reach each other over mutual TLS, and whoever has no certificate of theirs
// reaches none of them there.
func TestTLS(t *testing.T) {
	cert, key := certstest.SelfSigned(t, "controllers")
	b := newBed(t, 2, func(inv *inventory.Inventory) {
		inv.Cluster.TLS = &inventory.TLS{CA: cert, Cert: cert, Key: key}
	})
	d := b.decider()
	m := b.other(d)
	b.until("a group is accepted by way of a member", func() bool { return m.put("g0", spec(0)) == nil })
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
	stranger, strangerKey := certstest.SelfSigned(t, "stranger")
	theirs, err := tls.LoadX509KeyPair(stranger, strangerKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, certificates := range map[string][]tls.Certificate{"without a certificate": nil, "with a stranger's certificate": {theirs}} {
		c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates},
		}}
		r, err := c.Get("https://" + peers + "/v1/multicast-groups")
		if err == nil {
			_ = r.Body.Close()
			t.Errorf("%s: %s", name, r.Status)
		} else if !strings.Contains(err.Error(), "tls") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
