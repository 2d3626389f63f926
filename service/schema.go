package service

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/store"
)

// schemaLook is the pause between two looks at whether the schema can be raised.
const schemaLook = time.Second

// raiseSchema raises the schema of a store as soon as all controllers can read it, until ctx ends.
// Until then a controller of an older release may decide next.
func (m *member) raiseSchema(ctx context.Context, s store.Store) {
	said := ""
	for is := m.schema.Load(); is != 0 && is != store.Schema; is = m.schema.Load() {
		v, _ := m.node.View()
		if why := m.older(v); why == "" {
			_, err := store.RaiseSchema(ctx, s, m.o.API.Version)
			if err == nil {
				m.schema.Store(store.Schema)
				m.o.Log.Info("the schema of the store is raised: releases that cannot read it are refused",
					"from", is, "to", store.Schema)
				return
			}
			m.o.Log.Warn("raising the schema of the store", "reason", err)
		} else if why != said {
			said = why
			m.o.Log.Info("the schema of the store stays, and what is new with the next one is refused", "is",
				is, "next", store.Schema, "reason", why)
		}
		select {
		case <-time.After(schemaLook):
		case <-ctx.Done():
			return
		}
	}
}

// older returns the controllers that cannot read this controller's schema, and the missing
// controllers, whose schema is unknown; "": all read it.
func (m *member) older(v cluster.View) string {
	var out []string
	for _, c := range v.Members {
		if c.Schema < store.Schema {
			out = append(out, fmt.Sprintf("controller %s runs %s", c.Name, c.Release))
		}
	}
	for _, name := range m.expected(m.seen.known()) {
		if _, there := v.Member(name); !there {
			out = append(out, fmt.Sprintf("controller %s is missing", name))
		}
	}
	return strings.Join(out, ", ")
}

// knows returns why a record of a form cannot be kept yet: an older controller could not read it.
func (m *member) knows(form string, value []byte) error {
	version := int(m.schema.Load())
	if version == 0 {
		return nil // the store has no versions
	}
	path, added := store.Newer(form, value, version)
	if added == 0 {
		return nil
	}
	what := "the kind"
	if path != "" {
		what = "field " + path
	}
	v, _ := m.node.View()
	return fmt.Errorf("%s is new with schema %d, and the store has schema %d until all controllers "+
		"read %d: %s. Upgrade them, then try again", what, added, version, store.Schema, m.older(v))
}
