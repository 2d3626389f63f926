package engine

import (
	"time"

	"github.com/weft-sdn/weft/dataplane/extern"
	"github.com/weft-sdn/weft/dataplane/table"
)

// Match is the value of one key field in an entry, ordered by TableInfo.Keys.
type Match = table.Match

// ActionCall is an action with its arguments, big-endian as in Match.
type ActionCall struct {
	Action int // action index
	Args   [][]byte
}

// WeightedAction is one choice of a one-shot action selector entry.
type WeightedAction struct {
	ActionCall
	Weight    int    // at least 1
	WatchPort uint32 // the choice is skipped while this port is down; NoPort: always up
}

// NoPort stands for "no port to watch".
const NoPort = ^uint32(0)

// TargetKind is what an entry of a table points at.
type TargetKind uint8

// Kinds of target. A table without a profile takes TargetAction only; a table
// with an action profile TargetMember; with a selector also TargetGroup and
// TargetActionSet.
const (
	TargetAction TargetKind = iota
	TargetMember
	TargetGroup
	TargetActionSet
)

// Target is what happens on a hit.
type Target struct {
	Kind   TargetKind
	Action ActionCall       // TargetAction
	Member uint32           // TargetMember: member id
	Group  uint32           // TargetGroup: group id
	Set    []WeightedAction // TargetActionSet
	Random bool             // TargetActionSet: chosen at random, not by the selector's hash
}

// Entry is a table entry.
type Entry struct {
	Match []Match
	// Priority orders the entries of a table with a ternary or range key;
	// the largest wins, it must be positive. Other tables want 0.
	Priority int32
	Target   Target
	// IdleTimeout is how long the entry may go unmatched before IdleEntries
	// reports it; 0 is for ever. Only for tables with TableInfo.IdleTimeout.
	IdleTimeout time.Duration
	// Metadata is kept with the entry and given back, not interpreted.
	Metadata []byte
}

// Member is a member of an action profile.
type Member struct {
	ID     uint32
	Action ActionCall
}

// GroupMember is a member's place in a group.
type GroupMember struct {
	Member    uint32
	Weight    int    // at least 1
	WatchPort uint32 // skipped while this port is down; NoPort: always up
}

// Group is a group of an action selector.
type Group struct {
	ID      uint32
	MaxSize int // largest sum of weights; 0 is no limit but the profile's
	Members []GroupMember
}

// CounterValue is the state of one counter.
type CounterValue = extern.CounterValue

// MeterConfig is a two-rate three-colour marker (RFC 2698), or a single-rate one (RFC 2697).
type MeterConfig = extern.MeterConfig

// MeterCounts are the packets a meter has marked green, yellow and red.
type MeterCounts = extern.MeterCounts

// IdleEntry names an entry that has gone unmatched for its idle timeout.
type IdleEntry struct {
	Table int
	Entry Entry
}
