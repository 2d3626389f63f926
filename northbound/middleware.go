package northbound

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/connlimit"
)

const requestIDHeader = "X-Request-Id"

var requestIDRule = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// warnBrowsers sets headers on every answer that forbid browsers to guess its type, to cache it (it
// may have a secret), and to ask again without TLS once there was TLS.
func (s *Server) warnBrowsers(c *exchange) {
	h := c.Writer.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if c.Request.TLS != nil && !isForwarded(c.Request) {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	c.Next()
}

// browserHeaders are the headers that [Server.warnBrowsers] sets.
var browserHeaders = []string{"X-Content-Type-Options", "Cache-Control",
	"Strict-Transport-Security"}

// identify gives the request an id: the client's, if it is a fit one.
func (s *Server) identify(c *exchange) {
	id := c.Request.Header.Get(requestIDHeader)
	if !requestIDRule.MatchString(id) {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		id = hex.EncodeToString(b[:])
	}
	c.id = id
	c.Header(requestIDHeader, id)
	defer hold(c.Request)()
	c.Next()
}

// identifyProblem completes a problem with the id of its request, and keeps the
// cause of an internal one for the log.
func (s *Server) identifyProblem(ctx huma.Context, _ string, v any) (any, error) {
	c := exchangeOf(ctx.Context())
	switch p := v.(type) {
	case *internalError:
		c.cause = p.cause
		c.note(p.Problem)
		return p.Problem, nil
	case *api.Problem:
		if p.Status == http.StatusInternalServerError {
			c.cause = errors.New(p.Detail)
		}
		c.note(p)
	}
	return v, nil
}

// observe counts, times and logs the request.
func (s *Server) observe(c *exchange) {
	start := s.cfg.Now()
	c.Next()
	took := s.cfg.Now().Sub(start)
	route := cmp.Or(c.route, "none")
	status := c.Writer.status
	s.metrics.observe(c.Request.Method, route, status, took)
	level := slog.LevelInfo
	switch {
	case route == "/healthz" || route == "/readyz" || route == "/metrics":
		level = slog.LevelDebug // not ready is an answer, not an error
	case status >= http.StatusInternalServerError && status != http.StatusNotImplemented:
		// An operation that is not configured (501) is no fault of the controller.
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("request", c.id), slog.String("method", c.Request.Method),
		slog.String("path", c.Request.URL.Path), slog.Int("status", status),
		slog.Int("bytes", c.Writer.size),
		slog.Duration("took", took), slog.String("remote", c.Request.RemoteAddr),
	}
	if p := c.principal; p != nil && p.Way != api.WayNone {
		attrs = append(attrs, slog.String("identity", p.Name))
	}
	if c.cause != nil {
		attrs = append(attrs, slog.String("cause", c.cause.Error()))
	}
	s.cfg.Log.LogAttrs(c.Request.Context(), level, "request", attrs...)
}

// recover answers a panic and logs it with its stack; one request's fault is not
// another's.
func (s *Server) recover(c *exchange) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler {
			panic(v)
		}
		s.cfg.Log.Error("panic in a request", "request", c.id, "panic", v, "stack",
			string(debug.Stack()))
		if !c.Writer.begun {
			c.refuse(newProblem(codeInternal, "see the controller's log for this request"))
		}
	}()
	c.Next()
}

// retryAfter is the number of seconds after which a client may try again what is not possible now.
const retryAfter = "1"

// isRead reports whether a request changes nothing.
func isRead(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return false
}

// release holds back an answer to a GET until the answer is ready, and then asks whether this
// controller still decides: if so, the answer contains every change acknowledged by another
// decider. Any controller answers questions about the controllers themselves and their state.
func (s *Server) release(c *exchange) {
	w := c.Writer
	if isRead(c.Request) && !isHealth(c.Request) && c.Request.URL.Path != "/metrics" {
		w.current = s.cfg.Current
	}
	w.refuse = func(err error) []byte {
		return c.text(newProblem(codeNoDecider,
			"what this controller knows may be out of date: "+err.Error()))
	}
	c.Next()
}

// sameOrigin refuses requests that a foreign page made a browser send: changes from another origin,
// and requests for a name other than the server's, pointed at the server by an attacker (DNS
// rebinding).
func (s *Server) sameOrigin(c *exchange) {
	if isForwarded(c.Request) { // the controller that forwarded it has checked
		c.Next()
		return
	}
	if host := c.Request.Host; !isHealth(c.Request) && !s.isOwnName(host, c.Request) {
		c.refuse(newProblem(codeHost, fmt.Sprintf("host is %q: want an address, a name without a "+
			"dot, or one of api.hosts", clip(host, maxValueText))))
		return
	}
	if err := new(http.CrossOriginProtection).Check(c.Request); err != nil {
		c.refuse(newProblem(codeForbidden,
			fmt.Sprintf("origin is %q: want that of the server, or none",
				clip(c.Request.Header.Get("Origin"), maxValueText))))
		return
	}
	if isFormType(c.Request) {
		c.refuse(newProblem(codeMediaType, "the body has to be JSON"))
		return
	}
	c.Next()
}

// isFormType reports whether a change has a content type that a page may send to every origin
// without preflight (Fetch Standard, CORS-safelisted request-header). No API client uses such a
// type, and operations without a body would not check the type.
func isFormType(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return false
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind == "text/plain" || kind == "application/x-www-form-urlencoded" ||
		kind == "multipart/form-data"
}

// isOwnName reports whether a Host field may be the server's. Nobody else can own an address or a
// name without a dot, nor a name that the certificate proves.
func (s *Server) isOwnName(host string, r *http.Request) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil ||
		!strings.Contains(host, ".") {
		return true
	}
	if r.TLS != nil && r.TLS.ServerName != "" && strings.EqualFold(r.TLS.ServerName, host) {
		return true // the client has checked the certificate for it
	}
	return slices.ContainsFunc(s.cfg.Hosts,
		func(h string) bool { return h == "*" || strings.EqualFold(h, host) })
}

type connKey struct{}

// withConn keeps a connection in the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// hold keeps the connection of a request that changes something open until release is called.
func hold(r *http.Request) (release func()) {
	if c, ok := r.Context().Value(connKey{}).(net.Conn); ok && !isRead(r) {
		return connlimit.Of(c).Hold()
	}
	return func() {}
}
