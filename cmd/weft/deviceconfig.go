package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/target"
	"github.com/weft-sdn/weft/southbound/target/cumulus"
	"github.com/weft-sdn/weft/southbound/target/eos"
	"github.com/weft-sdn/weft/southbound/target/frr"
	"github.com/weft-sdn/weft/southbound/target/sonic"
)

// mostDeviceConfig bounds a file that a configuration is compared with, in octets.
const mostDeviceConfig = 64 << 20

// deviceFormats make configurations of switches.
var deviceFormats = map[target.System]func(*target.Device, *api.SwitchModel) ([]byte, error){
	target.SONiC: sonic.Render, target.EOS: eos.Render, target.Cumulus: cumulus.Render,
	target.FRR: frr.Render, target.Linux: sonic.Render,
}

func systemNames() (names []string) {
	for _, s := range target.Systems() {
		names = append(names, string(s))
	}
	return names
}

func hardwareNames() (names []string) {
	for _, h := range target.AllHardware() {
		names = append(names, string(h))
	}
	return names
}

// deviceConfig carries out "weft get device-config".
type deviceConfig struct {
	v                                         *viewer
	format, release, hardware, names, against string
}

// addDeviceConfig adds "weft get device-config".
func addDeviceConfig(v *viewer, switches []completion, add addFunc) {
	x := &deviceConfig{v: v}
	c := add("device-config SWITCH", "The configuration of a switch that runs no P4 program", 1,
		switches, func(ctx context.Context, args []string) error { return x.run(ctx, args[0]) })
	c.Long = `Prints what a switch of another system has to hold to be what the controller plans: in
the form that the system reads, without its management and platform. What the system cannot do,
or its hardware does wrong, is named on standard error, and the exit status is then 1. --diff
compares it with a file, and prints what differs.`
	f := c.Flags()
	f.StringVar(&x.format, "format", "", "the system: "+strings.Join(systemNames(), ", "))
	flagValues(c, "format", values(systemNames()...))
	f.StringVar(&x.release, "release", "",
		"what the switch runs, such as 202511 or 10.4 (default: the newest release)")
	f.StringVar(&x.hardware, "hardware", "",
		"what the switch is, to have its known faults named: "+strings.Join(hardwareNames(), ", "))
	flagValues(c, "hardware", values(hardwareNames()...))
	f.StringVar(&x.names, "interfaces", "",
		"how interfaces are named: {n} is the port, {8} eight times the port less one "+
			"(default: as the system does, such as Ethernet{8})")
	f.StringVar(&x.against, "diff", "", "file to compare with, - for standard input")
}

func (x *deviceConfig) run(ctx context.Context, name string) error {
	d := target.Device{Name: name, System: target.System(x.format), Version: x.release,
		Chip: target.Hardware(x.hardware), Ports: target.Names(x.names)}
	switch {
	case x.format == "":
		return usagef("--format is missing: want one of %s", strings.Join(systemNames(), ", "))
	case !x.v.output.forPeople():
		return usagef("--format and --output: want one of them, since the form of %s is the switch's",
			x.format)
	}
	if err := d.Validate(); err != nil {
		return usagef("device: %w", err)
	}
	c, err := x.v.conn.open(x.v.env)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, err := c.Get(ctx, switchPath(name, "model"), nil)
	if err != nil {
		return err
	}
	var m api.SwitchModel
	if err := answer.Decode(&m); err != nil {
		return err
	}
	config, err := deviceFormats[d.System](&d, &m)
	if err != nil {
		return err
	}
	findings := d.Lint(&m)
	for _, f := range findings {
		fmt.Fprintf(x.v.env.stderr, "weft: %s: %s\n", f.Severity, inLine(f.Text))
	}
	if err := x.print(config); err != nil {
		return err
	}
	if !target.Whole(findings) {
		return fmt.Errorf("%s: the configuration does not make the switch what the fabric needs", name)
	}
	return nil
}

// print prints a configuration, or how it differs from a file.
func (x *deviceConfig) print(config []byte) error {
	if x.against == "" {
		_, err := x.v.env.stdout.Write(config)
		return err
	}
	in := x.v.env.stdin
	if x.against != "-" {
		f, err := os.Open(x.against)
		if err != nil {
			return &usageError{err}
		}
		defer f.Close()
		in = f
	}
	has, err := io.ReadAll(io.LimitReader(in, mostDeviceConfig+1))
	switch {
	case err != nil:
		return fmt.Errorf("--diff %s: %w", x.against, err)
	case len(has) > mostDeviceConfig:
		return usagef("--diff %s: more than %d octets", x.against, mostDeviceConfig)
	}
	text := diff.Diff(x.against, has, "planned", config)
	if len(text) == 0 {
		return nil
	}
	if _, err := x.v.env.stdout.Write(text); err != nil {
		return err
	}
	return errDiffers
}
