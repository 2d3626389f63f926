package mrc

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/job/ready"
)

func ofJobs(c *Config) { c.Profiles = "jobs" }

// needOf returns the need of a job on the first host of each of some leaves, with traffic from leaf
// from to leaf to.
func needOf(from, to int) *ready.Need {
	return &ready.Need{
		NICs:  []string{"nosuch", hostName(from, 1), hostName(to, 1)},
		Hosts: []string{"nosuch", hostName(from, 1), hostName(to, 1)},
		Rack:  []int32{0, 1, 2}, Racks: []string{"", "from", "to"},
		Pairs: [][2]int32{{0, 1}, {1, 2}},
	}
}

// pairOf names the profile from the hosts at one leaf to the hosts at another.
func pairOf(from, to int) string { return fmt.Sprintf("%s:%s", leafID(1, from), leafID(1, to)) }

// held returns what hosts were told to hold, by profile, and how many profiles of each host.
func (w *bed) held() (profiles map[string]*hostapi.Profile, hosts map[string]int) {
	w.t.Helper()
	profiles, hosts = make(map[string]*hostapi.Profile), make(map[string]int)
	for _, h := range w.core.Hosts() {
		if h.State == nil {
			continue
		}
		hosts[h.Name] = len(h.State.Profiles)
		for _, p := range h.State.Profiles {
			if before := profiles[p.Name]; before != nil && before != p {
				w.t.Errorf("host %s has another profile %s than others", h.Name, p.Name)
			}
			profiles[p.Name] = p
		}
	}
	return profiles, hosts
}

// talk sets the needs of jobs, and expects these profiles, and new states only for hosts at these
// leaves.
func (w *bed) talk(needs []*ready.Need, profiles []string, leaves ...int) {
	w.t.Helper()
	clear(w.sets)
	before, _ := w.held()
	w.core.SetTalk(needs)
	w.pump()
	after, _ := w.held()
	slices.Sort(profiles)
	if got := slices.Sorted(maps.Keys(after)); !slices.Equal(got, profiles) {
		w.t.Errorf("hosts hold %q, want %q", got, profiles)
	}
	for name, p := range after {
		if before[name] != nil && before[name] != p {
			w.t.Errorf("profile %s, which stays, was made anew", name)
		}
	}
	told := slices.Sorted(maps.Keys(w.sets))
	var want []string
	for _, leaf := range leaves {
		want = append(want, hostName(leaf, 1), hostName(leaf, 2))
	}
	if !slices.Equal(told, want) {
		w.t.Errorf("told are %v, want %v", told, want)
	}
	w.valid()
}

// TestProfilesOfJobs: hosts hold the profiles for racks that talk in a job, in both directions,
// until the last such job has ended, and the profiles written by clients. Unchanged profiles are
// not sent again.
func TestProfilesOfJobs(t *testing.T) {
	w := newBed(t, 1, ofJobs).clos(2, 4, 2, 2).start()
	w.run(time.Second)
	if len(w.sets) != 0 {
		t.Fatalf("hosts are told something before it is known who talks: %v", w.sets)
	}
	w.talk(nil, nil, 1, 2, 3, 4)
	ab, again, bc := needOf(1, 2), needOf(1, 2), needOf(2, 3)
	w.talk([]*ready.Need{ab}, []string{pairOf(1, 2), pairOf(2, 1)}, 1, 2)
	w.run(time.Second)
	w.talk([]*ready.Need{ab}, []string{pairOf(1, 2), pairOf(2, 1)})
	both := []string{pairOf(1, 2), pairOf(2, 1), pairOf(2, 3), pairOf(3, 2)}
	w.talk([]*ready.Need{ab, again, bc}, both, 2, 3)
	w.talk([]*ready.Need{bc, again}, both)
	w.talk([]*ready.Need{bc}, both[2:], 1, 2)

	// A client writes one that no job needs.
	own := pairOf(4, 1)
	if err := w.core.SetOverride(own, Override{MinActive: 2}); err != nil {
		t.Fatal(err)
	}
	if err := w.core.SetOverride(pairOf(4, 3), Override{MinActive: 1 << 20}); err == nil {
		t.Error("a profile was accepted that cannot be")
	}
	w.talk([]*ready.Need{bc}, append(both[2:], own), 4)
	w.talk(nil, []string{own}, 2, 3)
	if err := w.core.SetOverride(own, Override{}); err != nil {
		t.Fatal(err)
	}
	w.talk(nil, nil, 4)
	if w.core.profiles.named(pairOf(1, 9)) != nil {
		t.Error("there is a profile to a rack that is not")
	}
}

// TestBadEVsOfJobs: an EV that a host has found bad is not bad any more in a profile that was taken
// back, and made again.
func TestBadEVsOfJobs(t *testing.T) {
	w := newBed(t, 1, func(c *Config) {
		c.Profiles, c.Explicit = "jobs", true
	}).clos(2, 4, 2, 2).start()
	bad := func() int {
		w.core.SetTalk([]*ready.Need{needOf(1, 2)})
		w.pump()
		s, ok := w.core.Profile(pairOf(1, 2))
		if !ok {
			t.Fatal("there is no profile")
		}
		return len(s.AssumedBad)
	}
	bad()
	profiles, _ := w.held()
	if err := w.core.EVEvents(hostName(1, 1), &hostapi.EVEvents{Events: []hostapi.EVEvent{{
		Profile: pairOf(1, 2), EV: profiles[pairOf(1, 2)].EVs[0], State: hostapi.EVAssumedBad,
	}}}); err != nil {
		t.Fatal(err)
	}
	if n := bad(); n != 1 {
		t.Errorf("%d EVs are bad, want 1", n)
	}
	w.core.SetTalk(nil)
	w.pump()
	if n := bad(); n != 0 {
		t.Errorf("%d EVs of a new profile are bad, want none", n)
	}
}

// TestProfilesOfJobsAndLosses: a link that was lost before a job began is denied in its profiles.
func TestProfilesOfJobsAndLosses(t *testing.T) {
	w := newBed(t, 1, ofJobs).clos(2, 4, 2, 2).start()
	w.core.SetTalk(nil)
	w.pump()
	w.run(time.Second)
	links := w.both(leafID(1, 1), spineID(1, 1))
	w.remove(links)
	w.core.SetTalk([]*ready.Need{needOf(1, 2)})
	w.pump()
	if w.check(isOf(links), none) == 0 {
		t.Error("nothing is denied")
	}
	w.restore(links)
	w.run(5 * time.Second)
	if n := w.check(never, none); n != 0 {
		t.Errorf("%d EVs are denied when the link is back", n)
	}
}

// TestAllProfiles: where all pairs have profiles, jobs change nothing.
func TestAllProfiles(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 4, 2, 2).start()
	var all []string
	for from := range 4 {
		for to := range 4 {
			all = append(all, pairOf(from+1, to+1))
		}
	}
	w.talk([]*ready.Need{needOf(1, 2)}, all)
	w.talk(nil, all)
}

// TestProfilesOfJobsOutliveTheCore: the next controller tells hosts nothing before it knows who
// talks, and has tried the links of these; what they hold then is what they held.
func TestProfilesOfJobsOutliveTheCore(t *testing.T) {
	needs := []*ready.Need{needOf(1, 2), needOf(2, 3)}
	first := newBed(t, 1, ofJobs).clos(2, 4, 2, 2).start()
	first.core.SetTalk(needs)
	first.pump()
	first.run(time.Second)
	before, _ := first.held()

	w := newBed(t, 2, ofJobs).clos(2, 4, 2, 2)
	w.core.Tick(0)
	w.core.SetTopology(w.net.Build())
	w.core.InSync()
	for _, name := range slices.Sorted(maps.Keys(w.made)) {
		w.hello(name, hostapi.Version{Epoch: epoch - 1, Number: 9})
	}
	w.pump()
	w.run(30 * time.Second)
	if len(w.sets) != 0 {
		t.Fatalf("hosts are told something before it is known who talks: %v", w.sets)
	}
	w.core.SetTalk(needs)
	w.pump()
	if len(w.sets) != 0 {
		t.Fatalf("hosts are told something before links were tried: %v", w.sets)
	}
	w.silent = true
	w.run(time.Second)
	if len(w.sets) != 0 || len(w.probes) == 0 {
		t.Fatalf("hosts are told something before links were tried, by %d probes: %v", len(w.probes),
			w.sets)
	}
	w.silent = false
	w.run(5 * time.Second) // the links of the fourth leaf hold nobody up
	if len(w.sets) != len(w.made) {
		t.Errorf("%d hosts are told, want %d", len(w.sets), len(w.made))
	}
	after, _ := w.held()
	if !maps.EqualFunc(before, after, (*hostapi.Profile).Equal) {
		t.Errorf("hosts hold %v, want %v", after, before)
	}
}
