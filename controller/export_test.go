package controller

import (
	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Try makes a change on a copy of the core.
func (c *Core) Try(change func(*Core) error) ([]intent.SwitchChange, error) {
	return c.fork().run(change)
}

// Difference is difference.
func Difference(before, after map[entry.Key]entry.Entity) []intent.EntityUpdate {
	return difference(before, after)
}
