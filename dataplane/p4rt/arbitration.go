package p4rt

import (
	"cmp"
	"fmt"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// electionID is an election id; nil is the unset one, below every other.
type electionID struct{ high, low uint64 }

func newElectionID(u *p4v1.Uint128) *electionID {
	if u == nil {
		return nil
	}
	return &electionID{u.GetHigh(), u.GetLow()}
}

func (e *electionID) proto() *p4v1.Uint128 {
	if e == nil {
		return nil
	}
	return &p4v1.Uint128{High: e.high, Low: e.low}
}

func (e *electionID) String() string {
	switch {
	case e == nil:
		return "unset"
	case e.high == 0:
		return fmt.Sprint(e.low)
	}
	return fmt.Sprintf("%d:%d", e.high, e.low)
}

// compare orders election ids, the unset one first.
func (e *electionID) compare(o *electionID) int {
	switch {
	case e == nil && o == nil:
		return 0
	case e == nil:
		return -1
	case o == nil:
		return 1
	}
	return cmp.Or(cmp.Compare(e.high, o.high), cmp.Compare(e.low, o.low))
}

// role is the arbitration state of one (device, role) pair (P4Runtime
// specification, "Client Arbitration and Controller Replication").
type role struct {
	name    string
	highest *electionID // of all that ever were primary
	config  *anypb.Any  // of the latest primary
	access  *access     // what config allows

	live    []*Session // in the order they joined
	primary *Session   // one of live, or nil
}

// check refuses an update with the election id of another session, or with a role.config unknown to
// this server.
func (r *role) check(x *Session, m *p4v1.MasterArbitrationUpdate) *Error {
	if id := newElectionID(m.GetElectionId()); id != nil {
		for _, other := range r.live {
			if other != x && id.compare(other.election) == 0 {
				return invalid("election id %s is in use by another controller of role %q", id, r.name)
			}
		}
	}
	_, err := newAccess(m.GetRole().GetConfig())
	return err
}

// arbitrate takes a MasterArbitrationUpdate of a live session whose device and
// role have been checked.
func (r *role) arbitrate(x *Session, m *p4v1.MasterArbitrationUpdate) *Error {
	if err := r.check(x, m); err != nil {
		return err
	}
	acc, err := newAccess(m.GetRole().GetConfig())
	if err != nil {
		return err
	}
	id := newElectionID(m.GetElectionId())
	x.election = id

	if id != nil && id.compare(r.highest) >= 0 {
		r.highest, r.primary = id, x
		r.config, r.access = proto.Clone(m.GetRole().GetConfig()).(*anypb.Any), acc
		r.announce(x)
		return nil
	}
	if r.primary == x { // it has stepped down
		r.primary = nil
		r.announce(nil)
		return nil
	}
	x.send(r.notice(x))
	return nil
}

// leave removes a session.
func (r *role) leave(x *Session) {
	for i, s := range r.live {
		if s == x {
			r.live = append(r.live[:i:i], r.live[i+1:]...)
			break
		}
	}
	if r.primary == x {
		r.primary = nil
		r.announce(nil)
	}
}

// ForgetElections makes all roles forget their highest election id and their primary, as if the
// device had just started: the next participants of an election may have any id. Controllers learn
// that there is no primary. An operator uses it when a client has left an id that no controller can
// exceed.
func (s *Sessions) ForgetElections() {
	for _, r := range s.order {
		r.highest, r.primary = nil, nil
		r.announce(nil)
	}
}

// announce informs every session who is primary; last, when not nil, is told
// after all others.
func (r *role) announce(last *Session) {
	for _, s := range r.live {
		if s != last {
			s.send(r.notice(s))
		}
	}
	if last != nil {
		last.send(r.notice(last))
	}
}

// notice is the advisory message for one session.
func (r *role) notice(x *Session) *p4v1.StreamMessageResponse {
	st := &rpcstatus.Status{Code: int32(codes.OK), Message: "this controller is primary"}
	switch {
	case r.primary == nil:
		st.Code, st.Message = int32(codes.NotFound), "there is no primary controller"
		if r.highest != nil {
			st.Message += fmt.Sprintf("; it takes election id %s or higher, and this controller's is %s",
				r.highest, x.election)
		}
	case r.primary != x:
		st.Code, st.Message = int32(codes.AlreadyExists),
			fmt.Sprintf("another controller is primary, with election id %s; this controller's is %s",
				r.highest, x.election)
	}
	m := &p4v1.MasterArbitrationUpdate{
		DeviceId:   x.sessions.dev.cfg.ID,
		ElectionId: r.highest.proto(),
		Status:     st,
	}
	if r.name != "" || r.config != nil {
		m.Role = &p4v1.Role{Name: r.name, Config: r.config}
	}
	return &p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Arbitration{Arbitration: m}}
}
