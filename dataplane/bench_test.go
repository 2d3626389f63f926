package dataplane

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
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

// BenchmarkFlows forwards packets of so many flows in turn.
func BenchmarkFlows(b *testing.B) {
	for _, flows := range []int{1, 10, 100, 1000, 10000} {
		b.Run(strconv.Itoa(flows), func(b *testing.B) {
			in := make([]arrival, flows)
			for i := range in {
				in[i] = arrivals(b, 1, forward64)[0]
				binary.BigEndian.PutUint32(in[i].frame[14+36:], uint32(i))
			}
			l := newLoad(forwardingRig(b), time.Microsecond, in...)
			for range 200_000 {
				l.step()
			}
			l.bench(b)
			b.ReportMetric(float64(l.r.s.ctx.Recalled()), "recalled")
		})
	}
}

// unordered has n branches acknowledge PSN after PSN in no order, each up to two ahead of the last,
// so many times round all there are.
func unordered(t testing.TB, n, rounds int) (frames []string) {
	rng, next := rand.New(rand.NewPCG(1, 0)), make([]int, n)
	for len(frames) < n*rounds {
		i := rng.IntN(n)
		if next[i] < min(rounds, slices.Min(next)+3) {
			frames = append(frames, ackPacket(t, i, uint32(next[i]*(1<<24/rounds))))
			next[i]++
		}
	}
	return frames
}

// BenchmarkResponses has branches acknowledge in no order, by packets that follow others and
// without.
func BenchmarkResponses(b *testing.B) {
	for _, n := range []int{2, 5, 16, 32} {
		frames := unordered(b, n, 1<<10)
		for _, mode := range []engine.PathMode{engine.PathsEarned, engine.PathsOff} {
			what := map[engine.PathMode]string{engine.PathsEarned: "paths", engine.PathsOff: "program"}
			b.Run(fmt.Sprintf("%d/%s", n, what[mode]), func(b *testing.B) {
				l := newLoad(edgeRig(b, n), time.Microsecond, arrivals(b, 2, frames...)...)
				l.r.s.ctx.SetPaths(mode)
				for range 1 << 18 {
					l.step()
				}
				before := l.r.s.ctx.Recalled()
				l.bench(b)
				b.ReportMetric(100*float64(l.r.s.ctx.Recalled()-before)/float64(b.N), "%recalled")
			})
		}
	}
}

// cpuTime is what this process has used of the processor.
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
