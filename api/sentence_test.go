package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// TestSentences: people read the same sentence wherever they read of an event.
func TestSentences(t *testing.T) {
	link := []api.EventObject{{Kind: "link", ID: "64512:10.0.0.1,1~64512:10.0.0.2,3", Name: "N1 → N2"}}
	member := func(role, id, name string) []api.EventObject {
		return []api.EventObject{{Kind: "multicast-group", ID: "demo"}, {Kind: role, ID: id, Name: name}}
	}
	host := func(of ...string) (out []api.EventObject) {
		for i, kind := range []string{"host", "address", "mac", "port", "former-port"}[:len(of)] {
			if of[i] != "" {
				out = append(out, api.EventObject{Kind: kind, ID: of[i]})
			}
		}
		return out
	}
	type says = api.EventFields
	for _, c := range []struct {
		typ             api.EventType
		object, message string
		says            says
		severity, want  string
	}{
		{"group.changed", "demo", "", says{State: api.StateDegraded, Reason: "receiver stalled"},
			"fault", "Group demo is degraded: receiver stalled."},
		{"group.changed", "demo", "", says{State: api.StateInstalling}, "quiet",
			"Group demo is being programmed."},
		{"group.changed", "demo", "", says{State: api.StateInstalling, Reason: "disconnected"}, "quiet",
			"Group demo is not programmed: disconnected."},
		{"pfc-policy.changed", "p", "", says{State: api.StateProgrammed}, "ok",
			"PFC policy p is programmed."},
		{"tenant.changed", "a", "", says{State: api.StateRefused, Reason: "limit exceeded"}, "fault",
			"Tenant a is not accepted: limit exceeded."},
		{"group.deleted", "demo", "", says{}, "quiet", "Group demo is deleted."},
		{"receiver.stalled", "demo", "2001:db8::1",
			says{Objects: member("receiver", "2001:db8::1", "R5")}, "fault",
			"Receiver R5 stalls group demo."},
		{"receiver.recovered", "demo", "2001:db8::1",
			says{Objects: member("receiver", "2001:db8::1", "")}, "ok",
			"Receiver 2001:db8::1 no longer stalls group demo."},
		{"receiver.evicted", "demo", "2001:db8::1",
			says{Objects: member("receiver", "2001:db8::1", "R5")}, "warning",
			"Receiver R5 was taken out of the tree of group demo."},
		{"switch.changed", "N1", "connected, holds 7 entities", says{State: api.StateConnected}, "ok",
			"Switch N1 is connected."},
		{"switch.changed", "N1", "nothing listens at 127.0.0.1:9559: the connection was refused",
			says{State: api.StateDown}, "fault",
			"Switch N1: nothing listens at 127.0.0.1:9559: the connection was refused."},
		{"switch.changed", "N1", "", says{}, "fault", "Switch N1: its state has changed."},
		{"bgp-peer.changed", "127.1.0.1:179", "", says{State: api.StateUp}, "ok",
			"The BGP-LS session with 127.1.0.1:179 is established."},
		{"bgp-peer.changed", "127.1.0.1:179", "",
			says{State: api.StateDown, Reason: "the connection ended"}, "fault",
			"There is no BGP-LS session with 127.1.0.1:179: the connection ended."},
		{"topology.changed", "", "", says{Numbers: &api.EventNumbers{Nodes: new(6), Links: new(12),
			Prefixes: new(18)}}, "quiet", "The topology has 6 nodes, 12 links and 18 prefixes."},
		{"topology.changed", "", "", says{Reason: "no peer", Numbers: &api.EventNumbers{Nodes: new(6),
			Links: new(12), Prefixes: new(18)}}, "warning",
			"The topology has 6 nodes, 12 links and 18 prefixes, and may be old: no peer."},
		{"link.changed", link[0].ID, "", says{Objects: link, State: api.StateDenied,
			Reason: "port 1 is down"}, "fault", "Link N1 → N2 is out of use: port 1 is down."},
		{"link.changed", link[0].ID, "", says{Objects: link, State: api.StateProbed,
			Reason: "it is new"}, "fault",
			"Link N1 → N2 is out of use: probed before it is used: it is new."},
		{"link.changed", link[0].ID, "", says{Objects: link, State: api.StateUsed}, "ok",
			"Link N1 → N2 is used again."},
		{"suspect.changed", "[x]", "", says{Objects: link, Numbers: &api.EventNumbers{Loss: new(0.5),
			Confidence: new(0.99996)}}, "warning",
			"Link N1 → N2 loses 50 % of its packets, with a confidence of 100 %."},
		{"suspect.changed", "[x]", "", says{Objects: append(link, link...), Numbers: &api.EventNumbers{
			Loss: new(0.00234), Confidence: new(0.9876)}}, "warning",
			"One of 2 links loses 0.23 % of its packets, with a confidence of 98 %."},
		{"suspect.changed", "N1", "", says{Objects: []api.EventObject{{Kind: "node", ID: "1",
			Name: "N1"}}},
			"warning", "Switch N1 loses packets."},
		{"drain.changed", "link x", "", says{Objects: link, State: api.StateDraining}, "work",
			"Link N1 → N2 is being drained."},
		{"drain.changed", "plane 1", "", says{Objects: []api.EventObject{{Kind: "plane", ID: "1"}},
			State: api.StateUsed}, "ok", "Plane 1 is in use again."},
		{"drain.changed", "host h port 2", "", says{Objects: []api.EventObject{{Kind: "host-port",
			ID: "h/2"}}, State: api.StateDrained}, "work", "Host h port 2 is drained."},
		{"ev-profile.changed", "a:b", "", says{State: api.StateDegraded, Reason: "no path is left"},
			"warning", "EV profile a:b is degraded: no path is left."},
		{"ev-profile.changed", "a:b", "", says{State: api.StateWhole}, "ok",
			"EV profile a:b is as it should be."},
		{"host.changed", "H1", "", says{State: api.StateRefused, Reason: "evs: too many"}, "fault",
			"Host H1 refuses its configuration: evs: too many."},
		{"host.changed", "H1", "refuses nothing any more", says{State: api.StateWhole}, "ok",
			"Host H1 refuses nothing any more."},
		{"host.bound", "H1", "", says{Objects: host("H1", "2001:db8::1", "02:00:00:00:00:01", "N1/3")},
			"ok", "Host H1 is at N1/3: 2001:db8::1, MAC 02:00:00:00:00:01."},
		{"host.moved", "H1", "", says{Objects: host("H1", "192.0.2.7", "02:00:00:00:00:01", "N2/4",
			"N1/3")}, "quiet", "Host H1 has moved from N1/3 to N2/4: 192.0.2.7."},
		{"host.moved", "H1", "", says{Objects: host("H1", "192.0.2.7", "02:00:00:00:00:02", "N1/3")},
			"quiet", "Host H1 at N1/3 has another MAC for 192.0.2.7: 02:00:00:00:00:02."},
		{"host.gone", "H1", "", says{Objects: host("H1", "2001:db8::1", "02:00:00:00:00:02", "N1/3")},
			"warning", "Host H1 at N1/3 does not answer: 2001:db8::1."},
		{"host.refused", "2001:db8::1", "", says{Objects: host("", "2001:db8::1", "02:00:00:00:00:02",
			"N2/4"), Reason: "the host that has it answered"}, "warning",
			"MAC 02:00:00:00:00:02 at N2/4 may not have 2001:db8::1: the host that has it answered."},
		{"connection.up", "demo", "", says{Objects: member("source", "2001:db8::1", "R5")}, "ok",
			"Source R5 is connected to group demo."},
		{"connection.down", "demo", "", says{Objects: member("receiver", "192.0.2.7", "")}, "quiet",
			"Receiver 192.0.2.7 has left group demo."},
		{"connection.refused", "demo", "", says{Objects: member("source", "2001:db8::1", "R5"),
			Reason: "fd00::1 is the source"}, "warning",
			"Source R5 is not connected to group demo: fd00::1 is the source."},
		{"connection.refused", "demo", "", says{Objects: member("receiver", "2001:db8::1", "R5"),
			State: api.StateRefused, Reason: "rejected by the consumer"}, "warning",
			"Receiver R5 refuses the connection of group demo: rejected by the consumer."},
		{"port.changed", "N1/3", "", says{State: api.StateDown}, "fault",
			"Port N1/3 is down: its link is not used."},
		{"port.changed", "N1/3", "", says{State: api.StateUp}, "ok",
			"Port N1/3 is up: its link is used again."},
		{"port.changed", "N1/3", "", says{State: api.StateDrifted, Reason: "mtu is 1500, not 9000"},
			"warning", "Port N1/3 has other settings than wanted: mtu is 1500, not 9000."},
		{"port.changed", "N1/3", "refused mtu: no", says{State: api.StateRefused, Reason: "no"}, "quiet",
			"Port N1/3: refused mtu: no."},
		{"store.failed", "", "changes are refused, and what is in force goes on: disk full", says{},
			"fault", "Changes are refused, and what is in force goes on: disk full."},
		{"controller.lost", "c2", "", says{}, "fault", "Controller c2: lost."},
		{"silence.changed", "s", "", says{State: api.StateWritten, Until: time.Unix(0, 0).UTC()}, "quiet",
			"A cause is silent until 1970-01-01T00:00:00Z (silence s)."},
		{"silence.changed", "s", "", says{State: api.StateEnded}, "quiet", "Silence s is over."},
		{"job.blocked", "j", "H1 is away", says{}, "fault",
			"The fabric is not ready for job j: H1 is away."},
		{"lease.broken", "j", "no path", says{}, "quiet", "Lease j: no path."},
		{"fabric.changed", "", "no planes", says{}, "fault",
			"There is no MRC fabric of the present topology: no planes."},
		{"cause.ended", "x", "", says{Reason: "Switch N1 is not connected"}, "ok",
			"No longer: switch N1 is not connected"},
		{"gap", "", "", says{}, "warning", "Events were lost: everything has been read again."},
	} {
		e := api.Event{Type: c.typ, Object: c.object, Message: c.message, EventFields: c.says}
		e.Say()
		if e.Sentence != c.want || string(e.Severity) != c.severity {
			t.Errorf("%s of %s: %s, %q, want %s, %q", c.typ, c.object, e.Severity, e.Sentence, c.severity,
				c.want)
		}
		again := e
		if again.Say(); again.Sentence != e.Sentence || again.Severity != e.Severity {
			t.Errorf("%s said twice: %q and %q", c.typ, e.Sentence, again.Sentence)
		}
	}
}

// TestEventObjects: each type of event has a kind of object, and an event is found by each object.
func TestEventObjects(t *testing.T) {
	for _, typ := range api.EventTypes() {
		e := api.Event{Type: typ, Object: "x", Message: "it is"}
		e.Say()
		if len(e.Objects) != 1 || e.Objects[0].Kind == "" || !e.Has("x") || e.Has("y") {
			t.Errorf("%s is about %v", typ, e.Objects)
		}
		if e.Sentence == "" {
			t.Errorf("%s says nothing", typ)
		}
	}
	e := api.Event{Type: api.EventDrainChanged, Object: "link l", EventFields: api.EventFields{
		Objects: []api.EventObject{{Kind: "link", ID: "l"}}}}
	if !e.Has("l") || !e.Has("link l") {
		t.Error("an event of a drain is not about its link")
	}
	text, err := json.Marshal(e)
	if want := `"objects":[{"kind":"link","id":"l"}]`; err != nil ||
		!strings.Contains(string(text), want) {
		t.Errorf("%s, %v: want %s", text, err, want)
	}
}
