package entry

// Contents are the entities that a switch holds.
type Contents struct {
	Entities []Entity
	// Unknown are the kinds that the switch cannot read back.
	Unknown []Kind
	// Foreign counts entities that the pipeline has no names for.
	Foreign int
}

// Refusal is a switch's error for one update that did not take effect.
type Refusal struct {
	// Update counts the updates of the write from 0.
	Update  int
	Reason  RefusalReason
	Message string
}

// RefusalReason classifies a refusal for the controller.
type RefusalReason uint8

// The reasons.
const (
	RefusedOther    RefusalReason = iota
	RefusedExists                 // insert of what is there
	RefusedMissing                // modify or delete of what is not there
	RefusedCapacity               // no room
)

// Counter is one cell of an indirect counter.
type Counter struct {
	Name    string
	Index   int64
	Packets int64
	Octets  int64
}
