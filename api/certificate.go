package api

import "time"

// Certificate describes a certificate of the answering controller, of a trusted authority, or of a
// peer on a connection.
type Certificate struct {
	Name      string           `json:"name" doc:"Place in the configuration, and for one of authorities or of another side its serial number."`
	Place     string           `json:"place" doc:"Section of the configuration, such as api.tls."`
	Role      CertificateRole  `json:"role" enum:"own,authority,peer" doc:"own: the controller shows it; authority: it signs those of others; peer: another side showed it at its last handshake."`
	State     CertificateState `json:"state" enum:"valid,expiring,expired,refused" doc:"expiring: a third of its time is left at most, or 30 days; refused: the file has changed and cannot be used, and its former content is in use."`
	Identity  string           `json:"identity,omitempty" doc:"weft://KIND/NAME, KIND one of controller, switch, host and client."`
	Subject   string           `json:"subject" doc:"Distinguished name (RFC 4514)."`
	Issuer    string           `json:"issuer"`
	Serial    string           `json:"serial" doc:"Serial number, hexadecimal."`
	Names     []string         `json:"names,omitempty" doc:"DNS names and IP addresses."`
	NotBefore time.Time        `json:"notBefore"`
	NotAfter  time.Time        `json:"notAfter"`
	File      string           `json:"file,omitempty" doc:"PEM file; absent for a peer's."`
	Seen      time.Time        `json:"seen,omitzero" doc:"Last handshake; only of a peer's."`
	Message   string           `json:"message,omitempty" doc:"Why the file is refused."`
}

// CertificateRole defines whose certificate it is.
type CertificateRole string

// The roles.
const (
	CertificateOwn       CertificateRole = "own"
	CertificateAuthority CertificateRole = "authority"
	CertificatePeer      CertificateRole = "peer"
)

// CertificateState is whether a certificate can be used, and for how long.
type CertificateState string

// The states.
const (
	CertificateValid    CertificateState = "valid"
	CertificateExpiring CertificateState = "expiring"
	CertificateExpired  CertificateState = "expired"
	CertificateRefused  CertificateState = "refused"
)
