package service

import (
	"os"
	"testing"
)

// TestMemory: the least of what the machine has and what control groups allow counts.
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
