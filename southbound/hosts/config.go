package hosts

import (
	"crypto/tls"
	"fmt"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/weft-sdn/weft/internal/certs"
)

// Config defines how to serve hosts. Take DefaultConfig and fill in Epoch and TLS.
type Config struct {
	// Epoch differs after every start of the controller; not 0.
	Epoch uint64
	// TLS options; the zero value is plain text: every client then has the name that it claims.
	TLS TLSConfig
	// Software names the controller for hosts. Default "weft".
	Software string
	// MaxHosts is how many hosts are known at a time, connected or not. Default 131,072.
	MaxHosts int
	// MaxStrangers bounds the connections without a Hello of a host. Further connections are refused;
	// each connection without a Hello ends within two HelloTimeouts. Default 1,024.
	MaxStrangers int
	// MaxEvents and MaxCounts are elements in one message of a host. Default 1,024 and 8,192.
	MaxEvents, MaxCounts int
	// MaxGroups is the maximum number of groups of queue pairs in a host's message. Default 1,024.
	MaxGroups int
	// MaxPortErrors is the maximum number of counters of ports in a host's message. Default 256.
	MaxPortErrors int
	// MaxMessageBytes of a host's message. Default 1 MiB.
	MaxMessageBytes int
	// MaxMessageRate is messages a second that are read from a host, after as many at once. Default
	// 1,000.
	MaxMessageRate int
	// CountsInterval is the pause between a host's reports of counters; 0 is none. Default 1 s.
	CountsInterval time.Duration
	// MaxProbes is probe requests that wait for a host. Default 4,096.
	MaxProbes int
	// HelloTimeout bounds a new stream's first message. Default 10 s.
	HelloTimeout time.Duration
	// AnswerTimeout bounds a host's answer to an update; its stream ends then. Default 60 s.
	AnswerTimeout time.Duration
	// RetryInterval is the pause after which the server repeats an update that a host refused for now.
	// Default 10 s.
	RetryInterval time.Duration
	// PingInterval and PingTimeout find dead hosts: a connection on which nothing came for the one is
	// pinged, and given up after the other. Default 10 s and 5 s.
	PingInterval, PingTimeout time.Duration
	// Fence, when not nil, is asked before each message that has an effect on a host: an update or a
	// probe. The stream ends with its error.
	Fence func() error
}

// TLSConfig names PEM files, all of them or none. Changed files are read again. A host's
// certificate names the host by weft://host/NAME, else by a DNS name, else by the common name.
type TLSConfig certs.Server

// DefaultConfig returns the defaults, without an epoch.
func DefaultConfig() Config {
	return Config{
		Software: "weft", MaxHosts: 1 << 17, MaxStrangers: 1024, MaxEvents: 1024, MaxCounts: 8192,
		MaxGroups: 1024, MaxPortErrors: 256,
		MaxMessageBytes: 1 << 20,
		MaxMessageRate:  1000, CountsInterval: time.Second,
		MaxProbes: 4096, HelloTimeout: 10 * time.Second, AnswerTimeout: time.Minute,
		RetryInterval: 10 * time.Second,
		PingInterval:  10 * time.Second, PingTimeout: 5 * time.Second,
	}
}

// Validate returns an error that wraps ErrConfig and names the first field that makes no sense. TLS
// files have to exist and parse.
func (c *Config) Validate() error {
	if c.Epoch == 0 {
		return fmt.Errorf("%w: Epoch is 0", ErrConfig)
	}
	for _, n := range []struct {
		field string
		value int
	}{
		{"MaxHosts", c.MaxHosts}, {"MaxStrangers", c.MaxStrangers}, {"MaxEvents", c.MaxEvents},
		{"MaxCounts", c.MaxCounts}, {"MaxGroups", c.MaxGroups},
		{"MaxPortErrors", c.MaxPortErrors},
		{"MaxMessageBytes", c.MaxMessageBytes},
		{"MaxMessageRate", c.MaxMessageRate}, {"MaxProbes", c.MaxProbes},
	} {
		if n.value <= 0 {
			return fmt.Errorf("%w: %s is %d, not positive", ErrConfig, n.field, n.value)
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"HelloTimeout", c.HelloTimeout}, {"AnswerTimeout", c.AnswerTimeout},
		{"RetryInterval", c.RetryInterval}, {"PingInterval", c.PingInterval},
		{"PingTimeout", c.PingTimeout},
	} {
		if d.value <= 0 {
			return fmt.Errorf("%w: %s is %v, not positive", ErrConfig, d.field, d.value)
		}
	}
	if c.CountsInterval < 0 {
		return fmt.Errorf("%w: CountsInterval is %v, negative", ErrConfig, c.CountsInterval)
	}
	_, err := c.TLS.credentials()
	return err
}

// credentials reads the files, and again when they change.
func (t TLSConfig) credentials() (credentials.TransportCredentials, error) {
	files := certs.Server(t)
	if !files.IsZero() && (t.CertFile == "" || t.KeyFile == "" || t.ClientCAFile == "") {
		return nil, fmt.Errorf("%w: tls: want cert, key and ca, or none of them", ErrConfig)
	}
	files.Kinds = certs.KindHost
	creds, err := files.Credentials(tls.VersionTLS13)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return creds, nil
}
