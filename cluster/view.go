package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	// Leaving says that it is about to go in order.
	Leaving bool `json:"leaving,omitempty"`

	// Instance tells a controller from one of the same name before it: the revision of the store
	// at which it joined.
	Instance int64 `json:"instance,omitempty"`
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

// records is the cluster's part of the store.
type records struct {
	members map[string]Member // by key
	decider Decider
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
	}
	return nil
}

func (r *records) remove(key string) {
	if key == deciderKey {
		r.decider = Decider{}
	}
	delete(r.members, key)
}

func (r *records) view() View {
	v := View{Decider: r.decider}
	for _, m := range r.members {
		v.Members = append(v.Members, m)
	}
	slices.SortFunc(v.Members, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return v
}
