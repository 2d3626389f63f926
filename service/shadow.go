package service

import (
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/store"
)

// newShadow returns a shadow of the resources that clients created, and the shadow's view for the
// API. Every controller has a shadow, because the store may not yet keep the latest knowledge of
// the decider.
func newShadow(s store.Store, log *slog.Logger) (*store.Shadow, northbound.Kept) {
	kinds := append(controller.Kinds(), mrc.Kinds()...)
	kinds = slices.DeleteFunc(kinds, func(k *kind.Kind) bool { return !k.Creates })
	prefixes := make([]string, len(kinds))
	for i, k := range kinds {
		prefixes[i] = k.Prefix
	}
	shadow := store.NewShadow(s, prefixes...)
	var out northbound.Kept
	for _, k := range kinds {
		last := kept(shadow, log, k)
		out.Kinds = append(out.Kinds, northbound.KeptKind{Kind: k, Last: last})
		if k.Spec == reflect.TypeFor[api.ProjectSpec]() {
			out.Members = func() *access.Projects { return membersOf(last().Items) }
		}
	}
	return shadow, out
}

// membersOf returns projects with their members.
func membersOf(projects []any) *access.Projects {
	specs := make(map[string]api.ProjectSpec)
	for _, x := range projects {
		p := x.(api.Project)
		specs[p.Name] = p.Spec
	}
	return access.NewProjects(specs)
}

// kept returns what gives the last reading of a kind. A record that cannot be read is left out and
// logged: no controller that decides starts with it.
func kept(shadow *store.Shadow, log *slog.Logger, k *kind.Kind) func() northbound.Reading {
	var mu sync.Mutex
	var last northbound.Reading
	return func() northbound.Reading {
		now, ok := shadow.Of(k.Prefix)
		if !ok {
			return northbound.Reading{}
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case now.At.Before(last.At): // another request has seen a later one
		case now.Revision == last.Revision && !last.At.IsZero():
			last.At = now.At
		default:
			items := make([]any, 0, len(now.Records))
			last = northbound.Reading{Items: items, Revision: now.Revision, At: now.At}
			for _, record := range now.Records {
				r, err := k.Stored(record)
				if err != nil {
					log.Error("a record cannot be read", "reason", err)
					continue
				}
				last.Items = append(last.Items, r)
			}
		}
		return last
	}
}
