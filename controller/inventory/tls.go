package inventory

import (
	"fmt"

	"github.com/weft-sdn/weft/internal/certs"
)

// TLS names PEM files. With Cert and Key the controller authenticates itself.
type TLS struct {
	CA         string `yaml:"ca"` // default: the system's authorities
	Cert       string `yaml:"cert"`
	Key        string `yaml:"key"`
	ServerName string `yaml:"serverName"` // default: the host of the switch's address

	place string       // of the section
	cache *certs.Cache // of the inventory; nil when it was not loaded
}

// Client is the files as those of a client whose servers are of some kinds; without TLS it is the
// zero value.
func (t *TLS) Client(kinds certs.Kind) certs.Client {
	if t == nil {
		return certs.Client{}
	}
	return certs.Client{Enabled: true, CAFile: t.CA, CertFile: t.Cert, KeyFile: t.Key,
		ServerName: t.ServerName, Kinds: kinds, Place: t.place, Cache: t.cache}
}

// Server is the files as those of a server whose clients are of some kinds, with certificates that
// CA signs; without TLS it is the zero value.
func (t *TLS) Server(kinds certs.Kind) certs.Server {
	if t == nil {
		return certs.Server{}
	}
	return certs.Server{CertFile: t.Cert, KeyFile: t.Key, ClientCAFile: t.CA, Kinds: kinds,
		Place: t.place, Cache: t.cache}
}

// Certificates are those that the sections tls name; nil for an inventory that was not loaded.
func (inv *Inventory) Certificates() *certs.Cache { return inv.certificates }

// keepCertificates has all sections share one cache.
func (inv *Inventory) keepCertificates() {
	inv.certificates = certs.NewCache()
	keep := func(place string, t *TLS) {
		if t != nil {
			t.place, t.cache = place, inv.certificates
		}
	}
	keep("api.tls", inv.API.TLS)
	keep("cluster.tls", inv.Cluster.TLS)
	keep("mrc.tls", inv.MRC.TLS)
	if o := inv.Telemetry.OTLP; o != nil {
		keep("telemetry.otlp.tls", o.TLS)
	}
	for i := range inv.Switches {
		keep(fmt.Sprintf("switches[%d].tls", i), inv.Switches[i].TLS)
	}
}
