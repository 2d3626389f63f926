package feature

import (
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
)

// Env is shared by all features of one controller.
type Env struct {
	// Start is the wall-clock time at which Now is 0; Now is the time of the present
	// input.
	Start time.Time
	Now   time.Duration
	// Net is the topology matched with the inventory. The controller and the underlay
	// replace it.
	Net *plan.Network
	// Fabric is the newest view of the MRC fabric. The controller replaces it.
	Fabric *fabricview.View
	// Wanted is the Seq of the last [fabricview.Wants].
	Wanted uint64
	// Renew has SetNetwork of all features called when the present input has been
	// taken.
	Renew bool
	// Want sets the entities that switches should hold. Switches reports the entities that switches
	// hold.
	Want     reconcile.Want
	Switches reconcile.State
	// Versions are the versions of all resources.
	Versions *resource.Versions
	// Underlay is the feature below all other features.
	Underlay Underlay
	// Whole is the controller; nil: features are alone.
	Whole Whole

	events    []api.Event
	answers   []Answer
	seq       uint64 // of the last event
	questions uint64 // ids given so far
}

// Underlay is the interface of the underlay feature, which connects the switches, to other
// features.
type Underlay interface {
	// Settled reports whether the topology is taken for the whole network.
	Settled() bool
	// Released reports whether switches may remove unwanted entities.
	Released() bool
	// Settling reports whether a switch still keeps every entity.
	Settling(sw string) bool
	// Linked reports whether a switch holds all links, apart from refused links. Ready reports whether
	// the switch also holds all routes.
	Linked(sw string) bool
	Ready(sw string) bool
	// SetEdges reports which ports face tenants.
	SetEdges(e plan.Edges)
	// SetIsolated reports which projects are isolated, in the order of their names.
	SetIsolated(projects []plan.Isolated)
}

// Whole is the controller around all features, to whom resources change.
type Whole interface {
	// Allow is [resource.Env.Allow], and Settle is [resource.Env.Settle].
	Allow(k resource.Kind, name string, spec any, pre resource.Precondition) error
	Settle(k resource.Kind, name string, spec any)
}

// Answer is the answer to a question of a client, under the id that the question
// returned.
type Answer struct {
	ID    uint64
	Value any
}

// Inventory returns the present inventory, which must not be changed.
func (e *Env) Inventory() *inventory.Inventory { return e.Net.Inventory }

// Wall returns the wall-clock time.
func (e *Env) Wall() time.Time { return e.Start.Add(e.Now).UTC() }

// Allow implements [resource.Env].
func (e *Env) Allow(k resource.Kind, name string, spec any, pre resource.Precondition) error {
	if e.Whole == nil {
		return nil
	}
	return e.Whole.Allow(k, name, spec, pre)
}

// Settle implements [resource.Env].
func (e *Env) Settle(k resource.Kind, name string, spec any) {
	if e.Whole != nil {
		e.Whole.Settle(k, name, spec)
	}
}

// Event announces a change to clients. group is the multicast group after the
// change, nil for everything else. says has further fields of the event.
func (e *Env) Event(t api.EventType, object, message string, group *api.MulticastGroup,
	says ...api.EventFields) {
	e.seq++
	ev := api.Event{Seq: e.seq, Time: e.Wall(), Type: t, Object: object, Message: message,
		Group: group}
	for _, f := range says {
		ev.EventFields = f
	}
	e.events = append(e.events, ev)
}

// Question returns the id of a new question of a client.
func (e *Env) Question() uint64 {
	e.questions++
	return e.questions
}

// Answer answers a question of a client.
func (e *Env) Answer(id uint64, value any) { e.answers = append(e.answers, Answer{id, value}) }

// Work computes for long outside of the controller's goroutine, and uses immutable data only. The
// controller calls then with the outcome.
type Work func() (then func())

// Take returns the events and answers since the last call.
func (e *Env) Take() ([]api.Event, []Answer) {
	events, answers := e.events, e.answers
	e.events, e.answers = nil, nil
	return events, answers
}
