package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/device"
)

// watchPorts is how often "weft agent" looks whether its ports are up.
const watchPorts = 200 * time.Millisecond

// hostAgent is the flags of "weft agent".
type hostAgent struct {
	env     environment
	log     logging
	cfg     agent.Config
	backend string

	file, address        string // of pathfile
	interfaces, gateways []string
	socket               string
}

func newAgent(env environment) *cobra.Command {
	a := &hostAgent{env: env, cfg: agent.DefaultConfig()}
	c := &cobra.Command{
		Use: "agent", Short: "Have the NIC or the kernel of a host follow a controller",
		Long: `Keeps a stream to the controller, and has a back end use the paths that the controller
wants (docs/agent.md):

  pathfile  writes the JSON file from which NICs load their paths
  seg6      makes routes of Linux that encapsulate in SRv6; it needs CAP_NET_ADMIN

  weft agent --name h1 --controller 192.0.2.1:9400 -i eth0,eth1 --backend pathfile \
    --path-file /run/weft/paths.json --address 2001:db8:1:1::1
  weft agent --name h1 --controller 192.0.2.1:9400 -i eth0,eth1 --backend seg6 \
    --gateway fe80::1,fe80::1

The interfaces are the ports of the host in the order of the planes of the inventory.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd) },
	}
	f := c.Flags()
	f.StringVar(&a.cfg.Name, "name", "", "name of the host in the controller's inventory")
	f.StringVar(&a.cfg.Controller, "controller", "", "host:port of the controller's stream")
	f.StringVar(&a.cfg.TLS.CAFile, "controller-ca", "",
		"PEM file with the authorities of the controller's certificate; without it: plain text")
	f.StringVar(&a.cfg.TLS.CertFile, "controller-cert", "",
		"PEM file with the host's certificate for the controller")
	f.StringVar(&a.cfg.TLS.KeyFile, "controller-key", "", "PEM file with its key")
	f.StringVar(&a.cfg.TLS.ServerName, "controller-name", "",
		"name in the controller's certificate (default the host of --controller)")
	f.StringVar(&a.backend, "backend", "", "what uses the paths: pathfile or seg6")
	f.StringSliceVarP(&a.interfaces, "interface", "i", nil, "network interfaces, one a port")
	f.StringSliceVar(&a.gateways, "gateway", nil,
		"seg6: address of the switch behind each interface")
	f.StringVar(&a.file, "path-file", "", "pathfile: the file")
	f.StringVar(&a.address, "address", "", "pathfile: IPv6 address of the host's queue pairs")
	f.StringVar(&a.socket, "socket", "",
		"Unix socket at which applications ask for the paths to an address (default: none)")
	a.log.register(c, "info")
	return c
}

// open returns the back end of the flags. The error names the flag.
func (a *hostAgent) open() (device.Backend, error) {
	if len(a.interfaces) == 0 || len(a.interfaces) > hostapi.MaxPort {
		return nil, &usageError{fmt.Errorf("agent: --interface has %d names, want 1 to %d",
			len(a.interfaces), hostapi.MaxPort)}
	}
	switch a.backend {
	case "pathfile":
		f := &device.PathFile{File: a.file, Have: len(a.interfaces)}
		if a.file == "" {
			return nil, &usageError{errors.New("agent: --path-file is missing: want the name of a file")}
		}
		if len(a.interfaces) > device.MaxFilePorts {
			return nil, &usageError{fmt.Errorf("agent: --interface has %d names, want at most %d with "+
				"--backend pathfile", len(a.interfaces), device.MaxFilePorts)}
		}
		if err := read("address", a.address, &f.Source); err != nil {
			return nil, &usageError{fmt.Errorf("agent: %w", err)}
		}
		return f, nil
	case "seg6":
		if len(a.gateways) != len(a.interfaces) {
			return nil, &usageError{fmt.Errorf("agent: --gateway has %d addresses, want %d, one for each "+
				"--interface", len(a.gateways), len(a.interfaces))}
		}
		var hops []device.Hop
		for i, text := range a.gateways {
			gateway, err := netip.ParseAddr(text)
			if err != nil || !gateway.Is6() {
				return nil, &usageError{fmt.Errorf("agent: --gateway: %.80q, want an IPv6 address", text)}
			}
			hops = append(hops, device.Hop{Interface: a.interfaces[i], Gateway: gateway})
		}
		return device.NewSeg6(hops)
	}
	return nil, &usageError{fmt.Errorf("agent: --backend: %.80q, want pathfile or seg6", a.backend)}
}

func (a *hostAgent) run(cmd *cobra.Command) (err error) {
	log, err := a.log.open(a.env.stderr)
	if err != nil {
		return err
	}
	a.cfg.Log, a.cfg.Software = log, "weft agent, "+a.backend
	a.cfg.TLS.Enabled = a.cfg.TLS.CAFile+a.cfg.TLS.CertFile != ""
	if err := a.cfg.Validate(); err != nil {
		return &usageError{err}
	}
	backend, err := a.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close()) }()
	d := device.Endpoint(backend)
	host, err := agent.New(a.cfg, d)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(cmd.Context())
	if a.socket != "" {
		l, err := net.Listen("unix", a.socket)
		if err != nil {
			return fmt.Errorf("agent: --socket: %w", err)
		}
		server := &http.Server{Handler: device.Handler(d), ReadHeaderTimeout: 10 * time.Second}
		g.Go(func() error {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("agent: --socket: %w", err)
			}
			return nil
		})
		g.Go(func() error {
			<-ctx.Done()
			return server.Close()
		})
	}
	g.Go(func() error { return host.Run(ctx) })
	g.Go(func() error { return a.watch(ctx, host) })
	log.Info("agent is up", "host", a.cfg.Name, "backend", a.backend,
		"interfaces", strings.Join(a.interfaces, ","))
	return g.Wait()
}

// watch reports which ports are up to the controller until ctx ends. A missing one is down.
func (a *hostAgent) watch(ctx context.Context, host *agent.Agent) error {
	tick := time.NewTicker(watchPorts)
	defer tick.Stop()
	for {
		var up hostapi.PortMask
		for i, name := range a.interfaces {
			if l, err := net.InterfaceByName(name); err == nil && l.Flags&net.FlagRunning != 0 {
				up |= hostapi.Ports(i + 1)
			}
		}
		host.PortStatus(up)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
