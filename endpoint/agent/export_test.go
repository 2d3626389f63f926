package agent

import "github.com/weft-sdn/weft/hostapi"

// SetShare is what Config.Share sets.
func (c *Core) SetShare(f func(*hostapi.State) *hostapi.State) { c.share = f }
