// Package webhook posts signed messages as Standard Webhooks defines them: version 1.0.0 of
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bounds of an attempt.
const (
	// Timeout bounds an attempt from the look-up of the name to the end of the answer.
	Timeout = 10 * time.Second
	// MaxAnswer bounds the octets that are read of the body of an answer.
	MaxAnswer = 1024
	// maxHeader bounds the octets of its header.
	maxHeader = 16 << 10
)

// Message is a message for a receiver.
type Message struct {
	URL string
	// Key signs it.
	Key []byte
	// ID is the same in every attempt of a message.
	ID   string
	Body []byte
}

// Answer is the answer of a receiver.
type Answer struct {
	Status int // 0: it has not answered
}

// Sign returns the header webhook-signature of a message that is sent at a time.
func Sign(key []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Sender posts messages.
type Sender struct {
	client   http.Client
	loopback bool // addresses of this machine are reached
}

// NewSender returns a sender, which reaches this machine's addresses only with loopback set. dial,
// when not nil, connects in place of the network.
func NewSender(
	loopback bool, dial func(ctx context.Context, network, address string) (net.Conn, error),
) *Sender {
	s := &Sender{loopback: loopback}
	if dial == nil {
		direct, proxied := &net.Dialer{Control: s.control}, &net.Dialer{}
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if ctx.Value(proxyKey{}) != nil { // the environment of the process names the proxy
				return proxied.DialContext(ctx, network, address)
			}
			return direct.DialContext(ctx, network, address)
		}
	}
	s.client = http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dial, DisableKeepAlives: true,
			MaxResponseHeaderBytes: maxHeader, ForceAttemptHTTP2: true,
		},
		// The only receiver is the address that an administrator has named, so the client follows no
		// redirect.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

// proxyKey marks the context of a message that goes by a proxy.
type proxyKey struct{}

// A reachError reports an address that cannot belong to a receiver.
type reachError struct {
	at   netip.Addr
	what string
}

func (e *reachError) Error() string {
	return fmt.Sprintf("%v %s: want the address of a receiver on another machine", e.at, e.what)
}

// metadata are addresses outside the blocks of links at which clouds hand out credentials and
// settings of a machine.
var metadata = map[netip.Addr]string{
	netip.MustParseAddr("fd00:ec2::254"):   "AWS",
	netip.MustParseAddr("fd20:ce::254"):    "Google Cloud",
	netip.MustParseAddr("fd00:42::42"):     "Scaleway",
	netip.MustParseAddr("100.100.100.200"): "Alibaba Cloud",
	netip.MustParseAddr("168.63.129.16"):   "Azure",
	netip.MustParseAddr("192.0.0.192"):     "Oracle Cloud",
}

// embedding lists the prefixes of addresses that end in the IPv4 address to which packets go: NAT64
// (RFC 6052, section 2.1; RFC 8215), and IPv4-compatible addresses (RFC 4291, section 2.5.5.1).
var embedding = []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("::/96")}

// to6to4 has the address of IPv4 behind its 16 bits (RFC 3056, section 2).
var to6to4 = netip.MustParsePrefix("2002::/16")

// inner returns the address that packets to an address end at.
func inner(at netip.Addr) netip.Addr {
	at = at.Unmap().WithZone("")
	if at.Is4() || at.IsUnspecified() || at.IsLoopback() {
		return at
	}
	b := at.As16()
	if to6to4.Contains(at) {
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	for _, p := range embedding {
		if p.Contains(at) {
			return netip.AddrFrom4([4]byte(b[12:]))
		}
	}
	return at
}

// reachable returns why an address cannot belong to a receiver; nil if it can.
func (s *Sender) reachable(at netip.Addr) error {
	to := inner(at)
	switch cloud := metadata[to]; {
	case to.IsLinkLocalUnicast():
		return &reachError{at, "is an address of a link, at which clouds hand out credentials"}
	case cloud != "":
		return &reachError{at, "is where " + cloud + " hands out credentials or settings"}
	case to.IsMulticast(), to == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return &reachError{at, "is an address of many machines"}
	case (to.IsLoopback() || to.Is4() && to.As4()[0] == 0 || to.IsUnspecified()) && !s.loopback:
		return &reachError{at, "is an address of the controller's machine, which " +
			"api.loopbackWebhooks of the configuration does not allow"}
	}
	return nil
}

// control judges the address that a name was resolved to.
func (s *Sender) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return s.reachable(at.Addr())
}

// Send posts a message that is signed now. It returns an error unless the receiver has answered 2xx
// within [Timeout]. Redirects are not followed.
func (s *Sender) Send(ctx context.Context, m *Message) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return Answer{}, plain(err)
	}
	now := time.Now()
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"weft"},
		"Webhook-Id": {m.ID}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
		"Webhook-Signature": {Sign(m.Key, m.ID, now, m.Body)},
	}
	if proxy, err := http.ProxyFromEnvironment(r); err == nil && proxy != nil {
		// The proxy looks names up.
		if at, err := netip.ParseAddr(r.URL.Hostname()); err == nil {
			if err := s.reachable(at); err != nil {
				return Answer{}, err
			}
		}
		r = r.WithContext(context.WithValue(ctx, proxyKey{}, true))
	}
	res, err := s.client.Do(r)
	if err != nil {
		return Answer{}, plain(err)
	}
	defer func() { _ = res.Body.Close() }()
	// Reading the body lets the receiver finish its write. A service that is not a receiver may answer
	// with data for its own clients only, so the error shows neither the body nor the words behind the
	// status.
	_, _ = io.CopyN(io.Discard, res.Body, MaxAnswer)
	a := Answer{Status: res.StatusCode}
	said := strings.TrimSpace(fmt.Sprint(a.Status, " ", http.StatusText(a.Status)))
	switch {
	case a.Status/100 == 3:
		return a, fmt.Errorf("the receiver answered %s: redirects are not followed", said)
	case a.Status/100 != 2:
		return a, fmt.Errorf("the receiver answered %s", said)
	}
	return a, nil
}

// errNoHTTP stands for errors that may quote what was read.
var errNoHTTP = errors.New("the receiver did not answer by HTTP, or its answer was cut off")

// plain returns an error without the URL, whose path may be known to few, with the timeout in
// words, and without what was read from a machine that speaks something else than HTTP.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var reach *reachError
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v", Timeout)
	case errors.As(err, &reach):
		return reach
	case errors.As(err, &network), errors.As(err, &certificate), errors.Is(err, context.Canceled),
		errors.Is(err, http.ErrSchemeMismatch):
		return err
	}
	return errNoHTTP
}
