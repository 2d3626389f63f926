// Command weft is an SDN controller for RDMA fabrics of P4 switches, the client of its API, and
// everything for a trial: an embedded switch, software hosts, and a lab that joins them.
//
// docs/cli.md describes the commands. Exit statuses: 0 done, 1 refused or
// failed, 2 wrong usage or an input that cannot be used, 3 the controller
// cannot be reached, 130 interrupted, 143 terminated.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/weft-sdn/weft/store/etcd"
)

// Under bmv2Name the command acts as the switch, so a script that looks for BMv2 finds the command.
const bmv2Name = "simple_switch_grpc"

func main() { os.Exit(weft()) }

// weft runs the command line of the process. The first SIGINT or SIGTERM asks
// the command to end, the second ends the process.
func weft() int {
	if etcd.IsServer() { // a controller has started this process
		return etcd.Serve()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := (<-signals).(syscall.Signal)
		signal.Stop(signals) // the second ends the process
		cancel(&signalled{s})
	}()
	args := os.Args[1:]
	if filepath.Base(os.Args[0]) == bmv2Name {
		args = append([]string{"switch"}, args...)
	}
	return execute(ctx, args, environment{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv,
	})
}
