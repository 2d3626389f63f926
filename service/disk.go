package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/store"
)

// diskLook is the pause between two looks at the disk, for events about it.
const diskLook = 500 * time.Millisecond

// disk returns the state of the store's disk; false: the store is not on a disk of this machine.
func (o *Options) disk() (store.Disk, bool) {
	if d, ok := o.Store.(store.OnDisk); ok {
		return d.Disk()
	}
	return store.Disk{}, false
}

// Disk implements [northbound.Cluster].
func (a *alone) Disk() *api.ControllerDisk { return a.o.controllerDisk() }

// Disk implements [northbound.Cluster].
func (m *member) Disk() *api.ControllerDisk { return m.o.controllerDisk() }

// controllerDisk returns the disk for clients; nil: there is none.
func (o *Options) controllerDisk() *api.ControllerDisk {
	d, ok := o.disk()
	if !ok {
		return nil
	}
	return &api.ControllerDisk{
		State: d.State.String(), Slow: d.Slow, Reason: d.Reason, Dir: d.Dir, Free: d.Free, Total: d.Total,
		Refuse: d.Marks[0], Stop: d.Marks[1],
		Sync: api.Duration(d.Sync.Round(10 * time.Microsecond)),
	}
}

// alarm returns the fault of the disk that all controllers must know; nil: no fault.
func (o *Options) alarm() *cluster.Alarm {
	d, ok := o.disk()
	if !ok || d.Reason == "" {
		return nil
	}
	return &cluster.Alarm{Full: d.State == store.DiskLow || d.State == store.DiskOut,
		Message: d.Reason}
}

// wrong reports a fault in the controller's disk, or in its part of the store; "": no fault.
func (o *Options) wrong() string {
	if alarm := o.alarm(); alarm != nil {
		return alarm.Message
	}
	if err := o.Store.Writable(); err != nil {
		return err.Error()
	}
	return ""
}

// checks returns the readiness checks for the store and, for a store on disk, the disk.
func (o *Options) checks() []api.ReadinessCheck {
	kept := api.ReadinessCheck{Name: "store", OK: true}
	if err := o.API.Writable(); err != nil {
		kept.OK, kept.Message = false, "changes are refused: "+err.Error()
	}
	out := []api.ReadinessCheck{kept}
	if d, ok := o.disk(); ok {
		// A slow one harms the controllers that wait for it, and takes everything.
		out = append(out, api.ReadinessCheck{Name: "disk", OK: d.Reason == "", Advisory: d.Reason != "" &&
			d.State == store.DiskOK, Message: d.Reason})
	}
	return out
}

// watchDisk publishes disk events of a single controller until ctx ends.
func (s *Service) watchDisk(ctx context.Context, o *Options) {
	var was *cluster.Alarm
	ticker := time.NewTicker(diskLook)
	defer ticker.Stop()
	for {
		is := o.alarm()
		if e, ok := alarmed(o.name(), was, is); ok {
			s.publish(o, e)
		}
		was = is
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// alarmed is the event of an alarm that begins, changes or ends; false: none does.
func alarmed(name string, was, is *cluster.Alarm) (api.Event, bool) {
	if was.Same(is) {
		return api.Event{}, false
	}
	message := fmt.Sprintf("controller %s has no alarm any more", name)
	if is != nil {
		message = fmt.Sprintf("controller %s: %s", name, is.Message)
	}
	return api.Event{Time: time.Now().UTC(), Type: api.EventControllerAlarm, Object: name,
		Message: message}, true
}

// writable returns why the controllers store nothing: the store accepts no writes, the decider has
// no room, or too few of the other controllers have room.
func (m *member) writable() error {
	v, _ := m.node.View()
	name, why, short := m.short(&v)
	err := m.o.Store.Writable()
	switch {
	case errors.Is(err, store.ErrUnavailable), err != nil && !errors.Is(err, store.ErrNoRoom):
	case err != nil && (short || v.Decider.Name == "" || v.Decider.Name == m.self.Name):
	case short:
		return fmt.Errorf("%w: controller %s: %s", store.ErrNoRoom, name, why)
	default:
		return nil // another controller decides, and keeps it
	}
	if errors.Is(err, store.ErrNoRoom) {
		return fmt.Errorf("controller %s: %w", m.self.Name, err)
	}
	return err
}

// short returns a controller without room, and its message, if at most half of the controllers that
// form the store are present and have room: a write needs more than half.
func (m *member) short(v *cluster.View) (name, why string, short bool) {
	name, why, short = v.Full()
	members, roomy := m.o.Inventory.Cluster.Etcd.Members, 0
	for _, o := range v.Members {
		if _, forms := members[o.Name]; forms && (o.Alarm == nil || !o.Alarm.Full) {
			roomy++
		}
	}
	return name, why, short && roomy <= len(members)/2
}

// alarms returns the alarms reported by other controllers, including controllers that have since
// gone; "": no alarm.
func (m *member) alarms(v *cluster.View) string {
	said := make(map[string]*cluster.Alarm)
	for name, last := range m.seen.known() {
		if !last.Leaving {
			said[name] = last.Alarm
		}
	}
	for _, o := range v.Members {
		said[o.Name] = o.Alarm
	}
	delete(said, m.self.Name)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if alarm := said[name]; alarm != nil {
			out = append(out, "controller "+name+": "+alarm.Message)
		}
	}
	return strings.Join(out, "; ")
}
