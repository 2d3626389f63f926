package resource

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// controllerBed is the controller around the resources of a test. It allows no spec "foreign", and
// notes what it settles.
type controllerBed struct{ settled []string }

func (c *controllerBed) Wall() time.Time { return time.Unix(1e9, 0) }

func (c *controllerBed) Allow(_ Kind, _ string, spec any, _ Precondition) error {
	if spec == "foreign" {
		return &api.Error{Code: api.CodeForbidden}
	}
	return nil
}

func (c *controllerBed) Settle(k Kind, name string, spec any) {
	c.settled = append(c.settled, fmt.Sprint(k.Prefix, name, " ", spec))
}

// TestWritten: a change that is refused changes nothing and settles nothing; the spec that a
// resource has keeps its version; what a client writes or deletes is kept before it settles.
func TestWritten(t *testing.T) {
	all, _, err := collection()
	if err != nil {
		t.Fatal(err)
	}
	bed, changed := &controllerBed{}, 0
	w := Written[string, decision, string]{All: all, Env: bed,
		Decide: func(old, next *Item[string, decision], pre Precondition) error {
			next.Spec = strings.ToLower(next.Spec)
			switch {
			case old != nil && old.Spec == next.Spec:
				return ErrUnchanged
			case next.Spec == "bad" || pre.By == "nobody":
				return &api.Error{Code: api.CodeInvalid}
			case old != nil && next.Decided != old.Decided:
				t.Errorf("%+v has not what was decided before, %+v", next, old)
			}
			next.Decided.VRF++
			return nil
		},
		View: func(i *Item[string, decision]) string {
			return fmt.Sprintf("%s %d %s %d, settled %d times", i.Name, i.Version, i.Spec, i.Decided.VRF,
				len(bed.settled))
		},
		Gone: func(i *Item[string, decision], _ Precondition) error {
			if i.Spec == "used" {
				return &api.Error{Code: api.CodeConflict}
			}
			return nil
		},
		Changed: func() { changed += 10*all.Len() + 1 },
	}
	for _, c := range []struct {
		name, spec string // no spec: it is deleted
		pre        Precondition
		code       api.Code
		want       string
		changed    int
	}{
		{"a", "Used", Precondition{}, "", "a 1 used 1, settled 1 times", 11},
		{"a", "used", Precondition{}, "", "a 1 used 1, settled 2 times", 11},
		{"a", "bad", Precondition{}, api.CodeInvalid, "a 1 used 1, settled 2 times", 11},
		{"a", "foreign", Precondition{}, api.CodeForbidden, "a 1 used 1, settled 2 times", 11},
		{"a", "other", Precondition{Version: 2}, api.CodeVersion, "a 1 used 1, settled 2 times", 11},
		{"a", "", Precondition{}, api.CodeConflict, "a 1 used 1, settled 2 times", 11},
		{"-", "x", Precondition{}, api.CodeInvalid, "", 11},
		{"b", "bad", Precondition{}, api.CodeInvalid, "", 11},
		{"b", "", Precondition{}, api.CodeNotFound, "", 11},
		{"a", "other", Precondition{Version: 1}, "", "a 2 other 2, settled 3 times", 22},
		{"a", "", Precondition{Version: 1}, api.CodeVersion, "a 2 other 2, settled 3 times", 22},
		{"a", "", Precondition{}, "", "", 23},
	} {
		had, _ := Find(all, c.name)
		var created bool
		if c.spec == "" {
			err = w.Delete(c.name, c.pre)
		} else {
			_, created, err = w.Put(c.name, c.spec, c.pre)
		}
		got, _ := w.Get(c.name)
		if code(err) != c.code || got != c.want || changed != c.changed ||
			created != (had == nil && err == nil) {
			t.Errorf("%s %q: %v, created %v, changed %d; %q, want %q", c.name, c.spec, err, created,
				changed, got, c.want)
		}
	}
	want := []string{"tenants/a used", "tenants/a used", "tenants/a other", "tenants/a <nil>"}
	if !slices.Equal(bed.settled, want) || len(w.List()) != 0 {
		t.Errorf("settled %q, want %q", bed.settled, want)
	}
}
