package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/mrc"
	group "github.com/weft-sdn/weft/lab/demo/multicast"
	"github.com/weft-sdn/weft/lab/demo/pfc"
)

// labCommand is the argument that makes this program a lab with traffic; its name follows.
const labCommand = "lab-process"

// labTime is how long a lab runs with traffic.
const labTime = 20 * time.Second

// A labUse is what a lab has taken at its end.
type labUse struct {
	Octets    uint64  `json:"octets"`    // most that was resident
	Processor float64 `json:"processor"` // seconds of all threads
	Seconds   float64 `json:"seconds"`   // of the network, under traffic
}

// labs measures the memory of each built-in network of "weft lab --traffic", in a process of its
// own.
func labs(ctx context.Context, r *report) error {
	for _, name := range lab.BuiltinNames() {
		if !r.wants("lab/" + name) {
			continue
		}
		r.tell("lab %s with traffic", name)
		self, err := os.Executable()
		if err != nil {
			return err
		}
		c := exec.CommandContext(ctx, self, labCommand, name)
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			return fmt.Errorf("lab %s: %w", name, err)
		}
		var use labUse
		if err := json.Unmarshal(out, &use); err != nil {
			return fmt.Errorf("lab %s: %w", name, err)
		}
		if err := r.print(figure{"lab/" + name, "MB", float64(use.Octets) / 1e6,
			[]field{{"processorSeconds", use.Processor}, {"networkSeconds", use.Seconds}}}); err != nil {
			return err
		}
	}
	return nil
}

// labProcess runs a lab with traffic, and prints what it has taken.
func labProcess(name string) error {
	network, ok := lab.Builtin(name)
	if !ok {
		return fmt.Errorf("there is no network %q", name)
	}
	lab.TuneMemory()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: network, Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	defer live.Close() // the process ends
	if err := live.Ready(ctx); err != nil {
		return err
	}
	var began, ended time.Duration
	read := func(to *time.Duration) error {
		return live.Do(ctx, func(w *lab.World) error {
			*to = w.Now()
			return nil
		})
	}
	if err := read(&began); err != nil {
		return err
	}
	running, stop := context.WithTimeout(ctx, labTime)
	defer stop()
	switch {
	case network.HasMRC():
		err = mrc.Traffic(running, live, io.Discard)
	case pfc.Suits(&network):
		err = pfc.Traffic(running, live, io.Discard)
	default:
		err = group.Traffic(running, live, group.Options{Out: io.Discard}, time.Second)
	}
	if running.Err() == nil {
		return fmt.Errorf("traffic ended: %w", err)
	}
	if err := read(&ended); err != nil {
		return err
	}
	var u syscall.Rusage // Linux has kilobytes in it
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(labUse{
		Octets: uint64(u.Maxrss) << 10, Processor: processorTime().Seconds(),
		Seconds: (ended - began).Seconds(),
	})
}
