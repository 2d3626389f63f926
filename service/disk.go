package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/cluster"
	"github.com/weft-sdn/weft/store"
)

// diskLook is the pause between two looks at the disk, for events about it.
const diskLook = 500 * time.Millisecond

// disk returns the state of the disk that the store is on; false: it is on none of this machine.
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

// alarm returns what is wrong with the disk, which all controllers are to know; nil: nothing.
func (o *Options) alarm() *cluster.Alarm {
	d, ok := o.disk()
	if !ok || d.Reason == "" {
		return nil
	}
	return &cluster.Alarm{Full: d.State == store.DiskLow || d.State == store.DiskOut,
		Message: d.Reason}
}

// wrong reports what is wrong with the disk of a controller, or with its part of the store; "" when
// nothing is.
func (o *Options) wrong() string {
	if alarm := o.alarm(); alarm != nil {
		return alarm.Message
	}
	if err := o.Store.Writable(); err != nil {
		return err.Error()
	}
	return ""
}

// checks say whether changes are kept: the store and, where there is one, its disk.
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

// watchDisk publishes what happens to the disk of a controller that is alone, until ctx ends.
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

// writable returns why the controllers keep nothing: the store does not take it, or one of them has
// no room.
func (m *member) writable() error {
	err := m.o.Store.Writable()
	if errors.Is(err, store.ErrNoRoom) {
		return fmt.Errorf("controller %s: %w", m.self.Name, err)
	}
	if err != nil {
		return err
	}
	v, _ := m.node.View()
	if name, why, full := v.Full(); full {
		return fmt.Errorf("%w: controller %s: %s", store.ErrNoRoom, name, why)
	}
	return nil
}
