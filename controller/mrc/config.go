package mrc

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
)

// Config is what a Core starts with: the configuration of the network, whose defaults are those of
// [inventory.DefaultMRC], and what a process adds to it.
type Config struct {
	// MRC has a mode.
	inventory.MRC
	// Epoch is the epoch of the versions that hosts are sent. A host that holds a version of another
	// epoch has the state of an earlier controller.
	Epoch uint64
	// Start is the wall-clock time at which the core's time is 0: statuses and events have wall-clock
	// times.
	Start time.Time
}

// Validate returns an error of kind ErrConfig that names what cannot be used.
func (c *Config) Validate() error {
	if c.Epoch == 0 {
		return fmt.Errorf("%w: epoch 0, want another number after every start", ErrConfig)
	}
	if err := c.MRC.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}
