package simulate

import (
	"strings"
	"testing"
)

// faults are texts of scenarios, each with the faults that follow the arrow. JOB is a job.
const faults = `
jobs: []
=> line 1: jobs is empty: want one job at least
network: none.yaml
JOB
=> none.yaml: no such file
network: a.yaml
clos: {t0: 3}
=> line 2: clos is given: want no clos, or network: clos
mode: best
JOB
=> line 1: mode is best: want ecmp, stev
transport: tcp
JOB
=> line 1: transport is "tcp": want mrc or roce
transport: roce
JOB
=> line 1: transport is roce: want a fabric of one plane: H1 has 2 ports, and a RoCEv2 host has one
transport: roce
mode: stev
clos: {planes: 1}
JOB
=> line 2: mode is stev: want no mode, or ecmp, with transport roce
transport: roce
model: flows
clos: {planes: 1}
JOB
=> line 2: model is flows: want packets with transport roce
jobs: [{name: a, step: {collective: {all: broadcast-multicast}}}]
=> jobs[0].step.collective.all is broadcast-multicast: want one of [all-reduce-ring
limit: -1s
JOB
=> line 1: limit is -1s: want a time above 0
seed: x
JOB
=> line 1: seed is "x": want a whole
clos: {planes: 99}
JOB
=> line 1: clos.planes is 99: want 1 to
clos: {hostsPerT0: 99999}
JOB
=> line 1: clos.hostsPerT0 is 99999: want 1 at least, and at most
clos: {rate: fast}
JOB
=> line 1: clos.rate is "fast": want bits per second
clos: {delay: -1us}
JOB
=> line 1: clos.delay is -1µs: want 0s or more
color: red
JOB
=> line 1: color: unknown field
jobs: [{name: '', step: {}}]
=> line 1: jobs[0].name is "": want 1 to 63 letters, digits
jobs: [{name: a}, {name: a}]
=> line 1: jobs[1].name is "a": want a name that no other job has
jobs: [{name: a, steps: -1}]
=> line 1: jobs[0].steps is -1: want 1 to 1000000
jobs: [{name: a, at: -1s}]
=> line 1: jobs[0].at is -1s: want 0s or more
jobs: [{name: a, hosts: 'X[1-2]'}]
=> line 1: jobs[0].hosts is X1: want hosts of the network, H1 to H16
jobs: [{name: a, hosts: 'H[1-'}]
=> line 1: jobs[0].hosts is
jobs: [{name: a, layout: {dp: 3}}]
=> jobs[0].layout is 1 x 1 x 3 x 1: want tp x cp x dp x pp to be the number of ranks, 16
jobs: [{name: a, communicators: [{name: b, ranks: '0,0'}]}]
=> line 1: jobs[0].communicators[0].ranks is "0,0": want
jobs: [{name: a, layout: {dp: 16}, communicators: [{name: b}]}]
=> jobs[0].layout is given: want layout or communicators, and not both
jobs: [{name: a, step: {bytes: {dp: 1MiB}}}]
=> jobs[0].step.bytes is dp: want a communicator of the job: all
jobs: [{name: a, step: {collective: {all: ring}}}]
=> jobs[0].step.collective.all is ring: want one of [all-reduce-ring
jobs: [{name: a, step: {bytes: {all: 8GiB}, collective: {all: broadcast}}}]
=> step.bytes.all is 8GiB: want messages of at most 1GiB
jobs: [{name: a, hosts: 'H[1-3]', step: {bytes: {all: 1}, collective: {all: pairwise}}}]
=> jobs[0].step.collective.all is 3: want an even number of ranks for pairwise
jobs: [{name: a, step: {bytes: {all: 1GB}, compute: soon}}]
=> step.compute is "soon": want a duration
events: [{at: 1s}]
JOB
=> events[0].fail is without an action of its own: want one of fail, repair, drain and undrain
events: [{fail: plane 1, drain: switch P1-T1-1}]
JOB
=> events[0].fail is without an action of its own
events: [{fail: switch X}]
JOB
=> events[0].fail is "switch X": want a switch of the network, such as 'switch P1-T0-1'
events: [{fail: link H1 H2}]
JOB
=> events[0].fail is "link H1 H2": want a link of the network, such as 'link P1-T0-1 P1-T1-1'
events: [{fail: plane 3}]
JOB
=> want the number of a plane, from 1
events: [{fail: host X}]
JOB
=> want a host of the network, such as 'host H1'
events: [{fail: everything}]
JOB
=> want 'link A B', 'switch A', 'host H1' or 'plane 2'
events: [{drain: host H1}]
JOB
=> events[0].drain is "host H1": want 'link A B', 'switch A' or 'plane 2'
jobs: [{name: a, priority: 1001}]
=> line 1: jobs[0].priority is 1001: want 0 to 1000
maintenances: [{name: a, from: 2ms, until: 1ms, objects: [plane 1]}]
JOB
=> line 1: maintenances[0].until is 1ms: want a time after from and at, 2ms
maintenances: [{name: a b, until: 1ms, objects: [plane 1]}]
JOB
=> line 1: maintenances[0].name is "a b": want 1 to 63 letters, digits
maintenances: [{name: a, until: 1ms, objects: [plane 1]}, {name: a, until: 1ms, objects: [plane 1]}]
JOB
=> line 1: maintenances[1].name is "a": want a name that no other maintenance has
maintenances: [{name: a, until: 1ms}]
JOB
=> line 1: maintenances[0].objects is empty: want one object at least
maintenances: [{name: a, until: 1ms, objects: [plane 7]}]
JOB
=> line 1: maintenances[0].objects[0] is "plane 7": want the number of a plane
maintenances: [{name: a, until: 1ms, objects: [host H1]}]
JOB
=> line 1: maintenances[0].objects[0] is "host H1": want 'link A B', 'switch A' or 'plane 2'
maintenances: [{name: a, at: -1s, from: -1s, lead: -1s, until: 1ms, objects: [plane 1]}]
JOB
=> maintenances[0].at is -1s: want 0s or more
events: [{fail: plane 1, at: -1s}]
JOB
=> events[0].at is -1s: want 0s or more
events: [{fail: switch P1-T1-1, loss: 0.1}]
JOB
=> events[0].fail is "switch P1-T1-1": want a link that fails, with loss, corrupt and delay, or a
model: flows
events: [{fail: plane 1, loss: 0.1}]
JOB
=> events[0].fail is "plane 1": want a link that fails, with loss, corrupt and delay, or a plane
events: [{fail: plane 1, loss: 0.1, direction: a-b}]
JOB
=> events[0].direction is a-b: want a-b, b-a or both
expect: [{job: a, share: [0.5, 0.2]}]
JOB
=> expect[0].share is [0.5 0.2]: want the least share from 0 to 1, or the least and the most
expect: [{job: a, share: [0.5, 1.1]}]
JOB
=> expect[0].share is [0.5 1.1]: want the least share from 0 to 1, or the least and the most
expect: [{job: a, share: [-0.1]}]
JOB
=> expect[0].share is [-0.1]: want the least share from 0 to 1, or the least and the most
events: [{fail: link P1-T0-1 P1-T1-1, loss: 1.1}]
JOB
=> events[0].loss is 1.1: want a share from 0 to 1
events: [{fail: link P1-T0-1 P1-T1-1, delay: 11s}]
JOB
=> events[0].delay is 11s: want 0s to 10s
events: [{fail: link P1-T0-1 P1-T1-1, direction: a-b}]
JOB
=> events[0].direction is a-b: want a-b, b-a or both, with loss, corrupt or delay
expect: [{job: b, ends: 1s}]
JOB
=> expect[0].job is "b": want the name of a job
expect: [{job: a}]
JOB
=> expect[0].stepIncrease is without a limit: want stepIncrease, share or ends
expect: [{job: a, ends: 1s, between: [1s, 2s]}]
JOB
=> expect[0].between is [1s 2s]: want two times, the earlier first, and stepIncrease
expect: [{job: a, ends: -1s}]
JOB
=> expect[0].ends is -1s: want a time above 0
`

// TestFaults: a scenario that cannot run names the line, the field, the value and what would be
// right.
func TestFaults(t *testing.T) {
	text, cases := "", 0
	for line := range strings.Lines(faults[1:]) {
		want, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "=> ")
		if !is {
			text += strings.Replace(line, "JOB", "jobs: [{name: a, step: {bytes: {all: 1MiB}}}]", 1)
			continue
		}
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s  %v\n  want %s", text, err, want)
		}
		text = ""
		cases++
	}
	if cases < 40 {
		t.Errorf("%d cases", cases)
	}
}

// TestBounds: what a run would take for days is refused before it begins.
func TestBounds(t *testing.T) {
	_, err := Parse([]byte(`
model: packets
clos: {planes: 1, t0: 32, t1: 1, hostsPerT0: 32}
jobs:
- name: a
  step: {bytes: {all: 1GiB}, collective: {all: all-reduce-tree}}
- name: b
  step: {bytes: {all: 1023GiB}, collective: {all: all-reduce-tree}}
`))
	if err == nil || strings.Contains(err.Error(), "jobs[0]") ||
		!strings.Contains(err.Error(), "jobs[1].step.bytes.all is") ||
		!strings.Contains(err.Error(), "at most 4194304 messages a step") {
		t.Error(err)
	}
}

// FuzzParse: no text of a scenario makes the reader panic.
func FuzzParse(f *testing.F) {
	f.Add("clos: {planes: 2}\njobs: [{name: a, layout: {dp: 16}, step: {bytes: {dp: 1MiB}}}]")
	f.Add("jobs: [{name: a}]\nevents: [{at: 1s, fail: plane 2}]\nexpect: [{job: a, ends: 1s}]")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "network") {
			t.Skip("it may name a file")
		}
		_, _ = Parse([]byte(text))
	})
}
