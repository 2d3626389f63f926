package run

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/northbound"
)

// source is where the traces of a switch are.
type source struct {
	url    string
	client *http.Client // nil: the default
}

// traceSource returns where a switch of the inventory has its traces. weft switch serves them with
// the certificates of P4Runtime; a lab, whose addresses have a path, has none.
func traceSource(s *inventory.Switch) source {
	if s.TLS == nil || strings.Contains(s.Trace, "/") {
		return source{url: "http://" + s.Trace}
	}
	return source{"https://" + s.Trace, SecureClient(s.TLS.Client(certs.KindSwitch))}
}

// SecureClient returns a client that asks switches with the certificates of files. It keeps no
// connection.
func SecureClient(files certs.Client) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dial, err := files.Dial(tls.VersionTLS12, new(net.Dialer))
			if err != nil {
				return nil, err
			}
			return dial(ctx, network, address)
		},
	}}
}

// tracer returns the traces of the switches for which the inventory has switches[].trace.
func tracer(inv *inventory.Inventory) northbound.Tracer {
	sources := map[string]source{}
	for i := range inv.Switches {
		if s := &inv.Switches[i]; s.Trace != "" {
			sources[s.Name] = traceSource(s)
		}
	}
	return func(ctx context.Context, sw string, want northbound.TraceFilter,
		take func(api.PacketTrace, uint64) error) error {
		from, ok := sources[sw]
		if !ok {
			return northbound.ErrNoTraces
		}
		return stream.Receive(ctx, from.client, from.url,
			trace.Filter{Port: want.Port, Count: want.Count}, func(i trace.Item) error {
				return lab.TakeTrace(i, take)
			})
	}
}
