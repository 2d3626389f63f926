package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/store"
)

// Remote defines how an etcd that others run is reached.
type Remote struct {
	// Endpoints are host:port of its members.
	Endpoints []string
	// Prefix is before the key of every record. Default "weft/".
	Prefix string
	TLS    certs.Client
	// User and PasswordFile, whose first line is the password; both or neither.
	User, PasswordFile string
	// Log, when not nil, gets the warnings and errors of the client.
	Log *slog.Logger
}

const (
	schemePlain = "etcd"
	schemeTLS   = "etcds"
	// remoteOps and remoteOctets are within an etcd's defaults: 128 operations and 1.5 MiB.
	remoteOps    = 120
	remoteOctets = 1 << 20
	remotePort   = "2379"
	dialTimeout  = 5 * time.Second
	// refusal is how long a server may take to refuse a certificate.
	refusal = 300 * time.Millisecond
)

// ParseRemote reads a URL:
//
//	etcds://[USER@]HOST[:PORT],…[/PREFIX][?ca=FILE&cert=FILE&key=FILE&password-file=FILE]
//
// The certificates of the members have the names or addresses of the hosts.
// Plain text (etcd://) is for loopback addresses; insecure=true allows it elsewhere. Errors name
// the part that is wrong.
func ParseRemote(text string) (Remote, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	user, hosts, given := strings.Cut(rest[:end], "@")
	if !given {
		user, hosts = "", user
	}
	u, err := url.Parse(rest[end:])
	var bad *url.Error
	switch {
	case scheme != schemePlain && scheme != schemeTLS:
		return Remote{}, fmt.Errorf("scheme is %q: want etcd or, with TLS, etcds", scheme)
	case errors.As(err, &bad):
		return Remote{}, bad.Err
	case err != nil:
		return Remote{}, err
	case hosts == "":
		return Remote{}, errors.New("it names no host: want etcd://HOST:PORT,…")
	case strings.Contains(user, ":"):
		return Remote{}, errors.New(
			"it has a password, which others on this machine can see: want password-file=FILE")
	}
	r := Remote{User: user, Prefix: strings.Trim(u.Path, "/")}
	r.TLS.Enabled = scheme == schemeTLS
	if r.Prefix != "" {
		r.Prefix += "/"
	}
	for host := range strings.SplitSeq(hosts, ",") {
		e, err := endpoint(host)
		if err != nil {
			return Remote{}, err
		}
		r.Endpoints = append(r.Endpoints, e)
	}
	if err := r.options(u); err != nil {
		return Remote{}, err
	}
	return r, nil
}

func endpoint(host string) (string, error) {
	h, port, err := net.SplitHostPort(host)
	if err != nil {
		h, port = strings.Trim(host, "[]"), remotePort
	}
	if n, err := strconv.ParseUint(port, 10, 16); h == "" || err != nil || n == 0 {
		return "", fmt.Errorf("member is %q: want HOST:PORT", host)
	}
	return net.JoinHostPort(h, port), nil
}

// options reads the query of a URL.
func (r *Remote) options(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return err
	}
	insecure := false
	files := map[string]*string{
		"ca": &r.TLS.CAFile, "cert": &r.TLS.CertFile, "key": &r.TLS.KeyFile,
		"password-file": &r.PasswordFile,
	}
	for name, values := range query {
		value := values[len(values)-1]
		switch to := files[name]; {
		case name == "insecure" && (value == "true" || value == "false"):
			insecure = value == "true"
		case name == "insecure":
			return fmt.Errorf("insecure is %q: want true or false", value)
		case to == nil:
			return fmt.Errorf("option %q is unknown: want one of ca, cert, insecure, key, password-file",
				name)
		case value == "":
			return fmt.Errorf("%s is empty", name)
		default:
			*to = value
		}
	}
	switch {
	case !r.TLS.Enabled && !r.TLS.IsZero():
		return errors.New("it has TLS options without TLS: want the scheme etcds")
	case !r.TLS.Enabled && !insecure && slices.ContainsFunc(r.Endpoints, isRemote):
		return errors.New("another machine is reached in plain text: want the scheme etcds, or " +
			"insecure=true")
	case (r.User == "") != (r.PasswordFile == ""):
		return errors.New("user and password-file go together: want etcds://USER@HOST?password-file=FILE")
	}
	return nil
}

// isRemote reports whether an endpoint may be on another machine.
func isRemote(endpoint string) bool {
	host, _, _ := net.SplitHostPort(endpoint) // "": it is none
	a, err := netip.ParseAddr(host)
	return host != "localhost" && (err != nil || !a.Unmap().IsLoopback())
}

// Connect returns a store on an etcd that others run. It waits until the etcd answers, or says why
// it does not.
func Connect(ctx context.Context, r Remote) (*Store, error) {
	conf, err := r.config()
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	if err := reach(ctx, r.Endpoints, conf.TLS); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	at := "etcd " + strings.Join(r.Endpoints, ",")
	client, err := clientv3.New(conf)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, explain(err))
	}
	prefix := r.Prefix
	if prefix == "" {
		prefix = defaultPrefix
	}
	asked, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, err := client.Get(asked, prefix, clientv3.WithCountOnly()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", at, explain(err)), client.Close())
	}
	h := newHealth(client, prefix+"schema")
	return &Store{
		client: client, prefix: prefix, timeout: defaultTimeout, health: h, maxOps: remoteOps,
		maxOctets: remoteOctets,
		close:     func() error { h.close(); return client.Close() },
	}, nil
}

// explain reports what may be wrong with an etcd that does not answer, since its client does not.
func explain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: no answer within %v: fewer than half of its members may be there, or it "+
			"may want TLS (etcds://)", store.ErrUnavailable, dialTimeout)
	}
	return err
}

// reach connects to members until one takes the connection, for the client does not say why none
// did.
func reach(ctx context.Context, endpoints []string, conf *tls.Config) error {
	var faults []error
	for _, e := range endpoints {
		err := knock(ctx, e, conf)
		if err == nil {
			return nil
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func knock(ctx context.Context, endpoint string, conf *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if conf == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", endpoint)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	conf = conf.Clone()
	conf.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: conf}).DialContext(ctx, "tcp", endpoint)
	if err != nil {
		return fmt.Errorf("%s: %w", endpoint, err)
	}
	defer conn.Close()
	// With TLS 1.3 a server refuses a certificate after the handshake; otherwise it is silent.
	_ = conn.SetReadDeadline(time.Now().Add(refusal))
	var timeout net.Error
	if _, err := conn.Read(make([]byte, 1)); err != nil &&
		(!errors.As(err, &timeout) || !timeout.Timeout()) {
		return fmt.Errorf("%s: %w", endpoint, err)
	}
	return nil
}

// config reads the files.
func (r *Remote) config() (clientv3.Config, error) {
	conf := clientv3.Config{
		Endpoints: r.Endpoints, DialTimeout: dialTimeout, DialKeepAliveTime: 5 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		Username:             r.User, Logger: zap.New(newClientCore(r.Log)),
	}
	var err error
	if conf.TLS, err = r.TLS.Config(tls.VersionTLS12); err != nil {
		return conf, err
	}
	if conf.TLS != nil {
		creds, err := r.TLS.Credentials(tls.VersionTLS12)
		if err != nil {
			return conf, err
		}
		// in place of conf.TLS, which does not change
		conf.DialOptions = []grpc.DialOption{grpc.WithTransportCredentials(creds)}
	}
	if r.PasswordFile == "" {
		return conf, nil
	}
	info, err := os.Stat(r.PasswordFile)
	if err != nil {
		return conf, fmt.Errorf("password-file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 {
		return conf,
			fmt.Errorf("password-file: %s has mode %#o: want one that others cannot use, such as 0600",
				r.PasswordFile, mode)
	}
	text, err := os.ReadFile(r.PasswordFile)
	if err != nil {
		return conf, fmt.Errorf("password-file: %w", err)
	}
	conf.Password, _, _ = strings.Cut(string(text), "\n")
	if conf.Password == "" {
		return conf, fmt.Errorf("password-file: the first line of %s is empty", r.PasswordFile)
	}
	return conf, nil
}
