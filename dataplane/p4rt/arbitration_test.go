package p4rt

import (
	"fmt"
	"math/rand/v2"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
)

// client is what a controller knows of itself.
type client struct {
	session *Session
	role    string
	id      uint64
	open    bool
	last    *p4v1.MasterArbitrationUpdate
}

// Random arbitration against a plain model: the primary is whoever holds the
// highest id ever seen of its role, ids of live controllers are unique, and
// everyone's latest notice tells the truth.
func TestArbitrationModel(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			s := NewSessions(newTestDevice(t, Config{}))
			highest := map[string]uint64{} // 0: none was primary yet
			var clients []*client
			primary := func(role string) *client {
				for _, c := range clients {
					if c.open && c.role == role && c.id != 0 && c.id == highest[role] {
						return c
					}
				}
				return nil
			}
			for step := range 60 {
				switch {
				case len(clients) == 0 || rng.IntN(4) == 0:
					c := &client{role: []string{"", "r"}[rng.IntN(2)]}
					c.session = s.Open(func(m *p4v1.StreamMessageResponse) { c.last = m.GetArbitration() })
					clients = append(clients, c)
				case rng.IntN(12) == 0:
					s.ForgetElections()
					clear(highest)
				case rng.IntN(5) == 0:
					c := clients[rng.IntN(len(clients))]
					c.session.Close()
					c.open, c.id = false, 0
				default:
					c := clients[rng.IntN(len(clients))]
					if c.session.closed {
						continue
					}
					id := uint64(rng.IntN(6)) // 0: unset
					m := &p4v1.MasterArbitrationUpdate{DeviceId: 1}
					if c.role != "" {
						m.Role = &p4v1.Role{Name: c.role}
					}
					if id != 0 {
						m.ElectionId = &p4v1.Uint128{Low: id}
					}
					taken := false
					for _, o := range clients {
						taken = taken || o != c && o.open && o.role == c.role && id != 0 && o.id == id
					}
					err := c.session.Receive(0,
						&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: m}})
					if (err != nil) != taken {
						t.Fatalf("step %d: role %q, id %d: %v, though taken is %t", step, c.role, id, err, taken)
					}
					if err != nil {
						c.session.Close()
						c.open, c.id = false, 0
						break
					}
					c.open, c.id = true, id
					if id > highest[c.role] {
						highest[c.role] = id
					}
				}
				for _, c := range clients {
					if !c.open {
						continue
					}
					p := primary(c.role)
					want := codes.NotFound
					switch p {
					case nil:
					case c:
						want = codes.OK
					default:
						want = codes.AlreadyExists
					}
					if got := codes.Code(c.last.GetStatus().GetCode()); got != want ||
						c.last.GetElectionId().GetLow() != highest[c.role] ||
						(c.last.GetElectionId() == nil) != (highest[c.role] == 0) {
						t.Fatalf("step %d: role %q, id %d was told %v; want %s and id %d", step, c.role, c.id, c.last,
							want, highest[c.role])
					}
					// Only the primary writes. (Its write fails for want of a pipeline.)
					req := &p4v1.WriteRequest{DeviceId: 1, Role: c.role}
					if c.id != 0 {
						req.ElectionId = &p4v1.Uint128{Low: c.id}
					}
					wantWrite := codes.PermissionDenied
					if p == c {
						wantWrite = codes.FailedPrecondition
					}
					if got := onlyCode(s.Write(0, req)); got != wantWrite {
						t.Fatalf("step %d: role %q, id %d writes: %s, want %s", step, c.role, c.id, got, wantWrite)
					}
				}
			}
		})
	}
}
