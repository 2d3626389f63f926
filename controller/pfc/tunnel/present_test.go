package tunnel

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// TestQueueAskedOnce: a queue that PFC policies share is asked for its state once.
func TestQueueAskedOnce(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutTenant(b.tenant("b", 2, 3, "wan")))
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.must(b.PutPFCPolicy(with(lossless("other"), func(r *PFCPolicy) { r.Tenant = "b" })))
	b.step(10 * time.Millisecond)
	b.Tick(Defaults().QueryEvery)
	want := []Queue{{"R1", 1, 3}, {"R3", 101, 3}, {"R3", 102, 3}}
	if asked := b.Ready().Queries; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
}

// TestWhyNotDeployed: a PFC policy on an SRv6 policy without a path is not deployed for what the
// present network lacks; a deployed policy stays deployed when the network loses the path.
func TestWhyNotDeployed(t *testing.T) {
	w := figure3()
	b := newBed(t, newWAN("R1*"))
	b.LoadSRv6Policy(SRv6Policy{Name: "wan", PathRequest: PathRequest{Headend: "R1", Endpoint: "R3"}})
	b.must(b.PutTenant(Tenant{Name: "a", Slice: 1, Priority: 3, Policies: []string{"wan"}}))
	b.LoadPFCPolicy(lossless("pfc"))
	b.LoadPFCPolicy(with(lossless("lost"), func(r *PFCPolicy) { r.SRv6Policy = "none" }))
	if err := b.PFCPolicyError("lost"); !errors.Is(err, ErrUnknown) {
		t.Errorf("of an SRv6 policy that there is not: %v", err)
	}
	if err := b.PFCPolicyError("pfc"); !errors.Is(err, ErrNoNode) {
		t.Errorf("without R3: %v", err)
	}
	w.cut("R3", "R2")
	w.cut("R3", "R5")
	b.SetTopology(w.b.Build())
	if err := b.PFCPolicyError("pfc"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("without a link to R3: %v", err)
	}
	b.SetTopology(figure3().b.Build())
	b.step(time.Second)
	if err := b.PFCPolicyError("pfc"); err != nil || b.deployment("wan", "pfc") == nil {
		t.Errorf("with a path: %v", err)
	}
	b.SetTopology(w.b.Build())
	if p, _ := b.Present("wan"); !errors.Is(p.Err, ErrUnreachable) || p.Deployments["pfc"] == nil ||
		b.PFCPolicyError("pfc") != nil {
		t.Errorf("when the path is lost: %v, PFC policy %v; want it deployed", p.Err,
			b.PFCPolicyError("pfc"))
	}
}
