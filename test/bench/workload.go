package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
)

// A wire is a frame on a port.
type wire struct {
	port  uint32
	frame []byte
}

// A workload is a program with entries, packets that can be sent in over and over again, and the
// expected output.
type workload struct {
	name    string
	title   string  // distinguishes it from others of its name
	params  []field // of its figures
	program []byte
	info    *p4config.P4Info
	entries []*p4v1.WriteRequest
	in      []wire // one cycle
	out     []wire // of one cycle, in any order
	packets int    // that keep simple_switch busy for some seconds
	// comes is what comes out by a port in all cycles; nil: out, in each
	comes map[uint32]tally
	known map[sum]bool // the packets of comes
}

// workloads lists the workloads of all benches.
func workloads() ([]workload, error) {
	var all []workload
	for _, r := range allRoles() {
		w, err := r.workload()
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	w, err := routing()
	return append(all, w), err
}

// workload returns the fabric program in a role.
func (r role) workload() (workload, error) {
	writes, err := written(inserts(r.entries)...)
	if err != nil {
		return workload{}, fmt.Errorf("%v: %w", r, err)
	}
	return workload{
		name: r.name, title: r.String(), params: r.params(), program: p4.JSON(), info: p4.P4Info(),
		entries: writes,
		in:      r.in, out: r.out, packets: r.packets,
	}, nil
}

// written returns the requests for updates of the fabric program.
func written(updates ...entry.Update) ([]*p4v1.WriteRequest, error) {
	p, err := pipeline()
	if err != nil {
		return nil, err
	}
	var sent requests
	client := southbound.Client{Transport: southbound.Direct{Device: &sent}, DeviceID: deviceID,
		Pipeline: p}
	err = accepted(client.Write(context.Background(), updates))
	return sent.writes, err
}

// requests is a target that keeps copies of written requests.
type requests struct {
	southbound.Device
	writes []*p4v1.WriteRequest
}

func (r *requests) Write(_ time.Duration, w *p4v1.WriteRequest) error {
	r.writes = append(r.writes, proto.CloneOf(w))
	return nil
}

// ports are the ports the workload needs.
func (w *workload) ports() []uint32 {
	var ports []uint32
	for _, x := range slices.Concat(w.in, w.out) {
		ports = append(ports, x.port)
	}
	ports = slices.AppendSeq(ports, maps.Keys(w.comes))
	slices.Sort(ports)
	return slices.Compact(ports)
}

// copies is how many packets come out for one.
func (w *workload) copies() int64 {
	n := len(w.out)
	for _, t := range w.comes {
		n += t.packets / w.cycles()
	}
	return int64(n / len(w.in))
}

// cycles is the number of times to send the packets when the benchmark compares switches.
func (w *workload) cycles() int { return max(1, w.packets/len(w.in)) }

// check compares the output of one cycle with the expected output.
func (w *workload) check(got []wire) error {
	want := slices.Clone(w.out)
	for _, g := range got {
		i := slices.IndexFunc(want, func(w wire) bool {
			return w.port == g.port && bytes.Equal(w.frame, g.frame)
		})
		if i < 0 {
			return fmt.Errorf("%s: port %d: unexpected %x", w.title, g.port,
				g.frame[:min(len(g.frame), 160)])
		}
		want = slices.Delete(want, i, i+1)
	}
	if len(want) > 0 {
		return fmt.Errorf("%s: port %d: missing %x", w.title, want[0].port,
			want[0].frame[:min(len(want[0].frame), 160)])
	}
	return nil
}
