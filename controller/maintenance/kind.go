package maintenance

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind is the kind of maintenances. A record has the spec, and whether the maintenance has begun
// and ended.
var Kind = kind.New[api.MaintenanceSpec, api.Maintenance](kind.About{
	Names: kind.Names{One: "maintenance", Noun: "maintenance"}, Prefix: "maintenances/",
	Creates: true, Heading: kind.HeadingJobs, Reads: access.Read, Writes: access.Operate,
	Refusals: []int{503}, Example: map[string]any{"lead": "10m"},
	Created: "Refused (409) where a running job of a higher priority depends on an object. A dry " +
		"run has what jobs lose in status.jobs.",
	Deleted: "What was drained for it is used again, unless somebody else has drained it.",
	Help:    "maintenances: what is drained when, and what jobs lose by it",
	Events:  []string{"maintenance"},
})
