package api

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of a job.
const (
	// MaxJobRanks bounds the ranks of a job.
	MaxJobRanks = 131072
	// MaxJobRankList bounds the ranks of a job that lists the place of each rank.
	MaxJobRankList = 16384
	// MaxNICsPerHost bounds the ranks of a job on one host.
	MaxNICsPerHost = 64
	// MaxQPsPerPeer bounds the queue pairs of a rank to each peer.
	MaxQPsPerPeer = 65536
	// MaxJobPriority is the highest priority of a job.
	MaxJobPriority = 1000
)

// Job is the resource of a distributed job. A scheduler has placed the job's ranks on hosts. The
// controller computes which ranks talk to each other, and whether the fabric is ready for the job.
type Job struct {
	Name    string    `json:"name" doc:"Name of the job."`
	Version uint64    `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time `json:"created,omitzero" doc:"When it was created."`
	Spec    JobSpec   `json:"spec" doc:"Where its ranks are, and who talks to whom."`
	Status  JobStatus `json:"status" doc:"Status, which the controller writes."`
	Takes   []Taken   `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (r Job) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// JobSpec defines the places of a job's ranks, and which ranks talk to each other. A rank has one
// NIC, a host in the fabric's inventory: with n NICs per host, rank r runs on host r / n and uses
// NIC (r mod n) of the host.
type JobSpec struct {
	Hosts       string    `json:"hosts,omitempty" maxLength:"524288" names:"host" doc:"Hosts in the order of the ranks, as Slurm writes lists of hosts: n[0001-2048],m7."`
	NICsPerHost int       `json:"nicsPerHost,omitempty" minimum:"0" maximum:"64" names:"-" doc:"Ranks on each host, one a NIC. Default 1."`
	NIC         string    `json:"nic,omitempty" maxLength:"253" names:"-" doc:"Name of a NIC in the inventory: {host} is the name of the host, {nic} the number of the NIC from 0, {rail} from 1. Default {host}, and {host}-{nic} for several NICs a host."`
	Ranks       []JobRank `json:"ranks,omitempty" maxItems:"16384" doc:"In place of hosts: where each rank is, in order."`

	Layout        *JobLayout        `json:"layout,omitempty" doc:"Sizes of the parallel groups, which the communicators follow from: tp x cp x dp x pp is the number of ranks, and ep divides cp x dp."`
	Communicators []JobCommunicator `json:"communicators,omitempty" maxItems:"4096" doc:"In place of layout: who talks to whom."`

	QPsPerPeer int `json:"qpsPerPeer,omitempty" minimum:"0" maximum:"65536" names:"-" doc:"Queue pairs that a rank makes to each rank that it talks to: the hint num_qps_per_peer. Default 1."`

	Exclusive bool     `json:"exclusive,omitempty" names:"-" doc:"Its NICs are in no other job."`
	Lease     Duration `json:"lease,omitempty" names:"-" doc:"The job is done when no client has renewed it for so long. Default: none, so that it ends when its state is done."`
	Priority  int      `json:"priority,omitempty" minimum:"0" maximum:"1000" names:"-" doc:"How much it matters: a maintenance of a lower priority is refused while the job runs and depends on its objects. Default 0."`
	State     JobState `json:"state,omitempty" enum:"placed,running,done" names:"-" doc:"How far the scheduler is with it. Default placed."`
}

// JobRank is the place of a rank.
type JobRank struct {
	Host string `json:"host" minLength:"1" maxLength:"253" names:"host" doc:"Name of the host."`
	NIC  int    `json:"nic,omitempty" minimum:"0" maximum:"63" names:"-" doc:"Number of its NIC there, from 0."`
}

// JobLayout gives the sizes of a job's parallel groups, in Megatron-LM's numbering of ranks: tp x
// cp x dp x pp is the number of ranks, and ep divides cp x dp.
type JobLayout struct {
	Order string `json:"order,omitempty" maxLength:"32" names:"-" doc:"The groups, the one whose ranks are next to each other first. Default tp-cp-ep-dp-pp."`
	TP    int    `json:"tp,omitempty" minimum:"0" names:"-" doc:"Tensor parallel ranks. Default 1."`
	CP    int    `json:"cp,omitempty" minimum:"0" names:"-" doc:"Context parallel ranks. Default 1."`
	EP    int    `json:"ep,omitempty" minimum:"0" names:"-" doc:"Expert parallel ranks, of those of cp and dp. Default 1."`
	DP    int    `json:"dp,omitempty" minimum:"0" names:"-" doc:"Data parallel ranks. Default 1."`
	PP    int    `json:"pp,omitempty" minimum:"0" names:"-" doc:"Pipeline stages. Default 1."`
}

// JobCommunicator is a group of ranks with the pattern in which they talk.
type JobCommunicator struct {
	Name    string     `json:"name" minLength:"1" maxLength:"63" names:"-" doc:"Name of the communicator, unique in the job."`
	Ranks   string     `json:"ranks" maxLength:"524288" names:"-" doc:"Its ranks in order: 0-7,16 and 0-56:8 for every eighth."`
	Pattern JobPattern `json:"pattern" enum:"ring,tree,all-to-all,pairwise,pipeline,broadcast,all-gather" names:"-" doc:"Who talks to whom."`

	Multicast *JobMulticast `json:"multicast,omitempty" doc:"Of a broadcast or an all-gather: its data goes by multicast groups of RoCEv2 NICs, which the controller makes. No rank talks to another for it."`
}

// JobPattern is how the ranks of a communicator talk to each other.
type JobPattern string

// The patterns, with who sends to whom.
const (
	// PatternRing: to the next host; the last one to the first.
	PatternRing JobPattern = "ring"
	// PatternTree: two binary trees over the hosts, up and down; a host is inside one of them at
	// most.
	PatternTree JobPattern = "tree"
	// PatternAllToAll: everyone to everyone.
	PatternAllToAll JobPattern = "all-to-all"
	// PatternPairwise: the first and second rank to each other, the third and fourth, and so on.
	PatternPairwise JobPattern = "pairwise"
	// PatternPipeline: every rank to the next one (activations) and to the one before (gradients).
	PatternPipeline JobPattern = "pipeline"
	// PatternBroadcast: the first rank to all others.
	PatternBroadcast JobPattern = "broadcast"
	// PatternAllGather: a ring.
	PatternAllGather JobPattern = "all-gather"
)

// JobPatterns returns the patterns.
func JobPatterns() []JobPattern {
	return []JobPattern{PatternRing, PatternTree, PatternAllToAll, PatternPairwise, PatternPipeline,
		PatternBroadcast, PatternAllGather}
}

// JobState is how far a scheduler is with a job.
type JobState string

// The states.
const (
	JobPlaced  JobState = "placed"  // its ranks have their hosts
	JobRunning JobState = "running" // and have started
	JobDone    JobState = "done"    // and have ended
)

// JobPhase is the progress of a job.
type JobPhase string

// The phases.
const (
	PhasePending  JobPhase = "Pending"  // the fabric is not ready for it, or not known to be
	PhaseReady    JobPhase = "Ready"    // the fabric is ready for it
	PhaseRunning  JobPhase = "Running"  // it has started
	PhaseDraining JobPhase = "Draining" // it is done, and hosts still hold what followed from it
	PhaseDone     JobPhase = "Done"     // nothing follows from it any more
)

// JobStatus is what the controller reports about a job.
type JobStatus struct {
	Conditions Conditions `json:"conditions,omitempty" doc:"Accepted, and Ready: the fabric is."`
	Phase      JobPhase   `json:"phase,omitempty" enum:"Pending,Ready,Running,Draining,Done" doc:"How far it is."`
	Ranks      int        `json:"ranks" doc:"How many ranks it has."`
	Ends       time.Time  `json:"ends,omitzero" doc:"When its lease ends unless it is renewed before."`
	Follows    JobFollows `json:"follows" doc:"What follows from who talks to whom."`
	Groups     []JobGroup `json:"groups,omitempty" doc:"The multicast groups of its communicators."`
	// Blockers counts what keeps the fabric from being ready; GET of its readiness has them.
	Blockers int      `json:"blockers,omitempty" doc:"What keeps the fabric from being ready for it; its readiness has them."`
	Left     *float64 `json:"left,omitempty" doc:"Least share of paths left, from 0 to 1, among the pairs of racks that talk; absent while unknown."`
}

// JobFollows is what follows from the layout of a job.
type JobFollows struct {
	Communicators int      `json:"communicators" doc:"Communicators."`
	Pairs         int      `json:"pairs" doc:"Pairs of NICs of which the first sends to the second."`
	Racks         int      `json:"racks" doc:"Racks, the hosts at the same leaves."`
	RackPairs     int      `json:"rackPairs" doc:"Pairs of racks of which a NIC of the first sends to one of the second: each needs an EV profile."`
	Unattached    []string `json:"unattached,omitempty" doc:"NICs that the network does not have at present, at most five."`
	// SendPeers and ReceivePeers are the NIC hints num_send_peers and num_remote_recv_peers.
	SendPeers    JobPeers `json:"sendPeers" doc:"To how many others a NIC sends: the hint num_send_peers."`
	ReceivePeers JobPeers `json:"receivePeers" doc:"From how many others a NIC receives: the hint num_remote_recv_peers."`
}

// JobPeers is a number of peers of the NICs of a job.
type JobPeers struct {
	Least int `json:"least" doc:"Of the NIC with the fewest."`
	Most  int `json:"most" doc:"Of the NIC with the most."`
}

// JobReadiness reports whether the fabric is ready for a job. The fabric is ready only if every
// part that the job depends on is known to be in order.
type JobReadiness struct {
	Name     string       `json:"name" doc:"Name of the job."`
	Go       bool         `json:"go" doc:"Everything is known to be as it should."`
	At       time.Time    `json:"at" doc:"When that was found."`
	Left     *float64     `json:"left,omitempty" doc:"Least share of paths left, from 0 to 1, among the pairs of racks that talk; absent while unknown."`
	Checks   []JobCheck   `json:"checks" doc:"What was looked at."`
	Blockers []JobBlocker `json:"blockers" doc:"What is not as it should be, or not known to be, by cause: those with the most ranks first."`
}

// JobCheck is one check of the readiness of a job.
type JobCheck struct {
	Name string `json:"name" doc:"What it is."`
	Of   int    `json:"of" doc:"How many there are."`
	Good int    `json:"good" doc:"Number of these that are known to be good."`
}

// JobBlocker is a cause for which the fabric is not ready for a job.
type JobBlocker struct {
	Kind   string    `json:"kind" enum:"controller,fabric,host,nic,switch,link,path,group,lease,maintenance" doc:"What it is."`
	Object string    `json:"object,omitempty" doc:"Its name."`
	Name   string    `json:"name,omitempty" doc:"What people call it, where object is an id: a link by the switches at its ends."`
	State  string    `json:"state" enum:"bad,unknown" doc:"Whether it is known not to be as it should, or not known to be."`
	Why    string    `json:"why" doc:"The fault, in words."`
	Want   string    `json:"want" doc:"Remedy."`
	Since  time.Time `json:"since" doc:"When it began, or was first seen."`
	Ranks  int       `json:"ranks" doc:"Number of ranks that the blocker concerns."`
	NICs   []string  `json:"nics,omitempty" doc:"Their NICs, at most five."`
	Also   []string  `json:"also,omitempty" doc:"Other faults that follow from the blocker, at most five."`
}

// Complete returns a spec with its defaults.
func (s JobSpec) Complete() JobSpec {
	if s.NICsPerHost == 0 && len(s.Ranks) == 0 {
		s.NICsPerHost = 1
	}
	if s.NIC == "" {
		s.NIC = "{host}-{nic}"
		if s.NICsPerHost == 1 || len(s.Ranks) > 0 && !slices.ContainsFunc(s.Ranks,
			func(r JobRank) bool { return r.NIC != 0 }) {
			s.NIC = "{host}"
		}
	}
	if s.Layout != nil {
		l := *s.Layout
		if l.Order == "" {
			l.Order = DefaultJobOrder
		}
		for _, n := range l.sizes() {
			if *n == 0 {
				*n = 1
			}
		}
		s.Layout = &l
	}
	if s.QPsPerPeer == 0 {
		s.QPsPerPeer = 1
	}
	s.Communicators = slices.Clone(s.Communicators)
	if s.State == "" {
		s.State = JobPlaced
	}
	return s
}

// Equal reports whether two specs say the same.
func (s *JobSpec) Equal(o *JobSpec) bool { return reflect.DeepEqual(s, o) }

// DefaultJobOrder has the groups of a layout as Megatron-LM numbers ranks, innermost first.
const DefaultJobOrder = "tp-cp-ep-dp-pp"

// sizes returns the sizes in the default order.
func (l *JobLayout) sizes() []*int { return []*int{&l.TP, &l.CP, &l.EP, &l.DP, &l.PP} }

// NICOf returns the name of a NIC of a host in the inventory.
func (s *JobSpec) NICOf(host string, nic int) string {
	if s.NIC == "{host}" {
		return host
	}
	name := strings.ReplaceAll(s.NIC, "{nic}", strconv.Itoa(nic))
	name = strings.ReplaceAll(name, "{rail}", strconv.Itoa(nic+1))
	return strings.ReplaceAll(name, "{host}", host)
}

// Places returns where the ranks are, in order. expand returns the names of a list of hosts, of at
// most some. The spec must be complete.
func (s *JobSpec) Places(expand func(list string, most int) ([]string, error)) ([]JobRank, error) {
	if len(s.Ranks) > 0 {
		return s.Ranks, nil
	}
	hosts, err := expand(s.Hosts, MaxJobRanks)
	if err != nil {
		return nil, err
	}
	if len(hosts)*s.NICsPerHost > MaxJobRanks {
		return nil, fmt.Errorf("%d hosts with %d NICs each", len(hosts), s.NICsPerHost)
	}
	out := make([]JobRank, 0, len(hosts)*s.NICsPerHost)
	for _, h := range hosts {
		for nic := range s.NICsPerHost {
			out = append(out, JobRank{h, nic})
		}
	}
	return out, nil
}

// errRanks is the error of a list of ranks.
var errRanks = errors.New("ranks")

// Members returns the ranks of a communicator of a job with n ranks.
func (c *JobCommunicator) Members(n int) ([]int, error) {
	var out []int
	number := func(text string) (int, error) {
		v, err := strconv.Atoi(text)
		if err != nil || v < 0 {
			return 0, fmt.Errorf("%.40q is no number: %w", text, errRanks)
		}
		return v, nil
	}
	for part := range strings.SplitSeq(c.Ranks, ",") {
		span, stepText, stepped := strings.Cut(part, ":")
		firstText, lastText, ranged := strings.Cut(span, "-")
		first, err := number(firstText)
		last, step := first, 1
		if err == nil && ranged {
			last, err = number(lastText)
		}
		if err == nil && stepped {
			step, err = number(stepText)
		}
		switch {
		case err != nil:
			return nil, err
		case last < first || step < 1 || stepped && !ranged:
			return nil, fmt.Errorf("%.40q is no range: %w", part, errRanks)
		case last >= n:
			return nil, fmt.Errorf("%d is none of the %d ranks: %w", last, n, errRanks)
		}
		for r := first; r <= last; r += step {
			if out = append(out, r); len(out) > n {
				return nil, fmt.Errorf("a rank is there twice: %w", errRanks)
			}
		}
	}
	sorted := slices.Sorted(slices.Values(out))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return nil, fmt.Errorf("rank %d is there twice: %w", sorted[i], errRanks)
		}
	}
	return out, nil
}

// JobEnv has the facts that the validation of a job needs.
type JobEnv struct {
	// Expand returns the names of a list of hosts, of at most some.
	Expand func(list string, most int) ([]string, error)
	// HasNIC reports whether the inventory has a host of a name.
	HasNIC func(name string) bool
	// Layout returns what is wrong with a layout of so many ranks.
	Layout func(l *JobLayout, ranks int) []FieldError
}

// someNames is how many names of many a message has.
const someNames = 5

// Validate returns everything that is wrong with a complete spec, or nil.
func (s *JobSpec) Validate(env JobEnv) error {
	var v validator
	ranks := v.jobPlaces(s, env)
	v.jobTalk(s, ranks, env)
	v.count("spec.qpsPerPeer", s.QPsPerPeer, 1, MaxQPsPerPeer, "number of queue pairs")
	v.lasting("spec.lease", s.Lease)
	v.count("spec.priority", s.Priority, 0, MaxJobPriority, "priority")
	if s.State != JobPlaced && s.State != JobRunning && s.State != JobDone {
		v.bad("spec.state", strconv.Quote(string(s.State)), `"placed", "running" or "done"`)
	}
	return Refuse(v.found)
}

// maxLease is the longest lease: a longer one is a mistake.
const maxLease = 365 * 24 * time.Hour

// jobPlaces checks where the ranks are, and returns how many there are; 0: that is not known.
func (v *validator) jobPlaces(s *JobSpec, env JobEnv) int {
	switch {
	case s.Hosts != "" && len(s.Ranks) > 0:
		v.bad("spec.ranks", fmt.Sprintf("%d ranks", len(s.Ranks)), "hosts or ranks, not both")
		return 0
	case s.Hosts == "" && len(s.Ranks) == 0:
		v.bad("spec.hosts", "empty", "a list of hosts, or ranks in its place")
		return 0
	case len(s.Ranks) > 0 && s.NICsPerHost != 0:
		v.bad("spec.nicsPerHost", strconv.Itoa(s.NICsPerHost), "none beside ranks, which name their NICs")
		return 0
	case len(s.Ranks) > MaxJobRankList:
		v.count("spec.ranks", len(s.Ranks), 1, MaxJobRankList, "number of ranks; hosts may have more")
		return 0
	case len(s.Ranks) == 0 && (s.NICsPerHost < 1 || s.NICsPerHost > MaxNICsPerHost):
		v.count("spec.nicsPerHost", s.NICsPerHost, 1, MaxNICsPerHost, "number of NICs")
		return 0
	}
	places, err := s.Places(env.Expand)
	if err != nil {
		v.bad("spec.hosts", clipped(s.Hosts), fmt.Sprintf(
			"a list of hosts such as n[0001-2048],m7 with at most %d ranks: %v", MaxJobRanks, err))
		return 0
	}
	many := slices.ContainsFunc(places, func(r JobRank) bool { return r.NIC > 0 })
	if !strings.Contains(s.NIC, "{host}") || many && !strings.Contains(s.NIC, "{nic}") &&
		!strings.Contains(s.NIC, "{rail}") {
		v.bad("spec.nic", strconv.Quote(s.NIC),
			"a name with {host}, and {nic} or {rail} where hosts have several")
		return len(places)
	}
	v.jobNICs(s, places, env)
	return len(places)
}

// jobNICs checks that the inventory contains the NIC of every rank, and that no two ranks share a
// NIC.
func (v *validator) jobNICs(s *JobSpec, places []JobRank, env JobEnv) {
	var unknown []string
	missing := 0
	of := make(map[string]int, len(places))
	field := "spec.hosts"
	if len(s.Ranks) > 0 {
		field = "spec.ranks"
	}
	twice := false
	for i, r := range places {
		name := s.NICOf(r.Host, r.NIC)
		if other, ok := of[name]; ok && !twice {
			twice = true // one fault of its kind is enough of many
			v.bad(field, name,
				fmt.Sprintf("a NIC of its own for every rank; ranks %d and %d have it", other, i))
		}
		of[name] = i
		if !env.HasNIC(name) {
			if missing++; len(unknown) < someNames {
				unknown = append(unknown, name)
			}
		}
	}
	if missing > 0 {
		value := strings.Join(unknown, ", ")
		if missing > len(unknown) {
			value += fmt.Sprintf(" and %d more", missing-len(unknown))
		}
		v.bad(field, value, "NICs that the inventory has as hosts; spec.nic, "+
			strconv.Quote(s.NIC)+", is how they are named")
	}
}

// jobTalk checks who talks to whom; ranks is 0 where their number is not known.
func (v *validator) jobTalk(s *JobSpec, ranks int, env JobEnv) {
	switch {
	case s.Layout != nil && len(s.Communicators) > 0:
		v.bad("spec.communicators", fmt.Sprintf("%d communicators", len(s.Communicators)),
			"layout or communicators, not both")
		return
	case s.Layout == nil && len(s.Communicators) == 0:
		v.bad("spec.layout", "missing", "a layout, or communicators in its place")
		return
	case s.Layout != nil:
		v.jobLayout(s.Layout, ranks, env)
		return
	}
	names := make(map[string]int)
	for i := range s.Communicators {
		c := &s.Communicators[i]
		at := fmt.Sprintf("spec.communicators[%d].", i)
		if other, ok := names[c.Name]; ok || c.Name == "" {
			v.bad(at+"name", strconv.Quote(c.Name),
				fmt.Sprintf("a name of its own; spec.communicators[%d] has it", other))
		}
		names[c.Name] = i
		if !slices.Contains(JobPatterns(), c.Pattern) {
			v.bad(at+"pattern", strconv.Quote(string(c.Pattern)), fmt.Sprintf("one of %v", JobPatterns()))
		}
		if ranks == 0 {
			continue
		}
		members, err := c.Members(ranks)
		if err == nil && len(members) < 2 {
			err = errors.New("it has one rank, which talks to nobody")
		}
		if err == nil && c.Pattern == PatternPairwise && len(members)%2 != 0 {
			err = fmt.Errorf("pairwise takes an even number, not %d", len(members))
		}
		if err != nil {
			v.bad(at+"ranks", clipped(c.Ranks), fmt.Sprintf(
				"two ranks or more from 0 to %d, each once, such as 0-7,16: %v", ranks-1, err))
		} else if c.Multicast != nil {
			v.jobMulticast(s, at, c, members, env)
		}
	}
}

// jobLayout checks a layout.
func (v *validator) jobLayout(l *JobLayout, ranks int, env JobEnv) {
	before := len(v.found)
	for i, n := range l.sizes() {
		v.count("spec.layout."+[...]string{"tp", "cp", "ep", "dp", "pp"}[i], *n, 1, MaxJobRanks,
			"number of ranks")
	}
	if ranks > 0 && len(v.found) == before {
		v.found = append(v.found, env.Layout(l, ranks)...)
	}
}

// clipped is the beginning of a text as the value of a fault.
func clipped(text string) string {
	const most = 80
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strconv.Quote(text)
}
