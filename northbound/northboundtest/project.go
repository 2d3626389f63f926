package northboundtest

import (
	"context"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// Projects returns the projects. The fake keeps them, and checks nothing that resources name.
func (l *lossless) Projects() resource.Handle[api.ProjectSpec, api.Project] {
	return &Kind[api.ProjectSpec, api.Project]{
		All: func(context.Context) ([]api.Project, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			return slices.Collect(maps.Values(l.projects)), nil
		},
		One: func(_ context.Context, name string) (api.Project, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			return one(l.projects, "project", name)
		},
		Write: l.putProject,
		Remove: func(_ context.Context, name string, pre resource.Precondition) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.members = nil
			return remove(l.projects, "project", name, func(p api.Project) uint64 { return p.Version }, pre)
		},
	}
}

func (l *lossless) putProject(_ context.Context, name string, spec api.ProjectSpec, pre resource.Precondition) (api.Project, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, known, err := find(l.projects, "project", name, func(p api.Project) uint64 { return p.Version }, pre)
	if err == nil {
		all := func(string) bool { return true }
		err = spec.Validate(api.ProjectEnv{MaxSlice: 255, Host: all, Switch: all})
	}
	if err != nil {
		return p, false, err
	}
	p = api.Project{Name: name, Version: l.version + 1, Created: Began, Spec: spec}
	if pre.Trial == nil {
		l.version++
		l.projects[name], l.members = p, nil
	}
	return p, !known, nil
}

// Members returns the projects with their members.
func (l *lossless) Members() *access.Projects {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.members != nil {
		return l.members
	}
	specs := make(map[string]api.ProjectSpec)
	for name, p := range l.projects {
		specs[name] = p.Spec
	}
	l.members = access.NewProjects(specs)
	return l.members
}
