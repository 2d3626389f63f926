package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Kind is the kind of a certificate's holder. Kinds can be combined into a set.
type Kind uint8

// The kinds. In a certificate, each is the host of a URI: see [Identity].
const (
	KindController Kind = 1 << iota
	KindSwitch
	KindHost
	// KindClient is a person or program that uses the API.
	KindClient
)

var kindNames = []string{"controller", "switch", "host", "client"}

// ParseKind reads the name of one kind.
func ParseKind(name string) (Kind, error) {
	for i, n := range kindNames {
		if n == name {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("kind is %q: want %s", name, strings.Join(kindNames, ", "))
}

// String is the names of the kinds.
func (k Kind) String() string {
	var names []string
	for i, n := range kindNames {
		if k&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, " or ")
}

// scheme of the URIs that name identities.
const scheme = "weft"

// Identity names the holder of a certificate, by a URI among the subject alternative names (RFC
// 5280, section 4.2.1.6): weft://KIND/NAME. The zero value is a certificate without one.
type Identity struct {
	Kind Kind // one of the kinds
	Name string
}

// String is the URI; it is empty for the zero value.
func (i Identity) String() string {
	if i == (Identity{}) {
		return ""
	}
	return i.URI().String()
}

// URI is the subject alternative name.
func (i Identity) URI() *url.URL {
	return &url.URL{Scheme: scheme, Host: i.Kind.String(), Path: "/" + i.Name}
}

// IdentityOf returns the identity in a certificate. IdentityOf returns the zero value for a
// certificate without a URI of this scheme, and an error for several such URIs or an invalid URI.
func IdentityOf(c *x509.Certificate) (Identity, error) {
	var id Identity
	for _, u := range c.URIs {
		if u.Scheme != scheme {
			continue
		}
		if id != (Identity{}) {
			return Identity{}, fmt.Errorf("certificate has two identities, %s and %s: want one", id, u)
		}
		kind, err := ParseKind(u.Host)
		name, isPath := strings.CutPrefix(u.Path, "/")
		if err != nil || !isPath || name == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil ||
			u.Opaque != "" {
			return Identity{}, fmt.Errorf(
				"certificate has the identity %s: want weft://KIND/NAME, KIND one of %s", u,
				strings.Join(kindNames, ", "))
		}
		id = Identity{Kind: kind, Name: name}
	}
	return id, nil
}

// ErrIdentity reports a certificate whose holder has no place on a connection.
var ErrIdentity = errors.New("wrong certificate")

// permit returns an error that wraps ErrIdentity for a certificate with an identity of any other
// kind. permit allows a certificate without an identity: its authority and its names identify the
// holder. Without kinds, permit allows every certificate.
func permit(state tls.ConnectionState, kinds Kind) error {
	if kinds == 0 || len(state.PeerCertificates) == 0 {
		return nil
	}
	id, err := IdentityOf(state.PeerCertificates[0])
	if err != nil {
		return fmt.Errorf("%w: %w", ErrIdentity, err)
	}
	if id != (Identity{}) && id.Kind&kinds == 0 {
		return fmt.Errorf("%w: it is of %s: want one of a %s", ErrIdentity, id, kinds)
	}
	return nil
}
