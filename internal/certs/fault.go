package certs

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"
)

// remoteFaults maps the alerts of the other side of a connection to faults of this side's
// certificate (RFC 8446, section 6.2).
var remoteFaults = []struct{ alert, fault string }{
	{"tls: expired certificate",
		"it says that the certificate of this side has expired, or is not valid yet"},
	{"tls: unknown certificate authority",
		"its authorities have not signed the certificate of this side"},
	{"tls: bad certificate", "it refuses the certificate of this side: another authority signed it, " +
		"or it is of another name or kind"},
	{"tls: unknown certificate", "it refuses the certificate of this side"},
	{"tls: certificate required", "it wants a certificate, and this side has shown none"},
	{"tls: certificate revoked", "it says that the certificate of this side was revoked"},
}

// Fault reports in a sentence what is wrong with the certificates of a connection that failed; ""
// when something else is.
func Fault(err error) string {
	var invalid x509.CertificateInvalidError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		now := time.Now()
		if now.Before(invalid.Cert.NotBefore) {
			return fmt.Sprintf("its certificate is valid from %s on, and the clock here says %s: look at "+
				"the clocks of both machines", at(invalid.Cert.NotBefore), at(now))
		}
		return fmt.Sprintf("its certificate expired at %s, and the clock here says %s: renew the "+
			"certificate, or set the clock", at(invalid.Cert.NotAfter), at(now))
	case errors.As(err, &invalid):
		return "its certificate cannot be used: " + invalid.Error()
	case errors.As(err, &authority):
		return "its certificate is signed by an authority that is not known here"
	case errors.As(err, &name):
		return "its certificate is of another name: " + name.Error()
	}
	for _, f := range remoteFaults {
		if strings.Contains(err.Error(), f.alert) {
			return f.fault
		}
	}
	return ""
}
