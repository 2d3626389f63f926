package service

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// GCPercent is how much garbage a controller lets pile up, in percent of what it keeps, which for a
// thousand hosts and hundreds of switches is some 100 MB: a collection that falls into a lost link
// doubles the time to the last of them.
const GCPercent = 800

// memoryShare is the part of the machine's memory, or of the process's control group, above which
// garbage is collected as often as it takes: the percentage alone would let it grow past all
// memory.
const memoryShare = 0.6

// TuneMemory has the process let garbage pile up to a percentage of what it keeps, and not beyond a
// share of the memory that it may use, unless the variables GOGC and GOMEMLIMIT say otherwise.
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

// memory returns the octets that the process may use by the files of Linux: those of its control
// group (version 2, and version 1), or of the machine. It is 0 where neither is known.
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
