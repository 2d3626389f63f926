package main

import (
	"log/slog"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/credentials"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// clientLimits holds the flags of "weft switch" that limit the clients of its gRPC server.
type clientLimits struct {
	connections, strangers, perClient int
	message                           int // MiB
	stall                             time.Duration
}

func (l *clientLimits) register(f *pflag.FlagSet) {
	f.IntVar(&l.connections, "grpc-max-connections", clientlimit.DefaultConnections,
		"maximum of open connections of all clients")
	f.IntVar(&l.strangers, "grpc-max-strangers", 0,
		"maximum of these without a client certificate or a controller session (default 128, or half "+
			"of them)")
	f.IntVar(&l.perClient, "grpc-max-per-client", clientlimit.DefaultPerClient,
		"maximum of open connections of one IPv4 address or IPv6 /64")
	f.IntVar(&l.message, "grpc-max-message", p4rt.DefaultMaxMessage>>20,
		"maximum size, in MiB, of a Write or a pipeline configuration")
	f.DurationVar(&l.stall, "grpc-stall-time", clientlimit.DefaultStall,
		"time after which the switch ends a call whose client does not read the answer")
}

// maxMessageMiB bounds --grpc-max-message: simple_switch_grpc takes as much.
const maxMessageMiB = 256

func (l *clientLimits) check() error {
	switch {
	case l.connections < 1:
		return usagef("--grpc-max-connections is %d: want 1 or more", l.connections)
	case l.strangers < 0 || l.strangers > l.connections:
		return usagef("--grpc-max-strangers is %d: want 1 to %d, or 0 for the default", l.strangers,
			l.connections)
	case l.perClient < 1:
		return usagef("--grpc-max-per-client is %d: want 1 or more", l.perClient)
	case l.message < 1 || l.message > maxMessageMiB:
		return usagef("--grpc-max-message is %d: want 1 to %d", l.message, maxMessageMiB)
	case l.stall <= 0:
		return usagef("--grpc-stall-time is %v: want more than 0", l.stall)
	}
	return nil
}

func (l *clientLimits) config(secured credentials.TransportCredentials,
	log *slog.Logger) p4rt.ServerConfig {
	return p4rt.ServerConfig{Credentials: secured, MaxMessage: l.message << 20, Log: log,
		Limits: clientlimit.Config{
			Connections: l.connections, Strangers: l.strangers, PerClient: l.perClient, Stall: l.stall,
			Log: log,
		}}
}
