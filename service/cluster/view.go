package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/store"
)

// Keys of the records.
const (
	prefix       = "cluster/"
	memberPrefix = prefix + "members/"
	deciderKey   = prefix + "decider"
	ownerPrefix  = prefix + "owners/"
)

var (
	_ = store.Form[Member](memberPrefix)
	_ = store.Form[Decider](deciderKey)
	_ = store.Form[Owner](ownerPrefix)
)

// Member is a controller, as its record says.
type Member struct {
	Name string `json:"name"`
	// API, Peers and Hosts give host:port of the controller's API, of the listener for controllers,
	// and of the listener for hosts. Hosts is empty without an MRC fabric.
	API   string `json:"api"`
	Peers string `json:"peers"`
	Hosts string `json:"hosts,omitempty"`
	// Release is the version of the controller's program, and Schema the version of the records that
	// the program can read; 0: the release did not report a schema.
	Release string    `json:"release"`
	Schema  int       `json:"schema,omitempty"`
	Started time.Time `json:"started"`
	// Joined is when its lease began.
	Joined time.Time `json:"joined"`
	// Leaving reports whether it is about to stop in order.
	Leaving bool `json:"leaving,omitempty"`
	// Alarm describes a fault of the controller that all must know of; nil: there is none.
	Alarm *Alarm `json:"alarm,omitempty"`
	// Reaches has this controller's known reach to other controllers, by name.
	Reaches map[string]Reach `json:"reaches,omitempty"`

	// Instance distinguishes a controller from an earlier controller of the same name: the store's
	// revision at the time of joining.
	Instance int64 `json:"instance,omitempty"`
	// First names the oldest instance since whose start, to this controller's knowledge, a controller
	// has always run: of its own first lease, or of the controllers that were present then.
	First int64 `json:"first,omitempty"`
}

// Alarm describes a fault of a controller. A controller without an alarm decides instead, if one
// exists.
type Alarm struct {
	// Full reports that the controller's part of the store has no room: no controller can then store
	// anything new.
	Full bool `json:"full,omitempty"`
	// Message describes the fault, in a sentence.
	Message string `json:"message"`
}

// Same reports whether two alarms are of the same kind. Same ignores the messages, because they
// count octets and change often.
func (a *Alarm) Same(b *Alarm) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Full == b.Full)
}

// Decider identifies the deciding controller, as the decider's record says.
type Decider struct {
	Name     string `json:"name"`
	Instance int64  `json:"instance"`
	// Since is when the controller became the decider.
	Since time.Time `json:"since"`

	// Term is the revision of the record.
	Term int64 `json:"-"`
}

// View holds a controller's knowledge of all controllers.
type View struct {
	// Members are sorted by name.
	Members []Member
	// Decider is zero without a decider.
	Decider Decider
	// Owners maps the name of each switch to its owner. The map does not change.
	Owners map[string]Owner
	// Instance is this controller's instance; 0 while the controller has no lease.
	Instance int64
	// Until is when this controller's lease ends, unless the lease is renewed.
	Until time.Time
}

// Member returns a member by its name.
func (v *View) Member(name string) (Member, bool) {
	for _, m := range v.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

// Full returns name and message from a controller whose part of the store has no room.
func (v *View) Full() (name, why string, full bool) {
	for _, m := range v.Members {
		if m.Alarm != nil && m.Alarm.Full {
			return m.Name, m.Alarm.Message, true
		}
	}
	return "", "", false
}

// records is the cluster's part of the store.
type records struct {
	members map[string]Member // by key
	decider Decider
	// deciderAt is the revision of the newest known write or deletion of the decider's record. An
	// event may be older: a controller knows its own writes before the watch delivers them.
	deciderAt int64
	owners    map[string]Owner // by the name of the switch
}

func newRecords() records {
	return records{members: make(map[string]Member), owners: make(map[string]Owner)}
}

func (r *records) set(rec store.Record) error {
	switch {
	case rec.Key == deciderKey:
		d := Decider{Term: rec.Revision}
		if err := json.Unmarshal(rec.Value, &d); err != nil {
			return fmt.Errorf("record %s: %w", rec.Key, err)
		}
		r.decides(d, rec.Revision)
	case strings.HasPrefix(rec.Key, memberPrefix):
		var m Member
		if err := json.Unmarshal(rec.Value, &m); err != nil {
			return fmt.Errorf("record %s: %w", rec.Key, err)
		}
		m.Instance = cmp.Or(m.Instance, rec.Revision)
		m.First = cmp.Or(m.First, m.Instance)
		r.members[rec.Key] = m
	case strings.HasPrefix(rec.Key, ownerPrefix):
		o := Owner{Revision: rec.Revision}
		if err := json.Unmarshal(rec.Value, &o); err != nil {
			return fmt.Errorf("record %s: %w", rec.Key, err)
		}
		r.owners[strings.TrimPrefix(rec.Key, ownerPrefix)] = o
	}
	return nil
}

func (r *records) remove(rec store.Record) {
	if rec.Key == deciderKey {
		r.decides(Decider{}, rec.Revision)
	}
	delete(r.members, rec.Key)
	delete(r.owners, strings.TrimPrefix(rec.Key, ownerPrefix))
}

// decides notes who decides since a revision, unless a newer change is known.
func (r *records) decides(d Decider, revision int64) {
	if revision > r.deciderAt {
		r.decider, r.deciderAt = d, revision
	}
}

func (r *records) view() View {
	return View{Decider: r.decider, Owners: maps.Clone(r.owners), Members: r.sorted()}
}

// sorted returns the members in the order of their names.
func (r *records) sorted() []Member {
	return slices.SortedFunc(maps.Values(r.members), func(a, b Member) int {
		return cmp.Compare(a.Name, b.Name)
	})
}
