// Bench measures Weft and prints the results as JSON lines, one figure each; docs/benchmarks.md
// explains the figures. Progress goes to standard error.
//
//	go run ./test/bench [traffic[/WORKLOAD]] [engine[/WORKLOAD]] [pcap[/WORKLOAD]] [multicast] [plan] [paths] [fabric] [jobs] [simulate] [device] [program] [switches] [p4runtime] [multipath] [hosts] [loop] [several] [pfc] [store] [api] [telemetry] [ports] [lab[/NAME]] [agent] [nic] [veth]
//
// Bench fails when something works incorrectly, never because of low speed.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/weft-sdn/weft/store/etcd"
)

// A bench prints the figures of one kind.
type bench struct {
	name string
	run  func(context.Context, *report) error
}

// vethSwitchCommand is the argument that makes this program a switch between interfaces; a role
// follows.
const vethSwitchCommand = "veth-switch"

var benches = []bench{
	{"traffic", traffic},
	{"engine", engine},
	{"pcap", sideBySide},
	{"multicast", multicast},
	{"plan", planning},
	{"paths", paths},
	{"fabric", large},
	{"jobs", jobs},
	{"simulate", simulating},
	{"device", configuring},
	{"program", programming},
	{"switches", switches},
	{"p4runtime", writing},
	{"multipath", keepingTrue},
	{"hosts", denying},
	{"loop", closing},
	{"several", several},
	{"pfc", lossless},
	{"store", storing},
	{"api", answering},
	{"telemetry", measuring},
	{"takeover", takingOver},
	{"ports", leavingPorts},
	{"lab", labs},
	{"agent", selfProbing},
	{"nic", mrcNIC},
	{"veth", veth},
}

func main() {
	if etcd.IsServer() {
		os.Exit(etcd.Serve())
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	// Processes that a bench starts.
	switch {
	case len(args) > 3 && args[0] == replayCommand:
		return replayFiles(args[1], args[2], args[3:])
	case len(args) > 2 && args[0] == hostsCommand:
		return hostsProcess(strings.Split(args[1], ","), args[2:])
	case len(args) == 2 && args[0] == controllerCommand:
		return controllerMain(args[1])
	case len(args) == 2 && args[0] == planCommand:
		return plans(args[1])
	case len(args) == 2 && args[0] == pathsCommand:
		return pathsProcess(args[1])
	case len(args) == 2 && args[0] == largeCommand:
		return largeProcess(args[1])
	case len(args) == 2 && args[0] == switchesCommand:
		return switchesProcess(args[1])
	case len(args) == 2 && args[0] == labCommand:
		return labProcess(args[1])
	case len(args) == 2 && args[0] == vethSwitchCommand:
		return vethSwitch(args[1])
	}
	for _, a := range args {
		if kind, _, _ := strings.Cut(a, "/"); !slices.ContainsFunc(benches, func(b bench) bool {
			return b.name == kind
		}) {
			return fmt.Errorf("no bench %q", a)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := &report{figures: json.NewEncoder(os.Stdout), progress: os.Stderr, asked: args}
	for _, b := range benches {
		if !out.wants(b.name) {
			continue
		}
		if err := b.run(ctx, out); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return nil
}
