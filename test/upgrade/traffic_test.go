package upgrade

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology/bgpls/bgplstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, bgplstest.LeftByGoBGP()) }

// patience is how long a test waits for what has to happen, also on a busy machine.
const patience = 6 * time.Minute

// bed is Figure 1 with a group that is written to all the time, under one controller after another.
type bed struct {
	traffic
	inventory inventory.Inventory
	store     store.Store
	service   *service.Service
	rest      *client.Client
}

// traffic is a group that is written to all the time.
type traffic struct {
	t       *testing.T
	network *lab.Live
	group   *lab.Group

	// longest is the longest time in which no write was completed, and stood the sum of such times of
	// standstill and more, since they were 0. The world's goroutine has them, and at, when the last
	// write was.
	longest, stood, at time.Duration
	failed             error
}

// standstill is more than a write takes on a busy machine.
const standstill = 50 * time.Millisecond

// start starts a controller with a P4 program; nil is that of this release.
func (b *bed) start(pipeline *southbound.Pipeline) {
	b.t.Helper()
	served := northbound.DefaultConfig()
	served.Grace = 100 * time.Millisecond
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("WEFT_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	var err error
	b.service, err = service.Start(context.WithoutCancel(b.t.Context()), service.Options{
		Inventory: b.inventory, Store: b.store, API: served, Log: log, Pipeline: pipeline})
	if err == nil {
		b.rest, err = client.New(client.Config{Server: "http://" + b.service.Addr().String()})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) stop() {
	b.t.Helper()
	b.rest.Close()
	if err := b.service.Close(); err != nil {
		b.t.Error(err)
	}
}

// until polls until something holds.
func (b *traffic) until(what string, holds func() bool) {
	b.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-ticker.C {
		if time.Now().After(deadline) {
			b.t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

// programmed waits until all switches hold what they are to hold.
func (b *bed) programmed() {
	b.t.Helper()
	b.until("all switches are programmed", func() bool {
		all, err := b.rest.Switches().List(b.t.Context(), nil)
		for i := range all {
			if err != nil || !all[i].Synced || all[i].Settling {
				return false
			}
		}
		return len(all) == len(b.network.World.Network.Switches)
	})
}

// pump goes on writing, and takes the time of writes that were completed.
func (b *traffic) pump(ctx context.Context, data []byte) {
	const message = 1024
	before := 0.0
	for ctx.Err() == nil {
		err := b.network.Clock.Do(ctx, func(now time.Duration) {
			if b.group.Done() {
				before = 0
				b.failed = errors.Join(b.failed, b.group.Write(data, message))
			} else {
				b.failed = errors.Join(b.failed, b.group.Pump())
			}
			if done := b.group.Progress(); done != before {
				b.gap(now)
				before = done
			}
		})
		if err != nil {
			return
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// gap counts the time since the last write. The world's goroutine calls it.
func (b *traffic) gap(now time.Duration) {
	took := now - b.at
	b.longest, b.at = max(b.longest, took), now
	if took >= standstill {
		b.stood += took
	}
}

// most is how long writes may pause, and stand still in all, when releases change.
const most = time.Second

// tooLong reports whether writes paused, or stood still in all, for too long.
func tooLong(longest, stood time.Duration) bool { return longest >= most || stood >= most }

// TestTooLong: gaps of standstill and more are summed, shorter ones are not, and a sum or a gap of
// a second is too long.
func TestTooLong(t *testing.T) {
	for _, c := range []struct {
		gaps           []time.Duration
		longest, stood time.Duration
		tooLong        bool
	}{
		{nil, 0, 0, false},
		{[]time.Duration{standstill - 1, standstill - 1}, standstill - 1, 0, false},
		{[]time.Duration{standstill, standstill - 1, standstill + 1}, standstill + 1,
			2*standstill + 1, false},
		{[]time.Duration{most - 1}, most - 1, most - 1, false},
		{[]time.Duration{most}, most, most, true},
		{[]time.Duration{most / 2, 1, most/2 - 1}, most / 2, most - 1, false},
		{[]time.Duration{most / 2, 1, most / 2}, most / 2, most, true},
	} {
		b := &traffic{t: t}
		now := time.Duration(0)
		for _, gap := range c.gaps {
			now += gap
			b.gap(now)
		}
		if b.longest != c.longest || b.stood != c.stood || tooLong(b.longest, b.stood) != c.tooLong {
			t.Errorf("%v: longest %v, in all %v, too long: %v", c.gaps, b.longest, b.stood,
				tooLong(b.longest, b.stood))
		}
	}
	if tooLong(most-1, most-1) || !tooLong(most, 0) || !tooLong(0, most) {
		t.Error("a second is too long, and nothing less is")
	}
}

// pause returns the longest time without a completed write since the last call, and the sum of
// those of standstill and more.
func (b *traffic) pause() (longest, stood time.Duration) {
	b.t.Helper()
	var failed error
	if err := b.network.Clock.Do(b.t.Context(), func(now time.Duration) {
		b.gap(now)
		longest, stood, failed = b.longest, b.stood, b.failed
		b.longest, b.stood = 0, 0
	}); err != nil {
		b.t.Fatal(err)
	}
	if failed != nil {
		b.t.Fatal(failed)
	}
	return longest, stood
}

// open makes the group, which a controller has to be given.
func (b *traffic) open(octets int) api.MulticastGroupSpec {
	b.t.Helper()
	proxy := netip.MustParseAddr("2001:db8:ffff::ffff")
	spec := api.MulticastGroupSpec{ProxyAddress: proxy, DesignatedQPN: 4096, InitialPSN: 1}
	if err := b.network.Do(b.t.Context(), func(w *lab.World) (err error) {
		qp := rc.DefaultQPConfig()
		qp.SendDepth = 4
		b.group, err = w.NewGroup(lab.GroupConfig{Proxy: proxy, DesignatedQPN: spec.DesignatedQPN,
			Source: "S1", Receivers: []string{"R1", "R2", "R3", "R4", "R5"}, InitialPSN: spec.InitialPSN,
			QP: qp, Memory: octets})
		if err != nil {
			return err
		}
		spec.Source = api.GroupSource{Address: b.group.Source.Config().Addr,
			QPN: b.group.SourceQP.Config().QPN}
		for _, r := range b.group.Receivers {
			spec.Receivers = append(spec.Receivers, api.GroupReceiver{Address: r.Host.Config().Addr,
				QPN: r.QP.Config().QPN})
		}
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
	return spec
}

// write has the group written to until end is called.
func (b *traffic) write(data []byte) (end func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		b.pump(ctx, data)
	}()
	b.running()
	b.pause()
	return func() { cancel(); <-pumped }
}

// running waits until further writes are completed.
func (b *traffic) running() {
	b.t.Helper()
	done := 0.0
	b.until("writes are completed", func() bool {
		before := done
		_ = b.network.Do(b.t.Context(), func(*lab.World) error {
			done = b.group.Progress()
			return nil
		})
		return before > 0 && done > before
	})
}

// sets returns how often switches got a P4 program.
func (b *traffic) sets() map[string]uint64 {
	out := make(map[string]uint64)
	for key, n := range b.network.Written() {
		if sw, ok := strings.CutSuffix(key, " SetForwardingPipelineConfig"); ok {
			out[sw] = n
		}
	}
	return out
}

// other is another program: the text differs in a blank, and a table that traffic needs has another
// id, so that the table's entries go with their program.
func other(t *testing.T, table string) *southbound.Pipeline {
	t.Helper()
	info := proto.CloneOf(p4.P4Info())
	for _, x := range info.Tables {
		if x.Preamble.Name != table {
			continue
		}
		is := x.Preamble.Id
		x.Preamble.Id ^= 0x00ff0000
		for _, c := range info.DirectCounters {
			if c.DirectTableId == is {
				c.DirectTableId = x.Preamble.Id
			}
		}
	}
	p, err := southbound.NewPipeline(info, append([]byte(" "), bytes.Clone(p4.JSON())...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestProgramChanges: a controller with another P4 program takes the place of one, and goes back.
// Every switch gets each program once, and a group that is written to stands still for less than a
// second, also where a table that the group needs is another one.
func TestProgramChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("in real time")
	}
	b := &bed{traffic: traffic{t: t}, store: store.NewMemory()}
	var err error
	b.network, err = lab.StartLive(t.Context(), lab.LiveOptions{Network: lab.Figure1(),
		Listen: "127.0.0.1:0", Controller: func(inv inventory.Inventory) error {
			inv.Intervals.Settle = api.Duration(200 * time.Millisecond)
			b.inventory = inv
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.network.Close(); err != nil {
			t.Error(err)
		}
	}()
	b.start(nil)
	defer func() { b.stop() }()
	b.programmed()

	data := bytes.Repeat([]byte("weft"), 1<<20)
	spec := b.open(len(data))
	if _, err := b.rest.Do(t.Context(), http.MethodPut, "/v1/multicast-groups/g", nil,
		map[string]any{"spec": spec}); err != nil {
		t.Fatal(err)
	}
	b.until("the group is programmed", func() bool {
		g, err := b.rest.Groups().Get(t.Context(), "g")
		return err == nil && g.Status.Is(api.Programmed)
	})
	defer b.write(data)()
	for _, step := range []struct {
		what    string
		program *southbound.Pipeline
	}{
		{"an upgrade", other(t, "")}, {"a downgrade", nil},
		{"an upgrade with another table of routes", other(t, "FabricIngress.routing.ipv6_route")},
		{"a downgrade from that", nil},
	} {
		before := b.sets()
		b.stop()
		b.start(step.program)
		b.until("every switch has the program", func() bool {
			now := b.sets()
			for sw := range before {
				if now[sw] == before[sw] {
					return false
				}
			}
			return true
		})
		b.programmed()
		b.running()
		longest, _ := b.pause()
		t.Logf("%s: writes paused for %v", step.what, longest.Round(time.Millisecond))
		if tooLong(longest, 0) {
			t.Errorf("%s: writes paused for %v, want less than %v", step.what, longest, most)
		}
		for sw, n := range b.sets() {
			if n != before[sw]+1 {
				t.Errorf("%s: switch %s got a program %d times, want once", step.what, sw, n-before[sw])
			}
		}
	}
}
