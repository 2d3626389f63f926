package cluster

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

// TestAttempts: two attempts that fail over a TTL are a loss, one alone says nothing. A lost
// controller counts again after one TTL without a failure, then two, then four, and after one again
// when the last loss was sixty TTLs ago. A failure of a lost controller begins the time anew and
// doubles nothing.
func TestAttempts(t *testing.T) {
	const ttl = time.Second
	why := errors.New("silent")
	w := attempts{ttl: ttl}
	now := time.Duration(0)
	try := func(when string, took time.Duration, err error, news, known bool, fault string) {
		t.Helper()
		if got := w.tried(now, now+took, err); got != news || w.known != known || w.fault != fault {
			t.Errorf("%s, at %v: news %v, known %v, fault %q, want %v, %v, %q", when, now, got, w.known,
				w.fault, news, known, fault)
		}
		now += took
	}
	// lose begins with a controller that is reached, and ends with a loss.
	lose := func() {
		t.Helper()
		try("a first failure", ttl/2, why, true, false, "")
		try("a second one, before a TTL", ttl/2-1, why, false, false, "")
		now++
		try("after a TTL", 0, why, true, true, "silent")
		try("the same", ttl/2, why, false, true, "silent")
	}
	// hold has attempts succeed until the controller counts again after a time.
	hold := func(d time.Duration) {
		t.Helper()
		try("a success", d-1, nil, false, true, "silent")
		now++
		try("the last success", 0, nil, true, true, "")
	}
	try("the first success", 0, nil, true, true, "")
	try("the same", ttl, nil, false, true, "")
	for _, d := range []time.Duration{ttl, 2 * ttl, 4 * ttl, 4 * ttl} {
		lose()
		if d == 2*ttl { // it fails again while it is lost
			try("a success", d-1, nil, false, true, "silent")
			try("a failure", ttl/2, why, false, true, "silent")
			try("another", ttl, why, false, true, "silent")
		}
		hold(d)
	}
	now += 60*ttl - (4*ttl + ttl/2) - ttl - 1 // since the last loss
	lose()
	hold(4 * ttl)
	now += 60*ttl - (4*ttl + ttl/2) - ttl
	lose()
	hold(ttl)
	try("a first failure", 0, why, true, false, "")
	try("a success", 0, nil, true, true, "")
	try("a failure long after another", 2*ttl, why, true, false, "")
}

// TestSay: news from an earlier instance does not replace knowledge about the present instance.
func TestSay(t *testing.T) {
	r := reaches{to: make(map[string]Reach)}
	is := func(want map[string]Reach) {
		t.Helper()
		if got := r.said(); !maps.Equal(got, want) {
			t.Errorf("said %v, want %v", got, want)
		}
	}
	r.say("a", Reach{Instance: 1}, false)
	is(map[string]Reach{})
	r.say("a", Reach{2, "silent"}, true)
	is(map[string]Reach{"a": {2, "silent"}})
	r.say("a", Reach{Instance: 1}, false)
	is(map[string]Reach{"a": {2, "silent"}})
	r.say("a", Reach{Instance: 2}, false)
	is(map[string]Reach{})
}

// connected returns controllers that all reach each other, but for words like "a>b" (a does not
// reach b), "a?b" (a does not know), "a<b" (a did not reach an earlier b), "a!" (a has an alarm),
// and "a-" (a is leaving).
func connected(names string, but ...string) []Member {
	var out []Member
	for i, name := range names {
		out = append(out, Member{Name: string(name), Instance: int64(i + 1),
			Reaches: make(map[string]Reach)})
	}
	at := func(c byte) *Member { return &out[strings.IndexByte(names, c)] }
	for i := range out {
		for j := range out {
			if i != j {
				out[i].Reaches[out[j].Name] = Reach{Instance: out[j].Instance}
			}
		}
	}
	for _, word := range but {
		m := at(word[0])
		switch word[1] {
		case '!':
			m.Alarm = &Alarm{Message: "alarm of " + m.Name}
		case '-':
			m.Leaving = true
		case '?':
			delete(m.Reaches, word[2:])
		case '<':
			m.Reaches[word[2:]] = Reach{at(word[2]).Instance - 1, "silent"}
		case '>':
			m.Reaches[word[2:]] = Reach{at(word[2]).Instance, "silent"}
		}
	}
	return out
}

// TestServed: a decider serves while the decider and the controllers with known reach in both
// directions make up more than half.
func TestServed(t *testing.T) {
	for _, c := range []struct {
		names string
		but   string
		want  bool
	}{
		{"a", "", true},
		{"ab", "", true}, {"ab", "a>b", false}, {"ab", "b>a", false}, {"ab", "a?b b?a", true},
		{"ab", "b<a", true},
		{"abc", "a>b", true}, {"abc", "a>b c>a", false}, {"abc", "a>b a?c", true},
		{"abc", "b>c c>b", true},
		{"abc", "c- b>a", false}, {"abc", "c-", true},
		{"abcd", "a>b", true}, {"abcd", "a>b a>c", false},
		{"abcde", "a>b c>a", true}, {"abcde", "a>b a>c d>a", false},
	} {
		v := View{Members: connected(c.names, strings.Fields(c.but)...), Decider: Decider{Name: "a"}}
		if got := v.Served(); got != c.want {
			t.Errorf("%s, %s: served %v, want %v", c.names, c.but, got, c.want)
		}
	}
	v := View{Members: connected("abc")}
	if v.Served() {
		t.Error("served without a decider")
	}
}

// TestBetter: a candidate is better if more controllers certainly reach it than may reach this
// controller; if only this controller has an alarm, equal numbers suffice.
func TestBetter(t *testing.T) {
	const reached = "controller b and 2 others reach each other, and this one and 1"
	for _, c := range []struct{ names, but, want string }{
		{"a", "", ""}, {"a", "a!", ""}, {"abc", "", ""},
		{"abc", "a>c", reached}, {"abc", "c>a", reached}, {"abc", "a>c b-", ""},
		{"abc", "a>c b>a", "controller b and 1 others reach each other, and this one and 0"},
		{"abc", "a?c c?a", ""}, {"abc", "a>c b?c", ""}, {"abc", "a>c c?b", ""},
		{"abc", "a>c c<b", ""},
		{"abc", "a!", "alarm of a"}, {"abc", "a! b!", "alarm of a"}, {"abc", "a! b! c!", ""},
		{"abc", "a! b! c-", ""}, {"abc", "b!", ""},
		{"abc", "a! b>c", ""}, {"abc", "a! b>c a>b", "alarm of a"}, {"abc", "a! b>c b?a", ""},
		{"abc", "a! b?c b?a c!", "alarm of a"},
	} {
		members := connected(c.names, strings.Fields(c.but)...)
		if got := better(members, &members[0]); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.names, c.but, got, c.want)
		}
	}
}

// TestStaying: a controller that the decider does not reach, or that does not reach the decider,
// has no switches.
func TestStaying(t *testing.T) {
	for _, c := range []struct{ but, leaving string }{
		{"", ""}, {"a>b", "b"}, {"b>a", "b"}, {"b>c", ""}, {"a?b b?a", ""}, {"b<a", ""},
		{"a>b c>a", "bc"}, {"c-", "c"},
	} {
		v := View{Members: connected("abc", strings.Fields(c.but)...), Decider: Decider{Name: "a"}}
		got := ""
		for _, m := range v.staying() {
			if m.Leaving {
				got += m.Name
			}
		}
		if got != c.leaving {
			t.Errorf("%s: %q leave, want %q", c.but, got, c.leaving)
		}
	}
	v := View{Members: connected("abc", "a>b"), Decider: Decider{Name: "d"}}
	for _, m := range v.staying() {
		if m.Leaving {
			t.Errorf("%s leaves without a decider", m.Name)
		}
	}
}

// TestResigned: a controller that has resigned does not begin the same term again when the watch
// delivers the decider's record late, whether or not the controller deleted the record itself.
func TestResigned(t *testing.T) {
	ctx := t.Context()
	for _, replaced := range []bool{false, true} {
		client := storetest.NewServer().Client()
		lease, err := client.Lease(ctx, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := lease.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		l := &life{n: New(Config{Store: client}), tenure: &Tenure{lease: lease},
			self: Member{Name: "c"}, rec: newRecords()}
		term, err := l.campaign(ctx)
		if err != nil || term == 0 {
			t.Fatalf("term %d, %v", term, err)
		}
		late, err := client.Get(ctx, deciderKey)
		if err != nil {
			t.Fatal(err)
		}
		if replaced {
			if _, err := client.Put(ctx, deciderKey, []byte(`{"name":"d"}`), term); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.resign(ctx, term); err != nil {
			t.Fatal(err)
		}
		l.take(store.Event{Record: late})
		again, err := l.campaign(ctx)
		if replaced && (again != 0 || err != nil) || !replaced && (again <= term || err != nil) {
			t.Errorf("replaced %v: after term %d term %d, %v", replaced, term, again, err)
		}
		if !replaced {
			continue
		}
		newer, err := client.Get(ctx, deciderKey)
		if err != nil {
			t.Fatal(err)
		}
		if l.take(store.Event{Record: newer}); l.rec.decider.Name != "d" {
			t.Errorf("the decider is %q, want d", l.rec.decider.Name)
		}
	}
}
