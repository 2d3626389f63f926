package main

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"time"

	"github.com/weft-sdn/weft/test/bmv2"
)

// What is measured in turns: the embedded switch takes a fraction of a second, simple_switch some.
const (
	turns       = 3
	runsOfATurn = 3 // of the embedded switch
)

// sideBySide compares the embedded switch with simple_switch (logging off, queues 1,048,576 packets
// deep) as whole processes: both get the same program, entries and pcap files and write pcap files,
// each alone on one core, in turns. The time of ours runs from the first packet in until all
// outputs are written, of theirs from the last moment at which nothing has come out. Rows of
// pcap/traffic are the traffic of a fabric (see traffic), the others one flow. ratio is of
// packets a second, cpuRatio of processor time for a packet in; missing names what was not on the
// PATH. The files are in TMPDIR, some hundred MB.
func sideBySide(ctx context.Context, out *report) error {
	missing := bmv2.MissingSimpleSwitch()
	if missing != "" {
		out.tell("pcap: %s is not on the PATH: figures of the embedded switch only", missing)
	}
	all, err := replayedTraffic()
	if err != nil {
		return err
	}
	flows, err := workloads()
	if err != nil {
		return err
	}
	for _, w := range append(all, flows...) {
		if !out.wants("pcap/" + w.name) {
			continue
		}
		out.tell("pcap: %s", w.title)
		if err := w.foresee(); err != nil {
			return err
		}
		f, err := sideBySideOf(ctx, w, missing)
		if err != nil {
			return err
		}
		if err := out.print(f); err != nil {
			return err
		}
	}
	return nil
}

// replayedTraffic returns the traffic of a fabric as workloads. A simple_switch that reads files
// takes no updates meanwhile.
func replayedTraffic() (all []workload, err error) {
	for _, r := range trafficRows() {
		if r.updates != nil {
			continue
		}
		r.in = r.in[:min(len(r.in), replayedMost)]
		if r.packets = replayedMost; r.copies > 1 {
			r.packets /= 4 // they are long
		}
		w, err := r.workload()
		if err != nil {
			return nil, err
		}
		w.name, w.params = "traffic/"+w.name, r.params()
		w.title = fmt.Sprintf("traffic of %s, %v", w.title, w.params)
		w.out, w.comes = nil, map[uint32]tally{}
		all = append(all, w)
	}
	return all, nil
}

// replayedMost is how many packets of traffic go through the switches, whole cycles of these. The
// first packets, of which the embedded switch learns, are a few in a hundred.
const replayedMost = 1 << 16

// foresee finds what comes out of the traffic of a fabric: a switch whose packets all run the
// program says so.
func (w *workload) foresee() error {
	if w.comes == nil {
		return nil
	}
	w.known = make(map[sum]bool)
	device, err := newDevice(*w, func(_ time.Duration, port uint32, frame []byte) {
		t := w.comes[port]
		t.add(frame, 1)
		w.comes[port] = t
		w.known[sum{port, maphash.Bytes(seed, frame)}] = true
	})
	if err != nil {
		return err
	}
	device.Switch().FollowPaths(false)
	now := time.Duration(0)
	for range w.cycles() {
		for _, x := range w.in {
			now += engineGap
			device.Receive(now, x.port, x.frame)
			device.Advance(now)
		}
	}
	return nil
}

// A pass is one way of a workload's files through a switch.
type pass struct {
	packets int
	wall    time.Duration // from the first packet in to the last one out
	cpu     time.Duration // of all threads, meanwhile; 0: not known
}

func (p pass) rate() float64 { return float64(p.packets) / p.wall.Seconds() }

// passes are the passes of one switch.
type passes []pass

func (p passes) rates() runs {
	var r runs
	for _, x := range p {
		r = append(r, x.rate())
	}
	return r
}

// cpuMicros is the processor time of a packet in.
func (p passes) cpuMicros() float64 {
	var r runs
	for _, x := range p {
		r = append(r, float64(x.cpu.Nanoseconds())/1e3/float64(x.packets))
	}
	return r.median()
}

func sideBySideOf(ctx context.Context, w workload, missing string) (f figure, err error) {
	dir, err := os.MkdirTemp("", "weft-bench-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := w.writeFiles(dir); err != nil {
		return f, err
	}
	var ours, theirs passes
	for range turns {
		for range runsOfATurn {
			p, err := replayed(ctx, w, dir)
			if err != nil {
				return f, fmt.Errorf("embedded switch: %w", err)
			}
			ours = append(ours, p)
		}
		if missing != "" {
			continue
		}
		p, err := simplySwitched(ctx, w, dir)
		if err != nil {
			return f, fmt.Errorf("%s: %w", bmv2.SimpleSwitch, err)
		}
		theirs = append(theirs, p)
	}
	rates := ours.rates()
	f = figure{bench: "pcap/" + w.name, unit: "packets/s", value: rates.median(),
		more: append(w.params, rates.spread()...)}
	f.more = append(f.more, field{"packets", ours[0].packets}, field{"cpuMicros", ours.cpuMicros()})
	if theirs == nil {
		f.more = append(f.more, field{"missing", missing})
		return f, nil
	}
	f.more = append(f.more, field{"simpleSwitch", theirs.rates().median()},
		field{"ratio", rates.median() / theirs.rates().median()},
		field{"simpleSwitchCPUMicros", theirs.cpuMicros()},
		field{"cpuRatio", theirs.cpuMicros() / ours.cpuMicros()})
	return f, nil
}
