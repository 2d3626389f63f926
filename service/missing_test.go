package service

import (
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/cluster"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/store"
)

// TestAbsent: of a controller that is missing it is said why, by what it and its part of the store answer.
func TestAbsent(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	last := sighting{cluster.Member{Name: "c2", API: "192.0.2.2:8080", Peers: "192.0.2.2:9443", Release: "r"}, at}
	left := last
	left.Leaving = true
	refused := answer{address: "192.0.2.2:9443", err: errors.New("connection refused")}
	says := func(d *api.ControllerDisk) answer {
		return answer{address: "192.0.2.2:9443", says: api.Controller{Name: "c2", Role: api.RoleMember, Release: "r", Disk: d, Owns: []string{"N1"}}}
	}
	unknown := answer{address: "192.0.2.2:9443", err: x509.UnknownAuthorityError{}}
	gone := store.Other{Absence: store.AbsenceUnreachable, Reason: "it does not answer"}
	for _, c := range []struct {
		name            string
		last            sighting
		answer          answer
		other           store.Other
		formed          bool
		reason, message string
	}{
		{"gone", last, refused, store.Other{}, false, "unreachable", "192.0.2.2:9443: connection refused"},
		{"gone, of a store that they form", last, refused, gone, true, "unreachable", "it does not answer"},
		{"paused", last, refused, store.Other{}, true, "unreachable", "it starts, or is paused"},
		{"never seen", sighting{}, answer{}, store.Other{}, false, "unreachable", "never there"},
		{"left", left, refused, gone, true, "unreachable", "it left in order, and has not started since: it does not answer"},
		{"its disk is full", last, says(&api.ControllerDisk{State: "out", Reason: "the disk is full"}), gone, true, "disk", "the disk is full"},
		{"its disk is low", last, says(&api.ControllerDisk{State: "low", Reason: "the disk is full"}), gone, true, "unreachable", "its part of the store does not"},
		{"no lease", last, says(nil), store.Other{}, false, "unreachable", "holds no lease"},
		{"its certificate", last, unknown, store.Other{}, false, "certificate", "an authority that is not known here"},
		{"its certificate, by its part of the store", last, unknown, store.Other{Absence: store.AbsenceCertificate, Reason: "expired"}, true, "certificate", "expired"},
		{"another store", last, refused, store.Other{Absence: store.AbsenceCluster, Reason: "another etcd"}, true, "cluster", "another etcd"},
		{"replaced", last, refused, store.Other{Absence: store.AbsenceReplaced, Reason: "replaced"}, true, "replaced", "replaced"},
		{"its clock", last, refused, store.Other{Absence: store.AbsenceClock, Reason: "clocks"}, true, "clock", "clocks"},
	} {
		got := absent("c2", c.last, c.answer, c.other, c.formed, true)
		if got.Name != "c2" || got.Role != api.RoleMissing || got.Reason != c.reason || !strings.Contains(got.Message, c.message) || !got.LastContact.Equal(c.last.at) || got.Owns != nil {
			t.Errorf("%s: %+v, want %s, %q", c.name, got, c.reason, c.message)
		}
	}
	// Without a lease of its own a controller does not know who has one, and believes those who say so.
	there := says(nil)
	there.says.Lag = api.Duration(time.Second)
	if got := absent("c2", last, there, store.Other{}, true, false); got.Role != api.RoleMember {
		t.Errorf("one that has a lease: %+v", got)
	}
}

// TestExpected: those that form the store are expected, and those that were there and did not leave in order.
func TestExpected(t *testing.T) {
	m := &member{self: cluster.Member{Name: "c1"}, o: &Options{Inventory: inventory.Inventory{}}}
	m.o.Inventory.Cluster.Etcd.Members = map[string]string{"c1": "192.0.2.1:2380", "c2": "192.0.2.2:2380"}
	at := time.Now()
	view := func(members ...cluster.Member) cluster.View { return cluster.View{Instance: 1, Members: members} }
	c1, c3, c4 := cluster.Member{Name: "c1", Instance: 1}, cluster.Member{Name: "c3", Instance: 3}, cluster.Member{Name: "c4", Instance: 4}
	leaving := c4
	leaving.Leaving = true
	m.seen.follow(view(), view(c1, c3, c4), at)
	m.seen.follow(view(c1, c3, c4), view(c1, c3, leaving), at.Add(time.Second))
	m.seen.follow(view(c1, c3, leaving), view(c1), at.Add(2*time.Second))
	known := m.seen.known()
	if got := strings.Join(m.expected(known), " "); got != "c2 c3" {
		t.Errorf("expected are %q, want c2 and c3", got)
	}
	if last := known["c3"].at; !last.Equal(at.Add(2 * time.Second)) {
		t.Errorf("c3 was last seen at %v", last)
	}
}

// TestSkew: clocks that differ by more than an answer tells are told.
func TestSkew(t *testing.T) {
	now := time.Now()
	for ahead, want := range map[time.Duration]time.Duration{0: 0, 2 * time.Second: 0, -time.Second: 0, 3 * time.Second: 3 * time.Second, -time.Hour: -time.Hour} {
		if got := skew(now.Add(ahead+100*time.Millisecond), now, now.Add(200*time.Millisecond)); got != want {
			t.Errorf("%v ahead: %v, want %v", ahead, got, want)
		}
	}
}

// TestShared: an uneven share is told once, and its end.
func TestShared(t *testing.T) {
	for _, c := range []struct {
		was, is string
		want    string // "": nothing is told
	}{{"", "", ""}, {"", "c1 owns 3", "unevenly for a minute: c1 owns 3"}, {"c1 owns 3", "c1 owns 4", ""}, {"c1 owns 4", "", "evenly again"}} {
		e, ok := shared("c1", c.was, c.is)
		if ok != (c.want != "") || !strings.Contains(e.Message, c.want) || ok && e.Type != api.EventShareUneven {
			t.Errorf("%q to %q: %v, %v", c.was, c.is, e, ok)
		}
	}
}

// TestAlarmed: an alarm is told when it begins, becomes another one and ends.
func TestAlarmed(t *testing.T) {
	full, slow := &cluster.Alarm{Full: true, Message: "3 MiB free"}, &cluster.Alarm{Message: "slow"}
	fuller := &cluster.Alarm{Full: true, Message: "2 MiB free"}
	for _, c := range []struct {
		was, is *cluster.Alarm
		want    string // "": nothing is told
	}{{nil, nil, ""}, {nil, full, "controller c1: 3 MiB free"}, {full, fuller, ""}, {full, slow, "controller c1: slow"}, {slow, nil, "no alarm any more"}} {
		e, ok := alarmed("c1", c.was, c.is)
		if ok != (c.want != "") || !strings.Contains(e.Message, c.want) || ok && (e.Type != api.EventControllerAlarm || e.Object != "c1") {
			t.Errorf("%v to %v: %v, %v", c.was, c.is, e, ok)
		}
	}
}
