package agent

import "github.com/weft-sdn/weft/api/hostapi"

// SetShare is what Config.Share sets.
func (c *Core) SetShare(f func(*hostapi.State) *hostapi.State) { c.share = f }

// Lost returns how many events and results were dropped.
func (o *Outbox) Lost() (events, results uint64) { return o.lost.events, o.lost.results }
