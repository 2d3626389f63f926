package inventory

import (
	"fmt"

	"github.com/weft-sdn/weft/internal/certs"
)

// TLS names PEM files. With Cert and Key the controller authenticates itself.
type TLS struct {
	CA         string `yaml:"ca" doc:"PEM file of the authorities that sign the other side's certificate" default:"the system's authorities (switch); none (API)"`
	Cert       string `yaml:"cert" doc:"PEM files of the controller's own certificate and key" default:"–"`
	Key        string `yaml:"key" doc:"PEM files of the controller's own certificate and key" default:"–"`
	ServerName string `yaml:"serverName" doc:"name in the switch's certificate" default:"host of address"`

	place string       // of the section
	cache *certs.Cache // of the inventory; nil when it was not loaded
}

// Client returns the TLS files for a client that accepts servers of the given kinds; without TLS,
// Client returns the zero value.
func (t *TLS) Client(kinds certs.Kind) certs.Client {
	if t == nil {
		return certs.Client{}
	}
	return certs.Client{Enabled: true, CAFile: t.CA, CertFile: t.Cert, KeyFile: t.Key,
		ServerName: t.ServerName, Kinds: kinds, Place: t.place, Cache: t.cache}
}

// Server returns the TLS files for a server that accepts clients of the given kinds, with
// certificates signed by CA; without TLS, Server returns the zero value.
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
