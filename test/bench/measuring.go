package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/telemetry"
)

// The network whose samples are taken: two of the queues of each port are in use.
const (
	measuredSwitches = 1000
	measuredPorts    = 64
	measuredQueues   = 8
	measuredSeconds  = 90
	measuredQueries  = 1000
	measuredMatrix   = 512
	measuredMatrices = 20
	measuredMemory   = 8 << 30
)

// measuring measures what the history of a large network takes, and how fast it answers. Samples
// come as gNMI would hand them on; reading gNMI is not a part of it.
func measuring(ctx context.Context, out *report) error {
	out.tell("telemetry: %d switches of %d ports and %d queues", measuredSwitches, measuredPorts,
		measuredQueues)
	before := reachable()
	st, now := telemetry.New(telemetry.Config{Memory: measuredMemory}), time.Unix(1_800_000_000, 0)
	w := newSampled(measuredSwitches, measuredPorts, measuredQueues)
	var took []float64
	var spent time.Duration
	for range measuredSeconds {
		if err := ctx.Err(); err != nil {
			return err
		}
		now = now.Add(time.Second)
		w.next()
		var lag time.Duration
		for sw := range measuredSwitches {
			batch := w.batch(sw, now) // gNMI's part
			start, cpu := time.Now(), processorTime()
			st.Take(batch)
			lag, spent = lag+time.Since(start), spent+processorTime()-cpu
		}
		took = append(took, lag.Seconds())
	}
	s := st.Stats()
	if want := int64(measuredSwitches * measuredPorts * (1 + measuredQueues)); s.Objects != want ||
		s.Gaps+s.Late+s.Restarts+s.Refused > 0 {
		return fmt.Errorf("the store has %+v, want %d objects and nothing lost", s, want)
	}
	network := []field{{"switches", measuredSwitches}, {"ports", measuredPorts},
		{"queues", measuredQueues}, {"seconds", measuredSeconds}}
	slices.Sort(took)
	heap := reachable() - before
	runtime.KeepAlive(w)
	err := errors.Join(
		out.print(figure{"telemetry/processor", "cores", spent.Seconds() / measuredSeconds, network}),
		out.print(figure{"telemetry/lag", "s", took[len(took)/2],
			append(slices.Clone(network), field{"max", took[len(took)-1]})}),
		out.print(figure{"telemetry/memory", "octets", float64(heap),
			append(slices.Clone(network), field{"objects", s.Objects}, field{"bound", s.Octets})}),
		measuredHistory(out, st, now),
	)
	runtime.KeepAlive(st)
	return errors.Join(err, measuredUtilization(out))
}

// measuredHistory measures requests for all that is kept of a port, without HTTP.
func measuredHistory(out *report, st *telemetry.Store, now time.Time) error {
	r := rand.New(rand.NewPCG(1, 2))
	var took []float64
	for range measuredQueries {
		q := telemetry.Query{Kind: telemetry.Port, Name: fmt.Sprintf("s%d/%d", r.IntN(measuredSwitches),
			1+r.IntN(measuredPorts)), Since: now.Add(-15 * time.Minute), Until: now}
		start := time.Now()
		h, err := st.History(q, now)
		if err != nil || len(h.Series) == 0 {
			return fmt.Errorf("history of %s: %d series, %w", q.Name, len(h.Series), err)
		}
		took = append(took, 1000*time.Since(start).Seconds())
	}
	slices.Sort(took)
	return out.print(figure{"telemetry/history", "ms", took[len(took)*99/100],
		[]field{{"median", took[len(took)/2]}, {"max", took[len(took)-1]}, {"queries", measuredQueries}}})
}

// measuredUtilization measures the values of a matrix, with its JSON, without HTTP.
func measuredUtilization(out *report) error {
	st, now := telemetry.New(telemetry.Config{Memory: measuredMemory}), time.Unix(1_800_000_000, 0)
	w := newSampled(measuredMatrix, measuredMatrix, 0)
	speeds := make(map[uint32]uint64)
	columns := make(map[uint32]int)
	for port := range measuredMatrix {
		speeds[uint32(port+1)], columns[uint32(port+1)] = 400e9, port
	}
	rows := make([]telemetry.Row, measuredMatrix)
	for sw := range rows {
		rows[sw] = telemetry.Row{Switch: "s" + strconv.Itoa(sw), Columns: columns}
		st.SetSwitch(rows[sw].Switch, time.Second, speeds)
	}
	for range measuredSeconds {
		now = now.Add(time.Second)
		w.next()
		for sw := range measuredMatrix {
			st.Take(w.batch(sw, now))
		}
	}
	for _, over := range []time.Duration{10 * time.Second, time.Minute} {
		var took []float64
		for range measuredMatrices {
			start := time.Now()
			m := api.Matrix{Plane: 1}
			m.Up, m.Down = st.Matrix(rows, measuredMatrix, over, now)
			if _, err := json.Marshal(&m); err != nil {
				return err
			}
			took = append(took, 1000*time.Since(start).Seconds())
			for r := range m.Up {
				if slices.Contains(m.Up[r], -1) {
					return fmt.Errorf("row %d of the matrix lacks values", r)
				}
			}
		}
		slices.Sort(took)
		err := out.print(figure{"telemetry/matrix", "ms", took[len(took)/2],
			[]field{{"over", over.Seconds()}, {"rows", measuredMatrix}, {"columns", measuredMatrix},
				{"max", took[len(took)-1]}, {"runs", measuredMatrices}}})
		if err != nil {
			return err
		}
	}
	return nil
}

// sampled makes the samples of a network.
type sampled struct {
	rand   *rand.Rand
	counts []uint64 // octets of a port, which are counted by all that is in use
	out    []gnmi.Sample
	lists  [][]gnmi.Queue
	round  uint64
}

func newSampled(switches, ports, queues int) *sampled {
	w := &sampled{rand: rand.New(rand.NewPCG(1, 2)), counts: make([]uint64, switches*ports),
		out: make([]gnmi.Sample, ports)}
	for range ports {
		list := make([]gnmi.Queue, queues)
		for q := range list {
			list[q].Name = strconv.Itoa(q)
		}
		w.lists = append(w.lists, list)
	}
	return w
}

// next lets a second pass.
func (w *sampled) next() {
	w.round++
	for i := range w.counts {
		w.counts[i] += w.rand.Uint64N(50e9)
	}
}

// batch returns the samples of a switch, until the next call.
func (w *sampled) batch(sw int, now time.Time) []gnmi.Sample {
	is := func(v uint64) gnmi.Count { return gnmi.Count{Value: v, OK: true} }
	for p := range w.out {
		n := w.counts[sw*len(w.out)+p]
		s := gnmi.Sample{Switch: "s" + strconv.Itoa(sw), Port: uint32(p + 1), Time: now, Arrived: now,
			Queues: w.lists[p]}
		s.In = gnmi.Traffic{Octets: is(n), Packets: is(n / 1024), Errors: is(0), Discards: is(0)}
		s.Out = gnmi.Traffic{Octets: is(n / 2), Packets: is(n / 2048), Errors: is(0), Discards: is(0)}
		for i := range s.PFC {
			s.PFC[i] = gnmi.PFC{In: is(0), Out: is(0)}
		}
		for i := range s.Queues {
			q, used := &s.Queues[i], uint64(0)
			if i < 2 {
				used = n / 4
			}
			q.Octets, q.Packets, q.Longest, q.Marked = is(used), is(used/1024), is(used%100_000),
				is(used/1e6)
			q.DroppedPackets, q.DroppedOctets, q.Trimmed = is(0), is(0), is(0)
		}
		w.out[p] = s
	}
	return w.out
}
