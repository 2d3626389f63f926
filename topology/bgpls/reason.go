package bgpls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"unicode/utf8"

	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

var (
	errPeerClosed    = errors.New("the peer closed the connection")
	errSpeakerClosed = errors.New("this speaker closed the session")
	errNoAnswer      = fmt.Errorf("no answer to the connection attempt within %v", dialTime)
	errNotRead       = errors.New("the peer has read nothing for the hold time")
)

// reason words why there is no connection, or no session any more. It has no
// addresses: those of our end change with every attempt.
func reason(err error) string {
	var errno syscall.Errno
	var op *net.OpError
	switch {
	case errors.Is(err, errSetup):
		return "this speaker could not take up the session"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return errNoAnswer.Error()
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// peerError is why nothing could be read from the peer, or written to it.
func peerError(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return errPeerClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errNotRead
	}
	return err
}

// A notification is a NOTIFICATION message that ended a session.
type notification struct {
	code, subcode byte
	data          []byte
	sent          bool // by this speaker; otherwise by the peer
}

// parseNotification takes a whole message. A message that is too short gives code 0.
func parseNotification(message []byte, sent bool) *notification {
	n := &notification{sent: sent}
	if len(message) >= wire.HeaderLen+2 {
		n.code, n.subcode = message[wire.HeaderLen], message[wire.HeaderLen+1]
		n.data = message[wire.HeaderLen+2:]
	}
	return n
}

// The names of NOTIFICATION codes and subcodes: RFC 4271 section 4.5, RFC 4486,
// RFC 5492, RFC 6608, RFC 7313, RFC 8538, RFC 9234, RFC 9384 and RFC 9687.
var (
	notificationCodes = map[byte]string{
		1: "message header error", 2: "OPEN message error", 3: "UPDATE message error",
		4: "hold timer expired",
		5: "finite state machine error", 6: "cease", 7: "ROUTE-REFRESH message error",
		8: "send hold timer expired",
	}
	notificationSubcodes = map[[2]byte]string{
		{1, 1}: "connection not synchronized", {1, 2}: "bad message length", {1, 3}: "bad message type",
		{2, 1}: "unsupported version number", {2, 2}: "bad peer AS", {2, 3}: "bad BGP identifier",
		{2, 4}: "unsupported optional parameter", {2, 6}: "unacceptable hold time",
		{2, 7}:  "unsupported capability",
		{2, 11}: "role mismatch",
		{3, 1}:  "malformed attribute list", {3, 2}: "unrecognized well-known attribute",
		{3, 3}: "missing well-known attribute",
		{3, 4}: "attribute flags error", {3, 5}: "attribute length error",
		{3, 6}: "invalid ORIGIN attribute",
		{3, 8}: "invalid NEXT_HOP attribute", {3, 9}: "optional attribute error",
		{3, 10}: "invalid network field",
		{3, 11}: "malformed AS_PATH",
		{5, 1}:  "unexpected message in OpenSent", {5, 2}: "unexpected message in OpenConfirm",
		{5, 3}: "unexpected message in Established",
		{6, 1}: "maximum number of prefixes reached", {6, 2}: "administrative shutdown",
		{6, 3}: "peer de-configured",
		{6, 4}: "administrative reset", {6, 5}: "connection rejected",
		{6, 6}: "other configuration change",
		{6, 7}: "connection collision resolution", {6, 8}: "out of resources", {6, 9}: "hard reset",
		{6, 10}: "BFD down",
		{7, 1}:  "invalid message length",
	}
)

// Error names code and subcode, and quotes the shutdown communication (RFC 9003).
func (n *notification) Error() string {
	what := notificationCodes[n.code]
	if what == "" {
		what = "unknown error"
	}
	if name := notificationSubcodes[[2]byte{n.code, n.subcode}]; name != "" {
		what += ", " + name
	}
	what = fmt.Sprintf("%s (%d/%d)", what, n.code, n.subcode)
	if said := n.communication(); said != "" {
		what += fmt.Sprintf(": %q", said)
	}
	if n.sent {
		return "this speaker sent NOTIFICATION " + what
	}
	return "the peer sent NOTIFICATION " + what
}

// communication is the text that comes with an administrative shutdown or reset.
func (n *notification) communication() string {
	if n.code != 6 || n.subcode != 2 && n.subcode != 4 || len(n.data) == 0 ||
		len(n.data) < 1+int(n.data[0]) {
		return ""
	}
	text := n.data[1 : 1+int(n.data[0])]
	if !utf8.Valid(text) {
		return ""
	}
	return string(text)
}
