package northbound

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/oidc"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/telemetry"
)

var (
	// ErrConfig: a Config is not usable; the text names the field.
	ErrConfig = errors.New("northbound: invalid configuration")
)

// Config defines how the API is served. Take DefaultConfig and change it.
type Config struct {
	// Version of the program, for the OpenAPI document. Default "dev".
	Version string
	// MaxBodyBytes is the greatest body of a request. Default 1 MiB.
	MaxBodyBytes int64
	// RequestTimeout bounds what a request may take of the controller. Default 30 s.
	RequestTimeout time.Duration
	// Heartbeat is the pause between comments on a silent event stream. Heartbeats let both sides
	// notice a lost peer: the dashboard within 5 s. Default 2 s.
	Heartbeat time.Duration
	// WriteTimeout is how long a client of the event stream may refuse to read.
	// Default 10 s.
	WriteTimeout time.Duration
	// Grace is how long requests may finish after the server was told to stop.
	// Default 5 s.
	Grace time.Duration
	// TokenFile has bearer tokens of administrators, one a line; '#' starts a comment.
	TokenFile string
	// Access finds principals and keeps users, tokens, sessions and the audit log. Default: one in
	// memory, with the tokens of TokenFile.
	Access *access.Control
	// OIDC signs people in. Default: nothing does.
	OIDC *oidc.Provider
	// Name of the controller, for the audit log.
	Name string
	// Limits bound what clients may take of the server. Default DefaultLimits.
	Limits Limits
	// Hosts are more names by which clients may call the server, in the Host field of a request,
	// besides addresses, names without a dot and those of the certificate. "*" allows every name.
	Hosts []string
	// TLS options; the zero value is plain text.
	TLS TLSConfig
	// Multipath is the controller of an MRC fabric. Default: none; its operations then answer
	// not_configured.
	Multipath Multipath
	// BGP is the BGP-LS speaker. Default: none, and there are no peers.
	BGP BGP
	// Causes knows what is wrong, and why. Default: nobody looks, and nothing is.
	Causes Causes
	// Cluster is the controllers that share a store. Default: none, and none are listed.
	Cluster Cluster
	// Certificates returns those that the controller's connections use. Default: none are listed.
	Certificates func() []certs.Certificate
	// Traces gives traces of packets. Default: no switch gives any.
	Traces Tracer
	// Telemetry has the history of ports and other objects. Default: an empty history.
	Telemetry *telemetry.Store
	// Planes judges how the planes of an MRC fabric are used; nil: there is none.
	Planes *telemetry.Planes
	// Collectors have more metrics of the process. Default: none.
	Collectors []prometheus.Collector
	// Requests counts the requests. Default: counters of the server's own.
	Requests *Requests
	// Current returns why this controller may no longer decide, in which case its data may be out of
	// date; nil: the controller decides. The server calls Current when an answer to a GET is ready.
	// Default: the controller always decides.
	Current func() error
	// Stale, when not nil, answers requests with consistency=stale in place of any other server: see
	// [NewStale].
	Stale *Server
	// Writable returns why nothing can be kept now, or nil. Default: everything always can.
	Writable func() error
	// Knows returns why a record of a form cannot be kept: some controller could not read it. Default:
	// everything can.
	Knows func(form string, value []byte) error
	// Backup writes a snapshot of all stored records. Default: no backups.
	Backup func(context.Context, io.Writer) error
	// Dashboard answers GET and HEAD at / and below /assets/. Default: nothing is there.
	Dashboard http.Handler
	// Replace lets a controller whose etcd member lost its data start again without data. Errors wrap
	// an *api.Error or ErrStoreUnavailable. Default: the controllers form no etcd.
	Replace func(ctx context.Context, controller string) error
	// Log takes a line for each request. Default: none.
	Log *slog.Logger
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// TLSConfig names PEM files; they are read again when they change.
type TLSConfig = certs.Server

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Version: "dev", MaxBodyBytes: 1 << 20, RequestTimeout: 30 * time.Second,
		Heartbeat:    2 * time.Second,
		WriteTimeout: 10 * time.Second, Grace: 5 * time.Second, Limits: DefaultLimits(),
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	}
}

// Validate returns an error that wraps ErrConfig and names the first field that
// does not make sense. Files have to exist and parse.
func (c Config) Validate() error {
	for _, f := range []struct {
		name string
		ok   bool
	}{
		{"MaxBodyBytes", c.MaxBodyBytes > 0}, {"RequestTimeout", c.RequestTimeout > 0},
		{"Heartbeat", c.Heartbeat > 0},
		{"WriteTimeout", c.WriteTimeout > 0}, {"Grace", c.Grace > 0}, {"Log", c.Log != nil},
		{"Now", c.Now != nil},
	} {
		if !f.ok {
			return fmt.Errorf("%w: %s is not positive, or missing", ErrConfig, f.name)
		}
	}
	if err := c.Limits.validate(); err != nil {
		return err
	}
	if _, err := c.Tokens(); err != nil {
		return err
	}
	_, err := c.tlsConfig()
	return err
}

// Tokens reads the bearer tokens of TokenFile and returns their digests, nil without a file.
func (c Config) Tokens() ([][sha256.Size]byte, error) {
	if c.TokenFile == "" {
		return nil, nil
	}
	if info, err := os.Stat(c.TokenFile); err == nil && info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("%w: file of tokens: %s has mode %#o: want one that others cannot use, "+
			"such as 0600", ErrConfig, c.TokenFile, info.Mode().Perm())
	}
	b, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("%w: file of tokens: %w", ErrConfig, err)
	}
	var out [][sha256.Size]byte
	for line := range strings.Lines(string(b)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, sha256.Sum256([]byte(line)))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: file of tokens: %s has no token", ErrConfig, c.TokenFile)
	}
	return out, nil
}

// tlsConfig reads the files; it is nil for plain text.
func (c Config) tlsConfig() (*tls.Config, error) {
	conf, err := c.TLS.Config(tls.VersionTLS12, "h2", "http/1.1")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return certificatesIfGiven(conf), nil
}

// certificatesIfGiven asks clients for a certificate without requiring one, because health checks
// and people have none. The handshake refuses a certificate that no authority has signed.
func certificatesIfGiven(conf *tls.Config) *tls.Config {
	if conf == nil {
		return nil
	}
	if conf.ClientAuth == tls.RequireAndVerifyClientCert {
		conf.ClientAuth = tls.VerifyClientCertIfGiven
	}
	if of := conf.GetConfigForClient; of != nil {
		conf.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			each, err := of(h)
			return certificatesIfGiven(each), err
		}
	}
	return conf
}
