package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-sdn/weft/cmd/weft/run"
	"github.com/weft-sdn/weft/dataplane/live/afpacket"
	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/mrchost"
	"github.com/weft-sdn/weft/host/rocehost"
	"github.com/weft-sdn/weft/packet"
)

// station is the flags of "weft host".
type station struct {
	env     environment
	log     logging
	config  string
	cfg     rocehost.Config
	address string
	mac     string
	gateway string
	remote  string
	qp      rocehost.QueuePair
	write   string
	serve   int
	save    string
	rkey    uint32
	va      uint64
	wait    time.Duration // for interfaces that do not exist yet

	transport string
	mrcFlags  // and what hosts of MRC alone have
}

func newHost(env environment) *cobra.Command {
	h := &station{env: env, cfg: rocehost.Default()}
	c := &cobra.Command{
		Use: "host", Short: "Run a software RoCEv2 or MRC host on network interfaces",
		Long: `Runs a RoCEv2 host with reliable connections (RC) over IPv6 on a network interface,
or with --transport mrc an MRC host on one or more. It ends when its work is done, and
prints a report as a JSON document. A host writes a file into the memory of its peer, or
serves memory to it; with --config it can have several queue pairs, regions and writes
(docs/config.md).

The peer may be another host, or the proxy address of a multicast group:

  weft host -i veth0 --address 2001:db8:1:1::1 --qpn 256 --remote 2001:db8:ff::1 \
    --remote-qpn 4096 --rkey 7 --write model.bin
  weft host -i veth1 --address 2001:db8:1:2::1 --qpn 512 --remote 2001:db8:ff::1 \
    --remote-qpn 4096 --rkey 7 --serve 16777216 --expect 16777216 --save copy.bin

An MRC host has one interface a plane, and gets its entropy values from a controller:

  weft host --transport mrc --name h1 -i eth0,eth1 --address 2001:db8:1:1::1 \
    --controller 192.0.2.1:9400 --qpn 256 --remote 2001:db8:1:2::1 --remote-qpn 256 --rkey 7 \
    --write model.bin

A host finds its switch by neighbor discovery. Where none answers, --gateway names its address.
The interfaces need CAP_NET_RAW; the kernel must not have the address.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return h.run(cmd) },
	}
	f := c.Flags()
	f.StringVar(&h.config, "config", "", "YAML file, instead of the flags below, with more settings")
	f.StringVar(&h.transport, "transport", rocehost.Transport,
		"transport of the queue pairs: roce or mrc")
	f.StringVarP(&h.cfg.Interface, "interface", "i", "",
		"network interface of the host's port, given by its name or an IP address of it; mrc: of each "+
			"port, with commas")
	f.StringVar(&h.cfg.Name, "name", "",
		"name in the report and for the controller (default the interface's)")
	f.StringVar(&h.address, "address", "", "IPv6 address of the host")
	f.StringVar(&h.mac, "mac", "",
		"Ethernet address of the host; mrc: of each port (default the interface's)")
	f.StringVar(&h.gateway, "gateway", "",
		"Ethernet address of the switch; mrc: behind each port (default: that of the router that "+
			"advertises itself)")
	f.Uint64Var(&h.cfg.LineRate, "line-rate", h.cfg.LineRate,
		"bits per second that a port sends at most")
	f.Uint32Var(&h.qp.QPN, "qpn", 0, "queue pair number")
	f.StringVar(&h.remote, "remote", "", "IPv6 address of the peer")
	f.Uint32Var(&h.qp.RemoteQPN, "remote-qpn", 0, "queue pair number of the peer")
	f.Uint32Var(&h.qp.InitialPSN, "initial-psn", 0, "first PSN, both ways")
	f.IntVar(&h.qp.PMTU, "pmtu", 4096,
		"octets of payload in a full packet: 256, 512, 1024, 2048 or 4096")
	f.StringVar(&h.write, "write", "", "file to write into the peer's memory")
	f.IntVar(&h.serve, "serve", 0, "octets of memory that the peer may write to")
	f.StringVar(&h.save, "save", "", "file that the served memory is written to at the end")
	f.Uint32Var(&h.rkey, "rkey", 0, "R_Key of the memory, the peer's or the host's own")
	f.Uint64Var(&h.va, "va", 0, "virtual address of the memory")
	f.Uint64Var(&h.cfg.Expect, "expect", 0, "end after this many octets of payload; 0: never")
	f.DurationVar((*time.Duration)(&h.cfg.Linger), "linger", h.cfg.Linger.D(),
		"time without a frame after which a host that has all it expects ends")
	f.DurationVar(&h.wait, "wait-interfaces", 0, "wait this long for interfaces that do not exist yet")
	h.mrcFlags.register(f)
	h.log.register(c, "info")
	return c
}

func (h *station) run(cmd *cobra.Command) error {
	log, err := h.log.open(h.env.stderr)
	if err != nil {
		return err
	}
	text, err := h.file(cmd)
	if err != nil {
		return &usageError{err}
	}
	transport := h.transport
	if text != nil {
		transport = hostrun.TransportOf(text)
	}
	if transport == mrchost.Transport {
		return h.runMRC(cmd, text, log)
	}
	cfg, err := h.configuration(cmd, text)
	if err != nil {
		return &usageError{err}
	}
	if _, err := run.Interfaces(cmd.Context(), h.wait, cfg.Interface); err != nil {
		return err
	}
	port, err := afpacket.Open(cfg.Interface, log.With("interface", cfg.Interface))
	if err != nil {
		return err
	}
	if err := cfg.CheckMTU(port.MTU()); err != nil {
		return &usageError{errors.Join(fmt.Errorf("host: %w", err), port.Close())}
	}
	var link packet.MAC
	copy(link[:], port.HardwareAddr())
	return h.carryOut(cmd.Context(), cfg, port, link, log)
}

// carryOut runs a RoCEv2 host and prints the report, also after a failure.
func (h *station) carryOut(ctx context.Context, cfg *rocehost.Config, port hostrun.Port,
	link packet.MAC, log *slog.Logger) error {
	log.Info("host is up", "host", cfg.Name, "interface", cfg.Interface, "address", cfg.Address)
	report, err := rocehost.Run(ctx, cfg, port, link, progressTo(log))
	return h.print(report, report == nil, err)
}

// progressTo logs how far a host is, when that has changed.
func progressTo(log *slog.Logger) hostrun.Progress {
	var last hostrun.Counts
	return func(n hostrun.Counts) {
		if n.Written == last.Written && n.ToWrite == last.ToWrite && n.Received == last.Received {
			return
		}
		last = n
		log.Info("progress", "written", n.Written, "toWrite", n.ToWrite, "received", n.Received,
			"expected", n.Expected)
	}
}

// print prints the report, if any, and returns the error.
func (h *station) print(report any, none bool, err error) error {
	if errors.Is(err, hostrun.ErrConfig) {
		return &usageError{err}
	}
	if none {
		return err
	}
	text, encodeErr := json.MarshalIndent(report, "", "  ")
	if encodeErr != nil {
		return errors.Join(err, encodeErr)
	}
	_, writeErr := fmt.Fprintf(h.env.stdout, "%s\n", text)
	return errors.Join(err, writeErr)
}

// file is the text of --config; nil without it.
func (h *station) file(cmd *cobra.Command) ([]byte, error) { return configFile(cmd, h.config) }

// configFile returns the text of the file in --config; nil without the flag. No other flags may
// stand beside --config, except the log flags and --wait-interfaces.
func configFile(cmd *cobra.Command, path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	other := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "config" && f.Name != "wait-interfaces" && !strings.HasPrefix(f.Name, "log-") {
			other = f.Name
		}
	})
	if other != "" {
		return nil, fmt.Errorf("%s: --config and --%s: want one of them", cmd.Name(), other)
	}
	return os.ReadFile(path)
}

// configuration returns the configuration from the file or from the flags.
func (h *station) configuration(cmd *cobra.Command, text []byte) (*rocehost.Config, error) {
	if text != nil {
		return rocehost.Load(h.config, text)
	}
	if name := h.mrcFlags.changed(); name != "" {
		return nil, fmt.Errorf("host: --%s: want --transport mrc with it", name)
	}
	cfg := h.cfg
	cfg.Transport = h.transport
	if err := errors.Join(
		read("address", h.address, &cfg.Address), read("mac", h.mac, &cfg.MAC),
		read("gateway", h.gateway, &cfg.Gateway),
		read("remote", h.remote, &h.qp.RemoteAddress),
	); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	if h.write == "" && h.serve == 0 {
		return nil, errNothingToDo
	}
	cfg.QueuePairs = []rocehost.QueuePair{h.qp}
	if h.write != "" {
		cfg.Writes = []hostrun.Write{{File: h.write, RKey: h.rkey, VA: h.va}}
	}
	if h.serve != 0 {
		cfg.Regions = []hostrun.Region{{RKey: h.rkey, VA: h.va, Size: h.serve, Save: h.save}}
	} else if h.save != "" {
		return nil, errSaveAlone
	}
	if err := cfg.Complete(); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	return &cfg, nil
}

var (
	errNothingToDo = errors.New("host: nothing to do: want --write, --serve or --config")
	errSaveAlone   = errors.New("host: --save without --serve")
)

// read reads the value of a flag that is no number; nothing when the flag is not there.
func read(name, text string, into interface{ UnmarshalText([]byte) error }) error {
	if text == "" {
		return nil
	}
	if err := into.UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("--%s: %w", name, err)
	}
	return nil
}
