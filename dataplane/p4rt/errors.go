package p4rt

import (
	"errors"
	"fmt"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// ErrClosed reports that a server or a session has been closed.
var ErrClosed = errors.New("p4rt: closed")

// errorSpace is the error space of the p4.v1.Error messages of this target.
// It stays without numeric codes: the canonical code and the text say all.
const errorSpace = ""

// Error is the outcome of one update or of one request: a canonical code, and a sentence that names
// the fault and the accepted values. It converts to a gRPC status by GRPCStatus and to a
// p4.v1.Error by detail.
type Error struct {
	Code    codes.Code
	Message string
}

// Error returns the sentence; the code is left to GRPCStatus.
func (e *Error) Error() string { return e.Message }

// GRPCStatus lets the status package convert the error.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

func (e *Error) detail() *p4v1.Error {
	if e == nil {
		return &p4v1.Error{}
	}
	return &p4v1.Error{CanonicalCode: int32(e.Code), Message: e.Message, Space: errorSpace}
}

// in returns the error with the name of the object it is about in front.
func (e *Error) in(format string, args ...any) *Error {
	return &Error{Code: e.Code, Message: fmt.Sprintf(format, args...) + ": " + e.Message}
}

func errorf(code codes.Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *Error {
	return errorf(codes.InvalidArgument, format, args...)
}

func notFound(format string, args ...any) *Error {
	return errorf(codes.NotFound, format, args...)
}

func outOfRange(format string, args ...any) *Error {
	return errorf(codes.OutOfRange, format, args...)
}

// batchError returns the status of a batch with at least one failed element: code UNKNOWN and one
// p4.v1.Error per element, in order (P4Runtime specification, "Error Reporting" of Write and "Batch
// Processing" of Read). It returns nil when every element is nil.
func batchError(what string, each []*Error) error {
	failed := 0
	var first *Error
	for _, e := range each {
		if e != nil {
			failed++
			if first == nil {
				first = e
			}
		}
	}
	if failed == 0 {
		return nil
	}
	st := status.Newf(codes.Unknown, "%d of %d %s failed; the first: %s: %s",
		failed, len(each), what, first.Code, first.Message)
	details := make([]protoadapt.MessageV1, len(each))
	for i, e := range each {
		details[i] = protoadapt.MessageV1Of(proto.Message(e.detail()))
	}
	with, err := st.WithDetails(details...)
	if err != nil {
		return st.Err()
	}
	return with.Err()
}
