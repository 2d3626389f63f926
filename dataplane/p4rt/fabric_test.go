package p4rt

import (
	"runtime"
	"testing"
	"weak"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/p4"
)

func fabricConfig(t testing.TB) *p4v1.ForwardingPipelineConfig {
	t.Helper()
	return &p4v1.ForwardingPipelineConfig{P4Info: p4.P4Info(), P4DeviceConfig: p4.JSON()}
}

// The product's own program loads, and devices that share a cache share it.
func TestFabricProgramIsShared(t *testing.T) {
	var cache Cache
	cfg := fabricConfig(t)
	var first *pipeline
	for id := uint64(1); id <= 3; id++ {
		d := newTestDevice(t, Config{ID: id, Cache: &cache})
		req := &p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: id,
			Action:   p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
			Config:   proto.Clone(cfg).(*p4v1.ForwardingPipelineConfig),
		}
		if err := d.SetPipeline(0, req); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = d.active.p
		}
		if d.active.p != first || d.sw.Program() != first.program {
			t.Fatalf("device %d has a program of its own", id)
		}
		resp, err := d.GetPipeline(&p4v1.GetForwardingPipelineConfigRequest{DeviceId: id})
		if err != nil || !proto.Equal(resp.GetConfig(), cfg) {
			t.Fatalf("device %d: the config reads back otherwise: %v", id, err)
		}
	}
}

// TestProgramOutlivesRequest: if a client gives up while its program loads, the program is there
// for the client's next attempt. The cache keeps only one such program.
func TestProgramOutlivesRequest(t *testing.T) {
	var cache Cache
	load := func(cfg *p4v1.ForwardingPipelineConfig) weak.Pointer[pipeline] {
		t.Helper()
		p, err := cache.load(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return weak.Make(p)
	}
	there := func(w weak.Pointer[pipeline]) bool {
		runtime.GC()
		return w.Value() != nil
	}
	first := load(fabricConfig(t))
	if !there(first) {
		t.Fatal("the program is gone with the request: the next attempt loads it again")
	}
	if again := load(fabricConfig(t)); again != first {
		t.Error("the next attempt has loaded it again")
	}
	other := load(loadConfig(t, "entities"))
	if there(first) || !there(other) {
		t.Errorf("after another program the first is there: %t, that one: %t", there(first), there(other))
	}
	// A program in use by a device is found without loading, and then stays in the cache.
	used, err := cache.load(fabricConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	other = load(loadConfig(t, "entities"))
	if again := load(fabricConfig(t)); again.Value() != used || there(other) {
		t.Errorf("what is in use was found: %t; the other is there: %t", again.Value() == used,
			there(other))
	}
	runtime.KeepAlive(used)
}
