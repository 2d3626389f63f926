package selfprobe

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/controller/mrc/ev"
)

// BenchmarkSteps plans the probes of 32,768 hosts in the steps of the controller, and reports the
// longest by the processor time of its thread: other programs do not count.
func BenchmarkSteps(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spent := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	f, hosts := network{t0: 256, t1: 128, hosts: 1 << 15}.make(b, ev.ModeF3216, nil)
	longest, all, steps := time.Duration(0), time.Duration(0), 0
	for b.Loop() {
		p := NewPlanning(f, hosts, 3, Avoid{}, nil)
		for done := false; !done; steps++ {
			at := spent()
			done = p.Step(512) != nil
			longest, all = max(longest, spent()-at), all+spent()-at
		}
	}
	b.ReportMetric(float64(longest.Microseconds()), "µs-longest")
	b.ReportMetric(float64(all.Milliseconds())/float64(b.N), "ms-all")
	b.ReportMetric(float64(steps)/float64(b.N), "steps")
}
