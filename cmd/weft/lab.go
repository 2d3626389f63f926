package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/lab"
)

func newLab(env environment) *cobra.Command {
	var log logging
	var listen, traces string
	var traffic bool
	c := &cobra.Command{
		Use: "lab NAME|FILE.yaml", Short: "Run a whole network in this process",
		Long: fmt.Sprintf(`Runs a network of embedded P4 switches and software hosts, and a controller for it, until
it is interrupted. Every switch has a P4Runtime server and advertises itself by BGP-LS, all
on loopback, so that the controller has it no easier than with devices.

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
		return runLab(cmd.Context(), env, network, listen, traces, traffic, logger)
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "address:port of the API")
	c.Flags().BoolVar(&traffic, "traffic", false, "make the demo's group and have S1 write to it again and again (hosts S1 and R1 to R5)")
	c.Flags().StringVar(&traces, "trace-addr", "", "address:port where weft trace --switch ADDRESS:PORT/NAME asks about the packets of a switch (default off)")
	log.register(c, "warn")
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
		sw, port := live.World.Network.Uplink(h.Name)
		g.row(h.Name, h.Address, sw, port)
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
		if asked, err = listenHTTP(traces, live.Traces()); err != nil {
			return errors.Join(err, live.Close())
		}
		say("     weft trace --switch %s/%s", asked.listener.Addr(), live.World.Network.Switches[0].Name)
	}
	if traffic {
		if err = live.Traffic(ctx, lab.DemoOptions{Out: env.stdout}, trafficPause); ctx.Err() != nil {
			err = nil
		}
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case <-live.Service.Done():
		}
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	return errors.Join(err, asked.close(grace), live.Close())
}

func newDemo(env environment) *cobra.Command {
	demo := family("demo", "Show what Weft does", "Runs a network in this process, has it do something, and tells what was counted.")
	var octets int
	var mode string
	var quiet bool
	c := &cobra.Command{
		Use: "multicast", Short: "One RDMA write to five receivers",
		Long: `Runs the reference topology of the RDMA multicast draft, makes a multicast group by one
REST request, and writes into the memory of five receivers by one RoCEv2 connection. The
last line is a JSON document of what was counted on the wires. The exit status is 0 only
if every receiver holds exactly what the source wrote.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if octets < 1 || octets > 1<<30 {
				return usagef("--bytes is %d: want 1 to %d", octets, 1<<30)
			}
			if m := intent.Mode(mode); m != intent.Provisioned && m != intent.Inband {
				return usagef("--mode is %q: want %s or %s", mode, intent.Provisioned, intent.Inband)
			}
			out := env.stdout
			if quiet {
				out = io.Discard
			}
			result, err := lab.RunDemo(cmd.Context(), lab.DemoOptions{Bytes: octets, Mode: intent.Mode(mode), Out: out})
			if result == nil {
				return err
			}
			line, encodeErr := json.Marshal(result)
			if encodeErr != nil {
				return errors.Join(err, encodeErr)
			}
			_, writeErr := fmt.Fprintf(env.stdout, "%s\n", line)
			return errors.Join(err, writeErr)
		},
	}
	c.Flags().IntVar(&octets, "bytes", 16<<20, "octets to write")
	c.Flags().StringVar(&mode, "mode", string(intent.Provisioned), "provisioned or inband (docs/protocol-notes.md, Two ways in)")
	c.Flags().BoolVar(&quiet, "quiet", false, "print the JSON line only")
	demo.AddCommand(c)
	return demo
}
