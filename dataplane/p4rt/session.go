package p4rt

import (
	"math"
	"slices"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
)

// Limits of Sessions.
const (
	maxStreams     = 64       // live controllers of one role
	maxRoles       = 256      // roles a device remembers
	maxClientRoles = 8        // roles that the streams of one connection have at once
	maxRoleName    = 256      // octets
	maxRoleConfig  = 64 << 10 // octets
)

// Sessions puts arbitration in front of a device: it decides who is primary for a role, who may
// write, and who receives a message. Like the device, Sessions is synchronous and belongs to the
// device's goroutine.
type Sessions struct {
	dev   *Device
	roles map[string]*role
	order []*role // as they became known
}

// Session is one controller's stream channel.
type Session struct {
	sessions *Sessions
	client   *clientlimit.Client // nil: not on a connection
	send     func(*p4v1.StreamMessageResponse)
	role     *role // nil until the first arbitration update
	election *electionID
	closed   bool
}

// NewSessions makes the sessions of a device. What the device notifies goes
// to the primary controllers from now on, and to Config.Notify as before.
func NewSessions(d *Device) *Sessions {
	r := &role{}
	s := &Sessions{dev: d, roles: map[string]*role{"": r}, order: []*role{r}}
	before := d.cfg.Notify
	d.cfg.Notify = func(now time.Duration, m *p4v1.StreamMessageResponse) {
		s.notify(m)
		if before != nil {
			before(now, m)
		}
	}
	return s
}

// Device returns the device the sessions are for.
func (s *Sessions) Device() *Device { return s.dev }

// Open starts a session. send is called, in order, with every message for the
// controller; it must not block and must not call back.
func (s *Sessions) Open(send func(*p4v1.StreamMessageResponse)) *Session {
	return s.open(nil, send)
}

// open starts a session of a stream on a client's connection.
func (s *Sessions) open(
	client *clientlimit.Client, send func(*p4v1.StreamMessageResponse),
) *Session {
	return &Session{sessions: s, client: client, send: send}
}

// Receive takes a message of the controller. An error is the status the
// stream must end with; the caller then closes the session. What is wrong
// with anything but an arbitration update is told by a StreamError message
// instead.
func (x *Session) Receive(now time.Duration, m *p4v1.StreamMessageRequest) error {
	if x.closed {
		return ErrClosed
	}
	switch u := m.GetUpdate().(type) {
	case *p4v1.StreamMessageRequest_Arbitration:
		if err := x.arbitrate(u.Arbitration); err != nil {
			return err
		}
		return nil
	case *p4v1.StreamMessageRequest_Packet:
		if err := x.packetOut(now, u.Packet); err != nil {
			x.reject(err,
				&p4v1.StreamError{
					Details: &p4v1.StreamError_PacketOut{PacketOut: &p4v1.PacketOutError{PacketOut: u.Packet}}})
		}
		return nil
	case *p4v1.StreamMessageRequest_DigestAck:
		if err := x.ackDigest(u.DigestAck); err != nil {
			x.reject(err,
				&p4v1.StreamError{Details: &p4v1.StreamError_DigestListAck{
					DigestListAck: &p4v1.DigestListAckError{DigestListAck: u.DigestAck}}})
		}
		return nil
	case *p4v1.StreamMessageRequest_Other:
		x.reject(errorf(codes.Unimplemented, "stream messages of other types are not supported"),
			&p4v1.StreamError{
				Details: &p4v1.StreamError_Other{Other: &p4v1.StreamOtherError{Other: u.Other}}})
		return nil
	}
	return invalid("the stream message is empty; want an arbitration update, a packet-out or a " +
		"digest acknowledgement")
}

func (x *Session) reject(err error, m *p4v1.StreamError) {
	m.CanonicalCode, m.Message, m.Space = int32(codes.Unknown), err.Error(), errorSpace
	if e, ok := err.(*Error); ok {
		m.CanonicalCode = int32(e.Code)
	}
	x.send(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Error{Error: m}})
}

func (x *Session) arbitrate(m *p4v1.MasterArbitrationUpdate) *Error {
	s := x.sessions
	if numericRole(m.GetRole()) != 0 {
		return invalid("role.id %d is deprecated; name the role in role.name", numericRole(m.GetRole()))
	}
	name := m.GetRole().GetName()
	if len(name) > maxRoleName {
		return invalid("role.name has %d octets; want %d at most", len(name), maxRoleName)
	}
	if n := len(m.GetRole().GetConfig().GetValue()); n > maxRoleConfig {
		return invalid("role.config has %d octets; want %d at most", n, maxRoleConfig)
	}
	if x.role != nil {
		if m.GetDeviceId() != s.dev.cfg.ID {
			return errorf(codes.FailedPrecondition, "device id %d; the stream is for device %d",
				m.GetDeviceId(), s.dev.cfg.ID)
		}
		if name != x.role.name {
			return errorf(codes.FailedPrecondition,
				"role %q; the stream is for role %q, open a new one to change it", name, x.role.name)
		}
		return x.role.arbitrate(x, m)
	}
	if err := s.dev.checkID(m.GetDeviceId()); err != nil {
		return err
	}
	r := s.roles[name]
	if r == nil {
		if n := s.rolesOf(x.client); n >= maxClientRoles {
			x.client.Refuse(clientlimit.Roles)
			return errorf(codes.ResourceExhausted,
				"role %q is new; the streams of this connection have %d roles, as many as they may", name, n)
		}
		r = &role{name: name}
	}
	if err := r.check(x, m); err != nil {
		return err
	}
	if s.roles[name] == nil && !s.makeRoom() {
		if x.client != nil {
			x.client.Refuse(clientlimit.Roles)
		}
		return errorf(codes.ResourceExhausted,
			"role %q is new; the device has %d roles with controllers, as many as it takes", name, maxRoles)
	}
	if len(r.live) >= maxStreams {
		return errorf(codes.ResourceExhausted, "role %q has %d controllers; there is no room for more",
			name, maxStreams)
	}
	r.live = append(r.live, x)
	if err := r.arbitrate(x, m); err != nil {
		r.live = r.live[:len(r.live)-1]
		return err
	}
	x.role = r
	if s.roles[name] == nil {
		s.keep(r)
	}
	return nil
}

// Close ends the session. If the session was the primary, the other sessions learn that no primary
// exists. Repeated calls are allowed.
func (x *Session) Close() {
	if x.closed {
		return
	}
	x.closed = true
	if x.role == nil {
		return
	}
	x.role.leave(x)
	if len(x.role.live) > 0 || x.role.name == "" {
		return
	}
	// The server remembers no role that never had a primary. The arbiter keeps the highest election id
	// of every other role while room lasts, and forgets first the role abandoned first.
	x.sessions.forget(x.role)
	if x.role.highest != nil {
		x.sessions.keep(x.role)
	}
}

func (s *Sessions) keep(r *role) {
	s.roles[r.name] = r
	s.order = append(s.order, r)
}

func (s *Sessions) forget(r *role) {
	delete(s.roles, r.name)
	s.order = slices.DeleteFunc(s.order, func(o *role) bool { return o == r })
}

// rolesOf returns how many roles the sessions of a client have.
func (s *Sessions) rolesOf(client *clientlimit.Client) int {
	n := 0
	for _, r := range s.order {
		if client != nil && slices.ContainsFunc(r.live, func(x *Session) bool {
			return x.client == client
		}) {
			n++
		}
	}
	return n
}

// makeRoom makes room for one more role: if necessary, it forgets the role without controllers for
// the longest time. It reports whether there is room.
func (s *Sessions) makeRoom() bool {
	if len(s.order) < maxRoles {
		return true
	}
	for _, r := range s.order {
		if len(r.live) == 0 && r.name != "" {
			s.forget(r)
			return true
		}
	}
	return false
}

// primary returns an error unless the session is the primary of its role.
func (x *Session) primary(what string) *Error {
	if x.role == nil {
		return errorf(codes.PermissionDenied,
			"%s before arbitration; send a MasterArbitrationUpdate first", what)
	}
	if x.role.primary != x {
		return errorf(codes.PermissionDenied, "%s from a controller that is not primary", what)
	}
	return nil
}

func (x *Session) packetOut(now time.Duration, p *p4v1.PacketOut) error {
	if err := x.primary("packet-out"); err != nil {
		return err
	}
	d := x.sessions.dev
	var running *pipeline
	if d.active != nil {
		running = d.active.p
	}
	if err := x.role.access.packetOut(running, x.role.name, p); err != nil {
		return err
	}
	return d.PacketOut(now, p)
}

func (x *Session) ackDigest(a *p4v1.DigestListAck) error {
	if err := x.primary("digest acknowledgement"); err != nil {
		return err
	}
	d := x.sessions.dev
	if d.active != nil && !x.role.access.object(d.active.p, a.GetDigestId()) &&
		d.active.p.digests[a.GetDigestId()] != nil {
		return errorf(codes.PermissionDenied, "role %q is not told of %s", x.role.name,
			d.active.p.nameOf("digest", a.GetDigestId()))
	}
	return d.AckDigest(a)
}

// notify hands a message of the device to the primaries whose role it
// concerns.
func (s *Sessions) notify(m *p4v1.StreamMessageResponse) {
	heard := false
	for _, r := range s.order {
		if r.primary == nil {
			continue
		}
		if own := r.access.filter(s.dev, m); own != nil {
			r.primary.send(own)
			heard = true
		}
	}
	if !heard {
		s.dev.stats.Unheard++
	}
}

// filter returns the part of a message that a role may see: all, some or nothing.
func (a *access) filter(d *Device, m *p4v1.StreamMessageResponse) *p4v1.StreamMessageResponse {
	switch u := m.GetUpdate().(type) {
	case *p4v1.StreamMessageResponse_Packet:
		if !a.packetIn(d.active.p, u.Packet) {
			return nil
		}
	case *p4v1.StreamMessageResponse_Digest:
		if !a.object(d.active.p, u.Digest.GetDigestId()) {
			return nil
		}
	case *p4v1.StreamMessageResponse_IdleTimeoutNotification:
		if a == nil || a.entities == nil {
			return m
		}
		own := &p4v1.IdleTimeoutNotification{Timestamp: u.IdleTimeoutNotification.GetTimestamp()}
		for _, e := range u.IdleTimeoutNotification.GetTableEntry() {
			if a.object(d.active.p, e.GetTableId()) {
				own.TableEntry = append(own.TableEntry, e)
			}
		}
		if len(own.TableEntry) == 0 {
			return nil
		}
		return &p4v1.StreamMessageResponse{
			Update: &p4v1.StreamMessageResponse_IdleTimeoutNotification{IdleTimeoutNotification: own}}
	}
	return m
}

// authorize checks who sends a request that changes state, in the order the
// specification gives ("Write RPC").
func (s *Sessions) authorize(device uint64, roleID uint64, name string,
	election *p4v1.Uint128) (*role, *Error) {
	if err := s.dev.checkID(device); err != nil {
		return nil, err
	}
	if roleID != 0 {
		return nil, notFound("role_id %d is deprecated; name the role in role", roleID)
	}
	r := s.roles[name]
	if r == nil {
		return nil,
			notFound("role %q is unknown to device %d; send a MasterArbitrationUpdate for it first", name,
				s.dev.cfg.ID)
	}
	id := newElectionID(election)
	switch {
	case r.primary == nil && r.highest != nil:
		return nil, errorf(codes.PermissionDenied,
			"there is no primary controller for role %q; send a MasterArbitrationUpdate with election id "+
				"%s or higher first", name, r.highest)
	case r.primary == nil:
		return nil, errorf(codes.PermissionDenied,
			"there is no primary controller for role %q; send a MasterArbitrationUpdate first", name)
	case id == nil:
		return nil, errorf(codes.PermissionDenied, "the election id is unset; the primary's is %s",
			r.primary.election)
	case id.compare(r.primary.election) != 0:
		return nil, errorf(codes.PermissionDenied, "election id %s is not that of the primary, %s", id,
			r.primary.election)
	}
	return r, nil
}

// Write checks that the request comes from the primary of its role and
// applies it; see Device.Write.
func (s *Sessions) Write(now time.Duration, req *p4v1.WriteRequest) error {
	w, err := s.startWrite(now, req)
	if err != nil {
		return err
	}
	w.step(now, math.MaxInt)
	return w.result()
}

// startWrite does the checks before the updates of a Write.
func (s *Sessions) startWrite(now time.Duration, req *p4v1.WriteRequest) (*writing, error) {
	r, err := s.authorize(req.GetDeviceId(), numericWriteRole(req), req.GetRole(), req.GetElectionId())
	if err != nil {
		return nil, err
	}
	return s.dev.startWrite(now, req, s.mayWrite(r))
}

// maySend checks who sends a Write.
func (s *Sessions) maySend(req *p4v1.WriteRequest) error {
	if _, err := s.authorize(req.GetDeviceId(), numericWriteRole(req), req.GetRole(),
		req.GetElectionId()); err != nil {
		return err
	}
	return nil
}

// mayWrite reports which entities a role may write; nil: all.
func (s *Sessions) mayWrite(r *role) func(*p4v1.Entity) *Error {
	cur := s.dev.current()
	if cur == nil || r.access == nil {
		return nil
	}
	return func(e *p4v1.Entity) *Error { return r.access.write(cur.p, r.name, e) }
}

// SetPipeline checks that the request comes from the primary of its role and
// carries it out; see Device.SetPipeline.
func (s *Sessions) SetPipeline(now time.Duration,
	req *p4v1.SetForwardingPipelineConfigRequest) error {
	if err := s.maySetPipeline(req); err != nil {
		return err
	}
	return s.dev.SetPipeline(now, req)
}

func (s *Sessions) maySetPipeline(req *p4v1.SetForwardingPipelineConfigRequest) error {
	r, err := s.authorize(req.GetDeviceId(), numericPipelineRole(req), req.GetRole(),
		req.GetElectionId())
	if err != nil {
		return err
	}
	if !r.access.pipeline() {
		return errorf(codes.PermissionDenied, "role %q may not set the forwarding pipeline config",
			r.name)
	}
	return nil
}

// Read answers a Read request, which any client may send. A role in it selects
// the entities that the role may write.
func (s *Sessions) Read(now time.Duration, req *p4v1.ReadRequest,
	emit func(*p4v1.ReadResponse)) error {
	x, err := s.startRead(req)
	if err != nil {
		return err
	}
	return x.all(now, emit)
}

// startRead does the checks before the elements of a Read.
func (s *Sessions) startRead(req *p4v1.ReadRequest) (*reading, error) {
	if req.GetRole() == "" {
		return s.dev.startRead(req, nil)
	}
	if err := s.dev.checkID(req.GetDeviceId()); err != nil {
		return nil, err
	}
	r := s.roles[req.GetRole()]
	if r == nil {
		return nil,
			notFound("role %q is unknown to device %d; send a MasterArbitrationUpdate for it first",
				req.GetRole(), s.dev.cfg.ID)
	}
	may := s.mayWrite(r)
	if may == nil {
		return s.dev.startRead(req, nil)
	}
	return s.dev.startRead(req, func(e *p4v1.Entity) bool { return may(e) == nil })
}
