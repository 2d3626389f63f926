package northbound

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
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
	c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), requestKey{},
		&request{id: id}))
	defer hold(c.Request)()
	c.Next()
}

// request has the facts about a request in its context.
type request struct {
	id        string
	principal *access.Principal // nil before it is known
	detail    string            // what a refusal said
	cause     error             // why it failed, when the client is not told
	// forwardedTLS: the client has connected by TLS, to the controller that forwarded the request.
	forwardedTLS bool
}

type requestKey struct{}

func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// identifyProblem completes a problem with the id of its request, and keeps the
// cause of an internal one for the log.
func (s *Server) identifyProblem(ctx huma.Context, _ string, v any) (any, error) {
	r := requestOf(ctx.Context())
	switch p := v.(type) {
	case *internalError:
		r.cause, r.detail = p.cause, p.Detail
		p.Instance = instance(r.id)
		return p.Problem, nil
	case *api.Problem:
		if p.Status == http.StatusInternalServerError {
			r.cause = errors.New(p.Detail)
		}
		r.detail = p.Detail
		p.Instance = instance(r.id)
	}
	return v, nil
}

func instance(id string) string { return "urn:weft:request:" + id }

// refuse answers with a problem outside huma's operations.
func (s *Server) refuse(c *exchange, p *api.Problem) {
	p.Instance = instance(c.id)
	requestOf(c.Request.Context()).detail = p.Detail
	b, err := json.Marshal(p)
	if err != nil {
		b = []byte("{}")
	}
	c.Data(p.Status, api.ProblemType, b)
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
	if p := requestOf(c.Request.Context()).principal; p != nil && p.Way != api.WayNone {
		attrs = append(attrs, slog.String("identity", p.Name))
	}
	if cause := requestOf(c.Request.Context()).cause; cause != nil {
		attrs = append(attrs, slog.String("cause", cause.Error()))
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
			s.refuse(c, newProblem(codeInternal, "see the controller's log for this request"))
		}
	}()
	c.Next()
}

// limit bounds what a request may take; streams have no end.
func (s *Server) limit(c *exchange) {
	if endless(c.Request.URL.Path) {
		c.Next()
		return
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.cfg.RequestTimeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}
