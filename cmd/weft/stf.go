package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/dataplane/setup"
	"github.com/weft-sdn/weft/dataplane/stf"
)

func newSTF(env environment) *cobra.Command {
	var files setup.Files
	var cfg dataplane.Config
	c := &cobra.Command{
		Use: "stf --program X.json [flags] CASE.stf", Short: "Run an STF case on an embedded P4 switch",
		Long: `Runs a case in STF, the language of the packet tests that come with p4c, on an
embedded switch: entries, packets in, packets expected. When the switch does not behave
as expected, the exit status is 1, and the output shows the first difference.

  weft stf --program ternary2-bmv2.json ternary2-bmv2.stf

The exit status is 2 when the case or the program cannot be read. Statements:

` + stf.Help,
		Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return runSTF(env, files, cfg, args[0]) },
	}
	f := c.Flags()
	registerProgram(c, &files)
	f.Uint32Var(&cfg.CPUPort, "cpu-port", p4rt.DefaultCPUPort, "port of packet-ins and packet-outs")
	f.Uint32Var(&cfg.DropPort, "drop-port", p4rt.DefaultDropPort, "egress port that drops")
	f.IntVar(&cfg.Priorities, "priority-queues", 1, "priority queues a port has")
	f.Uint64Var(&cfg.Seed, "seed", 1, "seed of the program's random numbers")
	return c
}

func runSTF(env environment, files setup.Files, cfg dataplane.Config, path string) error {
	if files.Program == "" {
		return usagef("stf: --program is missing")
	}
	if cfg.Priorities < 1 || cfg.Priorities > 32 {
		return usagef("--priority-queues is %d: want 1 to 32", cfg.Priorities)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return &usageError{err}
	}
	c, err := stf.Parse(string(text))
	if err != nil {
		return &usageError{errors.New(path + ":" + strings.ReplaceAll(err.Error(), "\n", "\n"+path+":"))}
	}
	device, err := startDevice(files, p4rt.Config{Switch: cfg})
	if err != nil {
		return err
	}
	n, err := stf.Run(device.Switch(), c)
	if err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	_, err = fmt.Fprintf(env.stdout, "%s passes: %d packets in, %d out\n", path, n.In, n.Out)
	return err
}
