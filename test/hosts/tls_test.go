package hosts_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/agent/agenttest"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

// warnings is a log handler that tells what went wrong.
type warnings struct {
	slog.Handler
	to chan string
}

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			select {
			case w.to <- a.Value.String():
			default:
			}
		}
		return true
	})
	return nil
}

// TestMutualTLS: a host is who its certificate says, and nobody else.
func TestMutualTLS(t *testing.T) {
	ours, theirs := certstest.New(t), certstest.New(t)
	ours.Issue(t, "controller", "controller", "controller")
	ours.Issue(t, "h1", "whatever", "h1", "h1.example")
	ours.Issue(t, "plain", "h1")
	ours.IssueExpired(t, "expired", "h1", "h1")
	ours.IssueAs(t, "host", certs.Identity{Kind: certs.KindHost, Name: "h1"})
	ours.IssueAs(t, "switch", certs.Identity{Kind: certs.KindSwitch, Name: "h1"}, "h1")
	ours.IssueAs(t, "client", certs.Identity{Kind: certs.KindClient, Name: "h1"})
	theirs.Issue(t, "h1", "", "h1")

	cfg := hosts.DefaultConfig()
	cfg.Epoch = 1
	cfg.TLS = hosts.TLSConfig{CertFile: ours.File("controller.pem"),
		KeyFile: ours.File("controller.key"), ClientCAFile: ours.File("ca.pem")}
	hello := make(chan string, 1)
	s, err := hosts.New(cfg, &hoststest.Observer{OnHello: func(name string, _ *hostapi.Hello) {
		select {
		case hello <- name:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()

	good := agent.TLSConfig{Enabled: true, CAFile: ours.File("ca.pem"), ServerName: "controller",
		CertFile: ours.File("h1.pem"), KeyFile: ours.File("h1.key")}
	from := func(name string) func(*agent.TLSConfig) {
		return func(c *agent.TLSConfig) {
			c.CertFile, c.KeyFile = ours.File(name+".pem"), ours.File(name+".key")
		}
	}
	for name, c := range map[string]struct {
		name string
		tls  func(*agent.TLSConfig)
		fail string // "": it works
	}{
		"right":                {"h1", func(*agent.TLSConfig) {}, ""},
		"another of its names": {"h1.example", func(*agent.TLSConfig) {}, ""},
		"common name": {"h1", func(c *agent.TLSConfig) {
			c.CertFile, c.KeyFile = ours.File("plain.pem"), ours.File("plain.key")
		}, ""},
		"another's name": {"h2", func(*agent.TLSConfig) {},
			`hello.name: "h2" is not a name of the certificate, which has ["h1" "h1.example"]`},
		"its common name beside DNS names": {"whatever", func(*agent.TLSConfig) {},
			"is not a name of the certificate"},
		"no certificate": {"h1", func(c *agent.TLSConfig) {
			c.CertFile, c.KeyFile = "", ""
		}, "Unavailable"},
		"a stranger's": {"h1", func(c *agent.TLSConfig) {
			c.CertFile, c.KeyFile = theirs.File("h1.pem"), theirs.File("h1.key")
		}, "Unavailable"},
		"an expired one":        {"h1", from("expired"), "Unavailable"},
		"by its identity":       {"h1", from("host"), ""},
		"a switch of that name": {"h1", from("switch"), "Unavailable"},
		"a client of that name": {"h1", from("client"), "Unavailable"},
		"plain text": {"h1", func(c *agent.TLSConfig) {
			*c = agent.TLSConfig{}
		}, "Unavailable"},
		"another controller": {"h1", func(c *agent.TLSConfig) {
			c.ServerName = "other"
		}, "other"},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan string, 1)
			cfg := agent.DefaultConfig()
			cfg.Name, cfg.Controller, cfg.TLS = c.name, l.Addr().String(), good
			c.tls(&cfg.TLS)
			cfg.Log = slog.New(warnings{slog.NewTextHandler(os.Stderr, nil), told})
			a, err := agent.New(cfg, &agenttest.Endpoint{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = a.Run(ctx)
			}()
			defer func() {
				cancel()
				<-done
			}()
			select {
			case got := <-hello:
				if c.fail != "" || got != c.name {
					t.Errorf("%q is let in", got)
				}
			case text := <-told:
				if c.fail == "" || !strings.Contains(text, c.fail) {
					t.Errorf("%s, want %q", text, c.fail)
				}
			}
		})
	}
}

// TestStreamConfigs: what makes no sense is named.
func TestStreamConfigs(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage.pem")
	if err := os.WriteFile(garbage, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*hosts.Config){
		"Epoch":                 func(c *hosts.Config) { c.Epoch = 0 },
		"MaxHosts":              func(c *hosts.Config) { c.MaxHosts = 0 },
		"MaxMessageRate":        func(c *hosts.Config) { c.MaxMessageRate = -1 },
		"AnswerTimeout":         func(c *hosts.Config) { c.AnswerTimeout = 0 },
		"CountsInterval":        func(c *hosts.Config) { c.CountsInterval = -1 },
		"want cert, key and ca": func(c *hosts.Config) { c.TLS.CertFile = garbage },
		"tls.cert": func(c *hosts.Config) {
			c.TLS = hosts.TLSConfig{CertFile: garbage, KeyFile: garbage, ClientCAFile: garbage}
		},
	} {
		cfg := hosts.DefaultConfig()
		cfg.Epoch = 1
		change(&cfg)
		if _, err := hosts.New(cfg, nil); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for field, change := range map[string]func(*agent.Config){
		"Name":                             func(c *agent.Config) { c.Name = "" },
		"Controller":                       func(c *agent.Config) { c.Controller = "nowhere" },
		"Backoff.Max":                      func(c *agent.Config) { c.Backoff.Max = 1 },
		"Backoff.Multiplier":               func(c *agent.Config) { c.Backoff.Multiplier = 0.5 },
		"PingTimeout":                      func(c *agent.Config) { c.PingTimeout = 0 },
		"tls has files but is not enabled": func(c *agent.Config) { c.TLS.CAFile = garbage },
		"tls.ca": func(c *agent.Config) {
			c.TLS = agent.TLSConfig{Enabled: true, CAFile: garbage}
		},
		"tls.key": func(c *agent.Config) {
			c.TLS = agent.TLSConfig{Enabled: true, CertFile: garbage}
		},
		"tls.cert": func(c *agent.Config) {
			c.TLS = agent.TLSConfig{Enabled: true, CertFile: garbage, KeyFile: garbage}
		},
	} {
		cfg := agent.DefaultConfig()
		cfg.Name, cfg.Controller = "h1", "controller:1"
		change(&cfg)
		if _, err := agent.New(cfg, &agenttest.Endpoint{}); err == nil ||
			!strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
