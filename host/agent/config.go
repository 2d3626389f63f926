package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/retry"
)

// ErrConfig is a Config that makes no sense; the error names the field.
var ErrConfig = errors.New("agent: config")

// Config defines who the host is and where its controller is. Take DefaultConfig and fill in Name
// and Controller.
type Config struct {
	// Name of the host. With TLS it is the name in its certificate (weft://host/NAME, or a DNS name).
	Name string
	// Controller is host:port of the controller's stream.
	Controller string
	// TLS options; the zero value is plain text.
	TLS TLSConfig
	// Software names the agent in its Hello. Default "weft".
	Software string
	// Instance differs after every start; 0: the time of the start.
	Instance uint64
	// Backoff between attempts to connect.
	Backoff Backoff
	// WelcomeTimeout bounds dialing up to the controller's welcome. Default 10 s.
	WelcomeTimeout time.Duration
	// PingInterval and PingTimeout find a dead controller. gRPC allows for no interval below 10 s.
	// Default 10 s and 5 s.
	PingInterval, PingTimeout time.Duration
	// Log; nil is nowhere.
	Log *slog.Logger
	// Connect returns the connection for the next stream, and waits until there is one; nil: the agent
	// dials Controller.
	Connect func(ctx context.Context) (Conn, error)
	// Version and State are the version and the state of the host at the start. A version without a
	// state means that the agent does not know the state.
	Version hostapi.Version
	State   *hostapi.State
	// Keep, when not nil, keeps what the host holds from now on over the host's end, before the
	// controller hears that it is applied. It is called from one goroutine. An error is logged.
	Keep func(hostapi.Version, *hostapi.State) error
	// Share, if not nil, returns a state to use in place of an equal state, so that many agents in a
	// process can share equal states.
	Share func(*hostapi.State) *hostapi.State
	// DialOptions are added to gRPC's, for tests and for proxies.
	DialOptions []grpc.DialOption
}

// Conn is a connection that streams share.
type Conn = grpc.ClientConnInterface

// Backoff defines how long the pauses between attempts to connect are.
type Backoff = retry.Backoff

// TLSConfig names PEM files of the host. They are read again when they change.
type TLSConfig = certs.Client

// DefaultConfig returns the defaults, without a name and a controller.
func DefaultConfig() Config {
	return Config{
		Software: "weft", Backoff: retry.DefaultBackoff(),
		WelcomeTimeout: 10 * time.Second, PingInterval: 10 * time.Second, PingTimeout: 5 * time.Second,
	}
}

// Validate returns an error that wraps ErrConfig and names the first field that makes no sense. TLS
// files have to exist and parse.
func (c *Config) Validate() error {
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("%w: %s %s", ErrConfig, field, fmt.Sprintf(format, args...))
	}
	if c.Name == "" {
		return bad("Name", "is empty")
	}
	if _, _, err := net.SplitHostPort(c.Controller); err != nil && c.Connect == nil {
		return bad("Controller", "%q is not host:port", c.Controller)
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"WelcomeTimeout", c.WelcomeTimeout}, {"PingInterval", c.PingInterval},
		{"PingTimeout", c.PingTimeout},
	} {
		if d.value <= 0 {
			return bad(d.field, "is %v, not positive", d.value)
		}
	}
	if err := c.Backoff.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	_, err := c.credentials()
	return err
}

func (c *Config) credentials() (credentials.TransportCredentials, error) {
	creds, err := c.TLS.Credentials(tls.VersionTLS13)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return creds, nil
}
