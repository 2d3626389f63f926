package controller

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Try makes a change on a copy of the core.
func (c *Core) Try(change func(*Core) error) ([]api.SwitchChange, error) {
	return c.fork().run(change)
}

// Difference is difference.
func Difference(before, after map[entry.Key]entry.Entity) []api.EntityUpdate {
	return difference(before, after)
}
