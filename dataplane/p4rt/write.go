package p4rt

import (
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// Write applies a batch of updates in order. The error of a batch that was
// attempted has code UNKNOWN and one p4.v1.Error per update in its details.
//
// All three atomicity modes are there. No packet is processed during Write,
// so ROLLBACK_ON_ERROR and DATAPLANE_ATOMIC are the same: all updates or
// none. In a batch that is rolled back the first failure is reported with its
// own code and every other update with ABORTED. A rollback restores entries
// and their direct counters and meters; a deleted entry comes back at the end
// of its table's order of insertion and with its idle timer restarted.
func (d *Device) Write(now time.Duration, req *p4v1.WriteRequest) error {
	return d.write(now, req, nil)
}

// write is Write on behalf of a role: allow, when not nil, says whether the
// role may write an entity.
func (d *Device) write(now time.Duration, req *p4v1.WriteRequest, allow func(*p4v1.Entity) *Error) error {
	if err := d.checkID(req.GetDeviceId()); err != nil {
		return err
	}
	r := d.current()
	if r == nil {
		return errNoPipeline
	}
	atomic := false
	switch req.GetAtomicity() {
	case p4v1.WriteRequest_CONTINUE_ON_ERROR:
	case p4v1.WriteRequest_ROLLBACK_ON_ERROR, p4v1.WriteRequest_DATAPLANE_ATOMIC:
		atomic = true
	default:
		return invalid("atomicity %d; want CONTINUE_ON_ERROR, ROLLBACK_ON_ERROR or DATAPLANE_ATOMIC", req.GetAtomicity())
	}
	var undo *undoLog
	if atomic {
		undo = new(undoLog)
	}
	each := make([]*Error, len(req.GetUpdates()))
	failed := false
	for i, u := range req.GetUpdates() {
		if allow != nil {
			each[i] = allow(u.GetEntity())
		}
		if each[i] == nil {
			each[i] = r.update(now, u, undo)
		}
		if each[i] == nil {
			continue
		}
		failed = true
		if atomic {
			undo.run()
			for j := range each {
				if j != i {
					each[j] = errorf(codes.Aborted, "rolled back: update %d of the batch failed", i)
				}
			}
			return batchError("updates", each)
		}
	}
	if !failed {
		return nil
	}
	return batchError("updates", each)
}

// maxReadBytes is about how large one ReadResponse may grow: well below the 4
// MiB that gRPC clients accept unless told otherwise.
const maxReadBytes = 1 << 20

// Read answers a Read request: emit is called with every response. Requests
// select by what they set; a selection of table entries, members or groups
// that nothing fits is empty, while a multicast group, clone session or
// digest named by its id must exist. The error of a request of which some
// element failed has code UNKNOWN and one p4.v1.Error per element; what the
// others select has been emitted. The role of the request is the business of
// Sessions.
func (d *Device) Read(now time.Duration, req *p4v1.ReadRequest, emit func(*p4v1.ReadResponse)) error {
	return d.read(now, req, emit, nil)
}

// read is Read on behalf of a role: keep, when not nil, says which entities
// belong to it.
func (d *Device) read(now time.Duration, req *p4v1.ReadRequest, emit func(*p4v1.ReadResponse), keep func(*p4v1.Entity) bool) error {
	if err := d.checkID(req.GetDeviceId()); err != nil {
		return err
	}
	r := d.current()
	if r == nil {
		return errNoPipeline
	}
	resp, size := &p4v1.ReadResponse{}, 0
	one := func(e *p4v1.Entity) {
		if keep != nil && !keep(e) {
			return
		}
		n := proto.Size(e) + 4
		if size+n > maxReadBytes && size > 0 {
			emit(resp)
			resp, size = &p4v1.ReadResponse{}, 0
		}
		resp.Entities = append(resp.Entities, e)
		size += n
	}
	each := make([]*Error, len(req.GetEntities()))
	for i, e := range req.GetEntities() {
		each[i] = r.read(now, e, one)
	}
	if size > 0 {
		emit(resp)
	}
	return batchError("requests", each)
}
