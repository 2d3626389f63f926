package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/credentials"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/live/afpacket"
	"github.com/weft-sdn/weft/dataplane/live/metrics"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// embedded is the flags of "weft switch".
type embedded struct {
	env        environment
	log        logging
	interfaces []string
	device     uint64
	cpu, drop  uint32
	address    string
	http       string
	noP4       bool
	ssl        bool
	tls        p4rt.TLSConfig
	mutual     bool
}

// stopGrace is how long calls in progress may take when a command is asked to
// end.
const stopGrace = 5 * time.Second

func newSwitch(env environment) *cobra.Command {
	s := &embedded{env: env}
	c := &cobra.Command{
		Use: "switch [flags] [PROGRAM.json]", Short: "Run an embedded P4 switch with a P4Runtime server",
		Long: `Runs a P4 switch (v1model, BMv2 JSON) with a P4Runtime server until it is
interrupted. The flags are those of simple_switch_grpc where that has them; what
stands behind "--" is read as flags too, as its target-specific options are.

A controller pushes the pipeline; PROGRAM.json runs before it does, with the tables'
own defaults, and P4Runtime knows nothing of its names.

Ports on interfaces are Linux packet sockets and take CAP_NET_RAW:

  weft switch -i 1@veth0 -i 2@veth2 --device-id 1 --cpu-port 510 \
    --grpc-server-addr 127.0.0.1:9559 --no-p4`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				behind := args[at:]
				args = slices.Clone(args[:at])
				if err := cmd.Flags().Parse(behind); err != nil {
					return usagef("%w", err)
				}
				args = append(args, cmd.Flags().Args()...)
			}
			return s.run(cmd.Context(), args)
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&s.interfaces, "interface", "i", nil, "PORT@INTERFACE: the switch's port on a network interface; may be repeated")
	f.Uint64Var(&s.device, "device-id", 1, "P4Runtime device id")
	f.Uint32Var(&s.cpu, "cpu-port", 510, "port of packet-ins and packet-outs")
	f.Uint32Var(&s.drop, "drop-port", 511, "egress port that drops")
	f.StringVar(&s.address, "grpc-server-addr", "127.0.0.1:9559", "host:port of the P4Runtime server")
	f.StringVar(&s.http, "http-addr", "", "host:port of GET /metrics for Prometheus (default off)")
	f.BoolVar(&s.noP4, "no-p4", false, "start without a program (the default when none is given)")
	f.BoolVar(&s.ssl, "grpc-server-ssl", false, "TLS on the P4Runtime server")
	f.StringVar(&s.tls.CertFile, "grpc-server-cert", "", "PEM file of the server's certificate")
	f.StringVar(&s.tls.KeyFile, "grpc-server-key", "", "PEM file of the server's private key")
	f.StringVar(&s.tls.ClientCAFile, "grpc-server-cacert", "", "PEM file of the authorities that sign clients' certificates")
	f.BoolVar(&s.mutual, "grpc-server-with-client-auth", false, "clients must have a certificate")
	s.log.register(c, "info")
	return c
}

func (s *embedded) run(ctx context.Context, args []string) error {
	log, err := s.log.open(s.env.stderr)
	if err != nil {
		return err
	}
	program, err := s.program(args)
	if err != nil {
		return err
	}
	secured, err := s.security()
	if err != nil {
		return err
	}
	names, err := s.portNames()
	if err != nil {
		return err
	}
	if s.device == 0 {
		return usagef("--device-id is 0: want 1 or more")
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("P4Runtime server: %w", err)
	}
	ports, err := openPorts(names, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	runner, err := live.Start(live.Config{
		Device: p4rt.Config{ID: s.device, Switch: dataplane.Config{CPUPort: s.cpu, DropPort: s.drop}},
		Ports:  ports,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := p4rt.NewServer(p4rt.ServerConfig{Credentials: secured})
	if err := server.Add(runner.Sessions(), runner); err != nil {
		return errors.Join(err, runner.Close(), listener.Close())
	}
	if program != nil {
		if err := runner.WithDevice(ctx, func(_ time.Duration, d *p4rt.Device) { d.Switch().SetProgram(program) }); err != nil {
			return errors.Join(err, runner.Close(), listener.Close())
		}
	}
	var shown *httpListener
	if s.http != "" {
		if shown, err = listenHTTP(s.http, s.handler(runner, server, names)); err != nil {
			return errors.Join(err, runner.Close(), listener.Close())
		}
		log.Info("metrics are up", "http", shown.listener.Addr().String())
	}
	log.Info("switch is up", "device", s.device, "p4runtime", listener.Addr().String(), "ports", len(ports), "tls", s.ssl)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err = <-served:
		served <- err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	server.Close(grace)
	err = errors.Join(<-served, shown.close(grace))
	for _, port := range slices.Sorted(maps.Keys(names)) {
		logPort(log, port, names[port], runner.PortStats(port))
	}
	if n := runner.NoSuchPort(); n > 0 {
		log.Warn("frames for ports there are not", "frames", n)
	}
	return errors.Join(err, runner.Close())
}

// handler is what the switch shows over HTTP.
func (s *embedded) handler(runner *live.Runner, server *p4rt.Server, names map[uint32]string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.New(metrics.Config{
		Switch: runner, Server: server, DeviceID: s.device, Version: buildVersion(), Interfaces: names,
	}))
	return mux
}

func logPort(log *slog.Logger, port uint32, name string, n live.PortStats) {
	log.Info("port", "port", port, "interface", name, "received", n.Received, "receivedOctets", n.RxOctets,
		"receiveDrops", n.RxDropped+n.RxLost.Overrun+n.RxLost.Oversize, "sent", n.Sent, "sentOctets", n.SentOctets, "sendDrops", n.TxDropped)
}

// program loads the program of the command line, nil for none.
func (s *embedded) program(args []string) (*dataplane.Program, error) {
	switch {
	case len(args) > 1:
		return nil, usagef("switch: %d programs: want one at most", len(args))
	case len(args) == 0:
		return nil, nil
	case s.noP4:
		return nil, usagef("switch: --no-p4 and program %s: want one of them", args[0])
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return nil, &usageError{err}
	}
	program, err := dataplane.LoadProgram(text)
	if err != nil {
		return nil, usagef("%s: %w", args[0], err)
	}
	return program, nil
}

func (s *embedded) security() (credentials.TransportCredentials, error) {
	switch {
	case !s.ssl && (s.tls != p4rt.TLSConfig{} || s.mutual):
		return nil, usagef("switch: TLS files without --grpc-server-ssl")
	case !s.ssl:
		return nil, nil
	case s.tls.CertFile == "" || s.tls.KeyFile == "":
		return nil, usagef("switch: --grpc-server-ssl wants --grpc-server-cert and --grpc-server-key")
	case s.mutual != (s.tls.ClientCAFile != ""):
		return nil, usagef("switch: --grpc-server-with-client-auth and --grpc-server-cacert go together")
	}
	c, err := s.tls.Credentials()
	if err != nil {
		return nil, &usageError{err}
	}
	return c, nil
}

// portNames returns the interfaces by port.
func (s *embedded) portNames() (map[uint32]string, error) {
	names := make(map[uint32]string, len(s.interfaces))
	taken := make(map[string]uint32, len(s.interfaces))
	for _, text := range s.interfaces {
		number, name, ok := strings.Cut(text, "@")
		port, err := strconv.ParseUint(number, 10, 32)
		if !ok || err != nil || name == "" {
			return nil, usagef("--interface is %q: want PORT@INTERFACE, such as 1@veth0", text)
		}
		p := uint32(port)
		if p >= 1<<9 || p == s.cpu || p == s.drop {
			return nil, usagef("--interface %s: port %d cannot be used: want 0 to 511, and neither the CPU port %d nor the drop port %d", text, p, s.cpu, s.drop)
		}
		if other, twice := names[p]; twice {
			return nil, usagef("--interface %s: port %d is on %s already", text, p, other)
		}
		if other, twice := taken[name]; twice {
			return nil, usagef("--interface %s: %s has port %d already", text, name, other)
		}
		names[p], taken[name] = name, p
	}
	return names, nil
}

func openPorts(names map[uint32]string, log *slog.Logger) (map[uint32]live.Port, error) {
	ports := make(map[uint32]live.Port, len(names))
	for _, n := range slices.Sorted(maps.Keys(names)) {
		p, err := afpacket.Open(names[n], log.With("port", n, "interface", names[n]))
		if err != nil {
			errs := []error{err}
			for _, open := range ports {
				errs = append(errs, open.Close())
			}
			return nil, errors.Join(errs...)
		}
		ports[n] = p
	}
	return ports, nil
}
