package reconcile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
)

// Keys of the records: each guarded owner with claims has a record, and each switch that was ever
// read.
const (
	claimPrefix  = "claims/"
	orphanPrefix = "orphans/"
)

// claimRecord defines where an owner may have entities.
type claimRecord struct {
	Object   string   `json:"object"`
	Switches []string `json:"switches"`
}

// orphanRecord is about the orphans of an owner on a switch. Keys are there only when the owner
// also has a claim on the switch: without one, everything that is not wanted is an orphan.
type orphanRecord struct {
	Owner Owner       `json:"owner"`
	Since time.Time   `json:"since"`
	Keys  []entry.Key `json:"keys,omitempty"`
}

type switchRecord struct {
	Orphans []orphanRecord `json:"orphans,omitempty"`
}

var (
	_ = store.Form[claimRecord](claimPrefix)
	_ = store.Form[switchRecord](orphanPrefix)
)

// records returns which records must be written again.
type records struct {
	claims   map[Owner]bool
	switches map[string]bool
	saved    map[string]string // values of switch records
}

func newRecords() records {
	return records{claims: make(map[Owner]bool), switches: make(map[string]bool),
		saved: make(map[string]string)}
}

// load takes a record of an earlier controller, if the record belongs to the package.
func (r *reconciler) load(rec store.Record) error {
	if owner, is := strings.CutPrefix(rec.Key, claimPrefix); is {
		return r.ledger.loadClaim(owner, rec.Value)
	}
	if sw, is := strings.CutPrefix(rec.Key, orphanPrefix); is {
		return r.ledger.loadOrphans(sw, rec.Value)
	}
	return nil
}

func (l *ledger) loadClaim(owner string, value []byte) error {
	o, err := strconv.Atoi(owner)
	if err != nil {
		return fmt.Errorf("owner %q: want a number", owner)
	}
	var x claimRecord
	if err := json.Unmarshal(value, &x); err != nil {
		return err
	}
	c := &claim{object: x.Object, switches: make(map[string]bool)}
	for _, sw := range x.Switches {
		c.switches[sw] = true
	}
	l.claims[Owner(o)] = c
	return nil
}

func (l *ledger) loadOrphans(sw string, value []byte) error {
	var x switchRecord
	if err := json.Unmarshal(value, &x); err != nil {
		return err
	}
	l.orphans[sw] = make(map[Owner]*orphans)
	for _, s := range x.Orphans {
		loaded := make(map[entry.Key]bool)
		for _, k := range s.Keys {
			loaded[k] = true
		}
		l.orphans[sw][s.Owner] = &orphans{since: s.Since, loaded: loaded}
		l.count[s.Owner]++
	}
	l.records.saved[sw] = string(value)
	return nil
}

func claimKey(o Owner) string { return claimPrefix + strconv.Itoa(int(o)) }

func (c *claim) encode() []byte {
	return encode(claimRecord{c.object, slices.Sorted(maps.Keys(c.switches))})
}

func (l *ledger) encode(sw string) []byte {
	var x switchRecord
	for _, o := range slices.Sorted(maps.Keys(l.orphans[sw])) {
		s := l.orphans[sw][o]
		rec := orphanRecord{Owner: o, Since: s.since}
		if l.claimed(sw, o) {
			rec.Keys = slices.AppendSeq(slices.Collect(maps.Keys(s.entities)), maps.Keys(s.loaded))
			slices.Sort(rec.Keys)
		}
		x.Orphans = append(x.Orphans, rec)
	}
	return encode(x)
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("reconcile: record cannot be written: %v", err)) // plain structs of our own
	}
	return b
}
