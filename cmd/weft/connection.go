package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api/client"
)

const defaultServer = "http://127.0.0.1:8080"

// connection is the flags that report how to reach the API. Settings without a flag come from the
// environment.
type connection struct {
	server, token, ca, cert, key string
	timeout                      time.Duration
	anew                         bool // without the session of "weft login"
}

func (c *connection) register(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&c.server, "server", "", "URL of the controller (environment WEFT_SERVER; default "+
		defaultServer+")")
	f.StringVar(&c.token, "token", "",
		"bearer token (environment WEFT_TOKEN; default that of weft login)")
	f.StringVar(&c.ca, "ca", "",
		"PEM file of the authorities that sign the controller's certificate (environment WEFT_CA; "+
			"default the system's)")
	f.StringVar(&c.cert, "cert", "", "PEM file of the client's certificate (environment WEFT_CERT)")
	f.StringVar(&c.key, "key", "", "PEM file of the client's private key (environment WEFT_KEY)")
	f.DurationVar(&c.timeout, "request-timeout", 30*time.Second,
		"longest wait for an answer; 0 is for ever")
}

// serverURL returns the URL of the controller.
func (c *connection) serverURL(env environment) string {
	return strings.TrimRight(cmp.Or(c.server, env.getenv("WEFT_SERVER"), defaultServer), "/")
}

func (c *connection) open(env environment) (*client.Client, error) {
	first := func(values ...string) string {
		for _, v := range values {
			if v != "" {
				return v
			}
		}
		return ""
	}
	if c.timeout < 0 {
		return nil, usagef("--request-timeout is %v: want 0 or more", c.timeout)
	}
	token := first(c.token, env.getenv("WEFT_TOKEN"))
	if token == "" && !c.anew {
		kept, err := loadCredentials(env)
		if err != nil {
			return nil, &usageError{err}
		}
		token = kept.Servers[c.serverURL(env)].Token
	}
	return client.New(client.Config{
		Server:    c.serverURL(env),
		Token:     token,
		CA:        first(c.ca, env.getenv("WEFT_CA")),
		Cert:      first(c.cert, env.getenv("WEFT_CERT")),
		Key:       first(c.key, env.getenv("WEFT_KEY")),
		Timeout:   c.timeout,
		UserAgent: "weft/" + buildVersion(),
	})
}

// Paths of the API.
func groupPath(name string) string { return client.Path("v1", "multicast-groups", name) }
func switchPath(rest ...string) string {
	return client.Path(append([]string{"v1", "switches"}, rest...)...)
}
func entriesPath(sw, table string) string { return switchPath(sw, "tables", table, "entries") }
