package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/clib"
	"github.com/weft-sdn/weft/host/device"
	"github.com/weft-sdn/weft/host/mrchost"
)

// watchPorts is how often "weft agent" looks whether its ports are up.
const watchPorts = 200 * time.Millisecond

// watchErrors is the interval between two readings of the error counters of ports.
const watchErrors = time.Second

// hostAgent is the flags of "weft agent".
type hostAgent struct {
	env        environment
	log        logging
	name       string
	controller mrchost.Controller
	backend    string

	file, address        string // of pathfile
	interfaces, gateways []string
	socket               string

	program, device, ids string // of mrc_ctl
	libraries            []string
	selfProbes           bool
	probePort            uint16
	macs                 string
}

func newAgent(env environment) *cobra.Command {
	a := &hostAgent{env: env}
	c := &cobra.Command{
		Use: "agent", Short: "Have the NIC or the kernel of a host follow a controller",
		Long: `Keeps a stream to the controller, and has a back end use the paths that the controller
wants (docs/agent.md):

  mrc_ctl    configures a NIC by the library of its vendor; it needs CAP_NET_ADMIN
  pathfile   writes the JSON file from which NICs load their paths
  seg6       makes routes of Linux that encapsulate in SRv6; it needs CAP_NET_ADMIN
  simulator  is a NIC in software without programs, for tests; it needs CAP_NET_RAW

  weft agent --name h1 --controller 192.0.2.1:9400 -i eth0,eth1 --backend mrc_ctl \
    --library libibverbs.so.1,libmrc.so
  weft agent --name h1 --controller 192.0.2.1:9400 -i eth0,eth1 --backend pathfile \
    --path-file /run/weft/paths.json --address 2001:db8:1:1::1
  weft agent --name h1 --controller 192.0.2.1:9400 -i eth0,eth1 --backend seg6 \
    --gateway fe80::1,fe80::1

The interfaces are the ports of the host in the order of the planes of the inventory. With
--self-probes the host probes its links through its switches, for which it needs CAP_NET_RAW.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd) },
	}
	f := c.Flags()
	f.StringVar(&a.name, "name", "", "name of the host in the controller's inventory")
	streamFlags(f, &a.controller, "")
	f.StringVar(&a.backend, "backend", "",
		"what uses the paths: mrc_ctl, pathfile, seg6 or simulator")
	f.StringSliceVarP(&a.interfaces, "interface", "i", nil, "network interfaces, one a port")
	f.StringSliceVar(&a.gateways, "gateway", nil,
		"seg6: address of the switch behind each interface")
	f.StringVar(&a.file, "path-file", "", "pathfile: the file")
	f.StringVar(&a.address, "address", "",
		"pathfile, simulator, --self-probes: IPv6 address of the host's queue pairs (default the first "+
			"global one of the interfaces)")
	f.StringSliceVar(&a.libraries, "library", []string{"libibverbs.so.1", "libmrc.so"},
		"mrc_ctl: files of the vendor's library, those that others need first")
	f.StringVar(&a.program, "library-program", "weft-dl",
		"mrc_ctl: program that opens the library, in a process of its own")
	f.StringVar(&a.device, "device", "", "mrc_ctl: RDMA device (default the first that has MRC)")
	f.StringVar(&a.ids, "ids", "/run/weft-agent/ids.json",
		"mrc_ctl: file that keeps the numbers of profiles in the NIC over an end of the agent")
	f.BoolVar(&a.selfProbes, "self-probes", false,
		"probe the links of the host as the controller plans; needs CAP_NET_RAW")
	f.Uint16Var(&a.probePort, "self-probe-port", 4793, "UDP port of these probes, not that of MRC")
	f.StringVar(&a.macs, "gateway-mac", "",
		"--self-probes, simulator: Ethernet address of the switch behind each port, with commas "+
			"(default: that of the router that advertises itself)")
	f.StringVar(&a.socket, "socket", "",
		"Unix socket at which applications ask for the paths to an address (default: none)")
	a.log.register(c, "info")
	return c
}

// open returns the endpoint for the flags, the ids of the endpoint's profiles if any, and a
// function to run beside the endpoint. The error names the flag.
func (a *hostAgent) open(log *slog.Logger) (*backend, error) {
	wrong := func(format string, args ...any) (*backend, error) {
		return nil, &usageError{fmt.Errorf("agent: "+format, args...)}
	}
	if len(a.interfaces) == 0 || len(a.interfaces) > hostapi.MaxPort {
		return wrong("--interface has %d names, want 1 to %d", len(a.interfaces), hostapi.MaxPort)
	}
	if a.address == "" && (a.selfProbes || a.backend == "simulator" || a.backend == "pathfile") {
		if a.address = globalAddress(a.interfaces); a.address == "" {
			return wrong("--address is missing, and %s has none: want the IPv6 address of the host's queue "+
				"pairs", strings.Join(a.interfaces, ", "))
		}
	}
	var address netip.Addr
	if err := read("address", a.address, &address); err != nil {
		return wrong("%w", err)
	}
	switch a.backend {
	case "pathfile":
		if a.file == "" {
			return wrong("--path-file is missing: want the name of a file")
		}
		if len(a.interfaces) > device.MaxFilePorts {
			return wrong("--interface has %d names, want at most %d with --backend pathfile",
				len(a.interfaces), device.MaxFilePorts)
		}
		f := &device.PathFile{File: a.file, Have: len(a.interfaces), Source: address}
		return &backend{endpoint: device.Endpoint(f)}, nil
	case "seg6":
		if len(a.gateways) != len(a.interfaces) {
			return wrong("--gateway has %d addresses, want %d, one for each --interface", len(a.gateways),
				len(a.interfaces))
		}
		var hops []device.Hop
		for i, text := range a.gateways {
			gateway, err := netip.ParseAddr(text)
			if err != nil || !gateway.Is6() {
				return wrong("--gateway: %.80q, want an IPv6 address", text)
			}
			hops = append(hops, device.Hop{Interface: a.interfaces[i], Gateway: gateway})
		}
		s, err := device.NewSeg6(hops)
		if err != nil {
			return nil, err
		}
		return &backend{endpoint: device.Endpoint(s), close: s.Close}, nil
	case "mrc_ctl":
		lib, err := clib.Start(a.program, a.libraries...)
		if err != nil {
			return nil, err
		}
		d, err := device.NewControl(lib, a.device, a.ids, log)
		if err == nil && d.Capabilities().Ports.Len() != len(a.interfaces) {
			err = &usageError{fmt.Errorf("agent: --interface has %d names, want %d, one for each port of "+
				"the RDMA device", len(a.interfaces), d.Capabilities().Ports.Len())}
		}
		if err != nil {
			return nil, errors.Join(err, lib.Close())
		}
		return &backend{endpoint: d, ids: d.IDs, report: d.Report, watch: func() error {
			return errors.Join(d.Watch(), lib.Wait())
		}, close: lib.Close}, nil
	case "simulator":
		return &backend{}, nil
	}
	return wrong("--backend: %.80q, want mrc_ctl, pathfile, seg6 or simulator", a.backend)
}

// globalAddress returns the first global IPv6 address of some interfaces; "": there is none.
func globalAddress(interfaces []string) string {
	for _, name := range interfaces {
		i, err := net.InterfaceByName(name)
		if err != nil {
			continue
		}
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is6() &&
				p.Addr().IsGlobalUnicast() {
				return p.Addr().String()
			}
		}
	}
	return ""
}

// backend is the device that follows the controller.
type backend struct {
	endpoint agent.Endpoint                               // nil: a NIC in software
	ids      func(profile, cc string) (evID, ccID uint64) // nil: none
	report   func(device.Reporter)                        // nil: it sees nothing
	watch    func() error                                 // until it fails
	close    func() error
}

func (a *hostAgent) run(cmd *cobra.Command) (err error) {
	log, err := a.log.open(a.env.stderr)
	if err != nil {
		return err
	}
	stream := a.controller.Agent(a.name)
	stream.Log, stream.Software = log, "weft agent, "+a.backend
	if err := stream.Validate(); err != nil {
		return &usageError{err}
	}
	b, err := a.open(log)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(cmd.Context())
	if b.close != nil {
		g.Go(func() error {
			<-ctx.Done()
			return b.close()
		})
	}
	if b.watch != nil {
		g.Go(func() error {
			if err := b.watch(); ctx.Err() == nil {
				return err
			}
			return nil
		})
	}
	facts := func() []device.PortFacts { return device.Ports("/sys", a.interfaces) }
	connected := func(host *agent.Agent) {
		g.Go(func() error {
			every(ctx, watchErrors, func() { host.PortErrors(device.PortErrors(facts())) })
			return nil
		})
		if b.report != nil {
			b.report(host)
		}
		if a.socket != "" {
			a.serve(ctx, g, device.Handler(func() *hostapi.State {
				_, s := host.Held()
				return s
			}, b.ids, facts))
		}
	}
	log.Info("agent is up", "host", a.name, "backend", a.backend,
		"interfaces", strings.Join(a.interfaces, ","))
	if b.endpoint == nil || a.selfProbes {
		g.Go(func() error { return a.probing(ctx, b.endpoint, connected, log) })
		return g.Wait()
	}
	g.Go(func() error {
		host, err := agent.New(stream, b.endpoint)
		if err != nil {
			return err
		}
		connected(host)
		g.Go(func() error {
			every(ctx, watchPorts, func() { host.PortStatus(a.running()) })
			return nil
		})
		return host.Run(ctx)
	})
	return g.Wait()
}

// serve answers applications until ctx ends.
func (a *hostAgent) serve(ctx context.Context, g *errgroup.Group, h http.Handler) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	g.Go(func() error {
		l, err := net.Listen("unix", a.socket)
		if err == nil {
			err = server.Serve(l)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("agent: --socket: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
}

// probing runs a NIC in software, beside a device or alone.
func (a *hostAgent) probing(ctx context.Context, d agent.Endpoint, connected func(*agent.Agent),
	log *slog.Logger) error {
	cfg := mrchost.Default()
	cfg.Name, cfg.Controller, cfg.Probes = a.name, &a.controller, true
	if d != nil {
		cfg.Wire.UDPPort, cfg.PortUpdates = &a.probePort, false
	}
	wires := wiring{interfaces: strings.Join(a.interfaces, ","), gateways: a.macs}
	err := read("address", a.address, &cfg.Address)
	if err == nil {
		cfg.Ports, err = wires.ports()
	}
	if err == nil {
		err = cfg.Complete()
	}
	if err != nil {
		return &usageError{fmt.Errorf("agent: %w", err)}
	}
	links, err := openLinks(&cfg, log)
	if err != nil {
		return err
	}
	_, err = mrchost.Run(ctx, &cfg, links, mrchost.Options{Log: log, Device: d, Connected: connected})
	if ctx.Err() != nil && !errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// running returns the ports that are up. A missing one is down.
func (a *hostAgent) running() (up hostapi.PortMask) {
	for i, name := range a.interfaces {
		if l, err := net.InterfaceByName(name); err == nil && l.Flags&net.FlagRunning != 0 {
			up |= hostapi.Ports(i + 1)
		}
	}
	return up
}

// every calls do now and once in each pause, until ctx ends.
func every(ctx context.Context, pause time.Duration, do func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for do(); ; do() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
