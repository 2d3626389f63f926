package agent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// ErrConfig is a Config that makes no sense; the error names the field.
var ErrConfig = errors.New("agent: config")

// Config says who the host is and where its controller is. Take DefaultConfig and fill in Name and Controller.
type Config struct {
	// Name of the host. With TLS it is a DNS name of the certificate.
	Name string
	// Controller is host:port of the controller's stream.
	Controller string
	// TLS options; the zero value is plain text.
	TLS TLSConfig
	// Software is what the controller is told that the agent is. Default "weft".
	Software string
	// Instance is another one after every start; 0 is the time of the start.
	Instance uint64
	// Backoff between attempts to connect.
	Backoff Backoff
	// WelcomeTimeout bounds dialing up to the controller's welcome. Default 10 s.
	WelcomeTimeout time.Duration
	// PingInterval and PingTimeout find a dead controller. gRPC allows for no interval below 10 s. Default 10 s and 5 s.
	PingInterval, PingTimeout time.Duration
	// Log; nil is nowhere.
	Log *slog.Logger
	// DialOptions are added to gRPC's, for tests and for proxies.
	DialOptions []grpc.DialOption
}

// Backoff is exponential, with full jitter of half an interval either way.
type Backoff struct {
	Initial    time.Duration // default 100 ms
	Max        time.Duration // default 10 s
	Multiplier float64       // default 1.6
}

// TLSConfig names PEM files. They are read at every attempt to connect, so that a renewed certificate needs no restart.
type TLSConfig struct {
	// Enabled turns TLS on; the other fields need it.
	Enabled bool
	// CAFile has the certificates that may sign the controller's; the system's when empty.
	CAFile string
	// CertFile and KeyFile are this host's; both or neither.
	CertFile, KeyFile string
	// ServerName expected in the controller's certificate; the host of Controller when empty.
	ServerName string
}

// DefaultConfig returns the defaults, without a name and a controller.
func DefaultConfig() Config {
	return Config{
		Software: "weft", Backoff: Backoff{Initial: 100 * time.Millisecond, Max: 10 * time.Second, Multiplier: 1.6},
		WelcomeTimeout: 10 * time.Second, PingInterval: 10 * time.Second, PingTimeout: 5 * time.Second,
	}
}

// Validate returns an error that wraps ErrConfig and names the first field that makes no sense. TLS files have to exist and parse.
func (c *Config) Validate() error {
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("%w: %s %s", ErrConfig, field, fmt.Sprintf(format, args...))
	}
	if c.Name == "" {
		return bad("Name", "is empty")
	}
	if _, _, err := net.SplitHostPort(c.Controller); err != nil {
		return bad("Controller", "%q is not host:port", c.Controller)
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Backoff.Initial", c.Backoff.Initial}, {"Backoff.Max", c.Backoff.Max}, {"WelcomeTimeout", c.WelcomeTimeout}, {"PingInterval", c.PingInterval},
		{"PingTimeout", c.PingTimeout},
	} {
		if d.value <= 0 {
			return bad(d.field, "is %v, not positive", d.value)
		}
	}
	if c.Backoff.Max < c.Backoff.Initial {
		return bad("Backoff.Max", "%v is below Backoff.Initial %v", c.Backoff.Max, c.Backoff.Initial)
	}
	if c.Backoff.Multiplier < 1 {
		return bad("Backoff.Multiplier", "%v is below 1", c.Backoff.Multiplier)
	}
	_, err := c.TLS.credentials()
	return err
}

// credentials reads the files.
func (t TLSConfig) credentials() (credentials.TransportCredentials, error) {
	if !t.Enabled {
		if t != (TLSConfig{}) {
			return nil, fmt.Errorf("%w: TLS has files but is not Enabled", ErrConfig)
		}
		return insecure.NewCredentials(), nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%w: TLS.CAFile: %w", ErrConfig, err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: TLS.CAFile %s has no certificate", ErrConfig, t.CAFile)
		}
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, fmt.Errorf("%w: TLS.CertFile and TLS.KeyFile go together", ErrConfig)
	}
	if t.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("%w: TLS.CertFile: %w", ErrConfig, err)
		}
		conf.Certificates = []tls.Certificate{cert}
	}
	return credentials.NewTLS(conf), nil
}
