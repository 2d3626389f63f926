package inventory

import "github.com/weft-sdn/weft/internal/certs"

// TLS names PEM files. With Cert and Key the controller authenticates itself.
type TLS struct {
	CA         string `yaml:"ca"` // default: the system's authorities
	Cert       string `yaml:"cert"`
	Key        string `yaml:"key"`
	ServerName string `yaml:"serverName"` // default: the host of the switch's address
}

// Client is the files as a client's; without TLS it is the zero value.
func (t *TLS) Client() certs.Client {
	if t == nil {
		return certs.Client{}
	}
	return certs.Client{Enabled: true, CAFile: t.CA, CertFile: t.Cert, KeyFile: t.Key, ServerName: t.ServerName}
}

// Server is the files as a server's, whose clients' certificates CA signs; without TLS it is the zero value.
func (t *TLS) Server() certs.Server {
	if t == nil {
		return certs.Server{}
	}
	return certs.Server{CertFile: t.Cert, KeyFile: t.Key, ClientCAFile: t.CA}
}
