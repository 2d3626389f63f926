package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

func controllerTable(w *bytes.Buffer, controllers []api.Controller) {
	g := newGrid("CONTROLLER", "ROLE", "SINCE", "API", "OWNS", "SWITCHES", "HOSTS", "LAG", "DISK",
		"STARTED", "RELEASE", "MESSAGE")
	for i := range controllers {
		c := &controllers[i]
		name := c.Name
		if c.Self {
			name += " (asked)"
		}
		role, since, lag := string(c.Role), c.Since, ""
		switch c.Role {
		case api.RoleMissing:
			role, since = role+": "+c.Reason, c.LastContact
		case api.RoleUnreachable:
		default:
			lag = c.Lag.String()
		}
		g.row(name, role, clockTime(since), c.API, len(c.Owns), c.Switches, c.Streams, lag,
			diskText(c.Disk), clockTime(c.Started), c.Release, controllerMessage(c))
	}
	g.writeTo(w)
}

// diskText reports how a disk is: its state, and what is free.
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

// controllerMessage reports what is wrong with a controller.
func controllerMessage(c *api.Controller) string {
	var out []string
	for _, m := range []string{c.Message, c.Alarm} {
		if m != "" && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	if c.Clock != 0 {
		out = append(out, fmt.Sprintf("its clock is %s that of the controller that answers",
			access.Apart(c.Clock.D())))
	}
	return strings.Join(out, "; ")
}
