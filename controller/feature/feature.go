package feature

import (
	"time"

	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
)

// Feature is one part of the controller. [Base] implements all methods without effect, for features
// that need only some methods.
type Feature interface {
	Records

	// SetNetwork reports a replacement of Env.Net: the topology or the inventory has changed. The
	// controller also calls SetNetwork when it takes the topology for the whole network.
	SetNetwork()
	// SwitchEvent reports an event of a switch.
	SwitchEvent(sw string, e SwitchEvent)
	// Tick does what is due at Env.Now; Next is when something is due again.
	Tick()
	Next() (at time.Duration, ok bool)

	// Settle computes what follows from all that, and sets what switches should hold
	// with Env.Want. It returns true to be called again once the
	// differences are known.
	Settle() (more bool)
	// Frozen reports whether nothing of an owner's is removed from a switch for now.
	// The feature calls Env.Want.Thaw when that ends.
	Frozen(sw string, o reconcile.Owner) bool
	// Keeps reports whether an entity that no one wants stays in a switch for now.
	Keeps(sw string, o reconcile.Owner, e entry.Entity) bool
	// Object names the resources behind the entities of an owner, for example "group g"; "" for an
	// owner of another feature.
	Object(o reconcile.Owner) string
	// Moving reports whether the feature is about to remove more entities of an owner. Removal returns
	// the reason for a removal, "" for an owner of another feature. The controller calls Removal once
	// for each removal.
	Moving(o reconcile.Owner) bool
	Removal(o reconcile.Owner) (reason string)
	// Report brings the status of resources up to date, when nothing is left to settle.
	Report()
}

// Records returns what the store must keep of a feature.
type Records interface {
	// Load takes a record of an earlier controller; ok is false for records of other features. The
	// core loads all records before Start.
	Load(r store.Record) (ok bool, err error)
	// Start reports that all records have been loaded.
	Start()
	// Changes returns the writes that keep what has changed since the last call.
	Changes() []store.Op
	// Records returns the records of everything.
	Records() []store.Record
	// Fork returns a function that copies the state of the feature, apart from the records, to another
	// instance of the feature. The function must run before Start of the other instance. The function
	// shares no mutable state.
	Fork() func(to Feature)
}

// Happening is the kind of a SwitchEvent.
type Happening uint8

const (
	// ReadBack: the switch has connected, or was read again; Contents are its records.
	ReadBack Happening = iota
	// Disconnected: the switch cannot be reached.
	Disconnected
	// Refused: the switch refused updates.
	Refused
	// OrphansChanged: the orphans on the switch are others than before.
	OrphansChanged
	// Progress: the updates that are left for Owner have been computed anew.
	Progress
	// Writing: the controller is about to write the update of Entity, which belongs to Owner.
	Writing
	// GotPacket: the switch sent PacketIn.
	GotPacket
	// GotDigest: the switch sent Digest.
	GotDigest
)

// SwitchEvent is a change of a switch. The kind reports which fields are set.
type SwitchEvent struct {
	Kind     Happening
	Contents entry.Contents
	Owner    reconcile.Owner
	Entity   entry.Entity
	PacketIn *entry.PacketIn
	Digest   *entry.Digest
}

// Base implements Feature with methods that do nothing.
type Base struct{}

func (Base) Load(store.Record) (ok bool, err error)           { return false, nil }
func (Base) Start()                                           {}
func (Base) Changes() []store.Op                              { return nil }
func (Base) Records() []store.Record                          { return nil }
func (Base) Fork() func(Feature)                              { return func(Feature) {} }
func (Base) SetNetwork()                                      {}
func (Base) SwitchEvent(string, SwitchEvent)                  {}
func (Base) Tick()                                            {}
func (Base) Next() (at time.Duration, ok bool)                { return 0, false }
func (Base) Settle() (more bool)                              { return false }
func (Base) Frozen(string, reconcile.Owner) bool              { return false }
func (Base) Keeps(string, reconcile.Owner, entry.Entity) bool { return false }
func (Base) Object(reconcile.Owner) string                    { return "" }
func (Base) Moving(reconcile.Owner) bool                      { return false }
func (Base) Removal(reconcile.Owner) string                   { return "" }
func (Base) Report()                                          {}

// Kept adapts [Base] to a feature whose records are resources in one kind.
type Kept[S, D any] struct {
	Base
	All resource.Collection[S, D]
}

// Keep returns a Kept without resources, for the kind of the records.
func Keep[S, D any](e *Env, of resource.Kind) Kept[S, D] {
	return Kept[S, D]{All: resource.NewCollection[S, D](of, e.Versions)}
}

func (k Kept[S, D]) Load(r store.Record) (ok bool, err error) { return k.All.Load(r) }
func (k Kept[S, D]) Changes() []store.Op                      { return k.All.Changes() }
func (k Kept[S, D]) Records() []store.Record                  { return k.All.Records() }
