package resource

import (
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// Precondition is what a change of a resource depends on. The zero value is
// nothing.
type Precondition struct {
	// Version that the resource must have (If-Match); 0: any.
	Version uint64
	// Absent: there must be no such resource (If-None-Match: *).
	Absent bool
	// Trial, when not nil, makes the change a dry run.
	Trial *Trial
	// Sees reports whether the client may know of another resource; nil: it may know of all.
	Sees func(name string) bool
	// By is the name of the client that makes the change, "" if unknown.
	By string
}

// Visible returns the name of another resource for a message to the client: "" where it may not
// know of it.
func (p Precondition) Visible(name string) string {
	if p.Sees != nil && !p.Sees(name) {
		return ""
	}
	return name
}

// Trial makes a change a dry run: the answer is what the change would give, and
// nothing changes.
type Trial struct {
	// Changes are the updates of switches that would follow, by switch.
	Changes []api.SwitchChange
	// Takes has the losses of other resources.
	Takes []api.Taken
}

// VisibleOf returns the keys (a kind, a slash and a name) that the client may know of, and "others"
// for the rest.
func (p Precondition) VisibleOf(keys []string) (out []string) {
	hidden := false
	for _, key := range keys {
		_, name, _ := strings.Cut(key, "/")
		if p.Visible(name) == "" {
			hidden = true
			continue
		}
		out = append(out, key)
	}
	if hidden {
		out = append(out, "others")
	}
	return out
}

// Check reports whether a resource may be created or replaced. what names it in
// messages, as in `tenant "blue"`; version is 0 when there is no such resource.
// Errors are *api.Error: CodeExists, or CodeVersion, also for a version of
// what does not exist (RFC 9110 section 13.1.1).
func (p Precondition) Check(what string, version uint64) error {
	switch {
	case p.Absent && version != 0:
		return &api.Error{Code: api.CodeExists, Message: what + " exists"}
	case p.Version != 0 && version == 0:
		return &api.Error{Code: api.CodeVersion, Message: fmt.Sprintf("%s has no version %d", what,
			p.Version)}
	case p.Version != 0 && p.Version != version:
		return &api.Error{Code: api.CodeVersion, Message: fmt.Sprintf("%s has version %d, not %d", what,
			version, p.Version)}
	}
	return nil
}

// CheckExisting is Check for a change of what must exist: its deletion, say. A
// missing resource is CodeNotFound whatever the precondition (RFC 9110 section
// 13.2.1).
func (p Precondition) CheckExisting(what string, version uint64) error {
	if version == 0 {
		return NotFound(what)
	}
	return p.Check(what, version)
}

// NotFound is the error of a resource that does not exist.
func NotFound(what string) error {
	return &api.Error{Code: api.CodeNotFound, Message: "there is no " + what}
}
