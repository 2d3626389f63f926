package main

import (
	"fmt"
	"io"

	"github.com/weft-sdn/weft/api"
)

func controllerTable(w io.Writer, controllers []api.Controller) error {
	g := newGrid("CONTROLLER", "ROLE", "SINCE", "API", "OWNS", "SWITCHES", "HOSTS", "LAG", "DISK", "STARTED", "RELEASE", "ALARM")
	for i := range controllers {
		c := &controllers[i]
		name := c.Name
		if c.Self {
			name += " (asked)"
		}
		lag := ""
		if c.Role != api.RoleUnreachable {
			lag = c.Lag.String()
		}
		g.row(name, c.Role, clockTime(c.Since), c.API, len(c.Owns), c.Switches, c.Streams, lag, diskText(c.Disk), clockTime(c.Started), c.Release, c.Alarm)
	}
	return g.writeTo(w)
}

// diskText says how a disk is: its state, and what is free.
func diskText(d *api.ControllerDisk) string {
	if d == nil {
		return ""
	}
	state := d.State
	if d.Slow {
		state += ", slow"
	}
	return fmt.Sprintf("%s, %d MiB free", state, d.Free>>20)
}
