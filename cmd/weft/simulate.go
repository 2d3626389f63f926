package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/simulate"
)

// errUnmet is a simulation in which a job did not end, or an expectation does not hold.
var errUnmet = errors.New("simulate: a job did not end, or an expectation does not hold")

func newSimulate(env environment) *cobra.Command {
	var seed uint64
	var output, sweep, page, picture string
	var at time.Duration
	c := &cobra.Command{
		Use:   "simulate SCENARIO.yaml",
		Short: "Say what jobs and failures do to a fabric, before they happen",
		Long: `Runs a fabric, its jobs and its failures in virtual time, with the controller, the P4
program in every switch and the MRC transport in every host, and compares the steps of the
jobs with a run without the failures. docs/simulate.md has the fields of a scenario.

The same scenario with the same seed gives the same output. The exit status is 1 when a job
does not come to its end, or when an expectation of the scenario does not hold.

With --sweep the scenario runs once for each part of the fabric, which fails or is drained
at --at, and the output has the runs in which steps take longest.`,
		Example: "  weft simulate docs/examples/simulate/dead-t1.yaml\n" +
			"  weft simulate --sweep fail=each-t1 --at 1ms docs/examples/simulate/permutation.yaml",
		Args: arguments(1, 1),
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if output != "table" && output != "json" {
			return usagef("--output is %q: want table or json", output)
		}
		text, err := os.ReadFile(args[0])
		if err != nil {
			return &usageError{err}
		}
		s, err := simulate.Parse(text)
		if err != nil {
			return &usageError{fileError(args[0], text, err)}
		}
		if cmd.Flags().Changed("seed") {
			s.Seed = seed
		}
		var events []simulate.Event
		if sweep != "" && (page != "" || picture != "") {
			return usagef("--report or --picture is given with --sweep: want one of them")
		}
		if sweep != "" {
			if events, err = s.Sweep(sweep, at); err != nil {
				return usagef("--sweep %w", err)
			}
		}
		lab.TuneMemory()
		var r outcome
		if sweep == "" {
			r, err = compared(cmd.Context(), s, page, picture)
		} else {
			r, err = simulate.RunSweep(cmd.Context(), s, events)
		}
		if err != nil {
			return err
		}
		if output == "json" {
			err = r.JSON(env.stdout)
		} else {
			err = r.Text(env.stdout)
		}
		if err == nil && !r.Holds() {
			err = errUnmet
		}
		return err
	}
	f := c.Flags()
	f.Uint64Var(&seed, "seed", 0, "seed in place of that of the scenario")
	f.StringVar(&sweep, "sweep", "", "run once for each part: "+strings.Join(simulate.Sweeps(), ", "))
	f.StringVar(&page, "report", "", "also write the report as a page of HTML to this file")
	f.StringVar(&picture, "picture", "",
		"also write the steps of the jobs as a picture (SVG) to this file")
	f.DurationVar(&at, "at", 0, "with --sweep: when the part fails or is drained")
	f.StringVarP(&output, "output", "o", "table",
		"form of the output: table, or json for lines of JSON")
	flagValues(c, "output", values("table", "json"))
	flagValues(c, "sweep", values(simulate.Sweeps()...))
	return c
}

// outcome is what a run or a sweep of a scenario found.
type outcome interface {
	Text(w io.Writer) error
	JSON(w io.Writer) error
	Holds() bool
}

// compared runs a scenario, and writes the page and the picture of its report to files unless those
// are "".
func compared(ctx context.Context, s *simulate.Scenario, page, picture string) (*simulate.Report,
	error) {
	r, err := simulate.Compare(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, x := range []struct {
		file  string
		write func(io.Writer) error
	}{{page, r.HTML}, {picture, r.Picture}} {
		if x.file == "" {
			continue
		}
		var text bytes.Buffer
		if err := x.write(&text); err != nil {
			return nil, err
		}
		if err := os.WriteFile(x.file, text.Bytes(), 0o600); err != nil {
			return nil, err
		}
	}
	return r, nil
}
