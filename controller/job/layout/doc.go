// Package layout computes who talks to whom in a job. From the places of the ranks and from the
// communicators it derives the pairs of NICs that send to each other through the fabric.
//
// Communicators are given, or follow from an order of parallelism as Megatron-LM numbers ranks
// ([Communicators]). [Plan] places their patterns on NICs. Ranks on one host talk inside the host,
// and need no fabric. For traffic from every NIC of a set to every NIC of another set, the result
// stores the two sets instead of the pairs: memory grows with the ranks, not with their square.
//
// All functions are pure.
package layout

import (
	"fmt"

	"github.com/weft-sdn/weft/api"
)

// wrong returns a fault of a layout or a communicator, by its field, such as spec.layout.ep or
// spec.communicators[3].ranks[0].
func wrong(value any, want, field string, args ...any) error {
	return api.FieldError{Field: "spec." + fmt.Sprintf(field, args...), Code: api.CodeInvalid,
		Value: fmt.Sprint(value), Want: want}
}
