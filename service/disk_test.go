package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

// placed is a store on a disk that a test makes.
type placed struct {
	store.Store
	disk store.Disk
	err  error // of writes
}

func (p *placed) Disk() (store.Disk, bool) { return p.disk, p.disk.Dir != "" }
func (p *placed) Writable() error          { return p.err }

// TestDiskIsSaid: a disk fault raises an alarm, with Full set if the store keeps nothing for lack
// of room; /readyz reports the fault, and only a slow disk does not count.
func TestDiskIsSaid(t *testing.T) {
	down := errors.New("the store does not answer")
	for _, c := range []struct {
		name     string
		disk     store.Disk
		err      error
		wrong    string
		alarm    *cluster.Alarm
		ok       bool // of the check
		advisory bool
	}{
		{"fine", store.Disk{Dir: "d"}, nil, "", nil, true, false},
		{"fine, without a store", store.Disk{Dir: "d"}, down, down.Error(), nil, true, false},
		{"low", store.Disk{Dir: "d", State: store.DiskLow, Reason: "low"}, store.ErrNoRoom, "low",
			&cluster.Alarm{Full: true}, false, false},
		{"out", store.Disk{Dir: "d", State: store.DiskOut, Reason: "out"}, down, "out",
			&cluster.Alarm{Full: true}, false, false},
		{"failed", store.Disk{Dir: "d", State: store.DiskFailed, Reason: "failed"}, down, "failed",
			&cluster.Alarm{}, false, false},
		{"slow", store.Disk{Dir: "d", Slow: true, Reason: "slow"}, nil, "slow", &cluster.Alarm{}, false,
			true},
	} {
		o := &Options{Store: &placed{disk: c.disk, err: c.err}}
		o.API.Writable = o.Store.Writable
		alarm := o.alarm()
		if !alarm.Same(c.alarm) || alarm != nil && alarm.Message != c.disk.Reason ||
			o.wrong() != c.wrong {
			t.Errorf("%s: alarm %+v, wrong is %q", c.name, alarm, o.wrong())
		}
		kept := api.ReadinessCheck{Name: "store", OK: true}
		if c.err != nil {
			kept = api.ReadinessCheck{Name: "store", Message: "changes are refused: " + c.err.Error()}
		}
		checks := o.checks()
		if len(checks) != 2 || checks[0] != kept ||
			checks[1] != (api.ReadinessCheck{Name: "disk", OK: c.ok, Advisory: c.advisory,
				Message: c.disk.Reason}) {
			t.Errorf("%s: %+v", c.name, checks)
		}
		if d := o.controllerDisk(); d.State != c.disk.State.String() || d.Slow != c.disk.Slow ||
			d.Reason != c.disk.Reason {
			t.Errorf("%s: clients see %+v", c.name, d)
		}
	}
	o := &Options{Store: &placed{}}
	o.API.Writable = o.Store.Writable
	if checks := o.checks(); len(checks) != 1 || o.alarm() != nil || o.controllerDisk() != nil {
		t.Errorf("without a disk: %+v", checks)
	}
}

// TestShort: changes are refused when at most half of the store's members have room on their disks.
func TestShort(t *testing.T) {
	for _, c := range []struct {
		form             int // controllers c1 and so on
		there, full, out int // the first are there, full, and of no part of the store
		want             bool
	}{
		{form: 3, there: 3, full: 0, want: false},
		{form: 3, there: 3, full: 1, want: false},
		{form: 3, there: 3, full: 2, want: true},
		{form: 3, there: 2, full: 1, want: true}, // the third is away
		{form: 3, there: 2, full: 0, want: false},
		{form: 5, there: 5, full: 2, want: false},
		{form: 5, there: 5, full: 3, want: true},
		{form: 5, there: 4, full: 2, want: true},
		{form: 2, there: 2, full: 1, want: true},
		{form: 3, there: 3, full: 1, out: 2, want: true}, // of those that form it one has room
		{form: 0, there: 3, full: 1, want: true},
	} {
		m := &member{o: &Options{}}
		m.o.Inventory.Cluster.Etcd.Members = make(map[string]string)
		var v cluster.View
		for i := range c.form {
			m.o.Inventory.Cluster.Etcd.Members[fmt.Sprint("c", i)] = ""
		}
		for i := range c.there {
			o := cluster.Member{Name: fmt.Sprint("c", i)}
			if i < c.full {
				o.Alarm = &cluster.Alarm{Full: true, Message: "no room"}
			} else {
				o.Alarm = &cluster.Alarm{Message: "slow"} // has room
			}
			if i < c.out {
				delete(m.o.Inventory.Cluster.Etcd.Members, o.Name)
				m.o.Inventory.Cluster.Etcd.Members["other "+o.Name] = ""
			}
			v.Members = append(v.Members, o)
		}
		if name, why, short := m.short(&v); short != c.want || short && (name != "c0" ||
			why != "no room") {
			t.Errorf("%+v: %s %s %v", c, name, why, short)
		}
	}
}

// TestMembersAreReady: a controller is ready when it has a lease and a decider exists. While too
// few controllers have room, all refuse writes, and name a controller without room. Alarms of other
// controllers, and unevenly shared switches, do not count.
func TestMembersAreReady(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		server := storetest.NewServer()
		ctx, stop := context.WithCancel(t.Context())
		var ended []chan struct{}
		defer func() {
			stop()
			for _, e := range ended {
				<-e
			}
		}()
		stuck := errors.New("stuck")
		members := make(map[string]*member)
		alarms := map[string]*atomic.Pointer[cluster.Alarm]{"c1": {}, "c2": {}}
		for _, name := range []string{"c1", "c2"} {
			shared := server.Client()
			m := &member{o: &Options{Store: &placed{Store: shared}}, self: cluster.Member{Name: name},
				sessions: &sessions{relay: southbound.NewRelay()}}
			m.o.API.Writable = m.writable
			m.node = cluster.New(cluster.Config{
				Self: m.self, Store: shared,
				Lead:       func(ctx context.Context, _ *cluster.Mandate) error { <-ctx.Done(); return nil },
				Switches:   func() []cluster.Switch { return []cluster.Switch{{Name: "n1"}} },
				Generation: func(context.Context, store.Store) (uint32, error) { return 0, stuck },
				Alarm:      func() *cluster.Alarm { return alarms[name].Load() },
			})
			members[name] = m
		}
		c1, c2 := members["c1"], members["c2"]
		is := func(when string, m *member, want ...api.ReadinessCheck) {
			t.Helper()
			got := m.Readiness()
			if len(got) != len(want) {
				t.Errorf("%s: %+v, want %+v", when, got, want)
				return
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s: %+v, want %+v", when, got[i], want[i])
				}
			}
		}
		kept, decides := api.ReadinessCheck{Name: "store", OK: true}, api.ReadinessCheck{Name: "decider",
			OK: true, Message: "c1"}
		is("before it has a lease", c1, api.ReadinessCheck{Name: "store",
			Message: "no lease in the store"}, api.ReadinessCheck{Name: "decider",
			Message: "no controller decides"})
		for _, m := range []*member{c1, c2} {
			done := make(chan struct{})
			ended = append(ended, done)
			go func() {
				defer close(done)
				m.node.Run(ctx)
			}()
			time.Sleep(time.Second)
		}
		is("of the decider", c1, kept, decides)
		is("of the other one", c2, kept, decides)
		if s, _ := c2.State(); s.Controllers != 2 || s.Decides || s.Expected != 1 {
			t.Errorf("%+v", s)
		}
		c2.o.Inventory.Cluster.Etcd.Members = map[string]string{"c1": "", "c2": "", "c3": ""}
		if s, _ := c2.State(); s.Expected != 3 {
			t.Errorf("%d controllers are expected, want 3", s.Expected)
		}
		alarms["c2"].Store(&cluster.Alarm{Full: true, Message: "3 MiB free"})
		time.Sleep(time.Second)
		is("while another one has an alarm", c1, api.ReadinessCheck{Name: "store",
			Message: "changes are refused: its disk is full: controller c2: 3 MiB free"}, decides,
			api.ReadinessCheck{Name: "members", Advisory: true, Message: "controller c2: 3 MiB free"})
		c1.o.Inventory.Cluster.Etcd.Members = map[string]string{"c1": ""} // c2 forms no part of it
		c2.o.Store.(*placed).err = store.ErrNoRoom
		c2.o.Inventory = c1.o.Inventory
		for _, m := range []*member{c1, c2} {
			if err := m.writable(); err != nil {
				t.Errorf("%s, while c1 decides and has room: %v", m.self.Name, err)
			}
		}
		c2.o.Store.(*placed).err = fmt.Errorf("%w: %w", store.ErrUnavailable, store.ErrNoRoom)
		if err := c2.writable(); !errors.Is(err, store.ErrNoRoom) ||
			!strings.Contains(err.Error(), "controller c2: ") {
			t.Errorf("c2, whose part is stopped: %v", err)
		}
		c2.o.Store.(*placed).err = nil
		three := map[string]string{"c1": "", "c2": "", "c3": ""}
		c1.o.Inventory.Cluster.Etcd.Members, c2.o.Inventory.Cluster.Etcd.Members = three, three
		for _, m := range []*member{c1, c2} {
			if err := m.writable(); !errors.Is(err, store.ErrNoRoom) ||
				!strings.Contains(err.Error(), "controller c2: 3 MiB free") {
				t.Errorf("%s, while c2 has no room: %v", m.self.Name, err)
			}
		}
		alarms["c2"].Store(nil)
		time.Sleep(time.Second)
		own, down := c1.o.Store.(*placed), errors.New("no answer")
		for _, c := range []struct {
			err  error
			want string
		}{{store.ErrNoRoom, "controller c1: " + store.ErrNoRoom.Error()}, {down, "no answer"}} {
			own.err = c.err
			if err := c1.writable(); err == nil || !errors.Is(err, c.err) || err.Error() != c.want {
				t.Errorf("%v: %v, want %q", c.err, err, c.want)
			}
		}
		own.err = nil
		if err := c1.writable(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		is("after a minute without an owner of n1", c1, kept, decides,
			api.ReadinessCheck{Name: "share", Advisory: true,
				Message: "switches have been shared out unevenly for a minute: " +
					"switch n1 has no owner that lives"})
		is("of one that does not decide", c2, kept, decides)
	})
}
