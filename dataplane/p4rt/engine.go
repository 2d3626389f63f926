package p4rt

import (
	"errors"
	"strings"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane/engine"
)

// engineError turns an error of the switch into a status. The checks before
// the call catch what a client can get wrong in a way the P4Info shows; the
// switch finds the rest.
func engineError(err error) *Error {
	if err == nil {
		return nil
	}
	code := codes.Internal
	for _, c := range []struct {
		err  error
		code codes.Code
	}{
		{engine.ErrExists, codes.AlreadyExists},
		{engine.ErrNotFound, codes.NotFound},
		{engine.ErrFull, codes.ResourceExhausted},
		{engine.ErrBadValue, codes.InvalidArgument},
		{engine.ErrConst, codes.PermissionDenied},
		{engine.ErrInUse, codes.FailedPrecondition},
		{engine.ErrRange, codes.OutOfRange},
		{engine.ErrNoProgram, codes.FailedPrecondition},
	} {
		if errors.Is(err, c.err) {
			code = c.code
			break
		}
	}
	return errorf(code, "%s", withoutName(err.Error()))
}

// withoutName cuts the name of the table or profile off the text of the
// switch: the caller puts it in front again, in its own words.
func withoutName(s string) string {
	for _, kind := range []string{"table ", "profile "} {
		if strings.HasPrefix(s, kind) {
			if _, rest, ok := strings.Cut(s, ": "); ok {
				return rest
			}
		}
	}
	return s
}

// updateError is engineError for an update of an object that clients insert and delete. For an
// existing or a missing object, the error tells the client what to do instead.
func updateError(err error, typ p4v1.Update_Type, what string) *Error {
	switch {
	case err == nil:
		return nil
	case typ == p4v1.Update_INSERT && errors.Is(err, engine.ErrExists):
		return errorf(codes.AlreadyExists, "the %s exists; MODIFY it", what)
	case typ == p4v1.Update_MODIFY && errors.Is(err, engine.ErrNotFound):
		return errorf(codes.NotFound, "the %s does not exist; INSERT it", what)
	case typ == p4v1.Update_DELETE && errors.Is(err, engine.ErrNotFound):
		return errorf(codes.NotFound, "the %s does not exist", what)
	case typ == p4v1.Update_DELETE && errors.Is(err, engine.ErrInUse):
		return errorf(codes.FailedPrecondition,
			"the %s is in use; remove it from what refers to it first", what)
	}
	return engineError(err)
}

// referenceError reports which member or group an entry points at in vain.
func referenceError(err error, t engine.Target) *Error {
	if !errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	switch t.Kind {
	case engine.TargetMember:
		return notFound("member %d does not exist; INSERT it first", t.Member)
	case engine.TargetGroup:
		return notFound("group %d does not exist; INSERT it first", t.Group)
	}
	return nil
}

// fullError reports how much an object that is full holds.
func fullError(err error, what string, size int) *Error {
	if errors.Is(err, engine.ErrFull) {
		return errorf(codes.ResourceExhausted, "the %s is full; it holds %d", what, size)
	}
	return nil
}
