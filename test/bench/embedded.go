package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/weft-sdn/weft/controller/entry"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
)

// The program is compiled once, as by the switches of a lab.
var cache p4rt.Cache

var pipeline = sync.OnceValues(func() (*southbound.Pipeline, error) {
	return southbound.NewPipeline(p4.P4Info(), p4.JSON())
})

const deviceID = 1

// newDevice is an embedded switch in a role, programmed by P4Runtime writes.
func newDevice(r role, transmit func(now time.Duration, port uint32, frame []byte)) (*p4rt.Device, error) {
	p, err := pipeline()
	if err != nil {
		return nil, err
	}
	device, err := p4rt.NewDevice(p4rt.Config{ID: deviceID, Cache: &cache, Transmit: transmit})
	if err != nil {
		return nil, err
	}
	updates, err := inserts(p, r.entries)
	if err != nil {
		return nil, err
	}
	direct := southbound.Direct{Target: device, DeviceID: deviceID, Pipeline: p}
	if err := direct.Install(0); err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	if err := direct.Write(0, updates); err != nil {
		return nil, fmt.Errorf("%v: %w", r, err)
	}
	return device, nil
}

// inserts are the updates that put entries into an empty switch.
func inserts(p *southbound.Pipeline, entries []entry.Entity) ([]southbound.Update, error) {
	codec := entry.NewCodec(p.Schema())
	var updates []southbound.Update
	for _, e := range entries {
		u := entry.Update{Type: entry.Insert, Entity: e}
		if t, ok := e.(entry.Table); ok && t.Default {
			u.Type = entry.Modify
		}
		encoded, err := codec.EncodeUpdate(u)
		if err != nil {
			return nil, err
		}
		updates = append(updates, encoded)
	}
	return updates, nil
}
