package service

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
)

// TestMemory: the lesser of the machine's memory and the control groups' limits counts.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  int64
	}{
		{nil, 0},
		{map[string]string{"/proc/meminfo": "MemTotal:       16384 kB\nMemFree: 1 kB\n"}, 16 << 20},
		{map[string]string{"/proc/meminfo": "MemTotal: 16384 kB\n",
			"/sys/fs/cgroup/memory.max": "1048576\n"}, 1 << 20},
		{map[string]string{"/proc/meminfo": "MemTotal: 16384 kB\n", "/sys/fs/cgroup/memory.max": "max\n"},
			16 << 20},
		{map[string]string{"/proc/meminfo": "MemTotal: 16384 kB\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 16 << 20},
		{map[string]string{
			"/proc/meminfo": "MemTotal: 16384 kB\n", "/proc/self/cgroup": "0::/system.slice/weft.service\n",
			"/sys/fs/cgroup/system.slice/weft.service/memory.max": "2097152\n",
		}, 2 << 20},
		{map[string]string{"/proc/meminfo": "MemTotal: x kB\nMemTotal:\n",
			"/sys/fs/cgroup/memory.max": "-5"}, 0},
	} {
		got := memory(func(name string) ([]byte, error) {
			text, ok := c.files[name]
			if !ok {
				return nil, os.ErrNotExist
			}
			return []byte(text), nil
		})
		if got != c.want {
			t.Errorf("%q: %d, want %d", c.files, got, c.want)
		}
	}
}

// TestGiveBack: a process gives unused memory back when there is much of it and little is
// allocated, once a look, and not while requests come.
func TestGiveBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex // guards both
		now, freed := usage{}, 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			giveBack(ctx, func() usage {
				mu.Lock()
				defer mu.Unlock()
				return now
			}, func() {
				mu.Lock()
				defer mu.Unlock()
				freed++
			})
		}()
		for _, c := range []struct {
			unused, allocated uint64
			want              int
		}{
			{idleUnused, 0, 0}, {idleUnused + 1, 0, 1}, {4 * idleUnused, idleUnused, 1},
			{4 * idleUnused, idleUnused + 1, 0}, {0, 0, 0}, {4 * idleUnused, 0, 1},
		} {
			synctest.Wait()
			mu.Lock()
			before := freed
			now = usage{now.allocated + c.allocated, c.unused}
			mu.Unlock()
			time.Sleep(idleLook)
			synctest.Wait()
			mu.Lock()
			if freed-before != c.want {
				t.Errorf("%d unused, %d allocated: freed %d times, want %d", c.unused, c.allocated,
					freed-before, c.want)
			}
			mu.Unlock()
		}
		cancel()
		<-done
	})
}

// TestUsed: the memory of this process counts allocated objects, and garbage as unused.
func TestUsed(t *testing.T) {
	const size = 32 << 20
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := used()
	runtime.KeepAlive(make([]byte, size))
	if after := used(); after.allocated-before.allocated < size ||
		after.unused < size {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
