// Package notification tells receivers of causes by webhooks. The package creates the messages for
// each receiver, decides when to send each message, and records the outcome.
//
// The package posts nothing. The code that runs the core stores the records first, then posts the
// messages that [Feature.Posts] returns, and reports the answers of the receivers
// ([Feature.Posted]). A message has a record from before the first attempt until the receiver has
// accepted the message. The next controller therefore continues with the same messages under the
// same ids.
package notification

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/plain"
	"github.com/weft-sdn/weft/internal/webhook"
	"github.com/weft-sdn/weft/store"
)

const (
	// grace is how long the controller sends no messages about causes after it has found the first
	// causes: a controller that starts does not know everything at once.
	grace = 30 * time.Second
	// giveUp is the age at which a message is given up.
	giveUp = 24 * time.Hour
	// alarm is how long attempts fail before an event tells so.
	alarm = 5 * time.Minute
	// firstPause and maxPause bound the pause between attempts: it doubles.
	firstPause = time.Second
	maxPause   = 10 * time.Minute
)

// decided is what the feature made of a notification.
type decided struct {
	Secret string `json:"secret,omitempty"`
	// Told lists the causes that the receiver knows, or will know from waiting messages.
	Told []api.Finding `json:"told,omitempty"`
	// Serial is the number of the last message.
	Serial    uint64    `json:"serial,omitempty"`
	Lost      uint64    `json:"lost,omitempty"`
	Delivered time.Time `json:"delivered,omitzero"`
}

type item = resource.Item[api.NotificationSpec, decided]

// message is a message that waits.
type message struct {
	Serial uint64          `json:"serial"`
	ID     string          `json:"id"`
	Body   json.RawMessage `json:"body"`
	Made   time.Time       `json:"made"`
}

// live is the state of a notification that no record has.
type live struct {
	queue   []*message               // the oldest first
	noticed map[string]time.Duration // by change of a cause that is not sent yet
	over    map[string]bool          // causes that there was no room for

	sending   string // id of the message that is under way
	failures  int
	failing   time.Duration // since when attempts fail
	alarmed   bool
	next      time.Duration // when the next attempt is made
	lastError string
	errorAt   time.Time
}

// Post is a message that is to be posted.
type Post struct {
	Name string // of the notification
	webhook.Message
}

// Feature has the notifications of a controller.
type Feature struct {
	feature.Kept[api.NotificationSpec, decided]
	env     *feature.Env
	live    map[string]*live
	unsaved map[string]*message // records of messages; nil: it goes
	causes  []api.Cause
	known   bool          // causes were found
	first   time.Duration // when they were first
}

// New returns the feature without notifications.
func New(env *feature.Env) *Feature {
	return &Feature{env: env, live: make(map[string]*live), unsaved: make(map[string]*message),
		Kept: feature.Keep[api.NotificationSpec, decided](env, Kind.Record)}
}

// messages is what the keys of the records of messages begin with: the name of the notification and
// the number of the message follow.
const messages = "messages/"

var _ = store.Form[message](messages)

func messageKey(name string, serial uint64) string {
	return fmt.Sprintf("%s%s/%020d", messages, name, serial)
}

// Load implements feature.Feature.
func (f *Feature) Load(r store.Record) (ok bool, err error) {
	rest, ok := strings.CutPrefix(r.Key, messages)
	if !ok {
		return f.All.Load(r)
	}
	var m message
	if err := json.Unmarshal(r.Value, &m); err != nil {
		return true, err
	}
	name, _, _ := strings.Cut(rest, "/")
	l := f.of(name)
	l.queue = append(l.queue, &m)
	return true, nil
}

// Start implements feature.Feature.
func (f *Feature) Start() {
	for name, l := range f.live {
		if f.All.Get(name) == nil { // of an earlier format
			f.forget(name)
			continue
		}
		slices.SortFunc(l.queue, func(a, b *message) int { return int(a.Serial) - int(b.Serial) })
	}
}

// Changes implements feature.Feature.
func (f *Feature) Changes() []store.Op {
	out := f.All.Changes()
	for _, key := range slices.Sorted(maps.Keys(f.unsaved)) {
		op := store.Op{Key: key}
		if m := f.unsaved[key]; m != nil {
			op.Value = resource.Encode(m)
		}
		out = append(out, op)
	}
	clear(f.unsaved)
	return out
}

// Records implements feature.Feature.
func (f *Feature) Records() []store.Record {
	out := f.All.Records()
	for _, n := range f.All.All() {
		for _, m := range f.of(n.Name).queue {
			out = append(out, store.Record{Key: messageKey(n.Name, m.Serial), Value: resource.Encode(m)})
		}
	}
	return out
}

// of returns the state of a notification that no record has.
func (f *Feature) of(name string) *live {
	l := f.live[name]
	if l == nil {
		l = &live{noticed: make(map[string]time.Duration), over: make(map[string]bool)}
		f.live[name] = l
	}
	return l
}

// forget drops everything that waits for a notification.
func (f *Feature) forget(name string) {
	if l := f.live[name]; l != nil {
		for _, m := range l.queue {
			f.unsaved[messageKey(name, m.Serial)] = nil
		}
	}
	delete(f.live, name)
}

// SetCauses reports the causes of now.
func (f *Feature) SetCauses(all []api.Cause) {
	if !f.known {
		f.known, f.first = true, f.env.Now
	}
	f.causes = all
	f.look()
}

// Tick implements feature.Feature.
func (f *Feature) Tick() {
	for _, n := range f.All.All() {
		l := f.of(n.Name)
		for _, noticed := range l.noticed {
			if f.env.Now >= f.due(n, noticed) {
				f.compare(n, l)
				break
			}
		}
		if l.failures > 0 && !l.alarmed && f.env.Now-l.failing >= alarm {
			l.alarmed = true
			f.env.Event(api.EventNotificationFailing, n.Name, fmt.Sprintf(
				"%d attempts have failed since %s, and %d messages wait: %s", l.failures,
				f.env.Start.Add(l.failing).UTC().Format(time.RFC3339), len(l.queue), l.lastError), nil)
		}
		for len(l.queue) > 0 && l.sending != l.queue[0].ID &&
			f.env.Wall().Sub(l.queue[0].Made) >= giveUp {
			f.lose(n, l, 0)
		}
	}
}

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) {
	sooner := func(d time.Duration) {
		if !ok || d < at {
			at, ok = d, true
		}
	}
	for _, n := range f.All.All() {
		l := f.of(n.Name)
		for _, noticed := range l.noticed {
			sooner(f.due(n, noticed))
		}
		if len(l.queue) > 0 && l.next > f.env.Now {
			sooner(l.next)
		}
		if l.failures > 0 && !l.alarmed {
			sooner(l.failing + alarm)
		}
		if len(l.queue) > 0 && l.sending == "" {
			sooner(l.queue[0].Made.Add(giveUp).Sub(f.env.Start))
		}
	}
	return at, ok
}

// due returns when a change that was noticed at a time is sent.
func (f *Feature) due(n *item, noticed time.Duration) time.Duration {
	return max(noticed+n.Spec.After.D(), f.first+grace)
}

// look finds what each receiver is to be told.
func (f *Feature) look() {
	if !f.known {
		return
	}
	for _, n := range f.All.All() {
		if n.Decided.Secret != "" {
			f.compare(n, f.of(n.Name))
		}
	}
}

// change is what became of a cause since the receiver was told last.
type change struct {
	what  api.EventType
	cause *api.Cause
}

func (c change) key() string { return string(c.what) + " " + c.cause.ID }

// changes returns the changes that a receiver does not know yet. A silenced cause does not change.
func (f *Feature) changes(n *item) (out []change) {
	knows := make(map[string]*api.Finding, len(n.Decided.Told))
	for i := range n.Decided.Told {
		t := &n.Decided.Told[i]
		knows[t.ID] = t
	}
	for i := range f.causes {
		c := &f.causes[i]
		t := knows[c.ID]
		delete(knows, c.ID)
		switch {
		case c.Silence != nil:
		case t == nil:
			if n.Spec.Selects(c) {
				out = append(out, change{api.EventCauseBegan, c})
			}
		case t.Severity != c.Severity || t.What != c.What:
			out = append(out, change{api.EventCauseChanged, c})
		}
	}
	for i := range n.Decided.Told {
		if t := knows[n.Decided.Told[i].ID]; t != nil {
			out = append(out, change{api.EventCauseEnded, &api.Cause{Finding: *t,
				Follows: []api.Finding{}, Counts: []api.CauseCount{}}})
		}
	}
	return out
}

// compare makes messages of the changes that have lasted.
func (f *Feature) compare(n *item, l *live) {
	changes := f.changes(n)
	lasts := make(map[string]bool, len(changes))
	for _, c := range changes {
		key := c.key()
		lasts[key] = true
		if l.over[key] && len(n.Decided.Told) >= api.MaxTold {
			continue
		}
		if _, ok := l.noticed[key]; !ok {
			l.noticed[key] = f.env.Now
		}
		if f.env.Now < f.due(n, l.noticed[key]) {
			continue
		}
		delete(l.noticed, key)
		if c.what == api.EventCauseBegan && len(n.Decided.Told) >= api.MaxTold {
			l.over[key] = true
			n.Decided.Lost++
			f.All.Save(n.Name)
			continue
		}
		delete(l.over, key)
		f.enqueue(n, l, c)
	}
	gone := func(key string, _ time.Duration) bool { return !lasts[key] }
	maps.DeleteFunc(l.noticed, gone)
	maps.DeleteFunc(l.over, func(key string, _ bool) bool { return !lasts[key] })
}

// enqueue makes a message of a change.
func (f *Feature) enqueue(n *item, l *live, c change) {
	d := &n.Decided
	d.Told = slices.DeleteFunc(d.Told, func(t api.Finding) bool { return t.ID == c.cause.ID })
	if c.what != api.EventCauseEnded {
		d.Told = append(d.Told, c.cause.Finding)
	}
	notice := api.CauseNotice{Cause: *c.cause, Link: f.env.Inventory().API.URL}
	notice.Follows = notice.Follows[:min(len(notice.Follows), api.MaxMessageFollows)]
	d.Serial++
	m := &message{Serial: d.Serial, ID: messageID(n, d.Serial), Made: f.env.Wall(),
		Body: resource.Encode(api.CauseMessage{Type: c.what, Timestamp: f.env.Wall(), Data: notice})}
	if len(l.queue) >= api.MaxPending { // the newest tell more; the one under way may arrive
		oldest := 0
		if l.sending == l.queue[0].ID {
			oldest = 1
		}
		f.lose(n, l, oldest)
	}
	l.queue = append(l.queue, m)
	f.unsaved[messageKey(n.Name, m.Serial)] = m
	f.All.Save(n.Name)
}

// messageID returns the id of a message, unique among the messages of all controllers.
func messageID(n *item, serial uint64) string {
	return "msg_" + digest(fmt.Sprintf("%s %d %d", n.Name, n.Created.UnixNano(), serial))[:32]
}

// lose gives a message of a queue up.
func (f *Feature) lose(n *item, l *live, at int) {
	f.remove(n, l, at)
	n.Decided.Lost++
}

// remove takes a message out of a queue.
func (f *Feature) remove(n *item, l *live, at int) {
	f.unsaved[messageKey(n.Name, l.queue[at].Serial)] = nil
	l.queue = slices.Delete(l.queue, at, at+1)
	f.All.Save(n.Name)
}

// Posts returns the messages to post now, at most one for each notification.
func (f *Feature) Posts() (out []Post) {
	for _, n := range f.All.All() {
		l := f.of(n.Name)
		if len(l.queue) == 0 || l.sending != "" || n.Decided.Secret == "" || f.env.Now < l.next {
			continue
		}
		m := l.queue[0]
		l.sending = m.ID
		out = append(out, f.post(n, m.ID, m.Body))
	}
	return out
}

func (f *Feature) post(n *item, id string, body []byte) Post {
	key, err := api.SigningKey(n.Decided.Secret)
	if err != nil {
		panic("notification: " + err.Error()) // it was checked when it was written
	}
	return Post{Name: n.Name, Message: webhook.Message{URL: n.Spec.URL, Key: key, ID: id, Body: body}}
}

// Posted reports the outcome of a posted message: failed says why the receiver has not accepted the
// message, nil means accepted.
func (f *Feature) Posted(name, id string, failed error) {
	n, l := f.All.Get(name), f.live[name]
	if n == nil || l == nil || l.sending != id {
		return // it was deleted, or has another receiver by now
	}
	l.sending = ""
	if failed != nil {
		f.failed(n, l, id, failed)
		return
	}
	if l.alarmed {
		f.env.Event(api.EventNotificationRecovered, name,
			fmt.Sprintf("the receiver takes messages again: %d wait", len(l.queue)-1), nil)
	}
	l.failures, l.alarmed, l.next = 0, false, f.env.Now
	n.Decided.Delivered = f.env.Wall()
	if len(l.queue) > 0 && l.queue[0].ID == id {
		f.remove(n, l, 0)
	}
}

func (f *Feature) failed(n *item, l *live, id string, why error) {
	if l.failures == 0 {
		l.failing = f.env.Now
	}
	l.failures++
	l.lastError, l.errorAt = plain.Error(why), f.env.Wall()
	l.next = f.env.Now + pause(id, l.failures)
}

// pause returns how long after some failures the next attempt is made: between a half and all of
// what doubles each time.
func pause(id string, failures int) time.Duration {
	d := maxPause
	if n := failures - 1; n < 16 {
		d = min(d, firstPause<<n)
	}
	var part int
	_, _ = fmt.Sscanf(digest(fmt.Sprint(id, failures))[:4], "%x", &part)
	return d/2 + d/2*time.Duration(part)/0xffff
}

// Test returns a message that tells a receiver of nothing.
func (f *Feature) Test(name string) (Post, error) {
	n, err := resource.Find(f.All, name)
	if err != nil {
		return Post{}, err
	}
	if n.Decided.Secret == "" {
		return Post{}, &api.Error{Code: api.CodeConflict,
			Message: fmt.Sprintf("notification %q has no secret: write one first", name)}
	}
	now := f.env.Wall()
	body := resource.Encode(map[string]any{"type": api.TestMessageType, "timestamp": now,
		"data": map[string]string{"notification": name}})
	id := "msg_" + digest(fmt.Sprint("test ", name, n.Created.UnixNano(), now.UnixNano()))[:32]
	return f.post(n, id, body), nil
}

// Notifications returns the notifications. A spec without a secret keeps the secret that there is;
// another receiver is told of everything from the beginning.
func (f *Feature) Notifications() resource.Resources[api.NotificationSpec, api.Notification] {
	return resource.Written[api.NotificationSpec, decided, api.Notification]{All: f.All, Env: f.env,
		Decide: f.decide, View: f.view, Gone: f.gone, Changed: f.look}
}

func (f *Feature) decide(old, n *item, _ resource.Precondition) error {
	n.Spec = n.Spec.Complete()
	if err := n.Spec.Validate(); err != nil {
		return err
	}
	if old == nil && f.All.Len() >= api.MaxNotifications {
		return &api.Error{Code: api.CodeLimit, Message: fmt.Sprintf(
			"there are %d notifications: want at most that many", api.MaxNotifications)}
	}
	n.Decided.Secret = cmp.Or(n.Spec.Secret, n.Decided.Secret)
	n.Spec.Secret = ""
	if old != nil {
		if reflect.DeepEqual(old.Spec, n.Spec) && old.Decided.Secret == n.Decided.Secret {
			return resource.ErrUnchanged
		}
		if old.Spec.URL != n.Spec.URL {
			f.forget(n.Name)
			n.Decided.Told = nil
		}
	}
	f.env.Event(api.EventNotificationChanged, n.Name, "written", nil)
	return nil
}

// gone forgets what waits: it is not sent.
func (f *Feature) gone(n *item, _ resource.Precondition) error {
	f.forget(n.Name)
	f.env.Event(api.EventNotificationChanged, n.Name, "deleted", nil)
	return nil
}

func (f *Feature) view(n *item) api.Notification {
	v := api.Notification{Name: n.Name, Version: n.Version, Created: n.Created, Spec: n.Spec}
	l, d, s := f.of(n.Name), &n.Decided, &v.Status
	s.Told, s.Lost, s.Delivered = len(d.Told), d.Lost, d.Delivered
	s.Pending, s.Failures = len(l.queue), l.failures
	s.LastError, s.LastErrorAt = l.lastError, l.errorAt
	s.Conditions.Set(api.Accepted, true, "Accepted", "", n.Changed)
	switch {
	case d.Secret == "":
		s.Conditions.Set(api.Degraded, true, api.ReasonNoSecret,
			"nothing is sent: write spec.secret", n.Changed)
	case l.failures > 0:
		s.NextAttempt = f.env.Start.Add(l.next).UTC()
		s.Conditions.Set(api.Degraded, true, api.ReasonFailing, l.lastError,
			f.env.Start.Add(l.failing).UTC())
	default:
		s.Conditions.Set(api.Degraded, false, api.ReasonHealthy, "", n.Changed)
	}
	return v
}
