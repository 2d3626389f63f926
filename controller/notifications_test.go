package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/notification"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

// testSecret is a secret of the least length, of 24 octets.
const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// hooked is a core with notifications, its records, and what was posted.
type hooked struct {
	t    *testing.T
	core *Core
	kept store.Store
	now  time.Duration
	all  []api.Cause
}

func newHooked(t *testing.T) *hooked {
	return &hooked{t: t, core: pfcCore(t, nil), kept: store.NewMemory()}
}

func (h *hooked) put(name string, spec api.NotificationSpec) {
	h.t.Helper()
	if _, _, err := h.core.Notifications().Put(name, spec, resource.Precondition{}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hooked) status(name string) api.NotificationStatus {
	h.t.Helper()
	n, err := h.core.Notifications().Get(name)
	if err != nil {
		h.t.Fatal(err)
	}
	return n.Status
}

// take stores the records of the core, and returns the messages to post.
func (h *hooked) take() []notification.Post {
	h.t.Helper()
	r := h.core.Ready(0)
	if err := h.kept.Apply(h.t.Context(), r.Saves); err != nil {
		h.t.Fatal(err)
	}
	return r.Posts
}

// again makes the core of the records, as the next controller does.
func (h *hooked) again() {
	h.t.Helper()
	records, _, err := h.kept.List(h.t.Context(), "")
	if err != nil {
		h.t.Fatal(err)
	}
	h.core, h.now = pfcCore(h.t, records), 0
	h.core.SetCauses(h.all)
}

// set replaces the causes.
func (h *hooked) set(all ...api.Cause) {
	h.all = all
	h.core.SetCauses(all)
}

// wait lets time pass as the loop of a controller does: it looks whenever the core asks for it. It
// returns what was posted, answered by failed.
func (h *hooked) wait(d time.Duration, failed error) (out []notification.Post) {
	h.t.Helper()
	rounds := 0
	for end := h.now + d; ; {
		if rounds++; rounds > 100_000 {
			h.t.Fatal("it does not come to rest")
		}
		posts := h.take()
		out = append(out, posts...)
		for _, p := range posts {
			h.core.told.Posted(p.Name, p.ID, failed)
		}
		if len(posts) > 0 {
			continue
		}
		at, ok := h.core.Next()
		if !ok || at > end {
			h.now = end
			h.core.Tick(end)
			return append(out, h.take()...)
		}
		h.now = max(at, h.now+1)
		h.core.Tick(h.now)
	}
}

// says returns what posts say: type and cause.
func says(posts []notification.Post) (out []string) {
	for _, p := range posts {
		var m api.CauseMessage
		if err := json.Unmarshal(p.Body, &m); err != nil {
			return []string{err.Error()}
		}
		out = append(out, fmt.Sprint(m.Type, " ", m.Data.ID))
	}
	return out
}

func cause(id string, severity api.Severity) api.Cause {
	return api.Cause{Finding: api.Finding{ID: id, Kind: "link", Severity: severity, What: id}}
}

func (h *hooked) want(what string, posts []notification.Post, want ...string) {
	h.t.Helper()
	if got := says(posts); !slices.Equal(got, want) {
		h.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

var hookSpec = api.NotificationSpec{URL: "https://receiver.example/x", Secret: testSecret}

const warm = time.Minute // what is sent at the start is over by then

// TestNotificationsOfCauses: a receiver gets one message when a cause begins, changes or ends,
// after the cause has lasted long enough. The receiver gets no message about silenced causes or
// about causes outside its spec. The next controller repeats no message.
func TestNotificationsOfCauses(t *testing.T) {
	h := newHooked(t)
	h.put("n", hookSpec)
	fault, warning := cause("a", api.SeverityFault), cause("b", api.SeverityWarning)
	work := cause("c", api.SeverityWork)
	fault.Jobs = &api.CauseJobs{Count: 7, Names: []string{"train"}}
	h.set(fault, warning, work)
	h.want("within the first half minute", h.wait(30*time.Second-1, nil))
	began := h.wait(1, nil)
	h.want("after it", began, "cause.began a", "cause.began b")
	if !strings.Contains(string(began[0].Body), `"jobs":{"count":7,"names":["train"]}`) {
		t.Errorf("the jobs are not told: %s", began[0].Body)
	}
	h.want("later", h.wait(warm, nil))
	if s := h.status("n"); s.Told != 2 || s.Pending != 0 || s.Lost != 0 || s.Delivered.IsZero() {
		t.Errorf("status %+v", s)
	}

	worse := warning
	worse.Severity = api.SeverityFault
	h.set(fault, worse)
	h.wait(10*time.Second-1, nil)
	h.set(fault, warning, work) // it did not last
	h.want("for less than 10 s", h.wait(warm, nil))
	h.set(fault, worse, work)
	h.want("for 10 s", h.wait(10*time.Second, nil), "cause.changed b")

	silent := fault
	silent.Silence, silent.Severity = &api.Silence{}, api.SeverityWarning
	quiet := cause("d", api.SeverityFault)
	quiet.Silence = &api.Silence{}
	h.set(silent, worse, quiet)
	h.want("silent", h.wait(warm, nil))
	h.again()
	h.want("the next controller", h.wait(warm, nil))
	quiet.Silence = nil
	h.set(worse, quiet)
	h.want("no longer", h.wait(warm, nil), "cause.began d", "cause.ended a")

	// The receiver knows the cause, so the receiver still gets a message when the cause changes to
	// another severity.
	eased := quiet
	eased.Severity = api.SeverityWork
	h.set(worse, eased)
	h.want("eased", h.wait(warm, nil), "cause.changed d")

	h.put("n", api.NotificationSpec{URL: hookSpec.URL, Kinds: []string{"switch"}})
	h.set(worse, eased, cause("e", api.SeverityFault))
	h.want("of another kind", h.wait(warm, nil))
	h.set(worse) // d and e are over: a message of d waits when the receiver is another one
	h.core.Tick(h.now + 10*time.Second)
	h.now = h.core.Now()
	h.want("under way", h.take(), "cause.ended d")
	spec := hookSpec
	spec.URL += "/other"
	h.put("n", spec)
	h.set(worse, eased, cause("e", api.SeverityFault))
	h.want("to another receiver", h.wait(warm, nil), "cause.began b", "cause.began e")
	if err := h.core.Notifications().Delete("n", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	h.set()
	h.want("deleted", h.wait(warm, nil))
	h.take()
	left, _, err := h.kept.List(t.Context(), "")
	for _, r := range left {
		if strings.HasPrefix(r.Key, "messages/") || strings.HasPrefix(r.Key, "notifications/") {
			t.Errorf("%s is left", r.Key)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// TestNotificationAgain: a message that may not have arrived is posted again with the same id and
// body, by the next controller too; one that has arrived is not.
func TestNotificationAgain(t *testing.T) {
	h := newHooked(t)
	h.put("n", hookSpec)
	h.set(cause("a", api.SeverityFault))
	h.core.Tick(warm)
	h.now = warm
	h.core.Tick(warm + 10*time.Second)
	first := h.take()
	h.want("first", first, "cause.began a")
	if more := h.take(); len(more) > 0 {
		t.Errorf("%d posts while one is under way", len(more))
	}
	h.again() // the answer has not come
	second := h.take()
	h.want("of the next controller", second, "cause.began a")
	if first[0].ID != second[0].ID || string(first[0].Body) != string(second[0].Body) {
		t.Errorf("ids %s and %s", first[0].ID, second[0].ID)
	}
	h.core.told.Posted("n", "other", nil)
	h.core.told.Posted("n", second[0].ID, nil)
	h.take()
	h.again()
	h.want("after it has arrived", h.wait(warm, nil))
	h.set(cause("b", api.SeverityFault))
	if next := h.wait(warm, nil); len(next) != 2 || next[0].ID == first[0].ID ||
		next[0].ID == next[1].ID {
		t.Errorf("%q", says(next))
	}
}

// TestNotificationFails: attempts go on after pauses that double, with jitter, up to ten minutes;
// an event tells of five minutes of failures and of their end; after a day a message is lost.
func TestNotificationFails(t *testing.T) {
	h := newHooked(t)
	h.put("n", hookSpec)
	h.set(cause("a", api.SeverityFault))
	down := errors.New("refused")
	h.wait(30*time.Second, down) // the first attempt
	var events []string
	note := func() {
		for _, e := range h.core.Ready(0).Events {
			events = append(events, string(e.Type))
		}
	}
	var pauses []time.Duration
	last := h.now
	for h.now < 24*time.Hour {
		next := h.status("n").NextAttempt.Sub(time.Unix(1e9, 0).UTC())
		if next <= last {
			t.Fatalf("the attempt after %v is at %v", last, next)
		}
		if at, ok := h.core.Next(); !ok || at > next {
			t.Fatalf("the core looks again at %v, want by %v", at, next)
		}
		pauses = append(pauses, next-last)
		if next >= 24*time.Hour {
			break
		}
		h.now, last = next, next
		h.core.Tick(h.now)
		r := h.core.Ready(0)
		for _, e := range r.Events {
			events = append(events, string(e.Type))
		}
		if len(r.Posts) != 1 {
			t.Fatalf("%d posts at %v", len(r.Posts), h.now)
		}
		h.core.told.Posted("n", r.Posts[0].ID, down)
	}
	for i, p := range pauses {
		want := 10 * time.Minute
		if i < 10 {
			want = min(want, time.Second<<i)
		}
		if p < want/2 || p > want {
			t.Errorf("pause %d is %v, want %v to %v", i, p, want/2, want)
		}
	}
	s := h.status("n")
	if c := s.Conditions.Find(api.Degraded); c == nil || !c.Status || c.Reason != "Failing" ||
		s.Failures < 100 || s.Pending != 1 || s.LastError != "refused" || s.Lost != 0 {
		t.Errorf("status %+v", s)
	}
	made := 30 * time.Second
	h.core.Tick(made + 24*time.Hour - 1)
	if s := h.status("n"); s.Pending != 1 {
		t.Errorf("before a day: %+v", s)
	}
	h.core.Tick(made + 24*time.Hour)
	if s := h.status("n"); s.Pending != 0 || s.Lost != 1 {
		t.Errorf("after a day: %+v", s)
	}
	h.now = h.core.Now()
	h.set(cause("b", api.SeverityFault))
	h.core.Tick(h.now + 20*time.Minute)
	h.now = h.core.Now()
	h.wait(time.Hour, nil)
	note()
	if s := h.status("n"); s.Failures != 0 || s.Pending != 0 {
		t.Errorf("after it recovered: %+v", s)
	}
	if n := slices.Index(events, string(api.EventNotificationFailing)); n < 0 ||
		slices.Contains(events[n+1:], string(api.EventNotificationFailing)) {
		t.Errorf("events %q", events)
	}
}

// TestNotificationEvents: the event of failures comes after five minutes and not before, and the
// event of their end with the first accepted message.
func TestNotificationEvents(t *testing.T) {
	h := newHooked(t)
	h.put("n", hookSpec)
	h.set(cause("a", api.SeverityFault))
	h.core.Ready(0)
	h.core.Tick(30 * time.Second)
	post := h.core.Ready(0).Posts[0]
	h.core.told.Posted("n", post.ID, errors.New("refused"))
	has := func(want api.EventType) bool {
		return slices.ContainsFunc(h.core.Ready(0).Events,
			func(e api.Event) bool { return e.Type == want })
	}
	failing := 30*time.Second + 5*time.Minute
	h.core.Tick(failing - 1)
	if has(api.EventNotificationFailing) {
		t.Error("an event before five minutes")
	}
	h.core.Tick(failing)
	if !has(api.EventNotificationFailing) {
		t.Error("no event after five minutes")
	}
	h.core.told.Posted("n", post.ID, nil)
	if !has(api.EventNotificationRecovered) {
		t.Error("no event of the end")
	}
}

// TestNotificationBounds: 64 messages wait and the oldest is lost for the next; a receiver knows
// 256 causes at a time; there are 32 notifications; and each is counted.
func TestNotificationBounds(t *testing.T) {
	h := newHooked(t)
	h.put("n", hookSpec)
	var all []api.Cause
	for i := range api.MaxPending {
		all = append(all, cause(fmt.Sprint("c", i), api.SeverityFault))
	}
	h.set(all...)
	down := errors.New("refused")
	h.wait(31*time.Second, down)
	if s := h.status("n"); s.Pending != api.MaxPending || s.Lost != 0 {
		t.Errorf("at the bound: %+v", s)
	}
	h.set(append(all, cause("more", api.SeverityFault))...)
	h.wait(11*time.Second, down)
	if s := h.status("n"); s.Pending != api.MaxPending || s.Lost != 1 {
		t.Errorf("above the bound: %+v", s)
	}
	sent := says(h.wait(time.Hour, nil))
	if len(sent) < api.MaxPending || slices.Contains(sent, "cause.began c0") ||
		!slices.Contains(sent, "cause.began more") {
		t.Errorf("%d messages, %q", len(sent), sent)
	}

	for i := len(all); i <= api.MaxTold; i++ {
		all = append(all, cause(fmt.Sprint("c", i), api.SeverityFault))
	}
	lost := h.status("n").Lost
	for n := 100; n < api.MaxTold; n += 50 { // in parts that may wait
		h.set(all[:n]...)
		h.wait(warm, nil)
	}
	h.set(all[:api.MaxTold]...)
	h.wait(warm, nil)
	if s := h.status("n"); s.Told != api.MaxTold || s.Lost != lost {
		t.Errorf("at the bound: %+v", s)
	}
	h.set(all...)
	h.wait(warm, nil)
	h.wait(warm, nil)
	if s := h.status("n"); s.Told != api.MaxTold || s.Lost != lost+1 {
		t.Errorf("above the bound: told %d, lost %d, want %d and %d", s.Told, s.Lost, api.MaxTold, lost+1)
	}
	h.set(all[1:]...)
	h.want("when one is over", h.wait(warm, nil), "cause.ended c0")
	h.set(all[1:]...) // the watcher looks again
	h.want("with room again", h.wait(warm, nil), "cause.began "+all[len(all)-1].ID)

	for i := range api.MaxNotifications - 1 {
		h.put(fmt.Sprint("m", i), hookSpec)
	}
	_, _, err := h.core.Notifications().Put("more", hookSpec, resource.Precondition{})
	if e := refusalOf(t, err); e.Code != api.CodeLimit {
		t.Error(e)
	}
}

// TestNotificationSecret: nothing is sent without a secret; a write without one keeps it; and
// nothing that is read has it, but the record alone.
func TestNotificationSecret(t *testing.T) {
	h := newHooked(t)
	bare := hookSpec
	bare.Secret = ""
	h.put("n", bare)
	h.set(cause("a", api.SeverityFault))
	h.want("without a secret", h.wait(warm, nil))
	if c := h.status("n").Conditions.Find(api.Degraded); c == nil || !c.Status ||
		c.Reason != api.ReasonNoSecret {
		t.Errorf("condition %+v", c)
	}
	if _, err := h.core.told.Test("n"); refusalOf(t, err).Code != api.CodeConflict {
		t.Error(err)
	}
	h.put("n", hookSpec)
	h.want("with one", h.wait(warm, nil), "cause.began a")
	before, _ := h.core.Notifications().Get("n")
	h.put("n", bare)
	h.put("n", hookSpec)
	if after, _ := h.core.Notifications().Get("n"); after.Version != before.Version {
		t.Error("the same again is a change")
	}
	other := hookSpec
	other.Secret = "whsec_" + strings.Repeat("QUJD", 21) + "QQ==" // 64 octets
	h.put("n", other)
	after, _ := h.core.Notifications().Get("n")
	if after.Version == before.Version {
		t.Error("another secret is no change")
	}
	text, err := json.Marshal(after)
	if err != nil || strings.Contains(string(text), "whsec_") {
		t.Errorf("%s, %v", text, err)
	}
	p, err := h.core.told.Test("n")
	if err != nil || len(p.Key) != 64 {
		t.Errorf("a key of %d octets, %v", len(p.Key), err)
	}
	h.take()
	records, _, err := h.kept.List(t.Context(), "notifications/")
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	stored, err := notification.Kind.Stored(records[0])
	if text, _ := json.Marshal(stored); err != nil || strings.Contains(string(text), "whsec_") {
		t.Errorf("a stale answer has %s, %v", text, err)
	}
}

// TestPlainNotification: what keeps messages from a receiver reaches clients as words, in the
// status and in its condition.
func TestPlainNotification(t *testing.T) {
	h := newHooked(t)
	h.put("pager", hookSpec)
	h.wait(time.Minute, nil)
	h.set(cause("link/1", api.SeverityFault))
	const want = "nothing listens at 203.0.113.9:443: the connection was refused"
	h.wait(time.Hour, errors.New("webhook: dial tcp 203.0.113.9:443: connect: connection refused"))
	s := h.status("pager")
	if c := s.Conditions.Find(api.Degraded); s.LastError != want || c == nil || c.Message != want {
		t.Errorf("%q, %+v", s.LastError, c)
	}
}
