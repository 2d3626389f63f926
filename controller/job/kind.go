package job

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind describes jobs. The record of a job has when its lease was renewed beside the spec.
var Kind = kind.New[api.JobSpec, api.Job](kind.About{
	Names: kind.Names{One: "job", Noun: "job"}, Prefix: "jobs/", Creates: true,
	Heading: kind.HeadingJobs, Reads: access.TenantRead, Writes: access.TenantWrite,
	Example: map[string]any{"state": api.JobRunning},
	Created: "Returns as soon as the job is accepted; its readiness has whether the fabric is ready " +
		"for it. A dry run returns what follows from who talks to whom.",
	Deleted: "What followed from the job is taken back. Its traffic goes on as long as its hosts " +
		"write.",
	Help:   "jobs: where their ranks are, and whether the fabric is ready for them",
	Events: []string{"job"},
})
