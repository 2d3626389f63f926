package resource

import (
	"strconv"

	"github.com/weft-sdn/weft/store"
)

// Versions gives versions, which grow with every change of any resource and are
// never given twice, also not for a resource that was deleted.
type Versions struct {
	key     string
	last    uint64
	changed bool
}

// NewVersions returns versions that begin at 1 and are kept in the record of a
// key.
func NewVersions(key string) *Versions { return &Versions{key: key} }

// Load takes a record; ok is false when its key is another.
func (v *Versions) Load(r store.Record) (ok bool, err error) {
	if r.Key != v.key {
		return false, nil
	}
	n, err := strconv.ParseUint(string(r.Value), 10, 64)
	v.seen(n)
	return true, err
}

// seen keeps a version from being given.
func (v *Versions) seen(n uint64) { v.last = max(v.last, n) }

// Next returns a version.
func (v *Versions) Next() uint64 {
	v.last, v.changed = v.last+1, true
	return v.last
}

// Changes returns the write that keeps the last version, if it has changed.
func (v *Versions) Changes() []store.Op {
	if !v.changed {
		return nil
	}
	v.changed = false
	r := v.Record()
	return []store.Op{{Key: r.Key, Value: r.Value}}
}

// Record is the record of the last version.
func (v *Versions) Record() store.Record {
	return store.Record{Key: v.key, Value: strconv.AppendUint(nil, v.last, 10)}
}
