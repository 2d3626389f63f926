package p4rt

import (
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/p4/wire"
)

// Limits of digest buffering. Digests beyond them are dropped and counted:
// the loss of digest messages is not critical (P4Runtime specification,
// "DigestEntry").
const (
	maxDigestList    = 1024  // messages in a list when the client sets no limit
	maxDigestUnacked = 65536 // messages of one digest awaiting acknowledgement
)

// digests buffers the digest messages of a pipeline into lists, filters
// duplicates and remembers what was sent until it is acknowledged.
type digests struct {
	p     *pipeline
	state map[uint32]*digestState // the digests that are enabled
}

type digestState struct {
	schema *digestSchema
	config *p4v1.DigestEntry_Config

	buffer  []*p4v1.P4Data
	keys    []string      // of the messages in buffer
	firstAt time.Duration // when buffer ceased to be empty

	listID uint64
	known  map[string]struct{} // messages in buffer or sent and not acknowledged
	sent   []sentList          // in the order they were sent
}

type sentList struct {
	id   uint64
	at   time.Duration
	keys []string
}

func newDigests(p *pipeline) digests {
	return digests{p: p, state: make(map[uint32]*digestState)}
}

func (g *digests) write(typ p4v1.Update_Type, e *p4v1.DigestEntry, undo *undoLog) *Error {
	s := g.p.digests[e.GetDigestId()]
	if s == nil {
		return invalid("digest id 0x%08x is not in the P4Info", e.GetDigestId())
	}
	if err := g.apply(s, typ, e, undo); err != nil {
		return err.in("digest %q", s.name)
	}
	return nil
}

func (g *digests) apply(s *digestSchema, typ p4v1.Update_Type, e *p4v1.DigestEntry,
	undo *undoLog) *Error {
	old := g.state[s.id]
	if typ == p4v1.Update_DELETE {
		if old == nil {
			return notFound("the digest is not enabled")
		}
		delete(g.state, s.id)
		undo.add(func() { g.state[s.id] = old })
		return nil
	}
	c := e.GetConfig()
	if c.GetMaxTimeoutNs() < 0 || c.GetMaxListSize() < 0 || c.GetAckTimeoutNs() < 0 {
		return invalid("config: max_timeout_ns %d, max_list_size %d, ack_timeout_ns %d; want 0 or more",
			c.GetMaxTimeoutNs(), c.GetMaxListSize(), c.GetAckTimeoutNs())
	}
	var cfg *p4v1.DigestEntry_Config
	if c != nil {
		cfg = proto.Clone(c).(*p4v1.DigestEntry_Config)
	}
	if typ == p4v1.Update_INSERT {
		if old != nil {
			return errorf(codes.AlreadyExists, "the digest is enabled already; MODIFY its configuration")
		}
		g.state[s.id] = &digestState{schema: s, config: cfg, known: make(map[string]struct{})}
		undo.add(func() { delete(g.state, s.id) })
		return nil
	}
	if old == nil {
		return notFound("the digest is not enabled; INSERT it first")
	}
	was := old.config
	old.config = cfg
	undo.add(func() { old.config = was })
	return nil
}

// read emits the configuration of one digest or, with id 0, of all enabled digests.
func (g *digests) read(q *p4v1.DigestEntry, out *reading) *Error {
	one := func(st *digestState) {
		out.emit(wire.Entity(&p4v1.DigestEntry{
			DigestId: st.schema.id, Config: st.config,
		}))
	}
	if q.GetDigestId() == 0 {
		for _, s := range g.p.digestList {
			if st := g.state[s.id]; st != nil {
				one(st)
			}
		}
		return nil
	}
	s := g.p.digests[q.GetDigestId()]
	if s == nil {
		return invalid("digest id 0x%08x is not in the P4Info", q.GetDigestId())
	}
	st := g.state[s.id]
	if st == nil {
		return notFound("digest %q: the digest is not enabled", s.name)
	}
	one(st)
	return nil
}

// message takes one digest message from the switch.
func (g *digests) message(d *Device, now time.Duration, engine int, values [][]byte) {
	var st *digestState
	for _, s := range g.p.digestList {
		if s.engine == engine {
			st = g.state[s.id]
		}
	}
	if st == nil {
		return // not enabled
	}
	var flat []byte
	for _, v := range values {
		flat = append(flat, v...)
	}
	key := string(flat)
	st.expire(now)
	if _, dup := st.known[key]; dup {
		return
	}
	if len(st.known) >= maxDigestUnacked {
		d.stats.DigestDropped++
		return
	}
	st.known[key] = struct{}{}
	if len(st.buffer) == 0 {
		st.firstAt = now
	}
	st.buffer = append(st.buffer, g.p.types.decode(d.active.texts, &flat, st.schema.spec))
	st.keys = append(st.keys, key)
	limit := int(st.config.GetMaxListSize())
	if limit == 0 {
		limit = maxDigestList
	}
	if len(st.buffer) >= limit || st.config.GetMaxTimeoutNs() == 0 {
		st.flush(d, now)
	}
}

// flush sends the buffer as a digest list.
func (st *digestState) flush(d *Device, now time.Duration) {
	st.listID++
	list := &p4v1.DigestList{DigestId: st.schema.id, ListId: st.listID, Data: st.buffer,
		Timestamp: d.timestamp(now)}
	if st.config.GetAckTimeoutNs() > 0 {
		st.sent = append(st.sent, sentList{id: st.listID, at: now, keys: st.keys})
	} else {
		st.forget(st.keys)
	}
	st.buffer, st.keys = nil, nil
	d.stats.DigestLists++
	d.notify(now,
		&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Digest{Digest: list}})
}

func (st *digestState) forget(keys []string) {
	for _, k := range keys {
		delete(st.known, k)
	}
}

// expire forgets the lists whose acknowledgement is overdue.
func (st *digestState) expire(now time.Duration) {
	n := 0
	for n < len(st.sent) && now-st.sent[n].at >= time.Duration(st.config.GetAckTimeoutNs()) {
		st.forget(st.sent[n].keys)
		n++
	}
	if n > 0 {
		st.sent = append(st.sent[:0:0], st.sent[n:]...)
	}
}

// advance sends the buffers that have waited long enough, and returns the time when the next buffer
// is due.
func (g *digests) advance(d *Device, now time.Duration) (next time.Duration, pending bool) {
	for _, s := range g.p.digestList {
		st := g.state[s.id]
		if st == nil || len(st.buffer) == 0 {
			continue
		}
		due := st.firstAt + time.Duration(st.config.GetMaxTimeoutNs())
		if now >= due {
			st.flush(d, now)
		} else if !pending || due < next {
			next, pending = due, true
		}
	}
	return next, pending
}

// AckDigest takes the acknowledgement of a digest list: its messages may be
// reported again. An acknowledgement of an unknown list, which may have
// expired, is ignored.
func (d *Device) AckDigest(ack *p4v1.DigestListAck) error {
	if d.active == nil {
		return errNoPipeline
	}
	s := d.active.p.digests[ack.GetDigestId()]
	if s == nil {
		return invalid("digest id 0x%08x is not in the P4Info", ack.GetDigestId())
	}
	st := d.active.digests.state[s.id]
	if st == nil {
		return nil
	}
	for i, l := range st.sent {
		if l.id == ack.GetListId() {
			st.forget(l.keys)
			st.sent = append(st.sent[:i:i], st.sent[i+1:]...)
			break
		}
	}
	return nil
}
