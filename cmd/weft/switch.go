package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/credentials"

	"github.com/weft-sdn/weft/cmd/weft/run"
	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/dataplane/translated"
	"github.com/weft-sdn/weft/internal/certs"
)

// embedded is the flags of "weft switch".
type embedded struct {
	env environment
	log switchLog
	interfaceFlags
	device     uint64
	cpu, drop  uint32
	priorities int
	depths     []string
	rates      []string
	address    string
	http       string
	noP4       bool
	pcap       string // directory; empty: none
	dump       int
	ssl        bool
	tls        p4rt.TLSConfig
	mutual     bool
	limits     clientLimits
	self       self
	path       datapath
}

// datapath names the forwarder; configDB is a file that keeps the configuration of a kernel.
type datapath struct{ name, configDB string }

// Data paths of "weft switch".
const (
	datapathP4    = "p4"
	datapathLinux = "linux"
)

// interfaceFlags are the interfaces of the ports.
type interfaceFlags struct {
	interfaces []string
	most       int
	wait       time.Duration // for those that do not exist yet
}

const (
	maxPort       = p4rt.MaxPort
	maxPriorities = 32
)

func newSwitch(env environment) *cobra.Command {
	s := &embedded{env: env}
	c := &cobra.Command{
		Use: "switch [flags] [PROGRAM.json]", Short: "Run an embedded P4 switch with a P4Runtime server",
		Long: `Runs a P4 switch (v1model, BMv2 JSON) with a P4Runtime server until it is
interrupted. The flags are those of simple_switch_grpc where it has them. Arguments
after "--" are flags too, as its target-specific options are. Called by the name
simple_switch_grpc, weft is this command.

A controller sends the pipeline. Until then PROGRAM.json runs, with the default actions
of its tables; P4Runtime does not have its names.

Ports on interfaces are Linux packet sockets and need CAP_NET_RAW:

  weft switch -i 1@veth0 -i 2@veth2 --device-id 1 --cpu-port 510 \
    --grpc-server-addr 127.0.0.1:9559 --no-p4

With --datapath linux the kernel of this machine forwards between the interfaces, and the
command is its agent: the server has the gNMI paths of a SONiC switch, and a controller
programs it with "system: linux" (docs/targets.md). It needs root or CAP_NET_ADMIN; what
the kernel lacks "weft doctor kernel" says:

  weft switch --datapath linux -i 1@enp1s0 -i 2@enp2s0 --grpc-server-addr 192.0.2.13:8080

With --topology or --router-id the switch advertises itself by BGP-LS: its loopback
address, locator and SRv6 SIDs, and those of its links whose interfaces are up:
  weft switch -i 1@veth0 -i 2@veth2 --bgp-peer 192.0.2.100 --router-id 10.0.0.6 \
    --loopback 2001:db8:0:6::1 --locator 5f00:0:6::/48 --link 2=10.0.0.4/1,delay=10us \
    --prefix 2001:db8:1:1::1/128

` + foreignHelp(),
		Args: cobra.ArbitraryArgs, Version: buildVersion(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				behind := args[at:]
				args = slices.Clone(args[:at])
				if err := cmd.Flags().Parse(behind); err != nil {
					return usagef("%w", err)
				}
				args = append(args, cmd.Flags().Args()...)
			}
			return s.run(cmd, args)
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&s.interfaces, "interface", "i", nil,
		"PORT@INTERFACE: the switch's port on a network interface, given by its name or an IP address "+
			"of it; may be repeated")
	f.StringVar(&s.path.name, "datapath", datapathP4, "what forwards: p4, the embedded switch, or "+
		"linux, the kernel")
	flagValues(c, "datapath", values(datapathP4, datapathLinux))
	f.StringVar(&s.path.configDB, "config-db", "", "file that keeps the configuration of a kernel, "+
		"which gets it again after a restart")
	f.IntVar(&s.most, "max-port-count", maxPort, "maximum number of interfaces")
	f.Uint64Var(&s.device, "device-id", 1, "P4Runtime device id")
	f.Uint32Var(&s.cpu, "cpu-port", p4rt.DefaultCPUPort, "port of packet-ins and packet-outs")
	f.Uint32Var(&s.drop, "drop-port", p4rt.DefaultDropPort, "egress port that drops")
	f.IntVar(&s.priorities, "priority-queues", 8, "priority queues of a port")
	f.StringArrayVar(&s.depths, "queue-depth", nil,
		"[PORT[/PRIORITY]=]N: packets that may wait in a priority queue, 0 for no limit; may be "+
			"repeated (default no limit, with --queue-rate 64)")
	f.StringArrayVar(&s.rates, "queue-rate", nil,
		"[PORT[/PRIORITY]=]N: packets a second that may leave a priority queue, 0 for no limit; may be "+
			"repeated")
	f.StringVar(&s.address, "grpc-server-addr", "127.0.0.1:9559", "host:port of the P4Runtime server")
	f.StringVar(&s.http, "http-addr", "",
		"host:port of metrics for Prometheus and of traces for weft trace --switch, with TLS as "+
			"--grpc-server-ssl says (default off)")
	f.BoolVar(&s.noP4, "no-p4", false, "start without a program (the default when none is given)")
	f.StringVar(&s.pcap, "pcap", "",
		"write the frames of each interface to INTERFACE_in.pcap and INTERFACE_out.pcap in a directory")
	f.Lookup("pcap").NoOptDefVal = "."
	f.IntVar(&s.dump, "dump-packet-data", 0, "log this many octets of each frame in and out")
	f.BoolVar(&s.ssl, "grpc-server-ssl", false, "TLS on the P4Runtime server and --http-addr")
	f.StringVar(&s.tls.CertFile, "grpc-server-cert", "", "PEM file of the server's certificate")
	f.StringVar(&s.tls.KeyFile, "grpc-server-key", "", "PEM file of the server's private key")
	f.StringVar(&s.tls.ClientCAFile, "grpc-server-cacert", "",
		"PEM file of the authorities that sign clients' certificates")
	f.BoolVar(&s.mutual, "grpc-server-with-client-auth", false, "clients must have a certificate")
	f.DurationVar(&s.wait, "wait-interfaces", 0, "wait this long for interfaces that do not exist yet")
	s.self.register(f)
	s.limits.register(f)
	s.log.register(c)
	registerForeign(f)
	return c
}

// setting is the flags once they are checked.
type setting struct {
	log     *slog.Logger
	program *engine.Program // nil: none
	secured credentials.TransportCredentials
	names   map[uint32]string // of interfaces, by port
	queues  queues
	says    *run.Advertisement // by BGP-LS; nil: nothing
}

func (s *embedded) run(cmd *cobra.Command, args []string) (err error) {
	log, closeLog, err := s.log.open(s.env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	if err := checkForeign(cmd.Flags(), log); err != nil {
		return err
	}
	if err := s.checkDatapath(args, cmd.Flags().Changed); err != nil {
		return err
	}
	set, err := s.check(cmd.Context(), args, log)
	if err != nil {
		return err
	}
	thriftPort := cmd.Flags().Lookup("thrift-port").Value.String()
	if _, err := strconv.ParseUint(thriftPort, 10, 16); thriftPort != "" && err != nil {
		return usagef("--thrift-port is %q: want 0 to 65535", thriftPort)
	}
	thrift, err := run.ListenThrift(thriftPort)
	if err != nil {
		return err
	}
	defer thrift.Close()
	return s.serve(cmd.Context(), set)
}

// onlyP4 are flags that mean nothing to a kernel.
var onlyP4 = []string{"cpu-port", "drop-port", "device-id", "priority-queues", "queue-depth",
	"queue-rate", "http-addr", "no-p4", "pcap", "dump-packet-data"}

// checkDatapath refuses what no kernel does.
func (s *embedded) checkDatapath(args []string, changed func(flag string) bool) error {
	switch s.path.name {
	case datapathP4:
		if s.path.configDB != "" {
			return usagef("--config-db is for --datapath %s: a controller writes a P4 switch anew",
				datapathLinux)
		}
		return nil
	case datapathLinux:
	default:
		return usagef("--datapath is %q: want %s or %s", s.path.name, datapathP4, datapathLinux)
	}
	for _, flag := range onlyP4 {
		if changed(flag) {
			return usagef("--%s is for --datapath %s: a kernel has no such thing", flag, datapathP4)
		}
	}
	if len(args) > 0 {
		return usagef("switch: %s is a P4 program: want none with --datapath %s", args[0], datapathLinux)
	}
	if len(s.interfaces) == 0 {
		return usagef("switch: no --interface: want at least one with --datapath %s", datapathLinux)
	}
	return nil
}

// check finds what is wrong with the command line before anything is opened.
func (s *embedded) check(ctx context.Context, args []string, log *slog.Logger) (set setting,
	err error) {
	set.log = log
	args = s.pcapDirectory(args)
	if set.program, err = s.program(args, log); err != nil {
		return set, err
	}
	if set.secured, err = s.security(); err != nil {
		return set, err
	}
	if set.names, err = s.portNames(); err != nil {
		return set, err
	}
	if s.priorities < 1 || s.priorities > maxPriorities {
		return set, usagef("--priority-queues is %d: want 1 to %d", s.priorities, maxPriorities)
	}
	if set.queues, err = parseQueues(s.depths, s.rates, s.priorities); err != nil {
		return set, err
	}
	if err := s.limits.check(); err != nil {
		return set, err
	}
	if set.says, err = s.self.check(ctx); err != nil {
		return set, err
	}
	if s.wait < 0 {
		return set, usagef("--wait-interfaces is %v: want 0 or more", s.wait)
	}
	if s.dump < 0 {
		return set, usagef("--dump-packet-data is %d: want 0 or more", s.dump)
	}
	if s.pcap != "" && !isDirectory(s.pcap) {
		return set, usagef("--pcap is %q: want a directory that exists", s.pcap)
	}
	return set, nil
}

// pcapDirectory takes the directory of "--pcap DIR" out of the arguments: what
// may be left out stands behind "=" elsewhere, but BMv2 takes both.
func (s *embedded) pcapDirectory(args []string) []string {
	if i := slices.IndexFunc(args, isDirectory); s.pcap == "." && i >= 0 {
		s.pcap = args[i]
		return slices.Delete(slices.Clone(args), i, i+1)
	}
	return args
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// serve runs the switch until ctx ends.
func (s *embedded) serve(ctx context.Context, set setting) error {
	if err := checkListens(ctx, "--grpc-server-addr", s.address, "--http-addr", s.http); err != nil {
		return err
	}
	config := run.Switch{
		Log: set.log, Version: buildVersion(), Device: s.device, Address: s.address,
		HTTP: s.http, TLS: certs.Server(s.tls), Interfaces: set.names, Wait: s.wait,
		Switch: dataplane.Config{CPUPort: s.cpu, DropPort: s.drop, Priorities: s.priorities},
		Server: s.limits.config(set.secured, set.log), Stall: s.limits.stall,
		Program: set.program, Queues: set.queues.set, Captures: s.pcap, Dump: s.dump,
		Advertise: set.says, ConfigDB: s.path.configDB,
	}
	forward := config.Run
	if s.path.name == datapathLinux {
		forward = config.RunKernel
	}
	err := forward(ctx)
	var shared *run.SharedError
	if errors.As(err, &shared) {
		return usagef("--interface: %w", err)
	}
	var twice *run.TwiceError
	if errors.As(err, &twice) {
		return &usageError{err}
	}
	return err
}

// program loads the program of the command line, nil for none.
func (s *embedded) program(args []string, log *slog.Logger) (*engine.Program, error) {
	switch {
	case len(args) > 1:
		return nil, usagef("switch: %d programs: want one at most", len(args))
	case len(args) == 0:
		return nil, nil
	case s.noP4:
		log.Warn("the program is not used: --no-p4 is given", "program", args[0])
		return nil, nil
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return nil, &usageError{err}
	}
	program, err := engine.Load(text, translated.Fabric)
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
	var file *certs.FileError
	switch {
	case errors.As(err, &file) && file.Field == "ca":
		return nil, usagef("switch: --grpc-server-cacert: %w", file.Err)
	case errors.As(err, &file):
		return nil, usagef("switch: --grpc-server-cert: %w", file.Err)
	case err != nil:
		return nil, &usageError{err}
	}
	return c, nil
}

// portNames returns the interfaces by port.
func (s *embedded) portNames() (map[uint32]string, error) {
	if len(s.interfaces) > s.most {
		return nil, usagef("switch: %d interfaces: want at most --max-port-count %d", len(s.interfaces),
			s.most)
	}
	names := make(map[uint32]string, len(s.interfaces))
	taken := make(map[string]uint32, len(s.interfaces))
	for _, text := range s.interfaces {
		number, name, ok := strings.Cut(text, "@")
		port, err := strconv.ParseUint(number, 10, 32)
		if !ok || err != nil || name == "" {
			return nil, usagef("--interface is %q: want PORT@INTERFACE, such as 1@veth0", text)
		}
		p := uint32(port)
		if port > maxPort || p == s.cpu || p == s.drop {
			return nil, usagef("--interface %s: port %d cannot be used: want 0 to 511, and neither the "+
				"CPU port %d nor the drop port %d", text, p, s.cpu, s.drop)
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
