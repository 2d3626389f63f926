package p4rt

import (
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4/wire"
)

// maxReadBytes is the size at which a ReadResponse is complete: well below the 4
// MiB that gRPC clients accept by default.
const maxReadBytes = 1 << 17

// Read answers a Read request: it calls emit with every response. A request selects entities by the
// fields that it sets. A selection of table entries, members or groups may be empty, while a
// multicast group, clone session or digest named by id must exist. If some element of a request
// failed, the error has code UNKNOWN and one p4.v1.Error per element; Read has emitted the
// selections of all other elements. Sessions handles the role of the request.
func (d *Device) Read(now time.Duration, req *p4v1.ReadRequest,
	emit func(*p4v1.ReadResponse)) error {
	x, err := d.startRead(req, nil)
	if err != nil {
		return err
	}
	return x.all(now, emit)
}

// reading is a Read in progress. It lets packets pass every now and then, but no change of the
// objects that it reads.
type reading struct {
	r    *realm
	req  *p4v1.ReadRequest
	keep func(*p4v1.Entity) bool
	slab wire.Slab
	// limit is how many objects may be looked at before packets have their
	// turn; 0: all.
	limit int

	now     time.Duration
	yield   func(*p4v1.ReadResponse) bool
	looked  int // objects since the last turn of packets
	resp    *p4v1.ReadResponse
	size    int // of resp, in octets
	flushed int // size of the last response handed out
	stopped bool
	err     error // the outcome
}

// startRead checks a request as a whole, before its elements. keep, when not
// nil, reports which entities are wanted.
func (d *Device) startRead(req *p4v1.ReadRequest, keep func(*p4v1.Entity) bool) (*reading, error) {
	if err := d.checkID(req.GetDeviceId()); err != nil {
		return nil, err
	}
	x := &reading{r: d.current(), req: req, keep: keep, resp: new(p4v1.ReadResponse)}
	if x.r == nil {
		return nil, errNoPipeline
	}
	return x, nil
}

// all carries out everything at one time.
func (x *reading) all(now time.Duration, emit func(*p4v1.ReadResponse)) error {
	x.now = now
	for resp := range x.responses {
		emit(resp)
	}
	return x.err
}

// responses yields the responses, and nil when packets may have their turn.
func (x *reading) responses(yield func(*p4v1.ReadResponse) bool) {
	x.yield = yield
	each := make([]*Error, len(x.req.GetEntities()))
	for i, e := range x.req.GetEntities() {
		if each[i] = x.r.read(e, x); x.stopped {
			return
		}
	}
	if x.flush() {
		x.err = batchError("requests", each)
	}
}

// more is called before each of many objects; false: nobody takes the answer any more.
func (x *reading) more() bool {
	if x.limit > 0 {
		if x.looked++; x.looked >= x.limit {
			x.looked = 0
			x.stopped = x.stopped || !x.yield(nil)
		}
	}
	return !x.stopped
}

// emit adds an entity to the answer.
func (x *reading) emit(e *p4v1.Entity) {
	if x.stopped || x.keep != nil && !x.keep(e) {
		return
	}
	x.resp.Entities = append(x.resp.Entities, e)
	if x.size += wire.ListedSize(e); x.size >= maxReadBytes {
		x.flush()
	}
}

// flush sends the collected entities.
func (x *reading) flush() bool {
	if x.size == 0 || x.stopped {
		return !x.stopped
	}
	resp := x.resp
	x.flushed = x.size
	x.resp, x.size = new(p4v1.ReadResponse), 0
	x.stopped = !x.yield(resp)
	return !x.stopped
}

// entities returns all that one element of a request selects.
func (r *realm) entities(now time.Duration, q *p4v1.Entity) []*p4v1.Entity {
	x := &reading{r: r, now: now, resp: new(p4v1.ReadResponse),
		req: &p4v1.ReadRequest{Entities: []*p4v1.Entity{q}}}
	var all []*p4v1.Entity
	for resp := range x.responses {
		all = append(all, resp.GetEntities()...)
	}
	return all
}
