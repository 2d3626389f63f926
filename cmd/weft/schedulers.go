package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/clients/scheduler/kubernetes"
	"github.com/weft-sdn/weft/clients/scheduler/slurm"
	"github.com/weft-sdn/weft/clients/scheduler/topograph"
)

// defaultLook is the time between two looks of "weft slurm watch".
const defaultLook = 10 * time.Second

// topologyFormats lists the formats of a topology for schedulers.
var topologyFormats = []struct {
	name  string
	write func(io.Writer, *scheduler.Tree) error
}{
	{"slurm", slurm.WriteConf},
	{"slurm-yaml", slurm.WriteYAML},
	{"topograph", topograph.WriteGraph},
	{"kueue", kubernetes.WriteKueue},
	{"labels", kubernetes.WriteLabels},
	{"taints", kubernetes.WriteTaints},
}

func topologyFormatNames() (names []string) {
	for _, f := range topologyFormats {
		names = append(names, f.name)
	}
	return names
}

// addTopology adds "weft get topology", which shows the network to people and to schedulers.
func addTopology(v *viewer, add addFunc) {
	var form, nic string
	c := add("topology", "Nodes, links and hosts of the network, as learned by BGP-LS", 0, nil,
		func(ctx context.Context, _ []string) error {
			if form != "" {
				return v.topologyFor(ctx, form, nic)
			}
			return object(ctx, v, client.Path("v1", "topology"), topologyTable)
		})
	c.Flags().StringVar(&form, "format", "",
		"hosts by groups of T0s and pods, for a scheduler: "+strings.Join(topologyFormatNames(), ", "))
	flagValues(c, "format", values(topologyFormatNames()...))
	nicFlag(c, &nic)
}

// nicFlag gives a command the flag that names hosts after the nodes of a scheduler.
func nicFlag(c *cobra.Command, nic *string) {
	c.Flags().StringVar(nic, "nic", "{host}",
		"how hosts are named after a scheduler's nodes, such as {host}-{nic} (from 0) "+
			"or {host}-{rail} (from 1)")
}

// namesOf reads the flag of nicFlag.
func namesOf(nic string) (*scheduler.Pattern, error) {
	names, err := scheduler.ParsePattern(nic)
	if err != nil {
		return nil, usagef("--nic %w", err)
	}
	return names, nil
}

// topologyFor writes the topology for a scheduler.
func (v *viewer) topologyFor(ctx context.Context, form, nic string) error {
	names, err := namesOf(nic)
	if err != nil {
		return err
	}
	if !v.output.forPeople() {
		return usagef("--format and --output: want one of them, since the form of %s is the scheduler's",
			form)
	}
	for _, f := range topologyFormats {
		if f.name != form {
			continue
		}
		c, err := v.conn.open(v.env)
		if err != nil {
			return err
		}
		defer c.Close()
		facts, err := scheduler.Read(ctx, c)
		if err != nil {
			return err
		}
		facts.Names = names
		tree := scheduler.NewTree(facts)
		if len(tree.Unplaced) > 0 {
			fmt.Fprintf(v.env.stderr, "weft: left out, since no switch is known that serves them: %s\n",
				inLine(few(tree.Unplaced)))
		}
		if n := len(tree.Roots); n > 1 {
			fmt.Fprintf(v.env.stderr, "weft: %d parts of the fabric, which no known link connects\n", n)
		}
		return f.write(v.env.stdout, tree)
	}
	return usagef("--format is %q: want %s", form, strings.Join(topologyFormatNames(), ", "))
}

func newSlurm(env environment) *cobra.Command {
	c := family("slurm", "Work with Slurm", `Lets Slurm follow the fabric.
"weft get topology --format slurm" is its topology.conf.`)
	c.AddCommand(newSlurmWatch(env))
	return c
}

func newSlurmWatch(env environment) *cobra.Command {
	w := &slurm.Watch{Config: slurm.DefaultConfig()}
	var conn connection
	var scontrol, nic string
	c := &cobra.Command{
		Use: "watch", Short: "Drain nodes whose NICs cannot be used, and resume them",
		Long: `Drains a node of Slurm, with the reason, when its host has had no stream to the
controller or no port that peers may send to for --hold, and resumes it when that has been
well for --recover: longer each time, up to 30 minutes, for one that fails again and again.
It resumes what it has drained itself, by the reason, and nothing else. Runs where scontrol
may change nodes.`,
		Args: arguments(0, 0), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case w.Hold < 0 || w.Recover < 0:
				return usagef("--hold is %v and --recover %v: want 0 or more", w.Hold, w.Recover)
			case w.MostPercent < 1 || w.MostPercent > 100:
				return usagef("--most is %d: want 1 to 100", w.MostPercent)
			case w.Interval <= 0:
				return usagef("--interval is %v: want more than 0", w.Interval)
			}
			var err error
			if w.Names, err = namesOf(nic); err != nil {
				return err
			}
			rest, err := conn.open(env)
			if err != nil {
				return err
			}
			defer rest.Close()
			w.Hosts, w.Nodes = slurm.HostsOf(rest), slurm.Scontrol(scontrol)
			w.MaxRecover = max(w.MaxRecover, w.Recover)
			done := map[bool]string{false: "", true: " (dry run)"}[w.DryRun]
			w.Say = func(a slurm.Action) {
				if a.Reason == "" {
					fmt.Fprintf(env.stdout, "resumed %s%s\n", inLine(a.Node), done)
				} else {
					fmt.Fprintf(env.stdout, "drained %s%s: %s\n", inLine(a.Node), done, inLine(a.Reason))
				}
			}
			w.Warn = func(text string) { fmt.Fprintf(env.stderr, "weft: %s\n", inLine(text)) }
			if err = w.Run(cmd.Context()); interrupted(cmd.Context(), err) {
				return nil // what a watch is ended by
			}
			return err
		},
	}
	conn.register(c)
	f := c.Flags()
	f.DurationVar(&w.Hold, "hold", w.Hold, "how long a host is out of use before its node is drained")
	f.DurationVar(&w.Recover, "recover", w.Recover,
		"how long it is in use again before its node is resumed")
	f.IntVar(&w.MostPercent, "most", w.MostPercent, "percent of the nodes that are drained at most")
	f.DurationVar(&w.Interval, "interval", defaultLook, "time between two looks at hosts and nodes")
	nicFlag(c, &nic)
	f.StringVar(&scontrol, "scontrol", "scontrol", "the scontrol of Slurm")
	f.BoolVar(&w.DryRun, "dry-run", false, "say what would be done, and change nothing")
	return c
}
