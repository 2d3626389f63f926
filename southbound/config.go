package southbound

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/retry"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Config defines how to reach one switch and how to treat it. Take DefaultConfig
// and fill in Target, DeviceID, Election and Pipeline.
type Config struct {
	// Name of the switch in errors; Target when empty.
	Name string
	// Target is host:port of the switch's P4Runtime server.
	Target string
	// DeviceID of the switch behind Target. Not 0.
	DeviceID uint64
	// Role of this controller; empty is full access.
	Role string
	// Election is this controller's election id. Not 0; the highest is primary.
	Election ElectionID
	// Claim defines when to become primary.
	Claim Claim
	// Courtesy is how long a session with ClaimVacant leaves a switch alone after the primary of
	// another installation has gone, which may change the owner of the switch. Default 15 s.
	Courtesy time.Duration
	// Held reports that this installation held the switch until the session begins. The session takes
	// the switch back from a client of another installation.
	Held bool
	// Holds, when not nil, learns whether this installation holds the switch, when that changes. The
	// session calls it from one goroutine, and waits for it.
	Holds func(held bool)
	// Pipeline to install when the switch runs another one; nil leaves the
	// switch's alone.
	Pipeline *Pipeline
	// Turn, when not nil, is called before the session replaces the pipeline of the switch, and
	// returns when the session may do so. The session calls programmed afterwards, which returns when
	// the switch holds all its entries again, or ctx ends.
	Turn func(ctx context.Context) (programmed func(ctx context.Context), err error)
	// GNMI is host:port of the switch's gNMI server, with the TLS options below; empty: gNMI uses the
	// address and connection of P4Runtime.
	GNMI string
	// NoPortState disables gNMI: the states of the ports are then unknown.
	NoPortState bool
	// Dialect names the paths of the states of ports at the switch (gnmi.DialectNames); empty: the
	// switch's Capabilities decide.
	Dialect string
	// PortOf, when not nil, returns the number of the port of an interface, 0: none. Default: the
	// number that the switch reports.
	PortOf func(iface string) uint32
	// PortStateRetry is the pause before a switch without gNMI is asked for the
	// states of its ports again. Default 5 m.
	PortStateRetry time.Duration
	// Samples takes the counters of ports, called from a goroutine of the session; nil: the session
	// does not ask for them.
	Samples gnmi.Samples
	// SampleInterval is the time between two samples of a port. Default 1 s.
	SampleInterval time.Duration
	// TLS options; the zero value is plain text.
	TLS TLSConfig
	// Backoff between attempts to connect.
	Backoff Backoff
	// SetupTimeout bounds dialing up to the answer to the arbitration. Default 5 s.
	SetupTimeout time.Duration
	// RequestTimeout bounds each request, a batch of a write being one.
	// Default 10 s.
	RequestTimeout time.Duration
	// PipelineTimeout bounds the installation of a pipeline. Default 60 s.
	PipelineTimeout time.Duration
	// ProbeInterval is the pause between liveness probes; the session notices a dead peer after one
	// interval and one ProbeTimeout at the latest. The probe is a request of P4Runtime: HTTP/2 pings
	// at this rate make stock gRPC servers hang up (too_many_pings). Default 5 s.
	ProbeInterval time.Duration
	// ProbeTimeout is how long a probe may take. Default 3 s.
	ProbeTimeout time.Duration
	// BatchUpdates is the greatest number of updates in a request. Default 1,000.
	BatchUpdates int
	// BatchBytes is the greatest size of a request in octets; one update larger
	// than that still goes, alone. gRPC servers refuse 4 MiB. Default 1 MiB.
	BatchBytes int
	// MaxReadBytes is the greatest answer to a read taken from the switch, in
	// octets. BMv2 answers any read in a single message. Default 256 MiB.
	MaxReadBytes int
	// SendQueue is how many packet-outs may wait for the stream. Default 1,024.
	SendQueue int
	// DialOptions are added to gRPC's, for tests and for proxies.
	DialOptions []grpc.DialOption
	// Dial, when not nil, makes the connections in place of gRPC and of the TLS options, to Target
	// and GNMI alike ([Peer.Dial]).
	Dial func() (Conn, error)
}

// Conn is a connection to a gRPC server.
type Conn interface {
	grpc.ClientConnInterface
	Close() error
}

// Backoff defines how long the pauses between attempts to connect are.
type Backoff = retry.Backoff

// TLSConfig names PEM files of the controller. They are read again when they change.
type TLSConfig = certs.Client

// Watch returns the configuration of the gNMI subscriptions to the ports of the switch.
func (c *Config) Watch() gnmi.Config {
	return gnmi.Config{
		Switch: c.Name, PortOf: c.PortOf, Dialect: c.Dialect, Samples: c.Samples,
		SampleInterval: c.SampleInterval, Backoff: c.Backoff,
		Retry: c.PortStateRetry, ProbeInterval: c.ProbeInterval, AskTimeout: c.ProbeTimeout,
	}
}

// DefaultConfig returns the defaults, without a target.
func DefaultConfig() Config {
	return Config{
		Backoff:         retry.DefaultBackoff(),
		SetupTimeout:    5 * time.Second,
		Courtesy:        15 * time.Second,
		RequestTimeout:  10 * time.Second,
		PipelineTimeout: time.Minute,
		PortStateRetry:  5 * time.Minute,
		SampleInterval:  time.Second,
		ProbeInterval:   5 * time.Second,
		ProbeTimeout:    3 * time.Second,
		BatchUpdates:    1000,
		BatchBytes:      1 << 20,
		MaxReadBytes:    256 << 20,
		SendQueue:       1024,
	}
}

// Validate returns an error that wraps ErrConfig and names the first field that
// does not make sense. TLS files have to exist and parse.
func (c Config) Validate() error {
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("%w: %s %s", ErrConfig, field, fmt.Sprintf(format, args...))
	}
	if c.Target == "" {
		return bad("Target", "is empty")
	}
	if c.DeviceID == 0 {
		return bad("DeviceID", "is 0")
	}
	if c.Election == (ElectionID{}) {
		return bad("Election", "is 0")
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"SetupTimeout", c.SetupTimeout}, {"RequestTimeout", c.RequestTimeout},
		{"PipelineTimeout", c.PipelineTimeout}, {"PortStateRetry", c.PortStateRetry},
		{"SampleInterval", c.SampleInterval}, {"ProbeInterval", c.ProbeInterval},
		{"ProbeTimeout", c.ProbeTimeout},
	} {
		if d.value <= 0 {
			return bad(d.field, "is %v, not positive", d.value)
		}
	}
	if names := gnmi.DialectNames(); c.Dialect != "" && !slices.Contains(names, c.Dialect) {
		return bad("Dialect", "is %q; want one of %s", c.Dialect, strings.Join(names, ", "))
	}
	if err := c.Backoff.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	for _, n := range []struct {
		field string
		value int
	}{
		{"BatchUpdates", c.BatchUpdates}, {"BatchBytes", c.BatchBytes}, {"MaxReadBytes", c.MaxReadBytes},
		{"SendQueue", c.SendQueue},
	} {
		if n.value <= 0 {
			return bad(n.field, "is %d, not positive", n.value)
		}
	}
	if _, err := c.credentials(); err != nil {
		return err
	}
	for _, a := range []struct{ field, address string }{{"Target", c.Target}, {"GNMI", c.GNMI}} {
		if _, _, err := net.SplitHostPort(a.address); err != nil && a.address != "" &&
			len(c.DialOptions) == 0 {
			return bad(a.field, "%q is not host:port", a.address)
		}
	}
	return nil
}

// GNMIOnly returns the configuration of a session by gNMI alone, without an election and a device
// of P4Runtime.
func (c Config) GNMIOnly() Config {
	c.DeviceID, c.Election = 1, ElectionID{Low: 1}
	return c
}

// Connect makes a connection to host:port of the switch, which opens on first use.
func (c *Config) Connect(target string) (Conn, error) {
	if c.Dial != nil {
		cc, err := c.Dial()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotConnected, err)
		}
		return cc, nil
	}
	creds, err := c.credentials()
	if err != nil {
		return nil, err
	}
	options := append([]grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithNoProxy(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig,
			MinConnectTimeout: c.SetupTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(c.MaxReadBytes),
			grpc.MaxCallSendMsgSize(64<<20)),
		grpc.WithDisableServiceConfig(),
	}, c.DialOptions...)
	cc, err := grpc.NewClient("passthrough:///"+target, options...)
	if err != nil {
		return nil, fmt.Errorf("%w: dialing: %w", ErrNotConnected, err)
	}
	return cc, nil
}

func (c *Config) credentials() (credentials.TransportCredentials, error) {
	creds, err := c.TLS.Credentials(tls.VersionTLS12)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return creds, nil
}
