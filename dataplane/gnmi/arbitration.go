package gnmi

import (
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An election is the 128-bit election id of a client.
type election struct{ high, low uint64 }

func (e election) less(o election) bool {
	return e.high < o.high || e.high == o.high && e.low < o.low
}

// Bounds of what is kept of roles.
const (
	maxRoles    = 256
	maxRoleName = 256 // octets
)

// arbitrate reports whether a Set with extensions may be carried out, and remembers its election id
// (gNMI Support for Multiple Client Roles and Master Arbitration, section 3.2). A Set without one
// is fenced by nothing.
func (s *Server) arbitrate(extensions []*gnmi_ext.Extension) error {
	for _, x := range extensions {
		switch x := x.GetExt().(type) {
		case *gnmi_ext.Extension_MasterArbitration:
			if err := s.elect(x.MasterArbitration); err != nil {
				return err
			}
		case *gnmi_ext.Extension_Commit:
			return status.Error(codes.Unimplemented,
				"extension commit: a Set cannot be undone later; want a Set without it")
		}
	}
	return nil
}

func (s *Server) elect(m *gnmi_ext.MasterArbitration) error {
	if m.GetElectionId() == nil {
		return status.Error(codes.InvalidArgument,
			"extension master_arbitration: no election_id; want one")
	}
	role, id := m.GetRole().GetId(), election{m.GetElectionId().GetHigh(), m.GetElectionId().GetLow()}
	if len(role) > maxRoleName {
		return status.Errorf(codes.InvalidArgument,
			"extension master_arbitration: a role of %d octets; want at most %d", len(role), maxRoleName)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	highest, known := s.masters[role]
	switch {
	case known && id.less(highest):
		return status.Errorf(codes.PermissionDenied,
			"election id %d:%d of role %q; want %d:%d, the highest so far, or a higher one", id.high, id.low,
			role, highest.high, highest.low)
	case !known && len(s.masters) == maxRoles:
		return status.Errorf(codes.ResourceExhausted,
			"role %q: the switch knows %d roles, as many as it may", role, maxRoles)
	}
	s.masters[role] = id
	return nil
}
