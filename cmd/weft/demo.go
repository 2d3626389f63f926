package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/dataplane/kernel"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/blackhole"
	"github.com/weft-sdn/weft/lab/demo/figure"
	"github.com/weft-sdn/weft/lab/demo/job"
	"github.com/weft-sdn/weft/lab/demo/mrc"
	"github.com/weft-sdn/weft/lab/demo/multicast"
	"github.com/weft-sdn/weft/lab/demo/pfc"
)

func newDemo(env environment) *cobra.Command {
	demo := family("demo", "Show a feature of Weft",
		"Runs a network in this process, with traffic, and prints what was measured.")
	for _, c := range []*cobra.Command{newDemoMulticast(env), newDemoMRC(env), newDemoPFC(env),
		newDemoBlackHole(env), newDemoJob(env), newDemoFigure(env)} {
		run := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if ended := cmd.Context().Err(); err != nil && ended != nil {
				return ended // whatever went wrong because of it
			}
			return err
		}
		demo.AddCommand(c)
	}
	return demo
}

// printResult prints the JSON line of a demo, also of one with something wrong.
func printResult(env environment, result any, err error) error {
	line, encodeErr := json.Marshal(result)
	if encodeErr != nil {
		return errors.Join(err, encodeErr)
	}
	_, writeErr := fmt.Fprintf(env.stdout, "%s\n", line)
	return errors.Join(err, writeErr)
}

func newDemoMulticast(env environment) *cobra.Command {
	var octets int
	var mode, pcap string
	var quiet bool
	c := &cobra.Command{
		Use: "multicast", Short: "One RDMA write to five receivers",
		Long: `Runs the reference topology of the RDMA multicast draft, creates a multicast group by one
REST request, and writes into the memory of five receivers by one RoCEv2 connection. The
last line is a JSON document with the packets of each link. The exit status is 0 only if
every receiver has exactly the octets that the source wrote.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if octets < 1 || octets > 1<<30 {
				return usagef("--bytes is %d: want 1 to %d", octets, 1<<30)
			}
			if m := api.GroupMode(mode); m != api.ModeProvisioned && m != api.ModeInband {
				return usagef("--mode is %q: want %s or %s", mode, api.ModeProvisioned, api.ModeInband)
			}
			if err := checkCaptures(pcap); err != nil {
				return err
			}
			out := env.stdout
			if quiet {
				out = io.Discard
			}
			result, err := multicast.Run(cmd.Context(), multicast.Options{Bytes: octets,
				Mode: api.GroupMode(mode), Out: out, Pcap: pcap})
			if result == nil {
				return err
			}
			return printResult(env, result, err)
		},
	}
	c.Flags().IntVar(&octets, "bytes", 16<<20, "octets to write")
	registerCaptures(c, &pcap)
	c.Flags().StringVar(&mode, "mode", string(api.ModeProvisioned),
		"provisioned or inband (docs/multicast.md, Two ways in)")
	c.Flags().BoolVar(&quiet, "quiet", false, "print the JSON line only")
	return c
}

func newDemoMRC(env environment) *cobra.Command {
	var fabric fabricFlags
	var log logging
	var octets int
	var quiet bool
	var pcap, switches string
	c := &cobra.Command{
		Use: "mrc", Short: "Hosts that spray packets over planes, while links fail",
		Long: `Runs a Clos of several planes with hosts that speak MRC. The controller learns it by
BGP-LS, programs its switches over P4Runtime for the mode, and sends every host its EV
profiles over the host's stream. The hosts write all-to-all, once more with one entropy
value a queue pair, all to one (an incast), and all-to-all again while a link, a T1 and
a plane fail one after the other.

The last line is a JSON document of the results. The exit status is 0 only if all octets
are correct, no queue pair is in error, no trimmable packet of the incast was dropped, and
every host that a failure concerns has applied it within 10 s. Of its fields:

  corrupt             octets in the receivers' memory that differ from the written ones
  jain, ecmpJain      least Jain's index over the uplinks of a tier of a plane in the all-to-all,
                      with the profiles' EVs and with one entropy value a queue pair
  droppedUntrimmed    packets of the incast that were dropped instead of trimmed
  linkDownToDeniedMs  from the failure of the link until the last host has applied the denial, by
                      the wall clock; 0 in mode ecmp
  capacityKept        the goodput from 1 s (or 40 round trips) after a failure to the next, relative
                      to max-min fair sharing of the remaining network; the least of all failures`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			mode, closConfig, err := fabric.parse()
			if err != nil {
				return err
			}
			if octets < 0 || octets > maxDemoBytes {
				return usagef("--bytes is %d: want 1 to %d, or 0 for as much as it takes", octets, maxDemoBytes)
			}
			if err := checkCaptures(pcap); err != nil {
				return err
			}
			to, err := parseSwitches(switches)
			if err != nil {
				return err
			}
			if to != lab.SwitchesP4 {
				if !cmd.Flags().Changed("mode") {
					mode = ev.ModeUSIDStructured
				} else if mode == ev.ModeStructured {
					return usagef("--switches %s: mode stev needs P4 on every switch: want --mode "+
						"usid-structured or another", to)
				}
				if err := checkKernel(); err != nil {
					return err
				}
			}
			out := env.stdout
			if quiet {
				out = io.Discard
			}
			logger, err := log.open(env.stderr)
			if err != nil {
				return err
			}
			result, err := mrc.Run(cmd.Context(), mrc.Options{Fabric: closConfig, Mode: mode, Bytes: octets,
				Switches: to, Out: out, Log: logger, Pcap: pcap})
			if result == nil {
				return err
			}
			return printResult(env, result, err)
		},
	}
	fabric.register(c)
	log.register(c, "error")
	registerCaptures(c, &pcap)
	registerSwitches(c, &switches)
	c.Flags().IntVar(&octets, "bytes", 0,
		"octets that each host writes to each other host; 0: for a thousand packets on every uplink "+
			"of a T0")
	c.Flags().BoolVar(&quiet, "quiet", false, "print the JSON line only")
	return c
}

// registerCaptures adds the flag for captures of the links of a lab.
func registerCaptures(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "pcap", "",
		"existing directory for captures of every link, A-B.pcap, cut to the headers")
}

func checkCaptures(dir string) error {
	if dir != "" && !isDirectory(dir) {
		return usagef("--pcap is %q: want a directory that exists", dir)
	}
	return nil
}

// registerSwitches adds the flag for what the switches of a lab run.
func registerSwitches(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "switches", string(lab.SwitchesP4),
		"what switches run: p4, linux (kernels of network namespaces, which take root) or "+
			"mixed (plane 1 p4, all others linux)")
}

// parseSwitches reads --switches.
func parseSwitches(text string) (lab.Switches, error) {
	if !slices.Contains(lab.AllSwitches, text) {
		return "", usagef("--switches is %q: want one of %s", text, strings.Join(lab.AllSwitches, ", "))
	}
	return lab.Switches(text), nil
}

// checkKernel reports why the kernel of this machine cannot be switches.
func checkKernel() error {
	lacks, err := kernel.Lacks()
	if err == nil && len(lacks) > 0 {
		err = fmt.Errorf("the kernel lacks %s", strings.Join(lacks, " and "))
	}
	if err != nil {
		return fmt.Errorf("switches that run Linux: %w", err)
	}
	return nil
}

// maxDemoBytes bounds what each host writes to each other.
const maxDemoBytes = 64 << 20

// fabricFlags describe a Clos of MRC hosts.
type fabricFlags struct {
	mode   string
	config lab.ClosConfig
	rate   uint64 // Mb/s
	delay  time.Duration
}

func (f *fabricFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.mode, "mode", ev.ModeStructured.String(),
		"how packets carry their path: ecmp, stev, usid-f3216, usid-f1616, usid-srh or usid-structured")
	flags.IntVar(&f.config.Planes, "planes", 2, "planes; every host has a port in each")
	flags.IntVar(&f.config.Tiers, "tiers", 2, "tiers of switches, 2 or 3")
	flags.IntVar(&f.config.T0, "t0", 4, "T0 switches of a plane, to which hosts are attached")
	flags.IntVar(&f.config.T1, "t1", 4, "T1 switches of a plane")
	flags.IntVar(&f.config.Pods, "pods", 0,
		"pods that the T0s and T1s of a plane are spread over, with 3 tiers (default 2)")
	flags.IntVar(&f.config.T2, "t2", 0,
		"T2 switches of a plane, with 3 tiers (default as many as a T1 has T0s)")
	flags.IntVar(&f.config.Hosts, "hosts", 16, "hosts, spread over the T0s")
	flags.Uint64Var(&f.rate, "rate", 0,
		"Mb/s of every link; 0: 640 Mb/s shared by the ports of all hosts, at most 100")
	flags.BoolVar(&f.config.IPv4, "ipv4", false,
		"give hosts IPv4 addresses, which takes --mode ecmp (OCP MRC 1.0, 9.1)")
	flags.DurationVar(&f.delay, "delay", 0,
		"delay of every link, one way; 0: that of one and a half packets")
}

// parse returns the mode and the fabric that the flags describe.
func (f *fabricFlags) parse() (ev.Mode, lab.ClosConfig, error) {
	mode, err := ev.ParseMode(f.mode)
	if err != nil {
		return 0, lab.ClosConfig{}, usagef("--%w", err)
	}
	const mostRate = 400_000
	switch {
	case f.config.IPv4 && mode != ev.ModeECMP:
		return 0, lab.ClosConfig{}, usagef("--ipv4 is given with --mode %v: want --mode %v", mode,
			ev.ModeECMP)
	case f.rate > mostRate:
		return 0, lab.ClosConfig{}, usagef("--rate is %d: want 1 to %d Mb/s, or 0", f.rate, mostRate)
	case f.delay < 0 || f.delay > time.Second:
		return 0, lab.ClosConfig{}, usagef("--delay is %v: want up to 1s", f.delay)
	}
	for _, n := range []struct {
		flag  string
		value int
	}{{"planes", f.config.Planes}, {"tiers", f.config.Tiers}, {"t0", f.config.T0}, {"t1", f.config.T1},
		{"hosts", f.config.Hosts}} {
		if n.value < 1 {
			return 0, lab.ClosConfig{}, usagef("--%s is %d: want 1 or more", n.flag, n.value)
		}
	}
	c := f.config
	c.Rate, c.Delay = f.rate*1e6, f.delay
	var bad *lab.FieldError
	if err := c.Validate(); errors.As(err, &bad) {
		return 0, lab.ClosConfig{}, usagef("--%s %s", bad.Field, bad.Problem)
	} else if err != nil {
		return 0, lab.ClosConfig{}, &usageError{err}
	}
	return mode, c, nil
}

func newDemoBlackHole(env environment) *cobra.Command {
	var fabric fabricFlags
	var seed uint64
	var loss float64
	var quiet bool
	c := &cobra.Command{
		Use: "blackhole", Short: "A link that forwards nothing, with its ports up",
		Long: `Runs a Clos of MRC hosts in virtual time that write all-to-all. The hosts send probes to
themselves through their switches, so that three hosts test each link every millisecond.
One direction of a link then loses all packets, and no port goes down: the controller
names the link by the probes, and has all hosts take other paths.

The last line is a JSON document of the results. The exit status is 0 only if the link was
named within 10 ms as what it is, nothing else was accused, hosts use it no more, and the
goodput of the links that are left is reached.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			mode, closConfig, err := fabric.parse()
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("mode") {
				mode = ev.ModeF3216
			} else if !mode.SRv6() {
				return usagef("--mode is %v: want one with uSIDs, by which hosts probe themselves", mode)
			}
			if !(loss > 0 && loss <= 1) {
				return usagef("--loss is %v: want more than 0 and at most 1", loss)
			}
			out := env.stdout
			if quiet {
				out = io.Discard
			}
			result, err := blackhole.Run(cmd.Context(), blackhole.Options{Fabric: closConfig, Mode: mode,
				Seed: seed, Loss: loss, Out: out})
			if result == nil {
				return err
			}
			return printResult(env, result, err)
		},
	}
	fabric.register(c)
	c.Flags().Lookup("mode").DefValue = ev.ModeF3216.String()
	c.Flags().Uint64Var(&seed, "seed", 1, "draws the link, its direction and the time")
	c.Flags().Float64Var(&loss, "loss", 1, "share of packets that the link loses, of 1")
	c.Flags().BoolVar(&quiet, "quiet", false, "print the JSON line only")
	return c
}

func newDemoPFC(env environment) *cobra.Command {
	var quiet bool
	var pcap string
	c := &cobra.Command{
		Use: "pfc", Short: "Lossless RoCEv2 across a WAN without PFC",
		Long: `Runs the WAN of the PFC draft in virtual time: DC1 - R1 - R2 - R3 - DC2 and a detour. R1 and R3
are PFC-capable; two tenants use an SRv6 policy. DC2 pauses one of them, first without a PFC
policy, then with one, by which R3 stops R1 through a reverse tunnel. The last line is a JSON
document of the results. The exit status is 0 only if packets are lost without the policy,
none with it, and the other tenant is less than 1 % slower. Of its fields:

  lostWithout, lost   packets of the tenant, without and with the policy
  tunnelsBefore       tunnels before the tenant's first packet (2; in scenario 2 none)
  linkStops, linkResumes, sentWhileStopped
                      PFC frames between hosts and switches, and packets that left a stopped link
  xoffToPauseMs       from the first XOFF at R3 to the pause at R1 (the WAN's delay is 10 ms)
  headroomBytes       what R3 keeps free for packets after XOFF
  maxHeld             octets that waited at R1`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkCaptures(pcap); err != nil {
				return err
			}
			out := env.stdout
			if quiet {
				out = io.Discard
			}
			result, err := pfc.Run(cmd.Context(), pfc.Options{Out: out, Pcap: pcap})
			if result == nil {
				return err
			}
			return printResult(env, result, err)
		},
	}
	registerCaptures(c, &pcap)
	c.Flags().BoolVar(&quiet, "quiet", false, "print the JSON line only")
	return c
}

func newDemoJob(env environment) *cobra.Command {
	var quiet bool
	var log logging
	c := &cobra.Command{
		Use: "job", Short: "Two jobs on a fabric: GO, a maintenance, and a host that dies",
		Long: `Runs a Clos of two planes with 16 hosts that speak MRC, and tells the controller of two
jobs: a ring of data parallel ranks, and experts that all write to each other. Once the
fabric is ready for both (GO), a multicast group carries the weights to the ranks of the first, and
both write. A T1 is drained and used again, and a host of the first job dies.

The last line is a JSON document of the results. The exit status is 0 only if the fabric was
ready before the start, the dead host is the one cause of NO-GO of its job, the other job
loses less than 20 % of its goodput, and all octets are correct. Of its fields:

  otherJobDipPct  goodput of the other job in the second after the death against the second before
  readinessMs     median of 20 requests for the readiness of a job, by the wall clock`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := env.stdout
			if quiet {
				out = io.Discard
			}
			logger, err := log.open(env.stderr)
			if err != nil {
				return err
			}
			result, err := job.Run(cmd.Context(), job.Options{Out: out, Log: logger})
			if result == nil {
				return err
			}
			return printResult(env, result, err)
		},
	}
	log.register(c, "error")
	c.Flags().BoolVar(&quiet, "quiet", false, "print the JSON line only")
	return c
}

func newDemoFigure(env environment) *cobra.Command {
	var quiet bool
	var names []string
	list := ""
	for _, f := range figure.All {
		names = append(names, f.Name)
		list += fmt.Sprintf("\n  %-18s %s: %s", f.Name, f.Where, f.Shows)
	}
	c := &cobra.Command{
		Use: "figure NAME", Short: "A figure or scenario of the specifications",
		Long: `Shows a figure or scenario of the three specifications, in virtual time. The other demos
show those that are not here: docs/conformance.md has all of them. The last line is a JSON
document of what was seen. The exit status is 0 only if all holds that the figure promises.

Figures:` + list,
		Args: arguments(1, 1), ValidArgsFunction: inTurn(values(names...)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, ok := figure.Find(args[0])
			if !ok {
				return usagef("no figure %q: want one of %s", args[0], strings.Join(names, ", "))
			}
			out := env.stdout
			if quiet {
				out = io.Discard
			}
			result, err := f.Run(cmd.Context(), out)
			if result == nil {
				return err
			}
			return printResult(env, result, err)
		},
	}
	c.Flags().BoolVar(&quiet, "quiet", false, "print the JSON line only")
	return c
}
