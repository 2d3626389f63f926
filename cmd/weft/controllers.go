package main

import (
	"io"

	"github.com/weft-sdn/weft/api"
)

func controllerTable(w io.Writer, controllers []api.Controller) error {
	g := newGrid("CONTROLLER", "ROLE", "SINCE", "API", "OWNS", "SWITCHES", "HOSTS", "LAG", "STARTED", "RELEASE")
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
		g.row(name, c.Role, clockTime(c.Since), c.API, len(c.Owns), c.Switches, c.Streams, lag, clockTime(c.Started), c.Release)
	}
	return g.writeTo(w)
}
