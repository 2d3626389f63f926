package southbound

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Write carries out updates, in requests of limited size sent one after the
// other. A switch may reorder within a request (P4Runtime spec §12), so a
// request ends wherever the kind of entity changes or the same entity comes
// again: what is referred to can stand before what refers to it. Updates whose
// order matters for another reason go into Writes of their own.
//
// Write attempts every update, whatever becomes of the others, and returns the
// refused ones in order; an update that the pipeline cannot express is refused
// without being sent. An error reports that a request failed as a whole (a lost
// connection, not primary, no pipeline): the outcome of its updates is unknown,
// and the updates after it were not sent. Concurrent Writes are not ordered
// against each other.
func (c *Client) Write(ctx context.Context, updates []entry.Update) ([]entry.Refusal, error) {
	if len(updates) == 0 {
		return nil, nil
	}
	schema, err := c.schema()
	if err != nil {
		return nil, err
	}
	sending := make([]encoded, 0, len(updates))
	var refused []entry.Refusal
	for i, u := range updates {
		p, err := schema.encodeUpdate(u)
		if err != nil {
			refused = append(refused, entry.Refusal{Update: i, Message: err.Error()})
			continue
		}
		sending = append(sending, encoded{p, u.Entity.Kind(), u.Entity.Key(), i})
	}
	limits := DefaultConfig()
	for batch := range batches(sending, cmp.Or(c.BatchUpdates, limits.BatchUpdates),
		cmp.Or(c.BatchBytes, limits.BatchBytes)) {
		req := &p4v1.WriteRequest{DeviceId: c.DeviceID, Role: c.Role, ElectionId: c.Election.proto()}
		req.Updates = make([]*p4v1.Update, len(batch))
		for i := range batch {
			req.Updates[i] = batch[i].update
		}
		err := c.Transport.Write(ctx, req)
		if err == nil {
			continue
		}
		said, whole := decodeWriteError(err, batch)
		if whole {
			return refused, err
		}
		refused = append(refused, said...)
	}
	slices.SortFunc(refused, func(a, b entry.Refusal) int { return cmp.Compare(a.Update, b.Update) })
	return refused, nil
}

// encoded is an update as it is sent.
type encoded struct {
	update *p4v1.Update
	kind   entry.Kind
	key    entry.Key
	index  int // in the slice given to Write
}

// batches splits updates into requests.
func batches(updates []encoded, maxUpdates, maxBytes int) iter.Seq[[]encoded] {
	return func(yield func([]encoded) bool) {
		var size, start int
		seen := make(map[entry.Key]bool)
		for i, u := range updates {
			// An update costs its own size and the tag and length around it.
			n := proto.Size(u.update) + 6
			full := i-start >= maxUpdates || size+n > maxBytes || seen[u.key] ||
				u.kind != updates[start].kind
			if i > start && full {
				if !yield(updates[start:i]) {
					return
				}
				start, size = i, 0
				clear(seen)
			}
			size += n
			seen[u.key] = true
		}
		if start < len(updates) {
			yield(updates[start:])
		}
	}
}

// decodeWriteError returns what a switch said about the updates of one request
// (P4Runtime spec §12.3). whole reports that the request was not processed, or that
// its outcome is unknown.
func decodeWriteError(err error, batch []encoded) (refused []entry.Refusal, whole bool) {
	for _, w := range []error{ErrNotConnected, ErrNotPrimary, ErrNoPipeline, ErrUnsupported,
		context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, w) {
			return nil, true
		}
	}
	st := status.Convert(err)
	details := st.Proto().GetDetails()
	if len(details) == len(batch) {
		for i, d := range details {
			var e p4v1.Error
			if err := d.UnmarshalTo(&e); err != nil {
				refused = nil
				break
			}
			if e.GetCanonicalCode() != int32(codes.OK) {
				refused = append(refused, refusal(batch[i].index, codeOf(e.GetCanonicalCode()), e.GetMessage()))
			}
		}
		if len(refused) > 0 {
			return refused, false
		}
	}
	switch st.Code() {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.PermissionDenied,
		codes.FailedPrecondition, codes.Unauthenticated, codes.Unimplemented:
		return nil, true
	}
	// A server that names no update: all of them are taken as refused.
	for _, u := range batch {
		refused = append(refused, refusal(u.index, st.Code(), st.Message()))
	}
	return refused, false
}

func refusal(update int, code codes.Code, message string) entry.Refusal {
	r := entry.Refusal{Update: update, Message: code.String()}
	if message != "" {
		r.Message += ": " + message
	}
	switch code {
	case codes.AlreadyExists:
		r.Reason = entry.RefusedExists
	case codes.NotFound:
		r.Reason = entry.RefusedMissing
	case codes.ResourceExhausted:
		r.Reason = entry.RefusedCapacity
	}
	return r
}
