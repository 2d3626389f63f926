package prove

import (
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/selfprobe"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// Outside has the functions that a Prover calls.
type Outside struct {
	// Epoch is the epoch in versions of self-probe plans.
	Epoch uint64
	// State is the fabric. The Prover denies its links, and advances links on trial.
	State    *fabric.State
	Profiles Profiles
	// Counters are added to.
	Counters *api.FabricCounters
	// Settle takes into account what has changed, and returns what hosts must not use then.
	Settle func() *fabric.Denial
	// Awaited reports whether a host is told nothing before every link has been tried.
	Awaited func() bool
	// LastPath returns why a link must not be denied because some hosts have no other path; empty: the
	// link may be denied.
	LastPath func(place int32) string
	// Probe sends a request to a host, whose answer goes to Result.
	Probe func(host string, p *hostapi.Probe)
	// Event is called with what people may want to know.
	Event func(t api.EventType, object, message string, says ...api.EventFields)
}

// Profiles finds the EV profiles to probe, by name and by the leaves at which their EVs start or
// end.
type Profiles interface {
	// Named returns the profile of a name; nil: there is none.
	Named(name string) *Profile
	// Count returns the number of profiles that begin (sending) or end at a leaf. At returns one of
	// these profiles by index; the order is stable while the profiles do not change.
	Count(leaf topology.NodeID, sending bool) int
	At(leaf topology.NodeID, sending bool, n int) *Profile
	// Needed reports whether profiles must exist whose EVs connect one of some leaves with further
	// leaves.
	Needed(leaves []topology.NodeID) bool
}

// env holds the state that the parts of one Prover share.
type env struct {
	Outside
	now   time.Duration // of the present input
	mode  ev.Mode
	links *fabric.Links
	hosts map[string]*Host
	named hostEnds
}

// Prover probes, and names links that lose packets. Make one with New. Its methods must not be
// called concurrently; all are synchronous, and none blocks.
type Prover struct {
	*env
	prober   *prober
	suspects *suspectSet
	self     *selfProber
}

// New returns a Prover without hosts. The configuration must be valid, and have a mode.
func New(cfg *inventory.MRC, o Outside) (*Prover, error) {
	locates := suspect.Defaults()
	locates.Confidence = cfg.Suspects.Confidence
	locator, err := suspect.New(locates)
	if err != nil {
		return nil, err
	}
	e := &env{
		Outside: o, mode: cfg.Format().Mode, links: o.State.Links(), hosts: make(map[string]*Host),
		named: make(hostEnds),
	}
	p := &Prover{env: e, suspects: &suspectSet{
		env: e, cfg: &cfg.Suspects, locator: locator,
		witnesses: newWitnesses(locates.Window), counts: make(map[topology.LinkID]linkCount),
		looks: make(map[topology.LinkID]*closerLook),
	}}
	p.prober = &prober{
		env: e, cfg: &cfg.Probes, dscp: cfg.ProbeDSCP(), restore: &cfg.Restore, suspects: p.suspects,
		pending: make(map[uint32]*probe), spin: make(map[topology.LinkID]int),
		assuming: make(map[*Host]bool),
	}
	p.self = &selfProber{env: e, cfg: cfg, epoch: o.Epoch, suspects: p.suspects,
		judge: selfprobe.NewJudge(), sent: make(map[string]*hostapi.SelfProbes),
		follows: make(map[string][]followed), step: planStep}
	return p, nil
}

// Tick sets the time, sends what probes may be sent by then, and names links that lose packets.
// Before there is a fabric it only sets the time.
func (p *Prover) Tick(now time.Duration) {
	p.now = now
	if p.State.Fabric() != nil {
		p.prober.run()
		p.suspects.run()
		p.self.run()
	}
}

// Next returns the time at which Tick should be called at the latest, at if nothing is due before.
func (p *Prover) Next(at time.Duration) time.Duration {
	return p.self.next(p.prober.next(min(at, p.suspects.at)))
}

// Begin begins the first round of probes, over every link in use. Tried reports whether it is over.
func (p *Prover) Begin() { p.prober.begin() }

// Tried is described at Begin.
func (p *Prover) Tried() bool { return p.prober.round.done }

// Renewed sets the fabric of the Prover. Pending requests refer to places in the fabric before,
// which is nil for the first.
func (p *Prover) Renewed(before *fabric.Fabric) {
	if before == nil {
		p.suspects.at, p.prober.at = p.now+p.suspects.cfg.Every.D(), p.now
	}
	p.prober.renewed()
	p.self.renewed()
}

// Moved drops the evidence about a link that goes out of use or comes back: the evidence of its
// losses is outdated.
func (p *Prover) Moved(id topology.LinkID) {
	p.suspects.locator.Forget(id)
	p.self.moved(id)
}

// Told records that hosts were sent states now. Until hosts have had time to apply them, probes
// that can wait do.
func (p *Prover) Told() { p.prober.toldAt = p.now }

// SetTurns replaces the groups whose hosts probe EVs in turn.
func (p *Prover) SetTurns(groups []*Group) { p.prober.turns, p.prober.cursor = groups, 0 }

// Reported counts the probes that hosts have answered for.
func (p *Prover) Reported() api.ProbeCount { return p.prober.reported }

// Suspects returns the links that lose packets, the surest first, followed by the links denied for
// packet loss. wall returns the wall-clock time at a time of the Prover.
func (p *Prover) Suspects(wall func(time.Duration) time.Time) []api.Suspect {
	out := make([]api.Suspect, 0, len(p.suspects.list))
	for _, list := range [...][]accused{p.suspects.judgements, p.suspects.list} {
		for i := range list {
			out = append(out, p.viewSuspect(&list[i], wall))
		}
	}
	return out
}
