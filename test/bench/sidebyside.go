package main

import (
	"context"
	"errors"
	"fmt"
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
// outputs are written, of theirs from the last moment at which nothing has come out. ratio is of
// packets a second, cpuRatio of processor time for a packet in; missing names what was not on the
// PATH. The files are in TMPDIR, some hundred MB.
func sideBySide(ctx context.Context, out *report) error {
	missing := bmv2.MissingSimpleSwitch()
	if missing != "" {
		out.tell("pcap: %s is not on the PATH: figures of the embedded switch only", missing)
	}
	all, err := workloads()
	if err != nil {
		return err
	}
	for _, w := range all {
		if !out.wants("pcap/" + w.name) {
			continue
		}
		out.tell("pcap: %s", w.title)
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

// A pass is one way of a workload's files through a switch.
type pass struct {
	packets int
	wall    time.Duration // from the first packet in to the last one out
	cpu     time.Duration // of all threads, meanwhile; 0: not known
}

func (p pass) rate() float64 { return float64(p.packets) / p.wall.Seconds() }

// passes are those of one switch.
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
