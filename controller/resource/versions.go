package resource

import (
	"strconv"

	"github.com/weft-sdn/weft/store"
)

// Versions gives versions, which grow with every change of any resource and are never given twice:
// not for a resource that was deleted, nor for a change that the store did not keep.
//
// The record has a version that was not given yet when it was written. Versions up to there may be
// given once the store has the record, and whoever goes on from it gives higher ones: no write of a
// version can be lost in a way that has it given again.
type Versions struct {
	key  string
	last uint64
	// reserved is the version in the record that the store has, asked that of the record which is
	// being written under a number; 0: none has been given yet.
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

// Reserve has the next call of Changes reserve versions if few are left.
func (v *Versions) Reserve() {
	if v.asked < v.last+reserveVersions/2 {
		v.asked, v.writing, v.changed = v.last+reserveVersions, 0, true
	}
}

// Hold records that the writes of Changes are being kept under a number, Kept up to which number
// they have been.
func (v *Versions) Hold(n uint64) {
	if v.writing == 0 {
		v.writing = n
	}
}

// Kept is described with Hold.
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
