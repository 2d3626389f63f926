package api

import (
	"time"

	"github.com/weft-sdn/weft/topology"
)

// A Column is one field of many objects.
type Column[T any] struct {
	Values []T   `json:"values" doc:"The different values, in the order in which they come."`
	Index  []int `json:"index,omitempty" doc:"For each object, the place of its value in values. Absent: all objects have the first value."`
}

// At returns the value of object i.
func (c *Column[T]) At(i int) T {
	if c.Index != nil {
		i = c.Index[i]
	} else {
		i = 0
	}
	return c.Values[i]
}

// LinkColumns are all links of a network, field by field: a large network in one small answer. The
// fields are those of [Link].
type LinkColumns struct {
	Count    int                     `json:"count" doc:"Number of links. Each direction is a link."`
	From     Column[LinkEnd]         `json:"from"`
	To       Column[LinkEnd]         `json:"to"`
	FromID   []uint32                `json:"fromId" doc:"Link identifiers (RFC 9552, TLV 258). The id of a link is FROM,FROMID~TO,TOID."`
	ToID     []uint32                `json:"toId" doc:"Link identifiers of the other ends."`
	IDs      map[int]topology.LinkID `json:"ids,omitempty" doc:"Ids of links that are others, by the place of the link."`
	Admin    Column[LinkAdmin]       `json:"admin"`
	Plane    Column[int]             `json:"plane" doc:"0: none."`
	Phase    Column[string]          `json:"phase"`
	FromPort Column[string]          `json:"fromPort"`
	ToPort   Column[string]          `json:"toPort"`
	Cause    Column[string]          `json:"cause"`
	Since    Column[string]          `json:"since" doc:"RFC 3339. Empty: unknown."`
	Until    Column[string]          `json:"until" doc:"RFC 3339. Empty: it is not held."`
	Sources  Column[[]string]        `json:"sources"`
	Denied   Column[bool]            `json:"denied"`
	Drained  Column[bool]            `json:"drained"`
	Drains   Column[[]Drain]         `json:"drains"`
}

// LinkEnd is a node at the end of a link.
type LinkEnd struct {
	ID   topology.NodeID `json:"id"`
	Name string          `json:"name,omitempty"`
}

// LinkAdmin is what clients want of a link.
type LinkAdmin struct {
	Version uint64     `json:"version"`
	Changed *time.Time `json:"changed,omitempty"`
	Spec    AdminSpec  `json:"spec"`
}
