package entry

import "errors"

var (
	// ErrUnknownName: the pipeline has no table, field, action, parameter,
	// profile or header field of a name.
	ErrUnknownName = errors.New("not in the pipeline")
	// ErrUnknownID: an entity refers to an id that the pipeline does not have.
	ErrUnknownID = errors.New("id is not in the pipeline")
	// ErrWidth: a value does not fit the width of its field or parameter.
	ErrWidth = errors.New("value too wide")
	// ErrMissing: a parameter of the action, or a key field that must be given,
	// is missing.
	ErrMissing = errors.New("missing")
)
