package p4rt

import (
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4/wire"
)

// maxIdleEntries bounds the entries in one notification.
const maxIdleEntries = 1024

// scanIdle reports the entries that have gone unmatched for their idle
// timeout. The switch restarts their timers (P4Runtime specification, "Table
// Idle Timeout Notification").
func (d *Device) scanIdle(now time.Duration) {
	r := d.active
	var (
		slab    wire.Slab
		entries []*p4v1.TableEntry
	)
	flush := func() {
		if len(entries) == 0 {
			return
		}
		d.notify(now,
			&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_IdleTimeoutNotification{
				IdleTimeoutNotification: &p4v1.IdleTimeoutNotification{TableEntry: entries,
					Timestamp: d.timestamp(now)},
			}})
		entries = nil
	}
	for x := range r.sw.IdleEntries(now) {
		var t *tableSchema
		for _, c := range r.p.tableList {
			if c.engine == x.Table {
				t = c
			}
		}
		if t == nil {
			continue
		}
		more := unpackExtra(x.Entry.Metadata)
		e := &p4v1.TableEntry{
			TableId:       t.id,
			Match:         t.key.fieldMatches(r.texts, &slab, x.Entry.Match),
			Priority:      x.Entry.Priority,
			IdleTimeoutNs: int64(x.Entry.IdleTimeout),
		}
		setControllerMetadata(e, more.controller)
		if len(more.metadata) > 0 {
			e.Metadata = more.metadata
		}
		if entries = append(entries, e); len(entries) == maxIdleEntries {
			flush()
		}
	}
	flush()
}
