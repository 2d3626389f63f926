package southbound

import (
	"context"
	"fmt"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Write carries out updates, in requests of limited size sent one after the
// other. A switch may reorder within a request (P4Runtime spec §12), so a
// request ends wherever the kind of entity changes or the same entity comes
// again: what is referred to can stand before what refers to it. Updates whose
// order matters for another reason go into Writes of their own.
//
// Every update is attempted, whatever becomes of the others; the error is a
// *WriteError when some did not take effect. Malformed updates are found before
// anything is sent. Concurrent Writes are not ordered against each other.
func (s *Session) Write(ctx context.Context, updates []Update) error {
	if len(updates) == 0 {
		return nil
	}
	protos := make([]*p4v1.Update, len(updates))
	for i, u := range updates {
		p, err := updateToProto(u)
		if err != nil {
			return s.named(fmt.Errorf("update %d: %w", i, err))
		}
		protos[i] = p
	}
	c, err := s.primary()
	if err != nil {
		return err
	}
	var failed []UpdateError
	for _, b := range batches(updates, protos, s.cfg.BatchUpdates, s.cfg.BatchBytes) {
		errs, cause := c.writeBatch(ctx, b.start, protos[b.start:b.end])
		failed = append(failed, errs...)
		if cause != nil {
			for i := b.end; i < len(updates); i++ {
				failed = append(failed, UpdateError{Index: i, Code: codes.Aborted, Message: ErrNotAttempted.Error()})
			}
			return s.named(&WriteError{Updates: failed, Cause: cause})
		}
	}
	if len(failed) > 0 {
		return s.named(&WriteError{Updates: failed})
	}
	return nil
}

// span is the half-open range of updates of one request.
type span struct{ start, end int }

// batches splits updates into requests.
func batches(updates []Update, protos []*p4v1.Update, maxUpdates, maxBytes int) []span {
	var out []span
	var size, start int
	seen := make(map[string]bool)
	for i, u := range updates {
		// An update costs its own size and the tag and length around it.
		n := proto.Size(protos[i]) + 6
		key := u.Entity.Key()
		full := i-start >= maxUpdates || size+n > maxBytes || seen[key] || u.Entity.Kind() != updates[start].Entity.Kind()
		if i > start && full {
			out = append(out, span{start, i})
			start, size = i, 0
			clear(seen)
		}
		size += n
		seen[key] = true
	}
	return append(out, span{start, len(updates)})
}

// writeBatch sends one request. The cause is set when the request failed as a
// whole, so that sending more is pointless.
func (c *conn) writeBatch(ctx context.Context, first int, updates []*p4v1.Update) ([]UpdateError, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	_, err := c.client.Write(ctx, &p4v1.WriteRequest{
		DeviceId: c.cfg.DeviceID, Role: c.cfg.Role, ElectionId: c.cfg.Election.proto(), Updates: updates,
	})
	if err == nil {
		return nil, nil
	}
	errs, whole := decodeWriteError(status.Convert(err), first, len(updates))
	if !whole {
		return errs, nil
	}
	return errs, c.requestError(ctx, err)
}

// decodeWriteError returns the errors of the updates of one request, n of them
// from index first on. whole says that the request was not processed, or that
// nobody knows.
func decodeWriteError(st *status.Status, first, n int) (errs []UpdateError, whole bool) {
	details := st.Proto().GetDetails()
	if len(details) == n {
		for i, d := range details {
			var e p4v1.Error
			if err := d.UnmarshalTo(&e); err != nil {
				errs = nil
				break
			}
			if e.GetCanonicalCode() != int32(codes.OK) {
				errs = append(errs, UpdateError{Index: first + i, Code: codeOf(e.GetCanonicalCode()), Message: e.GetMessage()})
			}
		}
		if len(errs) > 0 {
			return errs, false
		}
	}
	for i := range n {
		errs = append(errs, UpdateError{Index: first + i, Code: st.Code(), Message: st.Message()})
	}
	switch st.Code() {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.PermissionDenied,
		codes.FailedPrecondition, codes.Unauthenticated, codes.Unimplemented:
		return errs, true
	}
	return errs, false
}
