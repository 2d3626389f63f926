// Package webhook posts signed messages as Standard Webhooks defines them: version 1.0.0 of
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
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

// Answer is what a receiver has answered.
type Answer struct {
	Status int // 0: it has not answered
	Body   string
}

// Sign returns the header webhook-signature of a message that is sent at a time.
func Sign(key []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Sender posts messages.
type Sender struct{ client http.Client }

// NewSender returns a sender. dial, when not nil, connects in place of the network.
func NewSender(dial func(ctx context.Context, network, address string) (net.Conn, error)) *Sender {
	if dial == nil {
		dial = (&net.Dialer{Control: reachable}).DialContext
	}
	return &Sender{http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dial, DisableKeepAlives: true,
			MaxResponseHeaderBytes: maxHeader, ForceAttemptHTTP2: true,
		},
		// The receiver is the one that an administrator has named, and no other.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errReach: an address is none of a receiver.
var errReach = errors.New("link-local addresses are not reached")

// reachable refuses link-local addresses: machines of clouds answer there with credentials.
func reachable(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err == nil && at.Addr().Unmap().IsLinkLocalUnicast() {
		return errReach
	}
	return err
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
	res, err := s.client.Do(r)
	if err != nil {
		return Answer{}, plain(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(res.Body, MaxAnswer)) // the status counts, not the body
	a := Answer{Status: res.StatusCode, Body: strings.ToValidUTF8(string(body), "\uFFFD")}
	switch {
	case a.Status/100 == 3:
		return a, fmt.Errorf("the receiver answered %s: redirects are not followed", res.Status)
	case a.Status/100 != 2:
		return a, fmt.Errorf("the receiver answered %s", res.Status)
	}
	return a, nil
}

// plain returns an error without the URL, whose path may be known to few, and with the timeout in
// words.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", Timeout)
	}
	return err
}
