package bgpls

import (
	"fmt"
	"reflect"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// Limits bound what the topology holds of a peer. A session in which the peer exceeds one ends with
// NOTIFICATION 6/1 (RFC 4486); what the peer said before stays, as after any loss of a session.
type Limits struct {
	// Nodes, Links (directions), Prefixes and SIDs are numbers of NLRIs.
	Nodes, Links, Prefixes, SIDs int
	// Octets are the octets of NLRIs with their attributes.
	Octets int
}

// DefaultLimits suit 1,024 switches with 262,144 directions of links.
func DefaultLimits() Limits {
	return Limits{Nodes: 4096, Links: 300_000, Prefixes: 131_072, SIDs: 65_536, Octets: 128 << 20}
}

// setDefaults puts the defaults in place of zeros.
func (l *Limits) setDefaults() {
	own, defaults := reflect.ValueOf(l).Elem(), reflect.ValueOf(DefaultLimits())
	for i := range own.NumField() {
		if own.Field(i).IsZero() {
			own.Field(i).Set(defaults.Field(i))
		}
	}
}

func (l *Limits) validate() error {
	own := reflect.ValueOf(l).Elem()
	for i := range own.NumField() {
		if n := own.Field(i).Int(); n < 0 {
			return fmt.Errorf("%w: limit %s is %d, negative", ErrConfig, own.Type().Field(i).Name, n)
		}
	}
	return nil
}

// exceeded returns what of a peer is more than the limits allow, or nil.
func (l *Limits) exceeded(n topology.PeerNLRIs, octets int) error {
	for _, c := range []struct {
		have, most int
		what       string
	}{
		{n.Nodes, l.Nodes, "nodes"}, {n.Links, l.Links, "links"}, {n.Prefixes, l.Prefixes, "prefixes"},
		{n.SIDs, l.SIDs, "SIDs"}, {octets, l.Octets, "octets"},
	} {
		if c.have > c.most {
			return &cut{notification: notification{code: codeCease, subcode: subcodeMaximum, sent: true},
				err: fmt.Errorf("more than %d %s", c.most, c.what)}
		}
	}
	return nil
}

// Codes and subcodes of NOTIFICATIONs: RFC 4271 section 4.5, RFC 4486, RFC 6608, RFC 7313.
const (
	codeHeader           = 1
	subcodeSynchronized  = 1
	subcodeLength        = 2
	subcodeType          = 3
	codeUpdate           = 3
	subcodeAttributes    = 1
	codeState            = 5
	subcodeEstablished   = 3
	codeCease            = 6
	subcodeMaximum       = 1
	codeRefresh          = 7
	subcodeRefreshLength = 1
)

// cut is why this speaker, and not GoBGP, ends a session, and the NOTIFICATION that says so.
type cut struct {
	notification
	err error
}

func (c *cut) Error() string   { return c.notification.Error() + ": " + c.err.Error() }
func (c *cut) Unwrap() []error { return []error{&c.notification, c.err} }

// message is the NOTIFICATION.
func (c *cut) message() []byte {
	return wire.AppendMessage(nil, wire.MessageNotification, []byte{c.code, c.subcode})
}
