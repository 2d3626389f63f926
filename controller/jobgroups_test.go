package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
)

// weightsJob is a job of s1 and some others, which get weights by a group from s1. The queue pair
// of each rank is qpn; 0: they are not known.
func weightsJob(qpn uint32, others string) api.JobSpec {
	n := len(strings.Split(others, ","))
	all := fmt.Sprintf("0-%d", n)
	return api.JobSpec{Hosts: "s1," + others, Communicators: []api.JobCommunicator{
		{Name: "all", Ranks: all, Pattern: api.PatternRing},
		{Name: "weights", Ranks: all, Pattern: api.PatternBroadcast, Multicast: &api.JobMulticast{
			ProxyAddress: sample.HostAddress(0xff01), DesignatedQPN: 0xbeef, QPN: qpn}},
	}}
}

func (w *bed) putJob(name string, spec api.JobSpec) api.Job {
	w.t.Helper()
	j, _, err := w.core.Jobs().Put(name, spec, resource.Precondition{})
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// jobGroups runs, and returns the groups of a job.
func (w *bed) jobGroups(name string) []api.JobGroup {
	w.t.Helper()
	w.run(3 * time.Second)
	j, err := w.core.Jobs().Get(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return j.Status.Groups
}

func (w *bed) groupNames() (out []string) {
	for _, g := range w.core.Groups().List() {
		out = append(out, g.Name+"="+g.Job)
	}
	slices.Sort(out)
	return out
}

func (w *bed) wantGroups(want ...string) {
	w.t.Helper()
	if got := w.groupNames(); !slices.Equal(got, want) {
		w.t.Errorf("groups are %v, want %v", got, want)
	}
}

// conflict checks that a client's write was refused with the name of the job.
func conflict(t *testing.T, err error, job string) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeConflict || !strings.Contains(e.Message, job) {
		t.Errorf("the refusal is %v, want a conflict that names %s", err, job)
	}
}

// TestJobMakesGroups: a group is made for a broadcast when its queue pairs are known, follows the
// spec of the job, is edited by nobody else, and goes at the end.
func TestJobMakesGroups(t *testing.T) {
	w := up(t, sample.Figure1(), 1)
	j := w.putJob("train", weightsJob(0, "r1,r2"))
	if f := j.Status.Follows; f.Communicators != 2 || f.Pairs != 3 {
		t.Errorf("what is sent by a group is sent by pairs too: %+v", f)
	}
	if g := w.jobGroups("train"); len(g) != 1 || g[0].State != api.JobGroupWaiting ||
		!strings.Contains(g[0].Why, "queue pairs") {
		t.Errorf("without queue pairs: %+v", g)
	}
	w.wantGroups()
	w.putJob("train", weightsJob(0x100, "r1,r2"))
	if g := w.jobGroups("train"); len(g) != 1 || g[0].State != api.JobGroupProgrammed ||
		g[0].Group != "train-weights" || g[0].Receivers != 2 {
		t.Errorf("with queue pairs: %+v", g)
	}
	w.wantGroups("train-weights=train")
	w.converged()
	made := w.group("train-weights")
	w.delivers(&made.Spec)

	_, _, err := w.core.Groups().Put("train-weights", made.Spec, resource.Precondition{})
	conflict(t, err, `job "train"`)
	conflict(t, w.core.Groups().Delete("train-weights", resource.Precondition{}), `job "train"`)
	unseen := resource.Precondition{Sees: func(string) bool { return false }}
	if err := w.core.Groups().Delete("train-weights", unseen); err == nil ||
		strings.Contains(err.Error(), `"train"`) {
		t.Errorf("a stranger learns of the job: %v", err)
	}

	// Other members, and other queue pairs: the same group, in place.
	w.putJob("train", weightsJob(0x101, "r1,r2,r3"))
	if g := w.jobGroups("train"); len(g) != 1 || g[0].State != api.JobGroupProgrammed ||
		g[0].Receivers != 3 {
		t.Errorf("with one more: %+v", g)
	}
	now := w.group("train-weights")
	if w.delivers(&now.Spec); now.Spec.Source.QPN != 0x101 || now.Status.Index != made.Status.Index {
		t.Errorf("the group is %+v", now)
	}
	done := weightsJob(0x101, "r1,r2,r3")
	done.State = api.JobDone
	w.putJob("train", done)
	if g := w.jobGroups("train"); len(g) != 0 {
		t.Errorf("after the end: %+v", g)
	}
	w.wantGroups()
	w.converged()
}

// TestGroupsOfAllGather: each rank is the source of one group. Addresses and queue pairs count up
// from the first, or come from the given lists.
func TestGroupsOfAllGather(t *testing.T) {
	w := up(t, sample.Figure1(), 2)
	spec := weightsJob(0x100, "r1,r2")
	c := &spec.Communicators[1]
	c.Pattern = api.PatternAllGather
	w.putJob("j", spec)
	w.jobGroups("j")
	w.wantGroups("j-weights-0=j", "j-weights-1=j", "j-weights-2=j")
	first := w.group("j-weights-0").Spec.ProxyAddress
	for k, source := range []string{"s1", "r1", "r2"} {
		s := w.group(fmt.Sprintf("j-weights-%d", k)).Spec
		if s.Source.Address != w.net.Address(source) || s.Source.QPN != uint32(0x100+k) ||
			len(s.Receivers) != 2 || s.ProxyAddress.As16()[15] != first.As16()[15]+byte(k) {
			t.Errorf("group %d is %+v", k, s)
		}
		w.delivers(&s)
	}
	va, key := uint64(4096), uint32(7)
	m := *c.Multicast
	c.Multicast, m.QPN = &m, 0
	for i := range 9 {
		c.Multicast.QueuePairs = append(c.Multicast.QueuePairs, api.JobQueuePair{QPN: uint32(0x200 + i)})
	}
	c.Multicast.QueuePairs[5].VA, c.Multicast.QueuePairs[5].RKey = &va, &key
	w.putJob("j", spec)
	w.jobGroups("j")
	s := w.group("j-weights-1").Spec
	if r := s.Receivers[1]; s.Source.QPN != 0x204 || r.QPN != 0x205 || *r.VA != va || *r.RKey != key {
		t.Errorf("group 1 is %+v", s)
	}
	if err := w.core.Jobs().Delete("j", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	w.wantGroups()
}

// TestEqualGroupsAreOne: communicators with equal members, in one job or several, share one group,
// which goes with the last communicator.
func TestEqualGroupsAreOne(t *testing.T) {
	w := up(t, sample.Figure1(), 3)
	spec := weightsJob(0x100, "r1,r2")
	more := spec.Communicators[1]
	more.Name = "biases"
	spec.Communicators = append(spec.Communicators, more)
	w.putJob("a", spec)
	for _, g := range w.jobGroups("a") {
		if g.Group != "a-weights" || g.State != api.JobGroupProgrammed {
			t.Errorf("a group of equal members is %+v", g)
		}
	}
	w.putJob("b", weightsJob(0x100, "r1,r2"))
	if g := w.jobGroups("b"); g[0].Group != "a-weights" || g[0].State != api.JobGroupProgrammed {
		t.Errorf("a group of another job with equal members is %+v", g)
	}
	w.wantGroups("a-weights=a")
	version := w.group("a-weights").Version
	if err := w.core.Jobs().Delete("a", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.jobGroups("b")
	w.wantGroups("a-weights=b")
	if g := w.group("a-weights"); g.Version != version {
		t.Error("the group was written again for the job that is left")
	}
	w.putJob("a", weightsJob(0x100, "r1,r2")) // before b, in the order of names
	if g := w.jobGroups("a"); g[0].Group != "a-weights" || g[0].State != api.JobGroupProgrammed {
		t.Errorf("a group of the job that has come back is %+v", g)
	}
	w.wantGroups("a-weights=b")
	if err := w.core.Jobs().Delete("a", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.jobGroups("b")
	if err := w.core.Jobs().Delete("b", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.wantGroups()
}

// TestGroupsThatCannotBe: a job reports refused groups with the reason, and makes these groups once
// the obstacle is gone.
func TestGroupsThatCannotBe(t *testing.T) {
	w := up(t, sample.Figure1(), 4)
	refused := func(job, want string) {
		t.Helper()
		g := w.jobGroups(job)
		if len(g) != 1 || g[0].State != api.JobGroupRefused || !strings.Contains(g[0].Why, want) {
			t.Errorf("the groups are %+v, want one refused for %q", g, want)
		}
		if !slices.ContainsFunc(w.log, func(e api.Event) bool {
			return e.Object == job && strings.Contains(e.Message, want)
		}) {
			t.Error("no event tells so")
		}
	}
	mine := w.net.Spec(9, "s1", "r1")
	w.put("train-weights", mine)
	w.putJob("train", weightsJob(0x100, "r1,r2"))
	refused("train", "a client has made")
	if err := w.core.Groups().Delete("train-weights", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if g := w.jobGroups("train"); g[0].State != api.JobGroupProgrammed {
		t.Errorf("when nothing is in the way any more: %+v", g)
	}
	w.putJob("other", weightsJob(0x100, "r1,r3"))
	refused("other", "train-weights")
	// The last group that there may be.
	w.net.Inventory.Limits.Groups = 1
	if err := w.core.SetInventory(w.net.Inventory); err != nil {
		t.Fatal(err)
	}
	third := weightsJob(0x300, "r4,r5")
	third.Communicators[1].Multicast.ProxyAddress = sample.HostAddress(0xff77)
	w.putJob("third", third)
	refused("third", "at most 1 multicast groups")
	for _, name := range []string{"train", "other"} {
		if err := w.core.Jobs().Delete(name, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	if g := w.jobGroups("third"); g[0].State != api.JobGroupProgrammed {
		t.Errorf("when there is room: %+v", g)
	}
}

// TestGroupsOutliveTheCore: the next core does not write the groups of a job again, and knows which
// job owns each group.
func TestGroupsOutliveTheCore(t *testing.T) {
	w := up(t, sample.Figure1(), 5)
	w.putJob("train", weightsJob(0x100, "r1,r2"))
	w.jobGroups("train")
	version := w.group("train-weights").Version
	w.boot()
	writes := 0
	for _, d := range w.devices {
		d.Wrote = func(entry.Update) { writes++ }
	}
	w.core.SetTopology(w.net.Topology.Build())
	w.connectAll()
	g := w.jobGroups("train")
	if g[0].State != api.JobGroupProgrammed || g[0].Group != "train-weights" || writes != 0 ||
		w.group("train-weights").Version != version {
		t.Errorf("%d writes, groups %+v", writes, g)
	}
	w.wantGroups("train-weights=train")
	if err := w.core.Jobs().Delete("train", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.wantGroups()
}
