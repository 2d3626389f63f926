package port

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/damping"
	"github.com/weft-sdn/weft/internal/plain"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// decided is what the controller made of a spec: nothing that must be kept.
type decided struct{}

// A Task holds settings to write to an interface of a switch.
type Task struct {
	ID        uint64
	Switch    string
	Interface string
	Settings  gnmi.Settings
}

// Result is the outcome of a Task. Err reports that nobody knows what the switch has done.
type Result struct {
	ID      uint64
	Switch  string
	Refused []gnmi.Refusal
	Err     error
}

// intent is the progress of the spec of a port.
type intent struct {
	name string
	sw   string
	port uint32

	task     uint64 // under way; 0: none
	writing  gnmi.Settings
	written  gnmi.Settings // since the switch began to report, as far as it took them
	refused  map[gnmi.Setting]string
	failed   string // why the last write failed, or ""
	backoff  damping.Backoff
	earliest time.Duration // of the next write
	timer    bool
	settled  bool // the switch has reported what the spec wants, or took what it does not report
	drift    *api.PortDrift

	conditions api.Conditions
}

// intent returns the state of a port's spec.
func (f *Feature) intent(name string) *intent {
	if i := f.intents[name]; i != nil {
		return i
	}
	sw, port, err := ParseName(name)
	if err != nil {
		sw = "" // a record that nobody has written
	}
	i := &intent{name: name, sw: sw, port: port, refused: make(map[gnmi.Setting]string)}
	f.intents[name] = i
	return i
}

// ParseName reads the name of a port: that of its switch, a slash, and its number.
func ParseName(name string) (sw string, port uint32, err error) {
	sw, number, _ := strings.Cut(name, "/")
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || sw == "" || n == 0 || n > p4.MaxLinkPort || strconv.FormatUint(n, 10) != number {
		return "", 0, api.Refuse([]api.FieldError{{
			Field: "name", Code: api.CodeInvalid, Value: strconv.Quote(name),
			Want: fmt.Sprintf("the name of a switch, a slash and a port from 1 to %d", p4.MaxLinkPort),
		}})
	}
	return sw, uint32(n), nil
}

// check looks at the specs of a switch's ports again.
func (f *Feature) check(sw string) {
	for _, name := range slices.Sorted(maps.Keys(f.intents)) {
		if i := f.intents[name]; i.sw == sw {
			f.settle(i)
		}
	}
}

// wants returns the settings of a spec.
func wants(s *api.PortSpec) gnmi.Settings {
	return gnmi.Settings{Enabled: s.Enabled, Speed: s.Speed, MTU: s.MTU, Description: s.Description}
}

// settle writes what a switch lacks of a spec, and brings the conditions up to date.
func (f *Feature) settle(i *intent) {
	item := f.resources.Get(i.name)
	if item == nil {
		return
	}
	want := wants(&item.Spec)
	s := f.switches[i.sw]
	switch {
	case s == nil || s.Interfaces == nil:
		why := "the switch has not reported its ports by gNMI"
		if s != nil && s.Err != nil {
			why = plain.Error(s.Err)
		}
		i.written, i.settled = gnmi.Settings{}, false
		f.report(i, false, api.ReasonDisconnected, why)
		return
	case s.byPort[i.port] == nil:
		f.report(i, false, api.ReasonNoSuchPort, fmt.Sprintf("the switch reports no port %d", i.port))
		return
	case s.Err != nil:
		i.written = gnmi.Settings{}
		f.report(i, false, api.ReasonDisconnected, plain.Error(s.Err))
		return
	}
	has := s.byPort[i.port].Config
	// Settings that the switch does not report count as written.
	for _, x := range has.Missing() {
		has.Take(x, &i.written)
	}
	var lacks []gnmi.Setting
	for _, x := range has.Differ(&want) {
		if i.refused[x] == "" {
			lacks = append(lacks, x)
		}
	}
	if len(lacks) == 0 {
		i.settled = len(i.refused) == 0
		f.reportSettled(i)
		return
	}
	if i.task != 0 {
		return
	}
	if i.settled { // it was as wanted, and nobody has changed the spec since
		i.settled = false
		f.drifted(i, &has, &want, lacks)
	}
	if f.env.Now < i.earliest {
		f.wake(i)
		f.report(i, false, api.ReasonInstalling,
			"written again at "+f.env.Start.Add(i.earliest).UTC().Format(time.RFC3339))
		return
	}
	f.write(i, s.byPort[i.port].Name, want.Only(lacks))
}

// write hands out a task.
func (f *Feature) write(i *intent, iface string, settings gnmi.Settings) {
	f.lastTask++
	i.task, i.writing = f.lastTask, settings
	f.tasks = append(f.tasks, Task{ID: i.task, Switch: i.sw, Interface: iface, Settings: settings})
	// The next one waits, longer with each: somebody else may write the port too.
	iv := &f.env.Inventory().Intervals
	i.backoff.Failed(f.env.Now, iv.RetryMax.D())
	i.earliest = f.env.Now + i.backoff.Hold(iv.RetryMin.D(), iv.RetryMax.D())
	f.report(i, false, api.ReasonInstalling, "")
}

// wake has a port looked at when its next write may begin.
func (f *Feature) wake(i *intent) {
	if i.timer {
		return
	}
	i.timer = true
	f.timers.Set(i.earliest, func() {
		i.timer = false
		if f.intents[i.name] == i {
			f.settle(i)
		}
	})
}

// Tasks returns the tasks since the last call.
func (f *Feature) Tasks() []Task {
	out := f.tasks
	f.tasks = nil
	return out
}

// Done takes the outcome of a task. One that is not awaited any more is ignored.
func (f *Feature) Done(r Result) {
	for _, i := range f.intents {
		if i.sw != r.Switch || i.task != r.ID {
			continue
		}
		i.task, i.failed = 0, ""
		if r.Err != nil {
			i.failed = plain.Error(r.Err)
			f.report(i, false, api.ReasonDeviceError, i.failed)
			f.wake(i)
			return
		}
		refused := make(map[gnmi.Setting]bool)
		for _, x := range r.Refused {
			refused[x.Setting] = true
			i.refused[x.Setting] = plain.Error(x.Err)
			f.env.Event(api.EventPortChanged, i.name, fmt.Sprintf("refused %s: %s", x.Setting,
				i.refused[x.Setting]), nil,
				api.EventFields{State: api.StateRefused, Reason: i.refused[x.Setting]})
		}
		for _, x := range i.writing.Present() {
			if !refused[x] {
				i.written.Take(x, &i.writing)
			}
		}
		if len(i.refused) > 0 {
			f.retryRefused(i)
		}
		// The present report may be from before the write: the switch has until then to report anew.
		if s := f.switches[i.sw]; s != nil && s.byPort[i.port] != nil {
			f.wake(i)
			item := f.resources.Get(i.name)
			if has := s.byPort[i.port].Config; item != nil {
				for _, x := range has.Missing() {
					has.Take(x, &i.written)
				}
				want := wants(&item.Spec)
				if len(has.Differ(&want)) == 0 || len(i.refused) > 0 {
					f.settle(i)
				}
			}
		}
		return
	}
}

// retryRefused has refused settings written again after a while: the switch may run another version
// by then.
func (f *Feature) retryRefused(i *intent) {
	f.timers.Set(f.env.Now+f.env.Inventory().Intervals.RetryMax.D(), func() {
		if f.intents[i.name] == i && len(i.refused) > 0 {
			clear(i.refused)
			f.settle(i)
		}
	})
}

// drifted notes that a switch has changed settings by itself.
func (f *Feature) drifted(i *intent, has, want *gnmi.Settings, settings []gnmi.Setting) {
	var texts []string
	for _, x := range settings {
		got, known := has.Value(x)
		if !known {
			got = "unknown"
		}
		wanted, _ := want.Value(x)
		texts = append(texts, fmt.Sprintf("%s is %s, not %s", x, got, wanted))
	}
	d := &api.PortDrift{Time: f.env.Wall(), Message: strings.Join(texts, ", "), Count: 1}
	if i.drift != nil {
		d.Count = i.drift.Count + 1
	}
	i.drift = d
	f.env.Event(api.EventPortChanged, i.name, "drifted: "+d.Message, nil,
		api.EventFields{State: api.StateDrifted, Reason: d.Message})
}

// report sets the conditions of a port that does not match its spec.
func (f *Feature) report(i *intent, programmed bool, reason, message string) {
	now := f.env.Wall()
	i.conditions.Set(api.Programmed, programmed, reason, message, now)
	switch {
	case reason == api.ReasonInstalling && i.drift != nil && i.drift.Time.Equal(now):
		i.conditions.Set(api.Degraded, true, api.ReasonDrifted, i.drift.Message, now)
	case reason == api.ReasonDisconnected, reason == api.ReasonDeviceError,
		reason == api.ReasonNoSuchPort:
		i.conditions.Set(api.Degraded, true, reason, message, now)
	case programmed:
		i.conditions.Set(api.Degraded, false, api.ReasonInstalled, "", now)
	case i.conditions.Find(api.Degraded) == nil:
		i.conditions.Set(api.Degraded, false, reason, "", now)
	}
}

// reportSettled sets the conditions of a port that has all settings its switch accepts.
func (f *Feature) reportSettled(i *intent) {
	if len(i.refused) == 0 {
		f.report(i, true, api.ReasonInstalled, "")
		return
	}
	var texts []string
	for _, x := range slices.Sorted(maps.Keys(i.refused)) {
		texts = append(texts, fmt.Sprintf("%s: %s", x, i.refused[x]))
	}
	f.report(i, false, api.ReasonDeviceError, strings.Join(texts, "; "))
}
