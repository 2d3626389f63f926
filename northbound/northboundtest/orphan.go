package northboundtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// Orphans returns those of Strays that were not deleted.
func (f *Controller) Orphans(context.Context) ([]api.Orphan, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return slices.Clone(f.Strays), f.Fail
}

// Orphan returns the one of a name.
func (f *Controller) Orphan(_ context.Context, name string) (api.Orphan, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	i := slices.IndexFunc(f.Strays, func(o api.Orphan) bool { return o.Name == name })
	if i < 0 {
		return api.Orphan{}, resource.NotFound(fmt.Sprintf("orphan %q", name))
	}
	return f.Strays[i], nil
}

// DeleteOrphan deletes the one of a name. A trial would remove one entry.
func (f *Controller) DeleteOrphan(ctx context.Context, name string, pre resource.Precondition) error {
	o, err := f.Orphan(ctx, name)
	if err != nil {
		return err
	}
	f.deleteOrphans(pre, func(x api.Orphan) bool { return x.Name == o.Name })
	return nil
}

// DeleteOrphans deletes those of a switch.
func (f *Controller) DeleteOrphans(_ context.Context, sw string, pre resource.Precondition) ([]string, error) {
	if f.Inventory().Switch(sw) == nil {
		return nil, resource.NotFound(fmt.Sprintf("switch %q", sw))
	}
	return f.deleteOrphans(pre, func(o api.Orphan) bool { return o.Switch == sw }), nil
}

func (f *Controller) deleteOrphans(pre resource.Precondition, match func(api.Orphan) bool) (names []string) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for _, o := range f.Strays {
		if !match(o) {
			continue
		}
		names = append(names, o.Name)
		if pre.Trial != nil {
			pre.Trial.Changes = append(pre.Trial.Changes, api.SwitchChange{Switch: o.Switch, Updates: []api.EntityUpdate{{Type: "delete", Entity: "multicast/64"}}})
		}
	}
	if pre.Trial == nil {
		f.Strays = slices.DeleteFunc(f.Strays, match)
	}
	return names
}
