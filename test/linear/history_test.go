package linear

import (
	"fmt"
	"sync"
	"time"
)

// action is what a client asks for.
type action string

const (
	get    action = "get"
	put    action = "put"
	create action = "create"
	remove action = "delete"
	// stale is a get that may answer with an earlier state.
	stale action = "stale"
)

// outcome is the result of an operation from its client's view.
type outcome string

const (
	done    outcome = "done"    // carried out
	unmet   outcome = "unmet"   // its precondition did not hold, by an answer of 412
	taken   outcome = "taken"   // the resource exists: 409
	missing outcome = "missing" // there is no such resource: 404
	// without effect, for a reason that is not the resource's: 503, 507, 429
	refused outcome = "refused"
	unknown outcome = "unknown" // 504, no answer, a connection that was lost
)

// operation is one operation of a client on one resource. A list is one get for each resource that
// it could have had.
type operation struct {
	ID     int    `json:"id"`
	Client int    `json:"client"`
	Node   string `json:"node"` // the controller that was asked
	Start  int    `json:"start,omitempty"`
	Action action `json:"action"`
	Key    string `json:"key"`
	// List is the number of the list that contains a get; 0: no list.
	List int `json:"list,omitempty"`
	// Content is the written content. No two operations of a history write the same content.
	Content uint32 `json:"content,omitempty"`
	// Match is the required version of the resource; 0: any version.
	Match uint64 `json:"match,omitempty"`
	// Absent demands that the resource does not exist.
	Absent bool `json:"absent,omitempty"`

	Call   time.Duration `json:"call"` // since the start of the run
	Return time.Duration `json:"return"`

	Outcome outcome `json:"outcome"`
	// Created is set when a put has made the resource.
	Created bool `json:"created,omitempty"`
	// Version and Value are those of the answer; 0: it had none.
	Version uint64 `json:"version,omitempty"`
	Value   uint32 `json:"value,omitempty"`
	// Error is the answer of a refusal, or why there was none.
	Error string `json:"error,omitempty"`

	// seen is the version of an unanswered write, taken from a later observation; 0: not observed.
	seen uint64
	// turn numbers the unanswered operations of the same kind that no observer can tell apart, in the
	// order of their calls, from 1; 0: all other operations. See [steps].
	turn int
}

func (o *operation) writes() bool { return o.Action == put || o.Action == create }

func (o *operation) String() string {
	s := fmt.Sprintf("#%d client %d at %s: %s %s", o.ID, o.Client, o.Node, o.Action, o.Key)
	if o.writes() {
		s += fmt.Sprintf(" content %d", o.Content)
	}
	if o.Match != 0 {
		s += fmt.Sprintf(" if version %d", o.Match)
	}
	if o.Absent {
		s += " if absent"
	}
	s += fmt.Sprintf(" → %s", o.Outcome)
	if o.Version != 0 {
		s += fmt.Sprintf(" version %d content %d", o.Version, o.Value)
	}
	if o.Error != "" {
		s += " (" + o.Error + ")"
	}
	return s + fmt.Sprintf(" [%v, %v]", o.Call.Round(time.Microsecond),
		o.Return.Round(time.Microsecond))
}

// sight is one thing that a watch showed: a resource as it was, its deletion, or that events were
// lost.
type sight struct {
	At      time.Duration `json:"at"`
	ID      string        `json:"id,omitempty"`
	Seq     uint64        `json:"seq,omitempty"`
	Key     string        `json:"key,omitempty"` // empty: an event about something else
	Deleted bool          `json:"deleted,omitempty"`
	Version uint64        `json:"version,omitempty"`
	Value   uint32        `json:"value,omitempty"`
	// Reset is set where a watch begins anew: at its start, after a gap, and where it could not be
	// resumed. Nothing is promised of what happened before.
	Reset bool `json:"reset,omitempty"`
}

// watch is all that one client saw that follows events at a controller.
type watch struct {
	Node   string  `json:"node"`
	Sights []sight `json:"sights"`
}

// history is all that clients did and saw. Its methods may be called from any goroutine.
type history struct {
	begun time.Time

	mu         sync.Mutex
	operations []operation
	watches    []*watch
}

func newHistory() *history { return &history{begun: time.Now()} }

func (h *history) add(ops ...operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range ops {
		o.ID = len(h.operations) + 1
		h.operations = append(h.operations, o)
	}
}

func (h *history) watch(node string) *watch {
	w := &watch{Node: node}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches = append(h.watches, w)
	return w
}
