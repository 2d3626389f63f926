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
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/internal/connlimit"
)

// steps are what every request passes, in this order. An operation of the document follows by
// [Server.admit].
func (s *Server) steps() []func(*exchange) {
	return []func(*exchange){s.warnBrowsers, s.identify, s.observe, s.recover, s.release,
		s.sameOrigin, s.authenticate, s.bound, s.limit, s.keep}
}

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

const requestIDHeader = "X-Request-Id"

var requestIDRule = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

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
	if conn, ok := c.Request.Context().Value(connKey{}).(net.Conn); ok && !isRead(c.Request) {
		defer connlimit.Of(conn).Hold()() // a change ends before its connection
	}
	c.Next()
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

// isHealth reports whether a request is a health check, which everybody may make.
func isHealth(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

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

// client returns the address of the client without the port.
func (c *exchange) client() string {
	host, _, err := net.SplitHostPort(c.Request.RemoteAddr)
	if err != nil {
		return c.Request.RemoteAddr
	}
	return host
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

// projectHeader narrows a request to one project: its sender acts as a member of that project.
const projectHeader = "X-Weft-Project"

// authenticate finds out who makes the request. Nobody, or who shows credentials that do not count,
// gets no further than open operations.
func (s *Server) authenticate(c *exchange) {
	r := c.Request
	// The operation has the last word on whether it is open.
	open := plainRoutes[c.route] == access.Open || slices.Contains(openPaths, r.URL.Path)
	var p access.Principal
	var err error
	if isForwarded(r) { // another controller has signed who makes it
		var f access.Forwarded
		if f, err = s.cfg.Access.Signer.Verify(r.Context(), r.Header.Get(access.ForwardHeader), r.Method,
			r.URL.RequestURI(), s.cfg.Now()); err == nil {
			p, r.RemoteAddr, c.forwardedTLS = f.Principal, f.Remote, f.TLS
		}
	} else {
		p, err = s.cfg.Access.Authenticator.Identify(r)
	}
	narrow, narrowed := r.Header.Get(projectHeader), true
	if s.members != nil && p.Known() { // who forwards requests knows no projects
		s.members().Join(&p)
		narrowed = narrow == "" || p.Narrow(narrow)
	}
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok && p.Known() && p.Way != api.WayNone {
		connlimit.Of(conn).Trust()
	}
	c.principal = &p
	c.Request = r.WithContext(access.With(r.Context(), &p))
	switch {
	case !narrowed:
		s.denied(c, "", newProblem(codeDenied, fmt.Sprintf("%s is no member of project %q", p.Name,
			clip(narrow, maxValueText))))
	case p.Known() || open && (err == nil || !isForwarded(r)):
		c.Next()
	default:
		s.unauthorized(c, err)
	}
}

// bound applies the limits of a request's principal. Health checks are exempt. Forwarded requests
// are exempt too, because the forwarding controller has applied the limits.
func (s *Server) bound(c *exchange) {
	if isHealth(c.Request) || isForwarded(c.Request) {
		c.Next()
		return
	}
	principal := cmp.Or(c.principal.Key(), "address "+c.client())
	leave, limit := s.limiter.enter(principal, endless(c.Request.URL.Path), s.cfg.Now())
	if limit != "" {
		c.Header("Retry-After", retryAfter)
		c.refuse(newProblem(codeTooMany, map[string]string{
			limitRequests: fmt.Sprintf("this client has %d requests under way: want fewer at a time",
				s.cfg.Limits.Requests),
			limitStreams: fmt.Sprintf("this client follows events or ports on %d streams: want fewer",
				s.cfg.Limits.Streams),
			limitRate: fmt.Sprintf("this client makes more than %g requests a second",
				s.cfg.Limits.Rate),
		}[limit]))
		return
	}
	defer leave()
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

// keep refuses changes while nothing can be kept: an answer of success means that a change outlives
// the controller. Deletions are taken, for they make room, and so may who signs in.
func (s *Server) keep(c *exchange) {
	switch c.Request.Method {
	case http.MethodPut, http.MethodPost, http.MethodPatch:
		dry, _ := strconv.ParseBool(c.Query("dryRun"))
		if s.cfg.Writable == nil || dry {
			break
		}
		err := s.cfg.Writable()
		if errors.Is(err, controller.ErrNoRoom) && c.Request.URL.Path == sessionPath {
			break
		}
		if err != nil {
			c.refuse(storeProblem(err))
			return
		}
	}
	c.Next()
}

// admit carries an operation out if the request's principal has the operation's scope. admit
// records the changes made by the request, or the reason for a refusal.
func (s *Server) admit(c *exchange, o served) {
	if o.leaving != nil {
		o.leaving.tell(c.Writer.Header())
	}
	scope, ok := scopeOf(o.op)
	if c.principal.Known() {
		if deny := c.denial(scope, ok); deny != nil {
			s.denied(c, o.op.OperationID, deny)
			return
		}
		if full := s.budget(c.principal); full != nil && scope != access.Open {
			c.Header("Retry-After", retryAfter)
			c.refuse(full)
			return
		}
	} else if !ok || scope != access.Open {
		s.unauthorized(c, nil)
		return
	}
	s.record(c, o.op, func() {
		if s.fits(c, o.op) {
			o.handle(humago.NewContext(o.op, c.Request, c.Writer))
		}
	})
}

// The schemes of the OpenAPI document: an operation asks for its scope by any of them.
const (
	schemeBearer      = "bearer"
	schemeSession     = "session"
	schemeCertificate = "certificate"
)

// asks returns the security entry for an operation's scope: the OpenAPI document shows the entry,
// and [Server.admit] enforces the scope.
func asks(s access.Scope) []map[string][]string {
	if s == access.Open {
		return []map[string][]string{}
	}
	of := []string{string(s)}
	return []map[string][]string{{schemeBearer: of}, {schemeSession: of}, {schemeCertificate: of}}
}

// scopeOf returns the scope that an operation asks for; false: it names none, and nobody may call
// it.
func scopeOf(op *huma.Operation) (access.Scope, bool) {
	switch {
	case op.Security == nil:
		return "", false
	case len(op.Security) == 0:
		return access.Open, true
	}
	names := op.Security[0][schemeBearer]
	if len(names) != 1 {
		return "", false
	}
	return access.Scope(names[0]), true
}

// plainRoutes has the scopes of routes that are no operations of the document.
var plainRoutes = map[string]access.Scope{
	"/openapi.json": access.Self, "/openapi.yaml": access.Self, "/openapi-3.0.json": access.Self,
	"/openapi-3.0.yaml": access.Self,
	"/metrics":          access.Read, "/": access.Open, assetsPath + "*": access.Open,
	"/healthz": access.Open, "/readyz": access.Open,
}

// openPaths are the paths of open operations that a controller forwards.
var openPaths = []string{sessionPath, oidcLoginPath, oidcCallbackPath, oidcDevicePath}

// denial returns why the principal may not call an operation of a scope; nil: it may.
func (c *exchange) denial(scope access.Scope, declared bool) *api.Problem {
	p := c.principal
	switch {
	case !declared:
		return newProblem(codeDenied, "the operation names no scope: nobody may call it")
	case p.Forged(c.Request):
		return newProblem(codeCSRF, fmt.Sprintf("the session's requests that change something carry "+
			"the header %s, with csrf of GET %s", access.CSRFHeader, sessionPath))
	case !p.May(scope):
		return newProblem(codeDenied, fmt.Sprintf("%s has the role %s: the operation asks for the "+
			"scope %s, which that role lacks", p.Name, p.RoleText(), scope))
	}
	if name := c.Param("name"); name != "" && (scope == access.TenantRead ||
		scope == access.TenantWrite) && !p.Uses(name, scope) {
		return foreign(p, name)
	}
	return nil
}

// foreign returns the problem for a project member that names a resource of another project, or
// changes a resource that the member may only view. The problem does not depend on the resource's
// existence.
func foreign(p *access.Principal, name string) *api.Problem {
	theirs := strings.Join(p.ProjectNames(), ", ")
	if theirs == "" {
		theirs = "none"
	}
	return newProblem(codeDenied, fmt.Sprintf("%s may use what its projects (%s) have, and change "+
		"it as their editor; %q is not such a name: want that of a project, or one that begins with it "+
		"and a hyphen or a dot",
		p.Name, clip(theirs, maxValueText), clip(name, maxValueText)))
}

// budget returns a problem when the principal's project has used up its requests of this second. A
// request counts for the principal's only project: a principal with no project or with several has
// no such limit.
func (s *Server) budget(p *access.Principal) *api.Problem {
	if s.members == nil || len(p.Projects) != 1 {
		return nil
	}
	name := p.ProjectNames()[0]
	limit := s.members().Requests(name)
	if limit == 0 || s.limiter.project(name, limit, s.cfg.Now()) {
		return nil
	}
	bound := int64(limit)
	f := api.FieldError{Field: "header." + projectHeader, Code: api.CodeLimit, Value: name,
		Want:  fmt.Sprintf("at most %d requests a second of all members of project %s", limit, name),
		Limit: &bound}
	return newProblem(codeTooMany, f.Error(), f)
}

// record carries out an operation. An operation that changes something has an audit log entry,
// which the change takes into its transaction. If the operation fails, record writes the failure
// itself.
func (s *Server) record(c *exchange, op *huma.Operation, carryOut func()) {
	dry, _ := strconv.ParseBool(c.Query("dryRun"))
	if dry || isRead(c.Request) && op.OperationID != backupOperation && op.OperationID != callbackOperation {
		carryOut()
		return
	}
	ctx, entry := audit.With(c.Request.Context(), s.auditRecord(c, op.OperationID))
	c.Request = c.Request.WithContext(ctx)
	carryOut()
	status := c.Writer.status
	switch {
	// the question is asked again
	case status == http.StatusConflict && op.OperationID == signInOperation:
	case status >= http.StatusBadRequest:
		r := entry.Failed(status, c.detail)
		if status == http.StatusUnauthorized { // of a sign-in
			r.SessionInfo.Authn.Status, r.SessionInfo.Authn.Cause = audit.AuthnFail, r.Detail
		}
		s.writeAudit(ctx, r)
	case !entry.Settled():
		// A handler that does not take its entry is a fault; the change is at least known.
		r, _ := entry.Take()
		s.cfg.Log.Error("a change was not recorded with its transaction", "operation", op.OperationID,
			"request", c.id)
		s.metrics.unaudited.Inc()
		s.writeAudit(ctx, r)
	}
}

// unauthorized refuses a request of nobody. A failed attempt is recorded.
func (s *Server) unauthorized(c *exchange, err error) {
	detail := "this API asks for credentials: a bearer token, a session or a client certificate"
	switch {
	case errors.Is(err, access.ErrStore):
		c.refuse(storeProblem(err))
		return
	case errors.Is(err, access.ErrClock): // no fault of the client
		c.refuse(newProblem(codeNoDecider, err.Error()))
		return
	}
	if err != nil {
		detail = err.Error()
		r := s.auditRecord(c, "")
		r.SessionInfo.Authn = api.AuditAuthn{Status: audit.AuthnFail, Cause: detail}
		r.ServiceRequest.Authz = api.AuditAuthz{Status: authzDeny}
		r.Outcome, r.Status, r.Detail = api.AuditFailure, http.StatusUnauthorized, detail
		s.writeAudit(c.Request.Context(), r)
	}
	c.Header("WWW-Authenticate", `Bearer realm="weft"`)
	c.refuse(newProblem(codeUnauthorized, detail))
}

// denied refuses a request beyond the principal's rights, and records the refusal.
func (s *Server) denied(c *exchange, operation string, why *api.Problem) {
	r := s.auditRecord(c, operation)
	r.ServiceRequest.Authz = api.AuditAuthz{Status: authzDeny, Detail: why.Detail}
	r.Outcome, r.Status, r.Detail = api.AuditFailure, why.Status, why.Detail
	s.writeAudit(c.Request.Context(), r)
	c.refuse(why)
}

// Values of the audit log (openconfig/gnsi, acctz.proto).
const (
	authzPermit = "PERMIT"
	authzDeny   = "DENY"
)

// auditRecord starts the audit record of a request for an operation; "": it is refused before.
func (s *Server) auditRecord(c *exchange, operation string) api.AuditRecord {
	p := c.principal
	r := api.AuditRecord{
		Timestamp: s.cfg.Now(),
		SessionInfo: api.AuditSession{
			ChannelID: c.id, ComponentName: s.cfg.Name,
			User:  api.AuditUser{Identity: p.Name, Role: p.RoleText()},
			Authn: api.AuditAuthn{Type: p.Way, Status: audit.AuthnSuccess},
		},
		ServiceRequest: api.AuditRequest{
			RPCName: operation, Method: c.Request.Method,
			Path:  clip(c.Request.URL.RequestURI(), maxFieldText),
			Authz: api.AuditAuthz{Status: authzPermit},
		},
	}
	r.SessionInfo.RemoteAddress = c.client()
	if _, port, err := net.SplitHostPort(c.Request.RemoteAddr); err == nil {
		n, _ := strconv.ParseUint(port, 10, 16) // 0 where it is none
		r.SessionInfo.RemotePort = uint16(n)
	}
	return r
}

// writeAudit records what changes nothing. A refusal stands even if it cannot be recorded.
func (s *Server) writeAudit(ctx context.Context, r api.AuditRecord) {
	if err := s.cfg.Access.Log.Write(ctx, r); err != nil {
		s.metrics.unaudited.Inc()
		s.cfg.Log.Error("audit", "reason", err, "identity", r.SessionInfo.User.Identity, "method",
			r.ServiceRequest.Method, "path", r.ServiceRequest.Path)
	}
}

// auditFirst records an operation without a transaction before it begins. After an error the
// operation must not begin.
func (s *Server) auditFirst(ctx context.Context) error {
	r, ok := audit.Of(ctx).Take()
	if !ok {
		return nil
	}
	if err := s.cfg.Access.Log.Write(ctx, r); err != nil {
		return storeProblem(fmt.Errorf("it cannot be recorded in the audit log: %w", err))
	}
	return nil
}
