package p4rt_test

import (
	"runtime"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
)

// heap returns what is allocated and reachable.
func heap() int64 {
	for range 3 { // finalizers, and what a pool keeps for one collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// loadedDevice is a device with the fabric's program and n entries.
func loadedDevice(t testing.TB, cache *p4rt.Cache, id uint64, n int) *p4rt.Device {
	t.Helper()
	d, err := p4rt.NewDevice(p4rt.Config{ID: id, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SetPipeline(0, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: id, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		Config: &p4v1.ForwardingPipelineConfig{P4Info: p4.P4Info(), P4DeviceConfig: p4.JSON()},
	}); err != nil {
		t.Fatal(err)
	}
	req := &p4v1.WriteRequest{DeviceId: id}
	for i := range n {
		req.Updates = append(req.Updates, branchUpdate(p4v1.Update_INSERT, i))
	}
	if err := d.Write(time.Second, req); err != nil {
		t.Fatal(err)
	}
	return d
}

// A switch with the fabric's program and 1,000 entries takes less than 8 MiB, program and P4Info
// included; one that shares these with others takes much less.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("18 switches of the fabric's program")
	}
	const (
		entries = 1000
		alone   = 8 << 20
		shared  = 2 << 20
		devices = 16
	)
	var cache p4rt.Cache
	loadedDevice(t, &cache, 1, entries) // what is made once in a process
	before := heap()
	first := loadedDevice(t, &cache, 1, entries)
	one := heap() - before
	t.Logf("a switch: %d octets", one)
	if one > alone {
		t.Errorf("a switch with %d entries takes %d octets; want at most %d", entries, one, alone)
	}
	before = heap()
	more := make([]*p4rt.Device, devices)
	for i := range more {
		more[i] = loadedDevice(t, &cache, uint64(i+1), entries)
	}
	each := (heap() - before) / devices
	t.Logf("another one: %d octets", each)
	if each > shared {
		t.Errorf("another switch with %d entries takes %d octets; want at most %d", entries, each, shared)
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(more)
}
