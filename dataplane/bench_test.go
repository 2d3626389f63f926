package dataplane

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sink counts what leaves a switch.
type sink struct{ frames, octets int }

func (s *sink) Transmit(_ time.Duration, _ uint32, b []byte) {
	s.frames++
	s.octets += len(b)
}
func (s *sink) Digest(time.Duration, int, [][]byte) { s.frames++ }

const forward64 = macSwitch + macHost + "86dd" + "60000000 000c 11 40" + addrA + addrB +
	"c000 1234 000c 0000 01020304"

// BenchmarkPacket is the time of one packet in, of every kind.
func BenchmarkPacket(b *testing.B) {
	for _, k := range kinds() {
		b.Run(strings.ReplaceAll(k.name, " ", "-"), func(b *testing.B) { k.warm(b).bench(b) })
	}
}

func (l *load) bench(b *testing.B) {
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	for range b.N {
		l.step()
	}
	b.StopTimer()
	// By the processor's time, which other work on the machine changes less.
	b.ReportMetric(float64(b.N)/(cpuTime(b)-before).Seconds(), "packets/cpu-s")
}

// cpuTime returns the processor time of this process.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestManySwitches starts 1,000 switches of the fabric program and bounds what
// each costs.
func TestManySwitches(t *testing.T) {
	p := loadFile(t, fabricJSON)
	const n = 1000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	switches := make([]*Switch, n)
	for i := range switches {
		switches[i] = New(Config{}, &sink{})
		switches[i].SetProgram(p)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - before.HeapAlloc) / n
	t.Logf("%d octets a switch", each)
	if each > 256<<10 {
		t.Errorf("an idle switch takes %d octets", each)
	}
	runtime.KeepAlive(switches)
}
