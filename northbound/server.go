package northbound

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
)

// Server is the API of one controller.
type Server struct {
	cfg        Config
	controller Controller
	events     *Events
	engine     *gin.Engine
	api        huma.API
	metrics    *metrics
	tls        *tls.Config
	guard      *guard
	closing    chan struct{} // closed when the server stops: streams end
}

// New makes a server, which serves nothing yet.
func New(cfg Config, controller Controller, events *Events) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	tlsConfig, err := cfg.tlsConfig()
	if err != nil {
		return nil, err
	}
	tokens, err := cfg.tokens()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, controller: controller, events: events, tls: tlsConfig,
		metrics: newMetrics(controller, cfg.Multipath, cfg.BGP, events), closing: make(chan struct{}),
	}
	s.guard = newGuard(cfg.Limits, s.metrics.rejected)
	s.engine = gin.New()
	s.engine.HandleMethodNotAllowed = true
	s.engine.RedirectTrailingSlash = false
	s.engine.Use(s.identify, s.observe, s.recover, s.sameOrigin, s.authorize(tokens), s.bound, s.limit, s.keep)
	s.engine.NoRoute(func(c *gin.Context) {
		s.refuse(c, newProblem("not_found", "there is nothing at "+c.Request.URL.Path))
	})
	s.engine.NoMethod(func(c *gin.Context) {
		s.refuse(c, newProblem(codeNotAllowed, c.Request.Method+" is not for "+c.Request.URL.Path))
	})
	s.api = huma.NewAPI(s.humaConfig(len(tokens) > 0), &adapter{server: s})
	s.registerGroups()
	s.registerSwitches()
	s.registerOrphans()
	s.registerTopology()
	s.registerBGPPeers()
	s.registerLossless()
	s.registerFabric()
	s.registerEVProfiles()
	s.registerCCProfiles()
	s.registerHosts()
	s.registerLinks()
	s.registerNodes()
	s.registerPlanes()
	s.registerSuspects()
	s.registerProbes()
	s.registerEvents()
	s.registerHealth()
	s.registerBackup()
	s.registerDashboard()
	s.engine.GET("/metrics", gin.WrapH(s.metrics))
	return s, nil
}

// Handler returns the API as a handler, for tests and for other servers.
func (s *Server) Handler() http.Handler { return s.engine }

// OpenAPI returns the OpenAPI document as JSON.
func (s *Server) OpenAPI() ([]byte, error) {
	return json.MarshalIndent(s.api.OpenAPI(), "", "  ")
}

// Serve answers requests on l, which it closes, until ctx ends; then it lets
// requests under way finish for a while. A server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	l = s.guard.listen(l)
	server := &http.Server{
		Handler: s.engine, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: s.cfg.RequestTimeout,
		WriteTimeout: s.cfg.RequestTimeout + s.cfg.WriteTimeout, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn),
		ConnContext: withConn,
	}
	served := make(chan error, 1)
	go func() {
		if s.tls == nil {
			served <- server.Serve(l)
			return
		}
		server.TLSConfig = s.tls
		served <- server.ServeTLS(l, "", "") // the certificate is in TLSConfig
	}()
	select {
	case err := <-served:
		return fmt.Errorf("northbound: %w", err)
	case <-ctx.Done():
	}
	close(s.closing)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Grace)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		err = errors.Join(fmt.Errorf("northbound: requests did not finish within %v: %w", s.cfg.Grace, err), server.Close())
	}
	<-served
	return err
}

// humaConfig describes the API as a whole.
func (s *Server) humaConfig(withTokens bool) huma.Config {
	config := huma.DefaultConfig("Weft controller", s.cfg.Version)
	config.CreateHooks = nil // no $schema links in bodies
	config.DocsPath, config.SchemasPath = "", ""
	config.RejectUnknownQueryParameters = true
	config.Info.Description = "RDMA multicast over SRv6 and MRC on fabrics of P4 switches. Clients write spec, the controller writes status."
	config.Transformers = []huma.Transformer{s.identifyProblem}
	config.Tags = []*huma.Tag{
		{Name: "multicast groups", Description: "RDMA multicast groups, and what became of them."},
		{Name: "switches", Description: "The switches, and what they hold."},
		{Name: losslessTag, Description: "SRv6 policies, tenants, and PFC over SRv6."},
		{Name: fabricTag, Description: "The MRC fabric: entropy values for hosts, what they hold, and what is not to be used."},
		{Name: "network", Description: "The topology as learned by BGP-LS."},
		{Name: "controller", Description: "Events and the controller's own health."},
	}
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.Components = &huma.Components{Schemas: registry}
	if withTokens {
		config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}}
		config.Security = []map[string][]string{{"bearer": {}}}
	}
	return config
}

// operation fills in what all operations share.
func (s *Server) operation(op huma.Operation) huma.Operation {
	op.MaxBodyBytes = s.cfg.MaxBodyBytes
	// A parameter that nobody knows is malformed, and one of a wrong value invalid.
	op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError)
	if s.cfg.TokenFile != "" && op.Security == nil {
		op.Errors = append(op.Errors, http.StatusUnauthorized)
	}
	slices.Sort(op.Errors)
	op.Errors = slices.Compact(op.Errors)
	return op
}
