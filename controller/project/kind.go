package project

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind describes projects.
var Kind = kind.New[api.ProjectSpec, api.Project](kind.About{
	Names: kind.Names{One: "project", Noun: "project"}, Prefix: "projects/", Creates: true,
	Heading: kind.HeadingAccess, Reads: access.TenantRead, Writes: access.Administer,
	Example: map[string]any{"quotas": map[string]any{"groups": 16}},
	Created: "What is assigned is no other project's, unless both say that it is shared. " +
		"Members see their own projects.",
	Deleted: "Refused while there are resources of the project.",
	Help:    "projects, with what administrators assign to them and what is left",
	Events:  []string{"project"},
})
