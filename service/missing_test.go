package service

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/store"
)

// TestAbsent: the reason for a missing controller follows from the answers of the controller and of
// its part of the store.
func TestAbsent(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	last := sighting{cluster.Member{Name: "c2", API: "192.0.2.2:8080", Peers: "192.0.2.2:9443",
		Release: "r"}, at}
	left := last
	left.Leaving = true
	refused := answer{address: "192.0.2.2:9443", err: errors.New("connection refused")}
	says := func(d *api.ControllerDisk) answer {
		return answer{address: "192.0.2.2:9443", says: api.Controller{Name: "c2", Role: api.RoleMember,
			Release: "r", Disk: d, Owns: []string{"N1"}}}
	}
	unknown := answer{address: "192.0.2.2:9443", err: x509.UnknownAuthorityError{}}
	early := answer{address: "192.0.2.2:9443",
		err: x509.CertificateInvalidError{Cert: &x509.Certificate{NotBefore: time.Now().Add(time.Hour)},
			Reason: x509.Expired}}
	late := answer{address: "192.0.2.2:9443",
		err: x509.CertificateInvalidError{Cert: &x509.Certificate{NotAfter: at}, Reason: x509.Expired}}
	alarmed := says(nil)
	alarmed.says.Alarm = "the store does not answer"
	lagging := says(nil)
	lagging.says.Lag = api.Duration(time.Second)
	gone := store.Other{Absence: store.AbsenceUnreachable, Reason: "it does not answer"}
	for _, c := range []struct {
		name            string
		last            sighting
		answer          answer
		other           store.Other
		formed          bool
		reason, message string
	}{
		{"gone", last, refused, store.Other{}, false, "unreachable",
			"192.0.2.2:9443: connection refused"},
		{"gone, of a store that they form", last, refused, gone, true, "unreachable",
			"it does not answer"},
		{"paused", last, refused, store.Other{}, true, "unreachable", "it starts, or is paused"},
		{"never seen", sighting{}, answer{}, store.Other{}, false, "unreachable", "never there"},
		{"left", left, refused, gone, true, "unreachable",
			"it left in order, and has not started since: it does not answer"},
		{"its disk is full", last, says(&api.ControllerDisk{State: "out", Reason: "the disk is full"}),
			gone, true, "disk", "the disk is full"},
		{"its disk is low", last, says(&api.ControllerDisk{State: "low", Reason: "the disk is full"}),
			gone, true, "unreachable", "its part of the store does not"},
		{"its disk has failed", last,
			says(&api.ControllerDisk{State: "failed", Reason: "the disk cannot be written"}), gone, true,
			"disk", "cannot be written"},
		{"its certificate is of later", last, early, store.Other{}, false, "clock",
			"look at the clocks of both machines"},
		{"its certificate has expired", last, late, store.Other{}, false, "certificate",
			"expired at 2026-01-02T03:04:05Z"},
		{"it takes no part", last, alarmed, gone, true, "unreachable",
			"it answers, and takes no part: the store does not answer"},
		{"it has a lease that this one has not seen", last, lagging, store.Other{}, false, "unreachable",
			"holds no lease"},
		{"no lease", last, says(nil), store.Other{}, false, "unreachable", "holds no lease"},
		{"its certificate", last, unknown, store.Other{}, false, "certificate",
			"an authority that is not known here"},
		{"its certificate, by its part of the store", last, unknown,
			store.Other{Absence: store.AbsenceCertificate, Reason: "expired"}, true, "certificate",
			"expired"},
		{"another store", last, refused, store.Other{Absence: store.AbsenceCluster,
			Reason: "another etcd"}, true, "cluster", "another etcd"},
		{"replaced", last, refused, store.Other{Absence: store.AbsenceReplaced, Reason: "replaced"}, true,
			"replaced", "replaced"},
		{"its clock", last, refused, store.Other{Absence: store.AbsenceClock, Reason: "clocks"}, true,
			"clock", "clocks"},
	} {
		got := absent("c2", c.last, c.answer, c.other, c.formed, true)
		if got.Name != "c2" || got.Role != api.RoleMissing || got.Reason != c.reason ||
			!strings.Contains(got.Message, c.message) || !got.LastContact.Equal(c.last.at) ||
			got.Owns != nil {
			t.Errorf("%s: %+v, want %s, %q", c.name, got, c.reason, c.message)
		}
	}
	if got := absent("c2", last, says(nil), store.Other{}, true, false); got.Role != api.RoleMissing {
		t.Errorf("one that has no lease: %+v", got)
	}
	// A controller without a lease does not know who has a lease, and believes controllers that claim
	// a lease.
	there := says(nil)
	there.says.Lag = api.Duration(time.Second)
	if got := absent("c2", last, there, store.Other{}, true, false); got.Role != api.RoleMember {
		t.Errorf("one that has a lease: %+v", got)
	}
}

// TestExpected: the expected controllers are those that form the store, and controllers that were
// present and did not leave in order.
func TestExpected(t *testing.T) {
	m := &member{self: cluster.Member{Name: "c1"}, o: &Options{Inventory: inventory.Inventory{}}}
	m.o.Inventory.Cluster.Etcd.Members = map[string]string{"c1": "192.0.2.1:2380",
		"c2": "192.0.2.2:2380"}
	at := time.Now()
	view := func(members ...cluster.Member) cluster.View {
		return cluster.View{Instance: 1, Members: members}
	}
	c1, c3, c4 := cluster.Member{Name: "c1", Instance: 1}, cluster.Member{Name: "c3", Instance: 3},
		cluster.Member{Name: "c4", Instance: 4}
	leaving := c4
	leaving.Leaving = true
	// A controller that was killed and is back was last seen when its first lease ended.
	again := c3
	again.Instance = 5
	m.seen.follow(view(c1, c3), view(c1, again), at.Add(-time.Second))
	if was := m.seen.known()["c3"]; was.Instance != 3 || !was.at.Equal(at.Add(-time.Second)) {
		t.Errorf("of c3, which is there again, it is known: %+v", was)
	}
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

// TestSkew: the controller reports clocks that differ by more than the precision of an answer.
func TestSkew(t *testing.T) {
	now := time.Now()
	for ahead, want := range map[time.Duration]time.Duration{0: 0, 2 * time.Second: 0, -time.Second: 0,
		3 * time.Second: 3 * time.Second, -time.Hour: -time.Hour} {
		if got := skew(now.Add(ahead+100*time.Millisecond), now,
			now.Add(200*time.Millisecond)); got != want {
			t.Errorf("%v ahead: %v, want %v", ahead, got, want)
		}
	}
	// A slow answer counts as given in the middle between question and arrival.
	if got := skew(now.Add(4*time.Second), now, now.Add(8*time.Second)); got != 0 {
		t.Errorf("an answer of the middle of eight seconds: %v", got)
	}
}

// TestShared: an uneven share is told once, and its end.
func TestShared(t *testing.T) {
	for _, c := range []struct {
		was, is string
		want    string // "": nothing is told
	}{{"", "", ""}, {"", "c1 owns 3", "unevenly for a minute: c1 owns 3"},
		{"c1 owns 3", "c1 owns 4", ""}, {"c1 owns 4", "", "evenly again"}} {
		e, ok := shared("c1", c.was, c.is)
		if ok != (c.want != "") || !strings.Contains(e.Message, c.want) || ok &&
			e.Type != api.EventShareUneven {
			t.Errorf("%q to %q: %v, %v", c.was, c.is, e, ok)
		}
	}
}

// TestAlarmed: an event reports the begin, the change and the end of an alarm.
func TestAlarmed(t *testing.T) {
	full, slow := &cluster.Alarm{Full: true, Message: "3 MiB free"}, &cluster.Alarm{Message: "slow"}
	fuller := &cluster.Alarm{Full: true, Message: "2 MiB free"}
	for _, c := range []struct {
		was, is *cluster.Alarm
		want    string // "": nothing is told
	}{{nil, nil, ""}, {nil, full, "controller c1: 3 MiB free"}, {full, fuller, ""},
		{full, slow, "controller c1: slow"}, {slow, nil, "no alarm any more"}} {
		e, ok := alarmed("c1", c.was, c.is)
		if ok != (c.want != "") || !strings.Contains(e.Message, c.want) || ok &&
			(e.Type != api.EventControllerAlarm || e.Object != "c1") {
			t.Errorf("%v to %v: %v, %v", c.was, c.is, e, ok)
		}
	}
}

// TestVisit: only the expected controller may answer at a controller's address.
func TestVisit(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != selfPath {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(api.Controller{Name: "c3"}) // a client that is gone fails the test
	}))
	defer server.Close()
	at := strings.TrimPrefix(server.URL, "http://")
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{self: cluster.Member{Name: "c1", Peers: at}, scheme: "http",
		transport: &http.Transport{}, o: &Options{}}
	defer m.transport.CloseIdleConnections()
	m.o.Inventory.Cluster.Etcd.Members = map[string]string{"c2": net.JoinHostPort(host, "2380"),
		"c3": net.JoinHostPort(host, "2380")}
	there := sighting{Member: cluster.Member{Peers: at}}
	if a := m.visit(t.Context(), "c2", there); a.err == nil ||
		!strings.Contains(a.err.Error(), "is controller c3") {
		t.Errorf("c3 in the place of c2: %+v", a)
	}
	if a := m.visit(t.Context(), "c3", there); a.err != nil || a.says.Name != "c3" || a.address != at {
		t.Errorf("c3: %+v", a)
	}
	// The address of a controller that was never seen comes from the shared configuration, with the
	// port of this controller.
	if a := m.visit(t.Context(), "c3", sighting{}); a.err != nil || a.address != at {
		t.Errorf("c3, from the configuration: %+v", a)
	}
	if a := m.visit(t.Context(), "c4", sighting{}); a.address != "" {
		t.Errorf("one that nobody knows of is asked at %q", a.address)
	}
}

// TestChanges: a controller's new alarm makes an event, also just after the controller has joined;
// the end of an alarm is an event while the controller stays; without a lease, no events arise.
func TestChanges(t *testing.T) {
	alarm := &cluster.Alarm{Message: "slow"}
	view := func(instance, own int64, a *cluster.Alarm) cluster.View {
		return cluster.View{Instance: own,
			Members: []cluster.Member{{Name: "c2", Instance: instance, Alarm: a}}}
	}
	for _, c := range []struct {
		name     string
		old, now cluster.View
		want     string // of alarms
	}{
		{"begins", view(2, 1, nil), view(2, 1, alarm), "controller c2: slow"},
		{"ends", view(2, 1, alarm), view(2, 1, nil), "controller c2 has no alarm any more"},
		{"stays", view(2, 1, alarm), view(2, 1, alarm), ""},
		{"comes with another instance", view(2, 1, nil), view(3, 1, alarm), "controller c2: slow"},
		{"goes with its instance", view(2, 1, alarm), view(3, 1, nil), ""},
		{"before this one has a lease", view(2, 0, nil), view(2, 1, alarm), ""},
		{"when this one loses its lease", view(2, 1, nil), view(2, 0, alarm), ""},
	} {
		var got []string
		for _, e := range changes(c.old, c.now) {
			if e.Type == api.EventControllerAlarm {
				got = append(got, e.Message)
			}
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("an alarm that %s: %q, want %q", c.name, got, c.want)
		}
	}
}
