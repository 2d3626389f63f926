package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/certs"
)

// Config defines where the API is and how to be let in.
type Config struct {
	// Server is the URL of the controller, "http://127.0.0.1:8080".
	Server string
	// Token is sent as a bearer token; empty: none.
	Token string
	// CA is a PEM file of the authorities that may sign the server's
	// certificate; empty: the system's.
	CA string
	// Cert and Key are PEM files of the client's certificate; both or neither.
	Cert, Key string
	// Timeout bounds each request but the stream of events; 0: none.
	Timeout time.Duration
	// UserAgent is sent with every request.
	UserAgent string
}

// Client is a client of one controller. It may be used from any goroutine.
type Client struct {
	cfg  Config
	base string // without a slash at its end
	http *http.Client
}

// maxAnswer is the longest answer taken, in octets.
const maxAnswer = 1 << 30

// New checks the configuration and reads its files. Errors wrap ErrConfig.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.Server)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, fmt.Errorf("server %q %w: want a URL such as http://127.0.0.1:8080", cfg.Server,
			ErrConfig)
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.CA != "" {
		pool, err := certs.Authorities(cfg.CA)
		if err != nil {
			return nil, fmt.Errorf("CA %w: %w", ErrConfig, err)
		}
		conf.RootCAs = pool
	}
	if (cfg.Cert == "") != (cfg.Key == "") {
		return nil, fmt.Errorf("client certificate %w: want certificate and key, or neither", ErrConfig)
	}
	if cfg.Cert != "" {
		cert, err := tls.LoadX509KeyPair(cfg.Cert, cfg.Key)
		if err != nil {
			return nil, fmt.Errorf("client certificate %w: %w", ErrConfig, err)
		}
		conf.Certificates = []tls.Certificate{cert}
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     conf,
		ForceAttemptHTTP2:   true,
	}
	return &Client{cfg: cfg, base: strings.TrimRight(cfg.Server, "/"),
		http: &http.Client{Transport: transport}}, nil
}

// Close closes the connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Path joins the segments of a path, escaping each.
func Path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// Answer is an answer of the server.
type Answer struct {
	Status int
	Header http.Header
	// Body is a JSON text, or empty.
	Body json.RawMessage
}

// Stale describes the greatest age of an answer, and the store revision of the answer.
type Stale struct {
	Age      time.Duration // whole seconds
	Revision int64
}

// StaleQuery asks a GET, or a list, for what the controller that is asked has read of the store,
// also where no controller decides. The API document names the operations that take it.
func StaleQuery() url.Values { return url.Values{"consistency": {"stale"}} }

// Stale returns how old an answer to [StaleQuery] is; nil: the answer has every change that was
// acknowledged before.
func (a *Answer) Stale() *Stale {
	if a.Header.Get("Weft-Consistency") != "stale" {
		return nil
	}
	age, _ := strconv.Atoi(a.Header.Get("Age")) // as the server says
	revision, _ := strconv.ParseInt(a.Header.Get("Weft-Store-Revision"), 10, 64)
	return &Stale{time.Duration(age) * time.Second, revision}
}

// Decode reads the body into v. It ignores fields that v lacks, because the
// server may be newer. A number for a field of any type is a json.Number.
func (a *Answer) Decode(v any) error {
	dec := json.NewDecoder(bytes.NewReader(a.Body))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return nil
}

// Get reads a resource.
func (c *Client) Get(ctx context.Context, path string, query url.Values) (*Answer, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.Do(ctx, http.MethodGet, path, nil, nil)
}

// Do makes a request with a JSON body, none when body is nil.
func (c *Client) Do(
	ctx context.Context, method, path string, header http.Header, body any,
) (*Answer, error) {
	if c.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	resp, err := c.send(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("%w: it is longer than %d octets", ErrAnswer, maxAnswer)
	}
	a := &Answer{Status: resp.StatusCode, Header: resp.Header, Body: text}
	if len(text) > 0 && !json.Valid(text) {
		return nil, fmt.Errorf("%w: %s %s answered %s with %s, not JSON: is %s a Weft controller?",
			ErrAnswer, method, path, resp.Status, kind(resp.Header), c.base)
	}
	return a, nil
}

// Backup writes a snapshot of everything that the controller keeps. After an error, what was
// written is of no use.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	resp, err := c.send(ctx, http.MethodGet, "/v1/backup",
		http.Header{"Accept": {"application/octet-stream"}}, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		return c.unreachable(ctx, err)
	}
	return nil
}

// Readiness returns the controller's answer to GET /readyz, even from a controller that is not
// ready.
func (c *Client) Readiness(ctx context.Context) (*api.Readiness, error) {
	if c.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	resp, err := c.request(ctx, http.MethodGet, "/readyz", nil, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
		return nil, problem(resp)
	}
	view := &api.Readiness{}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxProblem)).Decode(view); err != nil {
		return nil, fmt.Errorf("%w: GET /readyz answered %s: %w", ErrAnswer, resp.Status, err)
	}
	return view, nil
}

// send makes a request. Refusals are errors.
func (c *Client) send(
	ctx context.Context, method, path string, header http.Header, body any,
) (*http.Response, error) {
	resp, err := c.request(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		return nil, problem(resp)
	}
	return resp, nil
}

// request makes a request. A refusal is an answer.
func (c *Client) request(
	ctx context.Context, method, path string, header http.Header, body any,
) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	maps.Copy(req.Header, header)
	if body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if c.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	}
	if c.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", c.cfg.UserAgent)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	return resp, nil
}

// maxProblem is how much of a refusal is read, in octets.
const maxProblem = 1 << 20

// Status returns the HTTP status of a refusal, 0 for any other error.
func Status(err error) int {
	var p *api.Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}

// problem reads a refusal. A refusal without a problem document has its first line as detail.
func problem(resp *http.Response) *api.Problem {
	// what came before an error still says something
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	p := &api.Problem{}
	if err := json.Unmarshal(text, p); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		p = &api.Problem{Detail: line}
	}
	p.Status = resp.StatusCode
	return p
}

func kind(h http.Header) string {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return "content of no known type"
	}
	return media
}

// told is an error with another text.
type told struct {
	error
	text string
}

func (t told) Error() string { return t.text }
func (t told) Unwrap() error { return t.error }

// unreachable shortens the errors of net/http, which repeat method and URL.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && c.cfg.Timeout > 0 {
		return fmt.Errorf("%w at %s: no answer within %v", ErrUnreachable, c.base, c.cfg.Timeout)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if fault := certs.Fault(err); fault != "" {
		return fmt.Errorf("%w at %s: %w", ErrUnreachable, c.base, told{err, fault})
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return fmt.Errorf("%w at %s: %w", ErrUnreachable, c.base, err)
}
