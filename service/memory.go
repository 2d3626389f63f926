package service

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// GCPercent is how much garbage a controller lets pile up, in percent of the kept memory, some 100
// MB with a thousand hosts and hundreds of switches: a collection that falls into a lost link
// doubles the time to the last of them.
const GCPercent = 800

// Above memoryShare, a share of the memory in the machine or in the process's control group, the
// garbage collector runs at any need: the percentage alone would let memory grow past all bounds.
const memoryShare = 0.6

// TuneMemory lets garbage pile up to a percentage of the kept memory, within a share of the memory
// that the process may use, unless the variables GOGC and GOMEMLIMIT say otherwise.
func TuneMemory(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if most := memory(os.ReadFile); most > 0 {
		debug.SetMemoryLimit(int64(float64(most) * memoryShare))
	}
}

const (
	// idleLook is the pause between two reads of the allocations of a process.
	idleLook = time.Minute
	// idleUnused is how many unused octets stay with an idle process.
	idleUnused = 64 << 20
	// idleShare is the share of the unused octets that an idle process allocates at most from one look
	// to the next.
	idleShare = 0.25
)

// usage is the memory of a process, in octets.
type usage struct {
	allocated uint64 // since the start
	unused    uint64 // of the machine's memory, beyond what the last collection left
}

// GiveBack gives unused memory back to the machine while the process is idle, until ctx ends.
// Without it, a process with [GCPercent] keeps nine times what is in use after a burst of requests.
func GiveBack(ctx context.Context) { giveBack(ctx, used, debug.FreeOSMemory) }

func giveBack(ctx context.Context, used func() usage, free func()) {
	ticker := time.NewTicker(idleLook)
	defer ticker.Stop()
	for last := used(); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		now := used()
		if now.unused > idleUnused &&
			float64(now.allocated-last.allocated) <= idleShare*float64(now.unused) {
			free()
		}
		last = now
	}
}

// used reads the memory of this process.
func used() usage {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(samples)
	at := func(i int) uint64 { return samples[i].Value.Uint64() }
	u := usage{allocated: at(0)}
	if all, live := at(2)+at(3)+at(4), at(1); all > live {
		u.unused = all - live
	}
	return u
}

// memory returns the octets that the process may use according to Linux's files: the limit of its
// control group (version 2, and version 1), or the machine's memory; 0: neither is known.
func memory(read func(string) ([]byte, error)) int64 {
	least := int64(math.MaxInt64)
	take := func(text string, unit int64) {
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && n > 0 &&
			n <= math.MaxInt64/unit {
			least = min(least, n*unit)
		}
	}
	groups := []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	if own, err := read("/proc/self/cgroup"); err == nil {
		for line := range strings.Lines(string(own)) {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
				groups = append(groups, "/sys/fs/cgroup"+path+"/memory.max")
			}
		}
	}
	for _, file := range groups {
		if text, err := read(file); err == nil {
			take(string(text), 1) // "max" is no number, and no limit
		}
	}
	if text, err := read("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
				take(f[1], 1024)
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}
