package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/dataplane/guard"
	"github.com/weft-sdn/weft/demo/mrc"
	"github.com/weft-sdn/weft/demo/multicast"
	"github.com/weft-sdn/weft/demo/pfc"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/service"
)

func newLab(env environment) *cobra.Command {
	var log logging
	var listen, traces, mode string
	var traffic, insecure bool
	c := &cobra.Command{
		Use: "lab NAME|FILE.yaml", Short: "Run a whole network in this process",
		Long: fmt.Sprintf(`Runs a network of embedded P4 switches and software hosts, and a controller for it, until
it is interrupted. Every switch has a P4Runtime server and advertises itself by BGP-LS, all
on loopback: the controller works as with real devices.

The network is a built-in one (%s) or a YAML file (docs/config.md, Lab).`, strings.Join(lab.BuiltinNames(), ", ")),
		Args: arguments(1, 1),
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		logger, err := log.open(env.stderr)
		if err != nil {
			return err
		}
		network, err := findNetwork(args[0])
		if err != nil {
			return &usageError{err}
		}
		if cmd.Flags().Changed("mode") {
			if err := setMode(&network, mode); err != nil {
				return err
			}
		}
		if err := checkListens(cmd.Context(), "--listen", listen, "--trace-addr", traces); err != nil {
			return err
		}
		if err := checkLoopback(cmd.Context(), "--listen", listen, insecure, "want a loopback address such as 127.0.0.1:8080, or --insecure"); err != nil {
			return &usageError{err}
		}
		if err := checkLoopback(cmd.Context(), "--trace-addr", traces, insecure || traces == "", "want a loopback address, or --insecure"); err != nil {
			return &usageError{err}
		}
		service.TuneMemory()
		return runLab(cmd.Context(), env, network, listen, traces, traffic, logger)
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "address:port of the API")
	c.Flags().BoolVar(&traffic, "traffic", false, "hosts write repeatedly: MRC hosts all-to-all; DC1 and B1 as tenants of weft demo pfc; S1 to the group of weft demo multicast, with hosts S1 and R1 to R5")
	c.Flags().StringVar(&mode, "mode", "", "how packets of MRC hosts carry their path: ecmp, stev, usid-f3216, usid-f1616 or usid-srh (default that of the file, or else stev)")
	c.Flags().StringVar(&traces, "trace-addr", "", "address:port of traces, for weft trace --switch ADDRESS:PORT/NAME (default off)")
	c.Flags().BoolVar(&insecure, "insecure", false, "serve the API and traces on any address, although they ask for no credentials")
	log.register(c, "warn")
	c.AddCommand(newLabExport(env))
	return c
}

// trafficPause lies between the writes of --traffic.
const trafficPause = time.Second

// findNetwork returns a built-in network, or that of a file.
func findNetwork(name string) (lab.Network, error) {
	if network, ok := lab.Builtin(name); ok {
		return network, nil
	}
	if !strings.ContainsAny(name, "./") {
		return lab.Network{}, fmt.Errorf("lab: there is no built-in network %q: want one of %s, or a file", name, strings.Join(lab.BuiltinNames(), ", "))
	}
	return lab.Load(name)
}

// setMode has the hosts of MRC of a network say their paths in a mode.
func setMode(network *lab.Network, mode string) error {
	m, err := ev.ParseMode(mode)
	if err != nil {
		return usagef("--%w", err)
	}
	switch {
	case !network.HasMRC():
	case network.MRC == nil:
		network.MRC = lab.MRCSettings(network, m)
	default:
		network.MRC.Mode = mode
	}
	return nil
}

func runLab(ctx context.Context, env environment, network lab.Network, listen, traces string, traffic bool, log *slog.Logger) error {
	say := func(format string, args ...any) { fmt.Fprintf(env.stdout, format+"\n", args...) }
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: network, Listen: listen, Log: log, Progress: say})
	if err != nil {
		return err
	}
	if err := live.Ready(ctx); err != nil {
		err = errors.Join(err, live.Close())
		if interrupted(ctx, err) {
			return nil // what a lab is ended by
		}
		return err
	}
	say("the controller has learned the network and programmed every switch\n")
	g := newGrid("HOST", "ADDRESS", "SWITCH", "PORT")
	for _, h := range live.World.Network.Hosts {
		for sw, port := range live.World.Network.Uplinks(h.Name) {
			g.row(h.Name, h.Address, sw, port)
		}
	}
	if err := g.writeTo(env.stdout); err != nil {
		return errors.Join(err, live.Close())
	}
	say("\nAPI: %s (OpenAPI at /openapi.json)", live.URL())
	try := "weft get topology"
	if live.URL() != defaultServer {
		try += " --server " + live.URL()
	}
	say("try: %s", try)
	var asked *httpListener
	if traces != "" {
		if asked, err = listenHTTP(traces, live.Traces(), certs.Server{}, guard.New(guard.Config{}), slog.New(slog.DiscardHandler)); err != nil {
			return errors.Join(err, live.Close())
		}
		say("     weft trace --switch %s/%s", asked.listener.Addr(), live.World.Network.Switches[0].Name)
	}
	if traffic {
		switch {
		case network.HasMRC():
			err = mrc.Traffic(ctx, live, env.stdout)
		case pfc.Suits(&network):
			err = pfc.Traffic(ctx, live, env.stdout)
		default:
			err = multicast.Traffic(ctx, live, multicast.Options{Out: env.stdout}, trafficPause)
		}
		if ctx.Err() != nil {
			err = nil
		}
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case <-live.Service.Done():
			if ctx.Err() == nil { // it ends with ctx, too
				err = errors.New("lab: the controller ended") // with its reason, if it gives one
			}
		}
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	return errors.Join(err, asked.close(grace), live.Close())
}
