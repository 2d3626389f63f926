package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/dataplane/replay"
	"github.com/weft-sdn/weft/dataplane/setup"
)

// replayed is the flags of "weft replay".
type replayed struct {
	env       environment
	files     setup.Files
	inputs    []string
	outDir    string
	repeat    int
	cpu, drop uint32
	trace     bool
}

func newReplay(env environment) *cobra.Command {
	r := &replayed{env: env}
	c := &cobra.Command{
		Use:   "replay --program X.json --in PORT=FILE.pcap --out-dir DIR [flags]",
		Short: "Send capture files through an embedded P4 switch",
		Long: `Runs a program on an embedded switch, feeds it the packets of captures, and writes
the packets that leave each port to PORT_out.pcap (packet-ins: cpu_out.pcap) in a
folder. The timestamps of the captures are the clock: packets of several inputs enter
in the order of their timestamps, then of their ports, without waiting.

Standard output gets one line of JSON with the counts of all packets.

  weft replay --program fabric.json --p4info fabric.p4info.txtpb \
    --entries writes.txtpb --in 1=a.pcap --in 2=b.pcap --out-dir out`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	f := c.Flags()
	registerSetup(c, &r.files)
	f.StringArrayVar(&r.inputs, "in", nil,
		"PORT=FILE: capture of the packets that arrive on a port; may be repeated")
	f.StringVar(&r.outDir, "out-dir", "", "folder of the outputs; created if missing")
	f.IntVar(&r.repeat, "repeat", 1, "feed the inputs this many times")
	f.BoolVar(&r.trace, "trace", false,
		"show each step of each packet before the line of JSON (weft trace has more options)")
	f.Uint32Var(&r.cpu, "cpu-port", p4rt.DefaultCPUPort, "port of packet-ins and packet-outs")
	f.Uint32Var(&r.drop, "drop-port", p4rt.DefaultDropPort, "egress port that drops")
	return c
}

// registerProgram adds the flags that name a program.
func registerProgram(c *cobra.Command, files *setup.Files) {
	f := c.Flags()
	f.StringVar(&files.Program, "program", "", "BMv2 JSON of the program, as p4c-bm2-ss writes it")
	f.StringVar(&files.P4Info, "p4info", "", "P4Info of the program, in protobuf text form")
}

// registerSetup adds the flags that name a program and its entries.
func registerSetup(c *cobra.Command, files *setup.Files) {
	registerProgram(c, files)
	c.Flags().StringVar(&files.Entries, "entries", "",
		"P4Runtime WriteRequests in protobuf text form, separated by lines ---")
}

func (r *replayed) run(ctx context.Context) error {
	inputs, err := readInputs("replay", r.inputs, r.drop)
	if err != nil {
		return err
	}
	switch {
	case r.files.Program == "":
		return usagef("replay: --program is missing")
	case r.outDir == "":
		return usagef("replay: --out-dir is missing")
	case r.repeat < 1:
		return usagef("--repeat is %d: want 1 or more", r.repeat)
	}
	device, err := startDevice(r.files,
		p4rt.Config{Switch: dataplane.Config{CPUPort: r.cpu, DropPort: r.drop}})
	if err != nil {
		return err
	}
	run, err := replay.Open(replay.Config{Inputs: inputs, OutDir: r.outDir, CPUPort: r.cpu,
		Repeat: r.repeat})
	if err != nil {
		return unusable(err)
	}
	told := traces{out: r.env.stdout}
	if r.trace {
		device.Switch().SetTracer(told.tracer())
	}
	result, err := run.Run(ctx, device.Switch())
	if err := errors.Join(err, run.Close(), told.err); err != nil {
		return unusable(err)
	}
	line, err := json.Marshal(result)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.env.stdout, "%s\n", line)
	return err
}

// startDevice makes a device from files. An unusable file is wrong usage; a file that the switch
// refuses is a refusal.
func startDevice(files setup.Files, cfg p4rt.Config) (*p4rt.Device, error) {
	d, err := setup.Device(files, cfg)
	if err != nil && !errors.Is(err, setup.ErrRefused) {
		return nil, &usageError{err}
	}
	return d, err
}

// unusable marks the errors of unusable input as wrong usage.
func unusable(err error) error {
	for _, what := range []error{replay.ErrInput, replay.ErrOverwrite, replay.ErrConfig,
		fs.ErrNotExist, fs.ErrPermission} {
		if errors.Is(err, what) {
			return &usageError{err}
		}
	}
	return err
}

// readInputs reads the values of --in of a command.
func readInputs(command string, in []string, drop uint32) ([]replay.Input, error) {
	var inputs []replay.Input
	for _, text := range in {
		number, path, ok := strings.Cut(text, "=")
		port, err := strconv.ParseUint(number, 10, 32)
		if !ok || err != nil || path == "" {
			return nil, usagef("--in is %q: want PORT=FILE, such as 1=a.pcap", text)
		}
		if port >= 1<<9 || uint32(port) == drop {
			return nil, usagef("--in %s: port %d cannot be used: want 0 to 511, and not the drop port %d",
				text, port, drop)
		}
		inputs = append(inputs, replay.Input{Port: uint32(port), Path: path})
	}
	if len(inputs) == 0 {
		return nil, usagef("%s: --in is missing: want PORT=FILE, such as --in 1=a.pcap", command)
	}
	return inputs, nil
}
