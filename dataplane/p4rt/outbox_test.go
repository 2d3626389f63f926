package p4rt

import (
	"context"
	"errors"
	"fmt"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
)

func noticeOf(id uint64) *p4v1.StreamMessageResponse {
	return &p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Arbitration{
		Arbitration: &p4v1.MasterArbitrationUpdate{ElectionId: &p4v1.Uint128{Low: id}},
	}}
}

// TestOutboxBounded checks that the queue of a controller that never reads is bounded: it always
// contains the latest arbitration message, and drops and counts all other messages by number and
// octets.
func TestOutboxBounded(t *testing.T) {
	const limit = 100
	o := newOutbox(limit)
	for id := range uint64(10_000) {
		o.put(noticeOf(id))
	}
	if len(o.queue) != maxNotices ||
		o.queue[maxNotices-1].GetArbitration().GetElectionId().GetLow() != 9_999 ||
		o.queue[0].GetArbitration().GetElectionId().GetLow() != 0 {
		t.Errorf("%d notices wait, the last is %v", len(o.queue), o.queue[len(o.queue)-1])
	}
	packet := func(n int) *p4v1.StreamMessageResponse {
		return &p4v1.StreamMessageResponse{
			Update: &p4v1.StreamMessageResponse_Packet{Packet: &p4v1.PacketIn{Payload: make([]byte, n)}}}
	}
	for range 30 {
		o.put(packet(1 << 20))
	}
	if want := maxQueueBytes>>20 - 1; o.bulk != want || o.octets > maxQueueBytes ||
		o.drops() != uint64(30-want) {
		t.Errorf("%d packets of a mebioctet wait, want %d; %d dropped", o.bulk, want, o.drops())
	}
	for range 2 * limit {
		o.put(packet(1))
	}
	if o.bulk != limit {
		t.Errorf("%d packets wait, want %d", o.bulk, limit)
	}
	// The stream is not heard until a notice was taken.
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := o.wait(ended); status.Code(err) != codes.Canceled {
		t.Errorf("a stream whose client does not read is heard: %v", err)
	}
	o.take()
	if err := o.wait(context.Background()); err != nil {
		t.Error(err)
	}
	for o.take() != nil {
	}
	if o.bulk != 0 || o.octets != 0 {
		t.Errorf("empty, but %d messages of %d octets are counted", o.bulk, o.octets)
	}
}

// arbitrating opens a session of a client for a role; a session that is refused is closed.
func arbitrating(
	s *Sessions, client *clientlimit.Client, role string, id uint64) (*Session, codes.Code,
	error) {
	code := codes.Unknown
	x := s.open(client, func(m *p4v1.StreamMessageResponse) {
		code = codes.Code(m.GetArbitration().GetStatus().GetCode())
	})
	m := &p4v1.MasterArbitrationUpdate{DeviceId: 1, Role: &p4v1.Role{Name: role}}
	if id > 0 {
		m.ElectionId = &p4v1.Uint128{Low: id}
	}
	err := x.Receive(0,
		&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: m}})
	if err != nil {
		x.Close()
	}
	return x, code, err
}

// TestRolesForgotten checks that roles without controllers do not fill the table of roles: a role
// without an election id is forgotten at once. Any other role is forgotten when there is no room;
// the role left first goes first.
func TestRolesForgotten(t *testing.T) {
	s := NewSessions(newTestDevice(t, Config{}))
	open := func(role string, id uint64) (*Session, codes.Code) {
		t.Helper()
		x, code, err := arbitrating(s, nil, role, id)
		if err != nil {
			t.Fatal(err)
		}
		return x, code
	}
	for i := range 4 * maxRoles {
		x, _ := open(fmt.Sprint("backup ", i), 0)
		x.Close()
	}
	if len(s.roles) != 1 || len(s.order) != 1 {
		t.Errorf("%d roles are remembered that never had a primary", len(s.roles)-1)
	}
	name := func(i int) string { return fmt.Sprint("primary ", i) }
	for i := range 4 * maxRoles {
		x, code := open(name(i), 7)
		if x.Close(); code != codes.OK {
			t.Fatalf("%s: %s", name(i), code)
		}
	}
	if len(s.roles) != maxRoles || len(s.order) != maxRoles {
		t.Errorf("%d roles are remembered, want %d", len(s.roles), maxRoles)
	}
	if x, code := open(name(4*maxRoles-1), 6); code != codes.NotFound {
		t.Errorf("election id 6 of a role that had 7: %s, want %s", code, codes.NotFound)
	} else {
		x.Close()
	}
	if _, code := open(name(0), 6); code != codes.OK {
		t.Errorf("election id 6 of a role that is forgotten: %s", code)
	}
	// A role with a controller is never forgotten.
	for i := range 4 * maxRoles {
		x, _ := open(name(maxRoles+i), 7)
		x.Close()
	}
	if s.roles[name(0)] == nil || len(s.roles[name(0)].live) != 1 {
		t.Error("a role with a controller is forgotten")
	}
}

// TestRolesOfOneClient checks that the streams of one connection cannot take all roles, and that
// roles and their configurations are limited in size.
func TestRolesOfOneClient(t *testing.T) {
	s := NewSessions(newTestDevice(t, Config{}))
	for c := 0; len(s.roles) < maxRoles; c++ {
		client := clientlimit.ClientOf(context.Background())
		for i := range min(maxClientRoles, maxRoles-len(s.roles)) {
			if _, _, err := arbitrating(s, client, fmt.Sprint(c, "/", i), 1); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := arbitrating(s, client, "one more", 1); code(err) != codes.ResourceExhausted {
			t.Fatalf("client %d: a role more than %d: %v", c, maxClientRoles, err)
		}
	}
	_, _, err := arbitrating(s, clientlimit.ClientOf(context.Background()), "another", 1)
	if code(err) != codes.ResourceExhausted {
		t.Errorf("role %d: %v", maxRoles+1, err)
	}
	if _, _, err := arbitrating(s, nil, string(make([]byte, maxRoleName+1)),
		1); code(err) != codes.InvalidArgument {
		t.Errorf("a long name: %v", err)
	}
	if _, c, err := arbitrating(s, nil, "", 1); err != nil || c != codes.OK {
		t.Errorf("the default role: %s, %v", c, err)
	}
}

func code(err error) codes.Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return status.Code(err)
}
