package northbound

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/telemetry"
)

// Server is the API of one controller.
type Server struct {
	cfg        Config
	controller Controller
	all        []*kind.Kind            // none of a server of stale answers
	members    func() *access.Projects // nil: it knows no projects
	stale      []string                // nouns of the kinds of a server of stale answers
	events     *Events
	engine     *router
	api        huma.API
	metrics    *metrics
	limiter    *limiter
	portText   portText
	stopping   sync.Once
	closing    chan struct{} // closed when the server stops: streams end
}

// New makes a server, which serves nothing yet.
func New(cfg Config, controller Controller, events *Events) (*Server, error) {
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	s.controller, s.events, s.members = controller, events, controller.Members
	s.metrics.controller, s.metrics.events = controller, events
	if s.cfg.Causes == nil {
		s.cfg.Causes = noCauses{}
	}
	s.metrics.causes = s.cfg.Causes
	s.engine.missing = func(c *exchange) {
		c.refuse(newProblem("not_found", "there is nothing at "+c.Request.URL.Path))
	}
	s.all = s.kinds()
	s.registerKinds()
	s.registerGroupViews()
	s.registerJobViews()
	s.registerLeaseActions()
	s.registerSwitches()
	s.registerOrphans()
	s.registerTopology()
	s.registerBGPPeers()
	s.registerTraces()
	s.registerJourneys()
	s.registerPast()
	s.registerFabric()
	s.registerLinkColumns()
	s.registerTelemetry()
	s.registerPortColumns()
	s.registerMatrices()
	s.registerSimulations()
	s.registerEvents()
	s.registerHealth()
	s.registerCauses()
	s.registerNotificationTest()
	s.registerBackup()
	s.registerControllers()
	s.registerReplace()
	s.registerCertificates()
	s.registerSession()
	s.registerSessions()
	s.registerTokens()
	s.registerUsers()
	s.registerAudit()
	s.standardize()
	s.registerDocuments()
	s.registerDashboard()
	s.registerMetrics()
	return s, nil
}

// registerMetrics registers what Prometheus scrapes.
func (s *Server) registerMetrics() {
	handler := wrap(s.metrics)
	const path = "/metrics"
	s.engine.Handle(http.MethodGet, path, func(c *exchange) {
		if deny := c.denial(plainRoutes[path], true); deny != nil {
			s.denied(c, "", deny)
			return
		}
		handler(c)
	})
}

// newServer makes a server without operations.
func newServer(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	tokens, err := cfg.Tokens()
	if err != nil {
		return nil, err
	}
	if cfg.Access == nil {
		if cfg.Access, err = access.InMemory(context.Background(),
			access.Config{Tokens: tokens, Verified: cfg.TLS.ClientCAFile != "", Now: cfg.Now}); err != nil {
			return nil, err
		}
	}
	if cfg.Telemetry == nil {
		cfg.Telemetry = telemetry.New(telemetry.Config{})
	}
	if cfg.Requests == nil {
		cfg.Requests = NewRequests()
	}
	s := &Server{cfg: cfg, metrics: newMetrics(&cfg), limiter: cfg.Requests.limiterOf(cfg.Limits),
		closing: make(chan struct{})}
	s.engine = &router{steps: s.steps()}
	s.engine.other = func(c *exchange) {
		c.refuse(newProblem(codeNotAllowed, c.Request.Method+" is not for "+c.Request.URL.Path))
	}
	s.api = huma.NewAPI(s.humaConfig(), &adapter{server: s})
	return s, nil
}

// Handler returns the API as a handler, for tests and for other servers.
func (s *Server) Handler() http.Handler { return s.engine }

// OpenAPI returns the OpenAPI document as JSON.
func (s *Server) OpenAPI() ([]byte, error) {
	return json.MarshalIndent(s.api.OpenAPI(), "", "  ")
}

// registerDocuments serves the OpenAPI document in versions 3.1 and 3.0. The server makes each text
// for the first request, because most of the time that New takes would go into them, and makes it
// once, whereas huma makes a text for each request that arrives before the first text is done.
func (s *Server) registerDocuments() {
	document := s.api.OpenAPI()
	for path, made := range map[string]func() ([]byte, error){
		"/openapi.json":     sync.OnceValues(func() ([]byte, error) { return json.Marshal(document) }),
		"/openapi.yaml":     sync.OnceValues(document.YAML),
		"/openapi-3.0.json": sync.OnceValues(document.Downgrade),
		"/openapi-3.0.yaml": sync.OnceValues(document.DowngradeYAML),
	} {
		kind := "application/openapi+" + strings.TrimPrefix(filepath.Ext(path), ".")
		s.engine.Handle(http.MethodGet, path, func(c *exchange) {
			text, err := made()
			if err != nil {
				c.refuse(newProblem(codeInternal, err.Error()))
				return
			}
			c.Data(http.StatusOK, kind, text)
		})
	}
}

// Serve answers requests on l, which it closes, until ctx ends; then it lets
// requests under way finish for a while. A server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	f := NewFront(s.cfg)
	f.Set(s)
	return f.Serve(ctx, l)
}

// stop ends the streams of the server.
func (s *Server) stop() { s.stopping.Do(func() { close(s.closing) }) }

// humaConfig describes the API as a whole.
func (s *Server) humaConfig() huma.Config {
	config := huma.DefaultConfig("Weft controller", s.cfg.Version)
	config.CreateHooks = nil // no $schema links in bodies
	// [Server.registerDocuments] serves the document.
	config.DocsPath, config.SchemasPath, config.OpenAPIPath = "", "", ""
	config.RejectUnknownQueryParameters = true
	config.Info.Description = "RDMA multicast over SRv6 and MRC on fabrics of P4 switches. Clients " +
		"write spec, the controller writes status." + securityNote
	config.Servers = []*huma.Server{{URL: "/", Description: "The controller that answered, or " +
		"another one behind the same address."}}
	config.Transformers = []huma.Transformer{s.identifyProblem}
	config.Tags = []*huma.Tag{
		{Name: "multicast groups", Description: "RDMA multicast groups, and what became of them."},
		{Name: "switches", Description: "The switches, and what they hold."},
		{Name: kind.HeadingJobs,
			Description: "Distributed jobs, and whether the fabric is ready for them."},
		{Name: kind.HeadingLossless, Description: "SRv6 policies, tenants, and PFC over SRv6."},
		{Name: fabricTag, Description: "The MRC fabric: entropy values for hosts, what they hold, and " +
			"what is not to be used."},
		{Name: "network", Description: "The topology as learned by BGP-LS."},
		{Name: telemetryTag, Description: "What ports, queues and other objects did, and do."},
		{Name: "controller", Description: "Events, the controllers and their health."},
		{Name: accessTag, Description: "Sessions, users, tokens and the audit log."},
	}
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.Components = &huma.Components{Schemas: registry, SecuritySchemes: securitySchemes()}
	return config
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

// operation fills in what all operations share.
func (s *Server) operation(op huma.Operation) huma.Operation {
	// [Server.fits] reads bodies
	op.MaxBodyBytes, op.SkipValidateBody, op.BodyReadTimeout = s.cfg.MaxBodyBytes, true, -1
	// An unknown parameter is malformed, and a wrong value invalid.
	op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusUnprocessableEntity,
		http.StatusInternalServerError)
	if scope, ok := scopeOf(&op); !ok || scope != access.Open {
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
	} else {
		op.MaxBodyBytes = min(op.MaxBodyBytes, maxOpenBody)
	}
	slices.Sort(op.Errors)
	op.Errors = slices.Compact(op.Errors)
	return op
}
