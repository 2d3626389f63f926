package linear

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

const (
	// answerTime is how long a client waits for an answer.
	answerTime = 3 * time.Second
	// keyOperations is the number of operations on a resource before another resource takes its place,
	// and keyUnknowns the number of unanswered operations: the cluster may still carry out an
	// unanswered operation at any time, and porcupine tries all these times.
	keyOperations = 300
	keyUnknowns   = 5
	// liveKeys are in use at a time.
	liveKeys = 4
)

// keys are the names of the resources that clients use at a time.
type keys struct {
	mu     sync.Mutex
	next   int
	live   []*key
	before []*key // that had their turn
}

// key is one of them.
type key struct {
	name       string
	number     int
	version    atomic.Uint64 // that a client saw last
	operations int           // begun
	unknown    int
}

func newKeys() *keys {
	k := &keys{}
	for range liveKeys {
		k.live = append(k.live, k.fresh())
	}
	return k
}

func (k *keys) fresh() *key {
	k.next++
	return &key{name: "k" + strconv.Itoa(k.next), number: k.next}
}

// pick returns one of the live keys for an operation.
func (k *keys) pick(r *rand.Rand) *key {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := r.IntN(len(k.live))
	k.live[i] = k.turn(k.live[i])
	return k.live[i]
}

// turn returns a key for the next operation: x, or a fresh one when x has had its turn. k.mu is
// held.
func (k *keys) turn(x *key) *key {
	if x.operations >= keyOperations || x.unknown >= keyUnknowns {
		k.before = append(k.before, x)
		x = k.fresh()
	}
	x.operations++
	return x
}

// single returns a key that no other client uses.
func (k *keys) single() *key {
	k.mu.Lock()
	defer k.mu.Unlock()
	x := k.fresh()
	k.before = append(k.before, x)
	return x
}

// all returns all keys, those in use last.
func (k *keys) all() []*key {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append(append([]*key(nil), k.before...), k.live...)
}

// retired returns a retired key that nobody has deleted yet, nil for none.
func (k *keys) retired(from int) *key {
	k.mu.Lock()
	defer k.mu.Unlock()
	if from < len(k.before) {
		return k.before[from]
	}
	return nil
}

func (k *keys) noAnswer(x *key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	x.unknown++
}

// load is what clients do to the controllers.
type load struct {
	b        *bed
	h        *history
	keys     *keys
	contents atomic.Uint32
	lists    atomic.Int32
	progress progress
	// hasty: a fault waits for well controllers neither before nor afterwards.
	hasty bool
	// stale: controllers take ?consistency=stale.
	stale bool

	mu    sync.Mutex
	wrong []violation // answers that no rule allows
}

func (l *load) fail(rule, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) < 20 {
		l.wrong = append(l.wrong, violation{Rule: rule, Text: fmt.Sprintf(format, args...)})
	}
}

// Rules of single answers.
const (
	ruleAnswer = "an answer is one of those that the operation names"
	ruleEarly  = "what is right is not called wrong"
	ruleETag   = "the ETag is the version"
)

// classify reports what became of an operation by its error.
func (l *load) classify(o *operation, err error) outcome {
	var p *api.Problem
	var dial *net.OpError
	switch {
	case err == nil:
		return done
	case errors.As(err, &p):
		o.Error = p.Error()
		switch p.Status {
		case http.StatusNotFound:
			return missing
		case http.StatusConflict:
			return taken
		case http.StatusPreconditionFailed:
			if o.Absent {
				return taken
			}
			return unmet
		case http.StatusServiceUnavailable, http.StatusInsufficientStorage, http.StatusTooManyRequests:
			return refused
		case http.StatusGatewayTimeout:
			return unknown
		case http.StatusUnprocessableEntity:
			l.fail(ruleEarly, "%v", o)
			return refused
		}
		l.fail(ruleAnswer, "%v", o)
		return unknown
	case errors.As(err, &dial) && dial.Op == "dial":
		o.Error = err.Error()
		return refused // no octet of it was sent
	}
	o.Error = err.Error()
	return unknown
}

// intent is the spec of a group with a content.
func (x *key) intent(content uint32) api.MulticastGroupSpec {
	return api.MulticastGroupSpec{
		ProxyAddress:  netip.MustParseAddr(fmt.Sprintf("2001:db8:ffff::%x", x.number)),
		DesignatedQPN: 4096,
		Source: api.GroupSource{Address: netip.MustParseAddr("2001:db8:1:1::1"),
			QPN: uint32(256 + x.number)},
		Receivers: []api.GroupReceiver{{Address: netip.MustParseAddr("2001:db8:1:2::1"),
			QPN: uint32(256 + x.number)}},
		CNPLimit: content,
	}
}

const groups = "/v1/multicast-groups"

// do carries out an operation at a controller and adds it to the history.
func (l *load) do(ctx context.Context, c *client.Client, n *node, x *key, o operation) operation {
	o.Node, o.Key, o.Start = n.name, x.name, n.incarnation()
	header := http.Header{}
	if o.Match != 0 {
		header.Set("If-Match", strconv.Quote(strconv.FormatUint(o.Match, 10)))
	}
	if o.Absent {
		header.Set("If-None-Match", "*")
	}
	method, path := http.MethodGet, groups+client.Path(x.name)
	var body any
	switch o.Action {
	case put:
		method = http.MethodPut
	case create:
		method, path = http.MethodPost, groups
	case remove:
		method = http.MethodDelete
	case stale:
		path += "?consistency=stale"
	}
	if o.writes() {
		o.Content = l.contents.Add(1)
		r := api.Request[api.MulticastGroupSpec]{Spec: x.intent(o.Content)}
		if o.Action == create {
			r.Name = x.name
		}
		body = r
	}
	o.Call = l.h.now()
	a, err := c.Do(ctx, method, path, header, body)
	o.Return = l.h.now()
	o.Outcome = l.classify(&o, err)
	if o.Outcome == done {
		o.Created = a.Status == http.StatusCreated
	}
	if o.Outcome == done && o.Action != remove {
		var g api.MulticastGroup
		if err := a.Decode(&g); err != nil || g.Version == 0 || g.Name != x.name {
			o.Outcome, o.Error = unknown, fmt.Sprintf("answer %.200s: %v", a.Body, err)
			l.fail(ruleAnswer, "%v", &o)
		} else {
			o.Version, o.Value = g.Version, g.Spec.CNPLimit
			x.version.Store(g.Version)
		}
		if tag := a.Header.Get("ETag"); o.Action != stale &&
			tag != strconv.Quote(strconv.FormatUint(o.Version, 10)) {
			l.fail(ruleETag, "ETag %s: %v", tag, &o)
		}
	}
	if o.Outcome == unknown && o.Action != get && o.Action != stale {
		l.keys.noAnswer(x)
	}
	l.h.add(o)
	return o
}

// list reads all groups, which counts as a read of each group in use now or a moment ago.
func (l *load) list(ctx context.Context, c *client.Client, n *node, id int) error {
	l.keys.mu.Lock()
	asked := append([]*key(nil), l.keys.live...)
	l.keys.mu.Unlock()
	o := operation{Client: id, Node: n.name, Action: get, List: int(l.lists.Add(1)),
		Start: n.incarnation(), Call: l.h.now()}
	a, err := c.Get(ctx, groups, url.Values{"limit": {"1000"}})
	o.Return = l.h.now()
	if err != nil {
		return err
	}
	var page api.List[api.MulticastGroup]
	if err := a.Decode(&page); err != nil || page.Continue != "" {
		l.fail(ruleAnswer, "a list: %v, continued at %q", err, page.Continue)
		return nil
	}
	there := make(map[string]*api.MulticastGroup)
	for i := range page.Items {
		there[page.Items[i].Name] = &page.Items[i]
	}
	var ops []operation
	for _, x := range asked {
		p := o
		p.Key, p.Outcome = x.name, missing
		if g := there[x.name]; g != nil {
			p.Outcome, p.Version, p.Value = done, g.Version, g.Spec.CNPLimit
		}
		ops = append(ops, p)
	}
	l.h.add(ops...)
	return nil
}

// client works at a controller until ctx ends, by numbers of its own.
func (l *load) client(ctx context.Context, n *node, id int, seed uint64) {
	r := rand.New(rand.NewPCG(seed, uint64(id)))
	c := n.client(answerTime)
	work := context.WithoutCancel(ctx) // what is begun is ended
	for ctx.Err() == nil {
		var o operation
		o.Client = id
		x := l.keys.pick(r)
		switch p := r.IntN(100); {
		case p < 6:
			if err := l.list(work, c, n, id); err != nil {
				wait(ctx, 20*time.Millisecond)
			}
			continue
		case p < 38:
			o.Action = get
		case p < 45 && l.stale:
			o.Action = stale
		case p < 68:
			o.Action = put
		case p < 84:
			o.Action, o.Match = put, x.version.Load()
		case p < 87:
			o.Action, o.Absent = put, true
		case p < 94:
			o.Action = create
		case p < 97:
			o.Action, o.Match = remove, x.version.Load()
		default:
			o.Action = remove
		}
		if o = l.do(work, c, n, x, o); o.Outcome == refused || o.Outcome == unknown {
			wait(ctx, time.Duration(20+r.IntN(80))*time.Millisecond)
		}
	}
}

// sweep deletes retired groups, so few groups exist at a time.
func (l *load) sweep(ctx context.Context, n *node, id int) {
	c := n.client(answerTime)
	work := context.WithoutCancel(ctx)
	for next := 0; ctx.Err() == nil; {
		x := l.keys.retired(next)
		if x == nil {
			wait(ctx, 50*time.Millisecond)
			continue
		}
		if o := l.do(work, c, n, x, operation{Client: id, Action: remove}); o.Outcome == done ||
			o.Outcome == missing {
			next++
			continue
		}
		wait(ctx, 100*time.Millisecond)
	}
}

// follow watches the events of a controller until ctx ends. Shown has the names of the groups that
// it showed.
func (l *load) follow(ctx context.Context, n *node, shown func(name string)) {
	w := l.h.watch(n.name)
	add := func(s sight) {
		s.At = l.h.now()
		l.h.mu.Lock()
		defer l.h.mu.Unlock()
		w.Sights = append(w.Sights, s)
	}
	c := n.client(0)
	for ctx.Err() == nil {
		fresh := true
		opened := func() error {
			if fresh { // what is opened again is resumed
				add(sight{Reset: true})
			}
			fresh = false
			return nil
		}
		for e, err := range c.Watch(ctx, client.Watch{Handlers: client.Handlers{Opened: opened}}) {
			if err != nil {
				break
			}
			s := sight{ID: e.ID, Seq: e.Seq}
			switch {
			case e.Type == api.EventGap:
				s = sight{ID: e.ID, Reset: true}
			case e.Object == writesGroup: // nobody changes it
			case e.Type == api.EventGroupDeleted:
				s.Key, s.Deleted = e.Object, true
			case strings.HasPrefix(string(e.Type), "group.") && e.Group != nil:
				s.Key, s.Version, s.Value = e.Group.Name, e.Group.Version, e.Group.Spec.CNPLimit
			}
			add(s)
			if s.Key != "" {
				shown(s.Key)
			}
		}
		wait(ctx, 50*time.Millisecond)
	}
}

// now is the time of the history, by the monotonic clock.
func (h *history) now() time.Duration { return time.Since(h.begun) }

// count is how many operations had an outcome, or may have one.
func (h *history) count() (n uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.operations {
		if h.operations[i].Outcome != refused {
			n++
		}
	}
	return n
}
