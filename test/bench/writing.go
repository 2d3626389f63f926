package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/controller/entry"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
)

const (
	writeEntries = 60_000 // of the 65,536 that the table takes
	writeSingly  = 2_000  // in batches of one
	writeRuns    = 5
	writeTime    = time.Minute // for the switch to do any of it
)

// writing measures how fast the controller's own client fills an exact-match table of an embedded switch through its P4Runtime
// server on loopback, and reads it back.
func writing(ctx context.Context, out *report) error {
	for _, c := range []struct{ batch, entries int }{{1000, writeEntries}, {1, writeSingly}} {
		out.tell("p4runtime: %d entries in batches of %d", c.entries, c.batch)
		var writes, reads runs
		for range writeRuns {
			write, read, err := writingRun(ctx, c.entries, c.batch)
			if err != nil {
				return err
			}
			writes, reads = append(writes, write), append(reads, read)
		}
		params := []field{{"table", p4.TableMtBranch}, {"entries", c.entries}, {"batch", c.batch}}
		if err := out.print(figure{bench: "p4runtime/write", unit: "entries/s", value: writes.median(), more: append(params, writes.spread()...)}); err != nil {
			return err
		}
		if c.entries != writeEntries {
			continue // a read does not depend on how the entries were written
		}
		params = params[:2]
		if err := out.print(figure{bench: "p4runtime/read", unit: "entries/s", value: reads.median(), more: append(params, reads.spread()...)}); err != nil {
			return err
		}
	}
	return nil
}

// writingRun fills an empty switch and reads it back; it returns the entries a second of both.
func writingRun(ctx context.Context, entries, batch int) (write, read float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	p, err := pipeline()
	if err != nil {
		return 0, 0, err
	}
	updates, err := inserts(p, branchEntries(entries))
	if err != nil {
		return 0, 0, err
	}
	address, stop, err := serveSwitch(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	config := southbound.DefaultConfig()
	config.Target, config.DeviceID, config.Election, config.Pipeline = address, deviceID, southbound.ElectionID{Low: 1}, p
	config.BatchUpdates = batch
	session, err := southbound.Open(ctx, config, nil)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	if err := session.WaitReady(ctx); err != nil {
		return 0, 0, err
	}

	start := time.Now()
	if err := session.Write(ctx, updates); err != nil {
		return 0, 0, err
	}
	write = float64(entries) / time.Since(start).Seconds()

	start = time.Now()
	held, err := session.Read(ctx, southbound.Query{Kind: southbound.KindTableEntry, ID: p4.TableMtBranchID})
	if err != nil {
		return 0, 0, err
	}
	read = float64(entries) / time.Since(start).Seconds()
	return write, read, sameEntries(updates, held)
}

// branchEntries are entries as different as a large fabric would write.
func branchEntries(n int) []entry.Entity {
	entries := make([]entry.Entity, n)
	for i := range entries {
		group, branch := uint64(i/p4.MtBranches/2), uint64(i%p4.MtBranches)
		from := netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 2, 12: byte(i >> 24), 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)})
		entries[i] = entry.In(p4.TableMtBranch,
			entry.Do(p4.ActionSetBranch, entry.With("branch", entry.Uint(branch)), number("epoch", groupEpoch), number("receiver", 1), number("msn_offset", uint32(i))),
			entry.Exact("group", entry.Uint(group)), entry.Exact("port", entry.Uint(branch+1)), entry.Exact("src_addr", entry.Addr(from)))
	}
	return entries
}

// sameEntries compares what was written with what was read.
func sameEntries(written []southbound.Update, read []southbound.Entity) error {
	if len(read) != len(written) {
		return fmt.Errorf("read %d entries, wrote %d", len(read), len(written))
	}
	byKey := make(map[string]southbound.Entity, len(read))
	for _, e := range read {
		byKey[e.Key()] = e
	}
	for _, u := range written {
		if e, ok := byKey[u.Entity.Key()]; !ok || !southbound.Equal(e, u.Entity) {
			return fmt.Errorf("wrote %v, read %v", u.Entity, e)
		}
	}
	return nil
}

// serveSwitch runs an embedded switch and its P4Runtime server on loopback.
func serveSwitch(ctx context.Context) (address string, stop func() error, err error) {
	runner, err := live.Start(live.Config{Device: p4rt.Config{ID: deviceID, Cache: &cache}})
	if err != nil {
		return "", nil, err
	}
	server := p4rt.NewServer(p4rt.ServerConfig{})
	if err := server.Add(runner.Sessions(), runner); err != nil {
		return "", nil, errors.Join(err, runner.Close())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, errors.Join(err, runner.Close())
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return listener.Addr().String(), func() error {
		server.Close(ctx)
		return errors.Join(<-served, runner.Close())
	}, nil
}
