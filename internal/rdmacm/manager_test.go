package rdmacm

import (
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet/cm"
)

// TestRepeats: a message without an answer is sent as often as the configuration says, then given
// up.
func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		state  State
		active bool
		sent   cm.Attribute
		end    string
	}{
		{Replied, false, cm.AttrREP, "REJ (timeout), failed, -> gone"},
		{Asking, true, cm.AttrREQ, "REJ (timeout), failed, -> gone"},
		{Leaving, false, cm.AttrDREQ, "down, -> time wait"},
	} {
		m := at(t, c.state, c.active)
		for i, now := range []time.Duration{2 * time.Second, 3 * time.Second} {
			m.Tick(now - 1)
			if out, _ := m.Take(); out != nil {
				t.Errorf("%v: %v was sent before its time", c.state, out)
			}
			if next, ok := m.Next(); !ok || next != now {
				t.Errorf("%v: next at %v, want %v", c.state, next, now)
			}
			m.Tick(now)
			out, events := m.Take()
			if len(out) != 1 || out[0].MAD.Message.Attribute() != c.sent || len(events) != 0 {
				t.Errorf("%v, repetition %d: %v, %v", c.state, i+1, out, events)
			}
		}
		m.Tick(4 * time.Second)
		if got := outcome(m); got != c.end {
			t.Errorf("%v: %s, want %s", c.state, got, c.end)
		}
	}
	m := at(t, TimeWait, false)
	if m.Tick(2 * time.Second); outcome(m) != "-> gone" {
		t.Error("time wait does not end")
	}
	for _, s := range []State{Asked, Established} {
		if _, ok := at(t, s, false).Next(); ok {
			t.Errorf("%v ends by itself", s)
		}
	}
}

// TestMRA: the manager makes the other end wait, and answers repetitions until the owner answers.
func TestMRA(t *testing.T) {
	m := at(t, Asked, false)
	if !m.Wait(ourID, 20) || outcome(m) != "MRA, -> asked" {
		t.Error("no MRA")
	}
	m.Receive(2*time.Second, host, cm.MAD{TID: hostTID, Message: hostREQ()})
	if got := outcome(m); got != "MRA, -> asked" {
		t.Errorf("a repetition: %s", got)
	}
	m.Accept(3*time.Second, ourID, cm.REP{QPN: ourQPN})
	if got := outcome(m); got != "REP, -> replied" {
		t.Errorf("accepted: %s", got)
	}

	m = at(t, Asking, true)
	m.Receive(time.Second, host, cm.MAD{Message: cm.MRA{RemoteID: ourID, Of: cm.OfREQ,
		ServiceTimeout: 20}})
	if next, _ := m.Next(); next != 2*time.Second+Exponent(20) {
		t.Errorf("the REQ is repeated at %v", next)
	}
	m.Receive(time.Second, host, cm.MAD{Message: cm.MRA{RemoteID: ourID, Of: cm.OfREP,
		ServiceTimeout: 31}})
	if next, _ := m.Next(); next != 2*time.Second+Exponent(20) {
		t.Errorf("an MRA of a REP: %v", next)
	}
	m = at(t, Answered, true)
	if m.Wait(ourID, 18); outcome(m) != "MRA, -> answered" {
		t.Error("no MRA of a REP")
	}
}

// TestStaleAnswer: two answers with one pair of CA GUID and queue pair are not both true.
func TestStaleAnswer(t *testing.T) {
	m := at(t, Established, true)
	id := m.Request(2*time.Second, host, 4000, cm.REQ{QPN: ourQPN})
	m.Take()
	r := hostREP()
	r.LocalID, r.RemoteID = hostID+1, id
	m.Receive(2*time.Second, host, cm.MAD{Message: r})
	if got := outcome(m); got != "REJ (stale connection), refused, -> established" {
		t.Error(got)
	}
	id = m.Request(2*time.Second, host, 4000, cm.REQ{QPN: ourQPN})
	m.Take()
	r.RemoteID, r.CAGUID = id, guid+1 // another group's
	m.Receive(2*time.Second, host, cm.MAD{Message: r})
	if got := outcome(m); got != "responded, -> established" {
		t.Error(got)
	}
}

// TestRefusals: transport services and port spaces other than connections use, and answers of the
// owner at the wrong time.
func TestRefusals(t *testing.T) {
	m := New(Config{})
	r := hostREQ()
	r.Service = 1
	m.Receive(1, host, cm.MAD{Message: r})
	r = hostREQ()
	r.ServiceID = 0x01110fa0
	m.Receive(1, host, cm.MAD{Message: r})
	if got := outcome(m); got !=
		"REJ (invalid transport service type), REJ (invalid service id), -> gone" {
		t.Error(got)
	}
	m = at(t, Established, false)
	if m.Accept(2, ourID, cm.REP{}) || m.Wait(ourID, 1) || m.Confirm(ourID) ||
		m.Reject(ourID, cm.REJ{}) || m.Disconnect(2, 99) || outcome(m) != "-> established" {
		t.Error("an answer to nothing")
	}
	m = at(t, Asked, false)
	if !m.Reject(ourID, cm.REJ{Reason: cm.InvalidMTU}) ||
		outcome(m) != "REJ (path MTU not supported), -> gone" {
		t.Error("a request is not refused")
	}
	for _, active := range []bool{false, true} {
		m = at(t, map[bool]State{false: Asked, true: Asking}[active], active)
		m.Disconnect(2, ourID)
		want := map[bool]string{false: "REJ (rejected by the consumer), -> gone",
			true: "REJ (timeout), -> gone"}[active]
		if got := outcome(m); got != want {
			t.Errorf("given up: %s, want %s", got, want)
		}
	}
}

// TestPrivateData: an application gets what the other one gave, whether the RDMA IP CM service is
// between or not.
func TestPrivateData(t *testing.T) {
	join := cm.Join{HasMemory: true, VA: 5}.Append(nil)
	for _, ip := range []bool{false, true} {
		r := hostREQ()
		private := r.Private[:0]
		if ip {
			private = cm.IP{Src: host, Dst: host}.Append(private)
		}
		copy(r.Private[len(private):], join)
		m := New(Config{})
		m.Receive(1, host, cm.MAD{Message: r})
		_, events := m.Take()
		var got [cm.JoinLen]byte
		copy(got[:], events[0].Conn.Private)
		if j, _, err := cm.ParseJoin(got[:]); err != nil || j.VA != 5 || !j.HasMemory {
			t.Errorf("%+v, %v", j, err)
		}
	}
}

// end is one of two ends of TestAgainstLoss.
type end struct {
	addr netip.Addr
	m    *Manager
	up   bool
	over bool
	died bool
}

// TestAgainstLoss: over a wire that loses, repeats and reorders, with ends that start anew with the
// records of the one before, both ends are connected or both are not, and in the end both forget.
func TestAgainstLoss(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	connected := 0
	for round := range 300 {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		loss := rng.Float64() * 0.5
		cfg := Config{Response: time.Second, Attempts: 30, TimeWait: time.Minute}
		a := &end{addr: netip.MustParseAddr("2001:db8::a"), m: New(cfg)}
		b := &end{addr: netip.MustParseAddr("2001:db8::b"), m: New(cfg)}
		type flying struct {
			to  *end
			mad cm.MAD
			at  time.Duration
		}
		var wire []flying
		now := time.Second
		a.m.Request(now, b.addr, 4000, cm.REQ{QPN: 5, CAGUID: 1})
		leave := time.Duration(40+rng.IntN(20)) * time.Second
		for ; now < 400*time.Second; now += 100 * time.Millisecond {
			for _, e := range []*end{a, b} {
				e.m.Tick(now)
			}
			for i := 0; i < len(wire); i++ {
				if f := wire[i]; f.at <= now {
					wire = append(wire[:i], wire[i+1:]...)
					i--
					from := a
					if f.to == a {
						from = b
					}
					b := f.mad.Append(nil)
					mad, _, err := cm.ParseMAD(b)
					if err != nil {
						t.Fatal(err)
					}
					f.to.m.Receive(now, from.addr, mad)
				}
			}
			if now == leave {
				for _, c := range a.m.Conns() {
					a.m.Disconnect(now, c.LocalID)
				}
			}
			for _, e := range []*end{a, b} {
				peer := a
				if e == a {
					peer = b
				}
				for again := true; again; {
					out, events := e.m.Take()
					again = len(events) > 0
					for _, p := range out {
						for n := 1; n > 0; n-- {
							if rng.Float64() >= loss {
								delay := time.Duration(rng.IntN(1500)) * time.Millisecond
								wire = append(wire, flying{peer, p.MAD, now + delay})
							}
							if rng.Float64() < 0.2 {
								n++
							}
						}
					}
					for _, ev := range events {
						switch id := ev.Conn.LocalID; ev.Kind {
						case Requested:
							if rng.IntN(2) == 0 {
								e.m.Wait(id, 18)
							}
							e.m.Accept(now, id, cm.REP{QPN: 6, CAGUID: 2})
						case Responded:
							e.m.Confirm(id)
							e.up = true
						case Up:
							e.up = true
						case Down:
							e.over = true
						case Refused, Failed:
							e.died = true
						}
					}
				}
				if now < 200*time.Second && rng.IntN(200) == 0 { // another process goes on with the records
					next := New(cfg)
					for _, c := range e.m.Conns() {
						text, err := json.Marshal(c)
						var back Conn
						if err == nil {
							err = json.Unmarshal(text, &back)
						}
						if err != nil {
							t.Fatal(err)
						}
						next.Load(now, back)
					}
					e.m = next
				}
			}
		}
		for name, e := range map[string]*end{"a": a, "b": b} {
			if len(e.m.Conns()) != 0 {
				t.Errorf("round %d, loss %.2f: %s still has %+v", round, loss, name, e.m.Conns())
			}
		}
		if a.died || b.died {
			t.Errorf("round %d, loss %.2f: refused or failed: %+v, %+v", round, loss, a, b)
		}
		if a.up && b.up && a.over && b.over {
			connected++
		}
	}
	if connected < 290 {
		t.Errorf("%d of 300 rounds connected and left, want 290", connected)
	}
}

// TestChanged: the owner's records match the manager's connections.
func TestChanged(t *testing.T) {
	m := at(t, Asked, false)
	if got := m.Changed(); got != nil {
		t.Errorf("%v has changed", got)
	}
	m.Accept(2*time.Second, ourID, cm.REP{QPN: ourQPN})
	if got := m.Changed(); !reflect.DeepEqual(got, []uint32{ourID}) {
		t.Errorf("accepted: %v", got)
	}
	next := New(Config{Response: time.Second})
	c, _ := m.Conn(ourID)
	next.Load(9*time.Second, c)
	next.Tick(9 * time.Second)
	if got := outcome(next); got != "REP, -> replied" {
		t.Errorf("loaded: %s", got)
	}
	if id := next.Request(9*time.Second, host, 4000, cm.REQ{}); id != ourID+1 {
		t.Errorf("the next id is %d", id)
	}
	next.Receive(9*time.Second, host, cm.MAD{Message: cm.REJ{LocalID: hostID,
		Reason: cm.TimedOut}}) // of a host that got no REP
	if got := outcome(next); got != "REQ, refused, -> gone" {
		t.Errorf("given up by a host that knows no id of ours: %s", got)
	}
}

func TestWords(t *testing.T) {
	if s := TimeWait.String() + ", " + State(99).String() + ", " + Kind(99).String(); s !=
		"time wait, state 99, kind 99" {
		t.Error(s)
	}
	if Exponent(20) != 4294967296*time.Nanosecond {
		t.Error(Exponent(20))
	}
}
