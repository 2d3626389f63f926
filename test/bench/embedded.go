package main

import (
	"fmt"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
)

// The program is compiled once, as by the switches of a lab.
var cache p4rt.Cache

var pipeline = sync.OnceValues(func() (*southbound.Pipeline, error) {
	return southbound.NewPipeline(p4.P4Info(), p4.JSON())
})

const deviceID = 1

// newDevice is an embedded switch with a workload's program and entries.
func newDevice(w workload, transmit func(now time.Duration, port uint32, frame []byte)) (
	*p4rt.Device, error) {
	device, err := p4rt.NewDevice(p4rt.Config{ID: deviceID, Cache: &cache, Transmit: transmit})
	if err != nil {
		return nil, err
	}
	return device, w.install(0, device)
}

// install gives a switch the workload's program and entries.
func (w *workload) install(now time.Duration, device *p4rt.Device) error {
	err := device.SetPipeline(now, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: deviceID, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		Config: &p4v1.ForwardingPipelineConfig{P4Info: w.info, P4DeviceConfig: w.program},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", w.title, err)
	}
	for _, r := range w.entries {
		if err := device.Write(now, r); err != nil {
			return fmt.Errorf("%s: %w", w.title, err)
		}
	}
	return nil
}

// inserts are the updates that put entries into an empty switch.
func inserts(entries []entry.Entity) []entry.Update {
	updates := make([]entry.Update, len(entries))
	for i, e := range entries {
		updates[i] = entry.Update{Type: entry.Insert, Entity: e}
	}
	return updates
}
