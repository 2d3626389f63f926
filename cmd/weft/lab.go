package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/cmd/weft/run"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/dataplane/clientlimit"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/mrc"
	"github.com/weft-sdn/weft/lab/demo/multicast"
	"github.com/weft-sdn/weft/lab/demo/pfc"
)

// labRun is how "weft lab" runs a network.
type labRun struct {
	env     environment
	network lab.Network
	log     *slog.Logger

	listen, traces, faults string // addresses
	switches               string
	fixed                  bool // the user gave the address of faults
	mode, pcap             string
	traffic, insecure      bool
}

func newLab(env environment) *cobra.Command {
	var log logging
	r := &labRun{env: env}
	c := &cobra.Command{
		Use: "lab [NAME|FILE.yaml]", Short: "Run a whole network in this process",
		Long: fmt.Sprintf(
			`Runs a network of embedded P4 switches and software hosts, and a controller for it, until
it is interrupted. Every switch has a P4Runtime server and advertises itself by BGP-LS, all
on loopback: the controller works as with real devices.

The network is a built-in one (%s; default figure1) or a YAML file (docs/config.md,
Lab).

While it runs, "weft lab fault", "kill" and "revive" make links, switches, hosts and BGP sessions
fail, and "weft lab get" shows the links and what has failed.`,
			strings.Join(lab.BuiltinNames(), ", "),
		),
		Args: arguments(0, 1), ValidArgsFunction: networkNames,
	}
	c.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if r.log, err = log.open(env.stderr); err != nil {
			return err
		}
		name := "figure1"
		if len(args) == 1 {
			name = args[0]
		}
		if r.network, err = findNetwork(name); err != nil {
			return &usageError{err}
		}
		if cmd.Flags().Changed("mode") {
			if err := setMode(&r.network, r.mode); err != nil {
				return err
			}
		}
		if err := r.setSwitches(cmd.Flags().Changed("switches")); err != nil {
			return err
		}
		if n := &r.network; r.traffic && !n.HasMRC() && !pfc.Suits(n) && !multicast.Suits(n) {
			return usagef("--traffic: nothing is known that the hosts of %q could send: want hosts of "+
				"transport mrc, hosts DC1, DC2, B1 and B2, or hosts S1 and R1 to R5", name)
		}
		if err := checkCaptures(r.pcap); err != nil {
			return err
		}
		ctx := cmd.Context()
		if err := checkListens(ctx, "--listen", r.listen, "--trace-addr", r.traces, "--fault-addr",
			r.faults); err != nil {
			return err
		}
		if err := checkLoopback(ctx, "--listen", r.listen, r.insecure,
			"want a loopback address such as 127.0.0.1:8080, or --insecure"); err != nil {
			return &usageError{err}
		}
		for _, x := range [][2]string{{"--trace-addr", r.traces}, {"--fault-addr", r.faults}} {
			if err := checkLoopback(ctx, x[0], x[1], r.insecure ||
				x[1] == "", "want a loopback address, or --insecure"); err != nil {
				return &usageError{err}
			}
		}
		if r.fixed = cmd.Flags().Changed("fault-addr"); !r.fixed {
			r.faults = faultAddress(r.listen)
		}
		lab.TuneMemory()
		return r.run(ctx)
	}
	f := c.Flags()
	f.StringVar(&r.listen, "listen", "127.0.0.1:8080", "address:port of the API")
	f.BoolVar(&r.traffic, "traffic", false,
		"hosts write repeatedly: MRC hosts all-to-all; DC1 and B1 as tenants of weft demo pfc; S1 to "+
			"the group of weft demo multicast, with hosts S1 and R1 to R5")
	f.StringVar(&r.mode, "mode", "",
		"how packets of MRC hosts carry their path: ecmp, stev, usid-f3216, usid-f1616, usid-srh or "+
			"usid-structured (default that of the file, or else stev)")
	f.StringVar(&r.traces, "trace-addr", "",
		"address:port of traces, for weft trace --switch ADDRESS:PORT/NAME (default off)")
	f.StringVar(&r.faults, "fault-addr", "",
		"address:port of the API for faults; \"\" turns it off (default loopback, the port after that "+
			"of --listen)")
	registerCaptures(c, &r.pcap)
	registerSwitches(c, &r.switches)
	f.BoolVar(&r.insecure, "insecure", false,
		"serve the APIs and traces on any address, although they ask for no credentials")
	log.register(c, "warn")
	c.AddCommand(newLabExport(env), newLabFault(env), newLabKill(env), newLabRevive(env),
		newLabGet(env))
	return c
}

// faultAddress is the default of --fault-addr: loopback, with the port after that of the API.
func faultAddress(listen string) string {
	port := 0 // any, as that of the API
	if _, text, err := net.SplitHostPort(listen); err == nil {
		if n, err := strconv.Atoi(text); err == nil && n > 0 && n < math.MaxUint16 {
			port = n + 1
		}
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// setSwitches makes switches run the programs in --switches, if given.
func (r *labRun) setSwitches(given bool) error {
	n := &r.network
	if given {
		to, err := parseSwitches(r.switches)
		if err != nil {
			return err
		}
		if err := n.SetSwitches(to); err != nil {
			return &usageError{err}
		}
	}
	if !n.HasKernels() {
		return nil
	}
	if err := n.Complete(); err != nil { // --mode may be one that Linux does not have
		return &usageError{err}
	}
	return checkKernel()
}

// trafficPause lies between the writes of --traffic.
const trafficPause = time.Second

// findNetwork returns a built-in network, or that of a file.
func findNetwork(name string) (lab.Network, error) {
	if network, ok := lab.Builtin(name); ok {
		return network, nil
	}
	if !strings.ContainsAny(name, "./") {
		return lab.Network{}, fmt.Errorf(
			"lab: there is no built-in network %q: want one of %s, or a file", name,
			strings.Join(lab.BuiltinNames(), ", "))
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

// run runs the network until ctx ends.
func (r *labRun) run(ctx context.Context) error {
	say := func(format string, args ...any) { fmt.Fprintf(r.env.stdout, format+"\n", args...) }
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: r.network, Listen: r.listen, Log: r.log,
		Progress: say})
	if err != nil {
		return err
	}
	if r.pcap != "" {
		err = live.Capture(ctx, r.pcap)
	}
	if err == nil {
		err = live.Ready(ctx)
	}
	if err != nil {
		err = errors.Join(err, live.Close())
		if interrupted(ctx, err) {
			return nil // what a lab is ended by
		}
		return err
	}
	say("ready: the controller has learned the network and programmed every switch\n")
	g := newGrid("HOST", "ADDRESS", "SWITCH", "PORT")
	for _, h := range live.World.Network.Hosts {
		for sw, port := range live.World.Network.Uplinks(h.Name) {
			g.row(h.Name, h.Address, sw, port)
		}
	}
	if err := writeTable(r.env.stdout, sure(g.writeTo)); err != nil {
		return errors.Join(err, live.Close())
	}
	say("\nDashboard: %s/ (open it in a browser)", live.URL())
	say("API: %s (OpenAPI at /openapi.json)", live.URL())
	try := "weft get topology"
	if live.URL() != defaultServer {
		try += " --server " + live.URL()
	}
	say("try: %s", try)
	var listeners []*run.HTTP
	closeAll := func() (err error) {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), run.StopGrace)
		defer cancel()
		for _, l := range listeners {
			err = errors.Join(err, l.Close(grace))
		}
		return errors.Join(err, live.Close())
	}
	if r.faults != "" {
		served, err := r.serve(r.faults, live.FaultAPI(), !r.fixed)
		if err != nil {
			return errors.Join(err, closeAll())
		}
		listeners = append(listeners, served)
		say("     %s", faultHint(&live.World.Network, "http://"+served.Address.String()))
	}
	if r.traces != "" {
		served, err := r.serve(r.traces, live.Traces(), false)
		if err != nil {
			return errors.Join(err, closeAll())
		}
		listeners = append(listeners, served)
		say("     weft trace --switch %s/%s", served.Address, live.World.Network.Switches[0].Name)
	}
	if r.traffic {
		err = r.write(ctx, live)
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
	return errors.Join(err, closeAll())
}

// write has the hosts write until ctx ends.
func (r *labRun) write(ctx context.Context, live *lab.Live) error {
	switch {
	case r.network.HasMRC():
		return mrc.Traffic(ctx, live, r.env.stdout)
	case pfc.Suits(&r.network):
		return pfc.Traffic(ctx, live, r.env.stdout)
	default:
		return multicast.Traffic(ctx, live, multicast.Options{Out: r.env.stdout}, trafficPause)
	}
}

// serve serves something of the lab over HTTP, on any port of loopback if elsewhere is set and
// another program has the address.
func (r *labRun) serve(address string, handler http.Handler, elsewhere bool) (*run.HTTP, error) {
	l, err := run.ListenHTTP(address, handler, certs.Server{}, clientlimit.New(clientlimit.Config{}),
		slog.New(slog.DiscardHandler))
	if elsewhere && errors.Is(err, syscall.EADDRINUSE) {
		return run.ListenHTTP("127.0.0.1:0", handler, certs.Server{},
			clientlimit.New(clientlimit.Config{}),
			slog.New(slog.DiscardHandler))
	}
	return l, err
}
