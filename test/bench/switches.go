package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
)

const (
	switchEntries = 1000 // of each
	// switchesCommand is the argument that makes this program start switches and nothing else; their
	// number follows.
	switchesCommand = "switches-process"
)

// switchCounts are the numbers of switches in one process.
var switchCounts = []int{1, 1000}

// switchesResult is the output of a process that starts switches.
type switchesResult struct {
	StartSeconds float64 // until all run the program
	CPUSeconds   float64 // up to then
	HeapBytes    uint64  // reachable that was not before, with all entries
	PeakBytes    int64   // of the process, up to the end
}

// switches measures how long it takes to start switches in one process, and the memory they take
// with their entries.
func switches(ctx context.Context, out *report) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, n := range switchCounts {
		out.tell("switches: %d in one process, %d entries each", n, switchEntries)
		cmd := exec.CommandContext(ctx, self, switchesCommand, strconv.Itoa(n))
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%d switches: %w", n, err)
		}
		var r switchesResult
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("%d switches: %w", n, err)
		}
		if err := out.print(figure{bench: "switches/start", unit: "s", value: r.StartSeconds,
			more: []field{{"switches", n}, {"cpuSeconds", r.CPUSeconds}}}); err != nil {
			return err
		}
		err = out.print(figure{bench: "switches/memory", unit: "octets", value: float64(r.HeapBytes),
			more: []field{
				{"switches", n}, {"entries", switchEntries}, {"each", r.HeapBytes / uint64(n)},
				{"peakBytes", r.PeakBytes},
			}})
		if err != nil {
			return err
		}
	}
	return nil
}

// switchesProcess is the process that starts switches: it prints a switchesResult.
func switchesProcess(argument string) error {
	n, err := strconv.Atoi(argument)
	if err != nil || n < 1 {
		return fmt.Errorf("%q switches, want 1 or more", argument)
	}
	ctx := context.Background()
	p, err := pipeline()
	if err != nil {
		return err
	}
	updates := inserts(branchEntries(switchEntries))
	config := &p4v1.ForwardingPipelineConfig{P4Info: p4.P4Info(), P4DeviceConfig: p4.JSON()}
	before := reachable()

	var r switchesResult
	start, used := time.Now(), processorTime()
	runners, stop, err := startSwitches(ctx, n, config)
	if err != nil {
		return err
	}
	r.StartSeconds, r.CPUSeconds = time.Since(start).Seconds(), (processorTime() - used).Seconds()
	for id, runner := range runners {
		var failed error
		err := runner.WithDevice(ctx, func(now time.Duration, d *p4rt.Device) {
			client := southbound.Client{Transport: at(d, now), DeviceID: uint64(id + 1), Pipeline: p}
			failed = accepted(client.Write(ctx, updates))
		})
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	r.HeapBytes = reachable() - before
	runtime.KeepAlive(updates)
	runtime.KeepAlive(config)
	if r.PeakBytes, err = peakBytes(); err != nil {
		return err
	}
	if err := stop(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// reachable is the memory that something refers to.
func reachable() uint64 {
	for range 3 { // finalizers, and what a pool keeps for one collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// startSwitches starts n switches with a P4Runtime server on loopback. A client becomes primary of
// each and loads the program.
func startSwitches(ctx context.Context, n int, config *p4v1.ForwardingPipelineConfig) (
	runners []*live.Runner, stop func() error, err error) {
	// a stream of each switch
	server := p4rt.NewServer(p4rt.ServerConfig{
		Limits: clientlimit.Config{Calls: n + clientlimit.MaxCalls}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///"+listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	stop = func() error {
		server.Close(ctx)
		errs := []error{conn.Close(), <-served}
		for _, r := range runners {
			errs = append(errs, r.Close())
		}
		return errors.Join(errs...)
	}
	for id := uint64(1); id <= uint64(n); id++ {
		r, err := live.Start(live.Config{Device: p4rt.Config{ID: id, Cache: &cache}})
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		runners = append(runners, r)
		if err := server.Add(r.Sessions(), r); err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		if err := takeOver(ctx, p4v1.NewP4RuntimeClient(conn), id, config); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("switch %d: %w", id, err), stop())
		}
	}
	return runners, stop, nil
}

// takeOver becomes primary of a switch and loads a program.
func takeOver(ctx context.Context, client p4v1.P4RuntimeClient, id uint64,
	config *p4v1.ForwardingPipelineConfig) error {
	stream, err := client.StreamChannel(ctx)
	if err != nil {
		return err
	}
	election := &p4v1.Uint128{Low: 1}
	if err := stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{
		Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: id, ElectionId: election},
	}}); err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	_, err = client.SetForwardingPipelineConfig(ctx, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: id, ElectionId: election,
		Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, Config: config,
	})
	return err
}
