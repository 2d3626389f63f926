package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Schema is the version of the records that this program reads and writes. The version rises when a
// kind of record or a field is added, removed or changed: schema.tsv lists each kind and field with
// its version.
const Schema = 6

// ErrSchema reports that a newer program wrote the records.
var ErrSchema = errors.New("a newer release wrote the records")

// schemaKey is the key of the record about all others.
const schemaKey = "schema"

// schema is the record about all others. Every release reads it: it never changes.
type schema struct {
	Version int `json:"version"`
	// Release has raised the version to that.
	Release string `json:"release"`
}

// CheckSchema makes sure that this program can read the records of a store, and gives a store
// without any the version of this program. An error wraps [ErrSchema], and names the release that
// can read them and the way back.
func CheckSchema(ctx context.Context, s Store, release string) error {
	_, err := raiseSchema(ctx, s, release, func(version int) bool { return version == 0 })
	return err
}

// RaiseSchema raises the schema of a store to the version of this program, and returns whether it
// had to. From then on, older programs refuse the store, so all controllers of the store must be
// able to read this version. A store without a version stays unchanged. Errors are as for
// [CheckSchema].
func RaiseSchema(ctx context.Context, s Store, release string) (raised bool, err error) {
	return raiseSchema(ctx, s, release, func(version int) bool { return version > 0 })
}

// raiseSchema reads the version (0: no version), and raises it if a function returns true.
func raiseSchema(
	ctx context.Context, s Store, release string, raise func(version int) bool,
) (raised bool, err error) {
	for {
		was, revision, err := ReadSchema(ctx, s)
		if err != nil || was == Schema || !raise(was) {
			return false, err
		}
		value, err := json.Marshal(schema{Version: Schema, Release: release})
		if err != nil {
			return false, err
		}
		// Another controller may begin on the same store at the same time.
		if _, err = s.Put(ctx, schemaKey, value, revision); !errors.Is(err, ErrConflict) {
			return err == nil, err
		}
	}
}

// ReadSchema returns the schema version of a store (0: no version) and the revision of the schema
// record ([Absent]: no record). Errors are as for [CheckSchema].
func ReadSchema(ctx context.Context, s Store) (version int, revision int64, err error) {
	r, err := s.Get(ctx, schemaKey)
	switch {
	case errors.Is(err, ErrNotFound):
		return 0, Absent, nil
	case err != nil:
		return 0, 0, err
	}
	version, err = schemaOf(r)
	return version, r.Revision, err
}

// schemaOf returns the version that the record has, which this program can read.
func schemaOf(r Record) (int, error) {
	var was schema
	if err := json.Unmarshal(r.Value, &was); err != nil {
		return 0, fmt.Errorf("record %s: %w", r.Key, err)
	}
	if was.Version > Schema {
		return 0, fmt.Errorf("%w: they have schema %d, since %s; this one reads up to %d. Run that "+
			"release or a later one; or go back by restoring a backup of before the upgrade into an empty "+
			"data directory (weft restore)", ErrSchema, was.Version, was.Release, Schema)
	}
	return was.Version, nil
}
