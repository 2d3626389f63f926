package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/store"
)

// Others implements [store.Formed].
func (s *Store) Others(ctx context.Context) []store.Other {
	if s.peers == nil {
		return nil
	}
	return s.peers.find(ctx, time.Now())
}

// find reports the faults of the other members at this time.
func (p *Peers) find(ctx context.Context, now time.Time) []store.Other {
	answers := p.askThese(ctx, append([]string{p.Name}, p.others()...))
	self := answers[0] // it knows who was replaced, and which etcd this is, unless it does not run
	out := make([]store.Other, 0, len(answers)-1)
	for _, o := range answers[1:] {
		found := store.Other{Name: o.name, Address: p.Members[o.name]}
		found.Absence, found.Reason = p.absence(&self, &o, now)
		out = append(out, found)
	}
	return out
}

// absence reports why a member takes no part, from the answers of that member and of this member.
func (p *Peers) absence(self, o *told, now time.Time) (store.Absence, string) {
	at := p.Members[o.name]
	isAt := func(m Member) bool { return m.Address == at }
	if i := slices.IndexFunc(self.members, isAt); i >= 0 && self.members[i].Name == "" {
		return store.AbsenceReplaced,
			"it was replaced, and has not started since: start it with an empty data directory"
	}
	switch fault := certs.Fault(o.err); {
	case o.err == nil && self.err == nil && o.cluster != self.cluster:
		return store.AbsenceCluster,
			fmt.Sprintf("at %s is a member of another etcd, or was restored from a backup: have it "+
				"replaced (\"weft replace controller %s\"), and start it with an empty data directory",
				at, o.name)
	case o.err == nil:
		return "", ""
	case fault == "":
		return store.AbsenceUnreachable, fmt.Sprintf("it does not answer at %s: %s", at, rootCause(o.err))
	case isEarly(o.err, now):
		return store.AbsenceClock, fault
	case strings.Contains(o.err.Error(), "tls: expired certificate"):
		// It has a look at its own clock.
		if pair, err := tls.LoadX509KeyPair(p.TLS.CertFile, p.TLS.KeyFile); err == nil &&
			now.After(pair.Leaf.NotBefore) && now.Before(pair.Leaf.NotAfter) {
			return store.AbsenceClock,
				fmt.Sprintf("it says that the certificate of this side is not valid, which is by the clock "+
					"here, %s, until %s: look at the clocks of both machines",
					now.UTC().Format(time.RFC3339), pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
		}
		return store.AbsenceCertificate, fault
	}
	return store.AbsenceCertificate, certs.Fault(o.err)
}

// isEarly reports whether a certificate is refused for it begins later.
func isEarly(err error, now time.Time) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil &&
		now.Before(invalid.Cert.NotBefore)
}
