package resource

import (
	"strconv"

	"github.com/weft-sdn/weft/store"
)

// Versions gives versions, which grow with every change of any resource and are never given twice:
// not for a deleted resource, nor for a change that the store did not keep.
//
// The record has a version that was not given yet at the time of writing. Versions up to the
// recorded version may be given once the store has the record. A successor that starts from the
// record gives higher versions, so a lost write never leads to a version given twice.
type Versions struct {
	key  string
	last uint64
	// reserved is the version in the stored record, asked the version in the record being written
	// under the number writing; 0: no version has been given yet.
	reserved, asked uint64
	writing         uint64
	changed         bool
}

// How many versions are reserved at once; when half of them have been given, the next are. A change
// gives no more than changeVersions.
const (
	reserveVersions = 1000
	changeVersions  = 8
)

// NewVersions returns versions that begin at 1 and are kept in the record of a
// key.
func NewVersions(key string) *Versions {
	store.Form[uint64](key)
	return &Versions{key: key}
}

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

// Reserve has the next call of Changes reserve versions if few are left.
func (v *Versions) Reserve() {
	if v.asked < v.last+reserveVersions/2 {
		v.asked, v.writing, v.changed = v.last+reserveVersions, 0, true
	}
}

// Hold records that the store is keeping the writes of Changes under a number.
func (v *Versions) Hold(n uint64) {
	if v.writing == 0 {
		v.writing = n
	}
}

// Kept records that the store has kept all writes up to a number.
func (v *Versions) Kept(n uint64) {
	if v.writing != 0 && v.writing <= n {
		v.reserved = v.asked
	}
}

// Room reports whether a change may be made: the versions that it gives are reserved.
func (v *Versions) Room() bool { return v.last+changeVersions <= v.reserved }

// Changes returns the write that keeps the last version, if it has changed.
func (v *Versions) Changes() []store.Op {
	if !v.changed {
		return nil
	}
	v.changed = false
	return []store.Op{{Key: v.key, Value: strconv.AppendUint(nil, max(v.last, v.asked), 10)}}
}

// Record is the record of the last version.
func (v *Versions) Record() store.Record {
	return store.Record{Key: v.key, Value: strconv.AppendUint(nil, v.last, 10)}
}
