package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
)

const (
	writeEntries = 1_000_000
	writeFewer   = 100_000 // by a client that takes its time
	writeSingly  = 2_000   // in batches of one
	writeRuns    = 3
	writeTime    = 5 * time.Minute // for the switch to do any of it
)

// A writer is a client that fills a switch table and reads the table back.
type writer struct {
	name    string
	entries int
	batch   int
	connect func(ctx context.Context, address string, p *southbound.Pipeline, updates []entry.Update,
		batch int) (filler, error)
}

// A filler has a session with a switch, and updates for it.
type filler interface {
	fill(ctx context.Context) error
	readBack(ctx context.Context) error
	compare() error // what was read with what was written
	close() error
}

// writing measures how fast clients write entries into an exact-match table of an embedded switch
// through its P4Runtime server on loopback, in requests of batch updates, three at once, and read
// them back: the controller's own client, and one that has encoded its requests before and costs
// next to nothing itself. Meanwhile a packet a millisecond, of another table, passes through the
// switch (packetMicros, the median).
func writing(ctx context.Context, out *report) error {
	for _, w := range []writer{
		{"encoded", writeEntries, 1000, connectEncoded},
		{"controller", writeFewer, 1000, connectController},
		{"controller", writeSingly, 1, connectController},
	} {
		out.tell("p4runtime: %d entries in batches of %d, client %s", w.entries, w.batch, w.name)
		var writes, reads runs
		var writeCPU, readCPU runs
		var writeDelays, readDelays delays
		for range writeRuns {
			write, read, err := w.run(ctx)
			if err != nil {
				return err
			}
			writes, reads = append(writes, write.rate), append(reads, read.rate)
			writeCPU, readCPU = append(writeCPU, write.cpuMicros), append(readCPU, read.cpuMicros)
			writeDelays, readDelays = append(writeDelays, write.delays...),
				append(readDelays, read.delays...)
		}
		params := []field{{"table", p4.TableMtBranch}, {"client", w.name}, {"entries", w.entries}}
		err := out.print(figure{bench: "p4runtime/write", unit: "entries/s", value: writes.median(),
			more: slices.Concat(params, []field{{"batch", w.batch}}, writes.spread(),
				[]field{{"cpuMicros", writeCPU.median()}}, writeDelays.fields())})
		if err != nil {
			return err
		}
		if w.batch == 1 {
			continue // a read does not depend on how the entries were written
		}
		err = out.print(figure{bench: "p4runtime/read", unit: "entries/s", value: reads.median(),
			more: slices.Concat(params, reads.spread(), []field{{"cpuMicros", readCPU.median()}},
				readDelays.fields())})
		if err != nil {
			return err
		}
	}
	return nil
}

// phase is what is measured of a write or a read.
type phase struct {
	rate      float64 // entries a second
	cpuMicros float64 // processor time of client and server for an entry
	delays    delays  // of the packets that passed meanwhile
}

// run fills an empty switch and reads it back.
func (w writer) run(ctx context.Context) (write, read phase, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	p, err := roomyPipeline()
	if err != nil {
		return write, read, err
	}
	route := forwarding()
	updates := inserts(branchEntries(w.entries))
	s, err := serveSwitch(ctx)
	if err != nil {
		return write, read, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := s.install(ctx, p, inserts(route.entries)); err != nil {
		return write, read, err
	}
	f, err := w.connect(ctx, s.address, p, updates, w.batch)
	if err != nil {
		return write, read, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	runtime.GC()

	measure := func(do func(context.Context) error) (phase, error) {
		probe := s.probe(route)
		start, used := time.Now(), processorTime()
		err := do(ctx)
		took, cpu := time.Since(start), processorTime()-used
		return phase{float64(w.entries) / took.Seconds(),
			float64(cpu.Nanoseconds()) / 1e3 / float64(w.entries), probe.stop()}, err
	}
	if write, err = measure(f.fill); err != nil {
		return write, read, err
	}
	if read, err = measure(f.readBack); err != nil {
		return write, read, err
	}
	return write, read, f.compare()
}

// roomyPipeline is the fabric's program with room for writeEntries in mt_branch.
var roomyPipeline = sync.OnceValues(func() (*southbound.Pipeline, error) {
	info, name := p4.P4Info(), ""
	for _, t := range info.GetTables() {
		if t.GetPreamble().GetId() == p4.TableMtBranchID {
			name, t.Size = t.GetPreamble().GetName(), writeEntries
		}
	}
	var program map[string]any
	if err := json.Unmarshal(p4.JSON(), &program); err != nil {
		return nil, err
	}
	pipelines, _ := program["pipelines"].([]any)
	for _, x := range pipelines {
		tables, _ := x.(map[string]any)["tables"].([]any)
		for _, x := range tables {
			if t, _ := x.(map[string]any); t["name"] == name {
				t["max_size"] = writeEntries
			}
		}
	}
	data, err := json.Marshal(program)
	if err != nil {
		return nil, err
	}
	return southbound.NewPipeline(info, data)
})

// branchEntries are entries as different as a large fabric would write.
func branchEntries(n int) []entry.Entity {
	entries := make([]entry.Entity, n)
	for i := range entries {
		group, branch := uint64(i/p4.MtBranches/2), uint64(i%p4.MtBranches)
		from := netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 2, 12: byte(i >> 24),
			13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)})
		entries[i] = entry.In(p4.TableMtBranch,
			entry.Do(p4.ActionSetBranch, entry.With("branch", entry.Uint(branch)),
				number("epoch", groupEpoch), number("receiver", 1), number("msn_offset", uint32(i))),
			entry.Exact("group", entry.Uint(group)), entry.Exact("port", entry.Uint(branch+1)),
			entry.Exact("src_addr", entry.Addr(from)))
	}
	return entries
}
