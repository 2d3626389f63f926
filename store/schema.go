package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Schema is the version of the records that this program reads and writes. It grows when a program
// that is older would misread them.
const Schema = 2

// ErrSchema reports that a newer program wrote the records.
var ErrSchema = errors.New("a newer release wrote the records")

// schemaKey is the key of the record about all others.
const schemaKey = "schema"

// schema is the record about all others.
type schema struct {
	Version int `json:"version"`
	// Release wrote the records last.
	Release string `json:"release"`
}

// CheckSchema makes sure that this program can read the records of a store, and notes that release
// writes them from now on. An error wraps [ErrSchema] and names the release that can read them.
func CheckSchema(ctx context.Context, s Store, release string) error {
	for {
		// Another controller may begin on the same store at the same time.
		if err := checkSchema(ctx, s, release); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

func checkSchema(ctx context.Context, s Store, release string) error {
	expect := Absent
	r, err := s.Get(ctx, schemaKey)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return err
	default:
		var was schema
		if err := json.Unmarshal(r.Value, &was); err != nil {
			return fmt.Errorf("record %s: %w", schemaKey, err)
		}
		if was.Version > Schema {
			return fmt.Errorf("%w: %s, schema %d; this one reads up to %d", ErrSchema, was.Release,
				was.Version, Schema)
		}
		if was.Version == Schema && was.Release == release {
			return nil
		}
		expect = r.Revision
	}
	value, err := json.Marshal(schema{Version: Schema, Release: release})
	if err != nil {
		return err
	}
	_, err = s.Put(ctx, schemaKey, value, expect)
	return err
}
