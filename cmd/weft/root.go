package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-sdn/weft/internal/printable"
)

// environment has the streams and variables that a command takes from its process.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// execute carries out a command line and returns the exit status.
func execute(ctx context.Context, args []string, env environment) int {
	stdout, stderr := printable.NewWriter(env.stdout), printable.NewWriter(env.stderr)
	env.stdout, env.stderr = stdout, stderr
	defer func() { _ = errors.Join(stdout.Flush(), stderr.Flush()) }() // as the writes before them
	root := newRoot(env)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if interrupted(ctx, err) {
		s := cancelled(ctx)
		fmt.Fprintf(env.stderr, "weft: %v before it was done\n", s)
		return exitSignal + int(s.signal)
	}
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errDiffers) {
		return exitFailed // a diff says it all
	}
	fmt.Fprint(env.stderr, report(err))
	return exitStatus(err)
}

func newRoot(env environment) *cobra.Command {
	root := family("weft", "SDN controller for RDMA fabrics of P4 switches",
		`Weft learns a network by BGP-LS and programs its P4 switches over P4Runtime for
RDMA multicast over SRv6, MRC fabrics, and lossless tenants (PFC over SRv6).

"weft demo multicast", "weft demo mrc" and "weft demo pfc" show the three features, "weft demo
job" shows two jobs on a fabric, "weft demo blackhole" a link that loses packets unseen, and
"weft demo figure" the figures of the specifications. "weft lab figure1" runs a whole network
in this process, and "weft simulate" says what failures would do to jobs.`)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var value *pflag.InvalidValueError
		var number *strconv.NumError
		if errors.As(err, &value) && errors.As(err, &number) {
			want := map[string]string{"ParseBool": "true or false", "ParseFloat": "a number",
				"ParseUint": "a whole number, 0 or more"}[number.Func]
			err = fmt.Errorf("--%s is %q: want %s", value.GetFlag().Name, value.GetValue(),
				cmp.Or(want, "a whole number"))
			if errors.Is(number, strconv.ErrRange) {
				err = fmt.Errorf("%w of fewer bits", err)
			}
		}
		return usagef("%w (see %q)", err, cmd.CommandPath()+" --help")
	})
	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Run something:"},
		&cobra.Group{ID: "api", Title: "Talk to a controller:"},
	)
	for _, c := range []*cobra.Command{newController(env), newSwitch(env), newSpeaker(env),
		newReplay(env), newTrace(env), newSTF(env), newSimulate(env), newHost(env), newAgent(env),
		newNIC(env), newLab(env), newDemo(env), newRestore(env), newCerts(env), newDoctor(env)} {
		c.GroupID = "run"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{newGet(env), newDescribe(env), newApply(env), newDiff(env),
		newEdit(env), newDelete(env), newExport(env), newHistory(env), newUndo(env), newExplain(env),
		newReset(env), newTest(env), newReplace(env), newDrain(env), newUndrain(env), newWatch(env),
		newWait(env), newTop(env), newHealth(env), newBackup(env), newLogin(env), newLogout(env),
		newWhoami(env), newToken(env), newUser(env), newSession(env), newAudit(env), newSlurm(env),
		newTopograph(env), newNCCL(env)} {
		c.GroupID = "api"
		root.AddCommand(c)
	}
	root.Version = programVersion()
	root.AddCommand(newVersion(env), newMan(env))
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.InitDefaultCompletionCmd() // takes the output of now
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, ofFamily
		}
	}
	return root
}

// family returns a command that only groups subcommands.
func family(use, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 2,
		RunE: ofFamily,
	}
}

// ofFamily runs where no subcommand does: the error names those there are.
func ofFamily(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && !cmd.HasParent() {
		return cmd.Help()
	}
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	slices.Sort(known)
	want := "want one of " + strings.Join(known, ", ")
	at := "" // the path without the program's name
	if _, path, ok := strings.Cut(cmd.CommandPath(), " "); ok {
		at = path + ": "
	}
	if len(args) == 0 {
		return usagef("%s%s", at, want)
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		want = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef("%sunknown command %q: %s", at, args[0], want)
}

// arguments checks the number of arguments against the names in Use.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usagef("usage: %s", cmd.UseLine())
		}
		return nil
	}
}
