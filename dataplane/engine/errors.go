package engine

import (
	"errors"

	"github.com/weft-sdn/weft/dataplane/table"
)

// Errors of Load. The engine wraps these errors with the name of the construct and, if the JSON has
// one, the P4 source line.
var (
	// ErrBadProgram: the input is not BMv2 JSON, or contradicts itself.
	ErrBadProgram = errors.New("bad program")
	// ErrUnsupported: the program needs something this switch does not do.
	ErrUnsupported = errors.New("unsupported construct")
)

// Errors of the control methods. They are wrapped with the object's name.
var (
	// ErrNoProgram: the switch has no program yet.
	ErrNoProgram = errors.New("no program")
	// ErrExists: an object with this key is already there.
	ErrExists = errors.New("already exists")
	// ErrNotFound: there is no object with this key, index or name.
	ErrNotFound = errors.New("not found")
	// ErrFull: the table, profile or group has no room left.
	ErrFull = errors.New("full")
	// ErrBadValue: a value is too wide, of the wrong kind, or missing.
	ErrBadValue = table.ErrBadValue
	// ErrConst: the table's entries, or its default action, are constant.
	ErrConst = errors.New("constant")
	// ErrInUse: a member or group is still referred to.
	ErrInUse = errors.New("in use")
	// ErrRange: an index is beyond the size of its array.
	ErrRange = errors.New("index out of range")
)
