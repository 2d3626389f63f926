package northbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/access/oidc"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/connlimit"
)

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

// authenticate finds out who makes the request. Nobody, or who shows credentials that do not count,
// gets no further than open operations.
func (s *Server) authenticate(c *exchange) {
	// The operation has the last word on whether it is open.
	open := plainRoutes[c.route] == access.Open || slices.Contains(openPaths, c.Request.URL.Path)
	var p access.Principal
	var err error
	if isForwarded(c.Request) {
		p, err = s.forwardedPrincipal(c)
	} else {
		p, err = s.cfg.Access.Authenticator.Identify(c.Request)
	}
	var stranger *api.Problem
	if p.Known() {
		stranger = s.join(&p, c.Request.Header.Get(projectHeader))
		if p.Way != api.WayNone {
			trust(c.Request)
		}
	}
	c.principal = &p
	c.Request = c.Request.WithContext(access.With(c.Request.Context(), &p))
	if stranger != nil {
		s.denied(c, &huma.Operation{}, &p, stranger)
		return
	}
	if p.Known() || open && (err == nil || !isForwarded(c.Request)) {
		c.Next()
		return
	}
	s.unauthorized(c, err)
}

// trust marks the client of a request's connection as authenticated.
func trust(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		connlimit.Of(c).Trust()
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
		r := s.auditRecord(c, "", &access.Principal{})
		r.SessionInfo.Authn = api.AuditAuthn{Status: audit.AuthnFail, Cause: detail}
		r.ServiceRequest.Authz = api.AuditAuthz{Status: authzDeny}
		r.Outcome, r.Status, r.Detail = api.AuditFailure, http.StatusUnauthorized, detail
		s.writeAudit(c.Request.Context(), r)
	}
	c.Header("WWW-Authenticate", `Bearer realm="weft"`)
	c.refuse(newProblem(codeUnauthorized, detail))
}

// forwardedPrincipal returns the principal of a request that another controller has forwarded and
// signed.
func (s *Server) forwardedPrincipal(c *exchange) (access.Principal, error) {
	r := c.Request
	f, err := s.cfg.Access.Signer.Verify(r.Context(), r.Header.Get(access.ForwardHeader), r.Method,
		r.URL.RequestURI(), s.cfg.Now())
	if err != nil {
		return access.Principal{}, err
	}
	r.RemoteAddr = f.Remote
	c.forwardedTLS = f.TLS
	return f.Principal, nil
}

// admit passes a request on to its operation if the principal has the operation's scope. admit
// records the changes made by the request, or the reason for a refusal.
func (s *Server) admit(c *exchange, op *huma.Operation, carryOut func()) {
	scope, ok := scopeOf(op)
	if op.OperationID == "" { // huma's own, of the document
		scope, ok = plainRoutes[op.Path]
	}
	p := access.Of(c.Request.Context())
	if p.Known() {
		if deny := s.denial(c, p, scope, ok); deny != nil {
			s.denied(c, op, p, deny)
			return
		}
		if full := s.budget(p); full != nil && scope != access.Open {
			c.Header("Retry-After", "1")
			c.refuse(full)
			return
		}
	} else if !ok || scope != access.Open {
		s.unauthorized(c, nil)
		return
	}
	s.record(c, op, p, carryOut)
}

// denial returns why a principal may not call an operation; nil: it may.
func (s *Server) denial(
	c *exchange, p *access.Principal, scope access.Scope, declared bool,
) *api.Problem {
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

// denied refuses a request beyond the principal's rights, and records the refusal.
func (s *Server) denied(c *exchange, op *huma.Operation, p *access.Principal, why *api.Problem) {
	r := s.auditRecord(c, op.OperationID, p)
	r.ServiceRequest.Authz = api.AuditAuthz{Status: authzDeny, Detail: why.Detail}
	r.Outcome, r.Status, r.Detail = api.AuditFailure, why.Status, why.Detail
	s.writeAudit(c.Request.Context(), r)
	c.refuse(why)
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

// Values of the audit log (openconfig/gnsi, acctz.proto).
const (
	authzPermit = "PERMIT"
	authzDeny   = "DENY"
)

// auditRecord starts the audit record of a request.
func (s *Server) auditRecord(
	c *exchange, operation string, p *access.Principal,
) api.AuditRecord {
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

// record carries out an operation. An operation that changes something has an audit log entry,
// which the change takes into its transaction. If the operation fails, record writes the failure
// itself.
func (s *Server) record(c *exchange, op *huma.Operation, p *access.Principal, carryOut func()) {
	dry, _ := strconv.ParseBool(c.Query("dryRun"))
	reads := slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, op.Method)
	if dry || reads && op.OperationID != backupOperation && op.OperationID != callbackOperation {
		carryOut()
		return
	}
	ctx, entry := audit.With(c.Request.Context(), s.auditRecord(c, op.OperationID, p))
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

// accessProblem is the problem of an error of package access.
func accessProblem(err error) error {
	var pause *access.Pause
	switch {
	case errors.Is(err, access.ErrCredentials):
		return newProblem(codeUnauthorized, err.Error())
	case errors.Is(err, oidc.ErrPending):
		return newProblem(codePending, err.Error())
	case errors.Is(err, oidc.ErrProvider):
		return newProblem(codeProvider, err.Error())
	case errors.As(err, &pause):
		return huma.ErrorWithHeaders(newProblem(codeTooMany, err.Error()),
			http.Header{"Retry-After": {strconv.Itoa(pause.Seconds())}})
	case errors.Is(err, access.ErrStore):
		return storeProblem(err)
	}
	return problemOf(err)
}

// securitySchemes are the ways to show who one is.
func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		schemeBearer: {Type: "http", Scheme: "bearer",
			Description: "A token of the file of tokens, or one that POST /v1/tokens has made."},
		schemeSession: {Type: "apiKey", In: "cookie", Name: "weft-session",
			Description: "The cookie of POST /v1/session; over TLS its name begins with __Host-. Changes " +
				"also carry the header " + access.CSRFHeader + "."},
		schemeCertificate: {Type: "mutualTLS",
			Description: "A client certificate that api.access.certificates names."},
	}
}

// securityNote explains the scopes in the document.
var securityNote = " Each operation asks for one scope, which its security names: " +
	strings.Join(func() (out []string) {
		for _, s := range access.Scopes() {
			out = append(out, string(s))
		}
		return out
	}(), ", ") + ". One without security is open to everybody."
