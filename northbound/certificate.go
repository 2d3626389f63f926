package northbound

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/certs"
)

// CertificateParam is exported because huma passes over other embedded types.
type CertificateParam struct {
	Name string `path:"name" maxLength:"256" doc:"Name of the certificate."`
}

func (s *Server) registerCertificates() {
	const path = "/v1/certificates"
	register(s, huma.Operation{
		OperationID: "list-certificates", Method: http.MethodGet, Security: asks(access.Read), Path: path,
		Tags:    []string{"health"},
		Summary: "List the certificates of connections",
		Description: "Those of the controller that answers, of the authorities that it trusts, and of " +
			"the other sides of its connections, by place. " +
			"A controller that does not decide answers with its own.",
	}, func(context.Context, *struct{}) (*api.List[api.Certificate], error) {
		list := api.List[api.Certificate]{Items: s.certificates()}
		return &list, nil
	})
	register(s, huma.Operation{
		OperationID: "get-certificate", Method: http.MethodGet, Security: asks(access.Read),
		Path: path + "/{name}", Tags: []string{"health"},
		Summary: "Get a certificate of connections", Errors: []int{404},
	}, func(_ context.Context, in *CertificateParam) (*api.Certificate, error) {
		all := s.certificates()
		i := slices.IndexFunc(all, func(c api.Certificate) bool { return c.Name == in.Name })
		if i < 0 {
			return nil, newProblem(string(api.CodeNotFound), fmt.Sprintf("there is no certificate %q",
				in.Name))
		}
		return &all[i], nil
	})
}

func (s *Server) certificates() []api.Certificate {
	out := []api.Certificate{}
	if s.cfg.Certificates == nil {
		return out
	}
	now := s.cfg.Now()
	for _, c := range s.cfg.Certificates() {
		v := api.Certificate{
			Name: c.Name(), Place: c.Place, Role: certificateRole(&c), State: certificateState(&c, now),
			Identity: c.Identity, Subject: c.Subject, Issuer: c.Issuer,
			Serial: c.Serial, Names: c.Names, NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC(),
			File: c.File, Message: c.Fault,
		}
		if c.Peer {
			v.Seen = c.Seen.UTC().Truncate(time.Second)
		}
		out = append(out, v)
	}
	return out
}

func certificateRole(c *certs.Certificate) api.CertificateRole {
	switch {
	case c.Peer:
		return api.CertificatePeer
	case c.Authority:
		return api.CertificateAuthority
	}
	return api.CertificateOwn
}

func certificateState(c *certs.Certificate, now time.Time) api.CertificateState {
	switch state := c.State(now); {
	case state == certs.Expired:
		return api.CertificateExpired
	case c.Fault != "":
		return api.CertificateRefused
	case state != certs.Valid:
		return api.CertificateExpiring
	}
	return api.CertificateValid
}

// certificateCollector reads the certificates for one scrape. Peers may show many certificates at
// one place: the collector exports the earliest expiry and the number of certificates in each
// state.
type certificateCollector struct {
	list func() []certs.Certificate
	now  func() time.Time
}

var (
	certificateEndDesc = prometheus.NewDesc("weft_certificate_not_after_seconds",
		"End of a certificate, in seconds since 1970; of authorities and of other sides, the first one "+
			"to end at a place.", []string{"place", "role"}, nil)
	certificateCountDesc = prometheus.NewDesc("weft_certificates",
		"Certificates at a place by their state.", []string{"place", "role", "state"}, nil)
)

// Describe implements [prometheus.Collector].
func (c *certificateCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- certificateEndDesc
	ch <- certificateCountDesc
}

// Collect implements [prometheus.Collector].
func (c *certificateCollector) Collect(ch chan<- prometheus.Metric) {
	type at struct {
		place string
		role  api.CertificateRole
	}
	type state struct {
		at
		state api.CertificateState
	}
	ends, counts := make(map[at]time.Time), make(map[state]int)
	list, now := c.list(), c.now()
	for i := range list {
		cert := &list[i]
		key := at{cert.Place, certificateRole(cert)}
		if end, ok := ends[key]; !ok || cert.NotAfter.Before(end) {
			ends[key] = cert.NotAfter
		}
		counts[state{key, certificateState(cert, now)}]++
	}
	for key, end := range ends {
		ch <- prometheus.MustNewConstMetric(certificateEndDesc, prometheus.GaugeValue,
			float64(end.Unix()), key.place, string(key.role))
	}
	for key, n := range counts {
		ch <- prometheus.MustNewConstMetric(certificateCountDesc, prometheus.GaugeValue, float64(n),
			key.place, string(key.role), string(key.state))
	}
}
