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

// Member is a controller, as its record says.
type Member struct {
	Name string `json:"name"`
	// API, Peers and Hosts are host:port of its API, of its listener for other controllers, and of
	// that for hosts; the last is empty without an MRC fabric.
	API   string `json:"api"`
	Peers string `json:"peers"`
	Hosts string `json:"hosts,omitempty"`
	// Release is the version of its program.
	Release string    `json:"release"`
	Started time.Time `json:"started"`
	// Joined is when its lease began.
	Joined time.Time `json:"joined"`
	// Leaving reports whether it is about to stop in order.
	Leaving bool `json:"leaving,omitempty"`
	// Alarm describes a fault of the controller that all must know of; nil: there is none.
	Alarm *Alarm `json:"alarm,omitempty"`

	// Instance distinguishes a controller from an earlier one of the same name: the revision of the
	// store at which it joined.
	Instance int64 `json:"instance,omitempty"`
}

// Alarm is something wrong with a controller. Another one decides, if there is one without an
// alarm.
type Alarm struct {
	// Full reports whether its part of the store has no room: nothing new is kept, at any controller.
	Full bool `json:"full,omitempty"`
	// Message describes the fault, in a sentence.
	Message string `json:"message"`
}

// Same reports whether two alarms are of the same kind; the octets that a message counts change
// often.
func (a *Alarm) Same(b *Alarm) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Full == b.Full)
}

// Decider is the controller that decides, as its record says.
type Decider struct {
	Name     string `json:"name"`
	Instance int64  `json:"instance"`
	// Since is when it became that.
	Since time.Time `json:"since"`

	// Term is the revision of the record.
	Term int64 `json:"-"`
}

// View is what a controller knows of all of them.
type View struct {
	// Members are in the order of their names.
	Members []Member
	// Decider is zero when there is none.
	Decider Decider
	// Owners are those of switches, by the name of the switch. The map does not change.
	Owners map[string]Owner
	// Instance is that of this controller; 0 while it has no lease.
	Instance int64
	// Until is when its lease ends, unless it is renewed.
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

// Full returns a controller whose part of the store has no room, and what it says of that.
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
	owners  map[string]Owner // by the name of the switch
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
		r.decider = d
	case strings.HasPrefix(rec.Key, memberPrefix):
		var m Member
		if err := json.Unmarshal(rec.Value, &m); err != nil {
			return fmt.Errorf("record %s: %w", rec.Key, err)
		}
		m.Instance = cmp.Or(m.Instance, rec.Revision)
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

func (r *records) remove(key string) {
	if key == deciderKey {
		r.decider = Decider{}
	}
	delete(r.members, key)
	delete(r.owners, strings.TrimPrefix(key, ownerPrefix))
}

// betterThan reports whether another controller than this one is there that has no alarm.
func (r *records) betterThan(self Member) bool {
	for _, m := range r.members {
		if m.Name != self.Name && m.Alarm == nil && !m.Leaving {
			return true
		}
	}
	return false
}

func (r *records) view() View {
	v := View{Decider: r.decider, Owners: maps.Clone(r.owners)}
	for _, m := range r.members {
		v.Members = append(v.Members, m)
	}
	slices.SortFunc(v.Members, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return v
}
