package rdmacm

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet/cm"
)

var host = netip.MustParseAddr("2001:db8::1")

const (
	hostID  = 0x77 // communication id of the host
	hostQPN = 0x50
	hostTID = 0x900
	ourQPN  = 0xD00
	guid    = 0x0200
	ourID   = 1 // the first of a manager
)

func hostREQ() cm.REQ {
	return cm.REQ{LocalID: hostID, ServiceID: cm.ServiceID(4000), CAGUID: guid, QPN: hostQPN,
		StartingPSN: 0x123, PathMTU: cm.MTU1024}
}

func hostREP() cm.REP {
	return cm.REP{LocalID: hostID, RemoteID: ourID, CAGUID: guid, QPN: hostQPN, StartingPSN: 0x123}
}

// at returns a manager with one connection in a state, at 1 s.
func at(t *testing.T, s State, active bool) *Manager {
	t.Helper()
	m, now := New(Config{Response: time.Second, Attempts: 3}), time.Second
	if active {
		m.Request(now, host, 4000, cm.REQ{QPN: ourQPN})
		if s != Asking {
			m.Receive(now, host, cm.MAD{TID: 1<<32 | 1, Message: hostREP()})
		}
		if s != Asking && s != Answered {
			m.Confirm(ourID)
		}
	} else {
		m.Receive(now, host, cm.MAD{TID: hostTID, Message: hostREQ()})
		if s != Asked {
			m.Accept(now, ourID, cm.REP{QPN: ourQPN})
		}
		if s != Asked && s != Replied {
			m.Receive(now, host, cm.MAD{TID: hostTID, Message: cm.RTU{LocalID: hostID,
				RemoteID: ourID}})
		}
	}
	if s == Leaving || s == TimeWait {
		m.Disconnect(now, ourID)
	}
	if s == TimeWait {
		m.Receive(now, host, cm.MAD{Message: cm.DREP{LocalID: hostID, RemoteID: ourID}})
	}
	m.Take()
	m.Changed()
	if c, ok := m.Conn(ourID); !ok || c.State != s {
		t.Fatalf("state %v, want %v", c.State, s)
	}
	return m
}

// outcome is what a manager sent and told, and the state of the connection, in words.
func outcome(m *Manager) string {
	packets, events := m.Take()
	var words []string
	for _, p := range packets {
		word := p.MAD.Message.Attribute().String()
		if r, ok := p.MAD.Message.(cm.REJ); ok {
			word += " (" + r.Reason.String() + ")"
		}
		words = append(words, word)
	}
	for _, e := range events {
		words = append(words, e.Kind.String())
	}
	state := "gone"
	if c, ok := m.Conn(ourID); ok {
		state = c.State.String()
	}
	return strings.Join(append(words, "-> "+state), ", ")
}

// TestEveryStateAndMessage: what each message of the peer does in each state.
func TestEveryStateAndMessage(t *testing.T) {
	other := hostREQ()
	other.LocalID++
	other.QPN++
	sameQP := hostREQ()
	sameQP.LocalID++
	messages := []struct {
		name string
		tid  uint64
		m    cm.Message
	}{
		{"REQ again", hostTID, hostREQ()},
		{"REQ of the same id, anew", hostTID + 1, hostREQ()},
		{"REQ of the same queue pair", hostTID + 1, sameQP},
		{"REQ of another", hostTID + 1, other},
		{"REP", 1<<32 | 1, hostREP()},
		{"RTU", hostTID, cm.RTU{LocalID: hostID, RemoteID: ourID}},
		{"MRA", hostTID, cm.MRA{LocalID: hostID, RemoteID: ourID, Of: cm.OfREP}},
		{"REJ", hostTID, cm.REJ{LocalID: hostID, RemoteID: ourID, Reason: cm.ConsumerReject}},
		{"REJ stale", hostTID, cm.REJ{LocalID: hostID, RemoteID: ourID, Reason: cm.StaleConnection}},
		{"DREQ", 5, cm.DREQ{LocalID: hostID, RemoteID: ourID, QPN: ourQPN}},
		{"DREQ of another queue pair", 5, cm.DREQ{LocalID: hostID, RemoteID: ourID, QPN: 9}},
		{"DREP", 5, cm.DREP{LocalID: hostID, RemoteID: ourID}},
		{"LAP", 5, cm.LAP{LocalID: hostID, RemoteID: ourID, QPN: ourQPN}},
		{"SIDR_REQ", 5, cm.SIDRREQ{RequestID: 3}},
	}
	const stale = "REJ (stale connection)"
	for _, c := range []struct {
		state  State
		active bool
		want   [14]string
	}{
		{Asked, false, [14]string{"-> asked", stale + ", down, -> time wait", stale + ", -> asked",
			"requested, -> asked", "REJ (invalid communication id), -> asked", "-> asked", "-> asked",
			"refused, -> gone", "refused, -> gone", "-> asked", "-> asked", "-> asked",
			"APR, -> asked", "SIDR_REP, -> asked"}},
		{Replied, false, [14]string{"REP, -> replied", stale + ", down, -> time wait",
			stale + ", DREQ, -> leaving", "requested, -> replied",
			"REJ (invalid communication id), -> replied", "up, -> established", "-> replied",
			"refused, -> gone", "refused, -> gone", "DREP, down, -> time wait", "-> replied",
			"-> replied", "APR, -> replied", "SIDR_REP, -> replied"}},
		{Established, false, [14]string{"-> established", stale + ", down, -> time wait",
			stale + ", DREQ, -> leaving", "requested, -> established",
			"REJ (invalid communication id), -> established", "-> established", "-> established",
			"-> established", "down, -> time wait", "DREP, down, -> time wait", "-> established",
			"-> established", "APR, -> established", "SIDR_REP, -> established"}},
		{Leaving, false, [14]string{stale + ", -> leaving", stale + ", -> leaving",
			"requested, -> leaving", "requested, -> leaving",
			"REJ (invalid communication id), -> leaving", "-> leaving", "-> leaving", "-> leaving",
			"-> leaving", "DREP, down, -> time wait", "-> leaving", "down, -> time wait",
			"APR, -> leaving", "SIDR_REP, -> leaving"}},
		{TimeWait, false, [14]string{stale + ", -> time wait", stale + ", -> time wait",
			"requested, -> time wait", "requested, -> time wait",
			"REJ (invalid communication id), -> time wait", "-> time wait", "-> time wait",
			"-> time wait", "-> time wait", "DREP, -> time wait", "-> time wait", "-> time wait",
			"APR, -> time wait", "SIDR_REP, -> time wait"}},
		{Asking, true, [14]string{"requested, -> asking", "requested, -> asking",
			"requested, -> asking", "requested, -> asking", "responded, -> answered", "-> asking",
			"-> asking", "refused, -> gone", "refused, -> gone", "DREP, -> asking", "DREP, -> asking",
			"-> asking", "APR, -> asking", "SIDR_REP, -> asking"}},
		{Answered, true, [14]string{stale + ", -> answered", stale + ", -> answered",
			stale + ", -> answered", "requested, -> answered", "-> answered", "-> answered",
			"-> answered", "refused, -> gone", "refused, -> gone", "DREP, down, -> time wait",
			"-> answered", "-> answered", "APR, -> answered", "SIDR_REP, -> answered"}},
		{Established, true, [14]string{stale + ", DREQ, -> leaving", stale + ", DREQ, -> leaving",
			stale + ", DREQ, -> leaving", "requested, -> established", "RTU, -> established",
			"-> established", "-> established", "-> established", "down, -> time wait",
			"DREP, down, -> time wait", "-> established", "-> established", "APR, -> established",
			"SIDR_REP, -> established"}},
	} {
		for i, msg := range messages {
			t.Run(fmt.Sprintf("%v/%v/%s", c.state, c.active, msg.name), func(t *testing.T) {
				m := at(t, c.state, c.active)
				m.Receive(2*time.Second, host, cm.MAD{TID: msg.tid, Message: msg.m})
				got := outcome(m)
				if got != c.want[i] {
					t.Errorf("%s, want %s", got, c.want[i])
				}
				// The same message of somebody else does nothing to the connection.
				if msg.name == "SIDR_REQ" || msg.name == "LAP" {
					return
				}
				m = at(t, c.state, c.active)
				m.Receive(2*time.Second, netip.MustParseAddr("2001:db8::66"),
					cm.MAD{TID: msg.tid, Message: msg.m})
				if c2, ok := m.Conn(ourID); !ok || c2.State != c.state {
					t.Errorf("of another address: %s", outcome(m))
				}
			})
		}
	}
}
