package sonicdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Op is an operation of a JSON Patch (RFC 6902).
type Op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// elems returns the elements of a path behind CONFIG_DB and the instance.
func elems(p *gpb.Path) ([]string, error) {
	if p.GetOrigin() != origin {
		return nil, errors.New("origin conflict")
	}
	out := names(p)
	if len(out) < 2 || out[0] != ConfigDB || out[1] != instance {
		return nil, fmt.Errorf("set RPC does not support %v", out)
	}
	return out[2:], nil
}

// names returns the elements of a path without their keys.
func names(p *gpb.Path) (out []string) {
	for _, e := range p.GetElem() {
		out = append(out, e.GetName())
	}
	return out
}

// patchOf makes a JSON Patch from a Set, like the server: patchOf leaves out deletes of missing
// paths.
func patchOf(r *gpb.SetRequest, now Database) (patch []Op, err error) {
	if translated(r) {
		return interfacePatch(r, now)
	}
	for _, p := range r.GetDelete() {
		e, err := elems(p)
		if err != nil {
			return nil, err
		}
		op := Op{Op: "remove", Path: "/" + strings.Join(e, "/")}
		if op.there(now) {
			patch = append(patch, op)
		}
	}
	for i, u := range slices.Concat(r.GetReplace(), r.GetUpdate()) {
		e, err := elems(u.GetPath())
		if err != nil {
			return nil, err
		}
		op := Op{Op: "add", Path: "/" + strings.Join(e, "/")}
		if i < len(r.GetReplace()) {
			op.Op = "replace"
		}
		text := u.GetVal().GetJsonIetfVal()
		if len(text) == 0 {
			return nil, errors.New("value encoding is not IETF JSON")
		}
		if err := json.Unmarshal(text, &op.Value); err != nil {
			return nil, err
		}
		patch = append(patch, op)
	}
	return patch, nil
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// pointer returns the tokens of a JSON Pointer (RFC 6901).
func pointer(path string) []string {
	tokens := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, t := range tokens {
		tokens[i] = unescape.Replace(t)
	}
	return tokens
}

func (o *Op) there(db Database) bool {
	p := pointer(o.Path)
	t, ok := db[p[0]]
	if len(p) > 1 && ok {
		var row map[string]any
		if row, ok = t[p[1]]; ok && len(p) > 2 {
			_, ok = row[p[2]]
		}
	}
	return ok && len(p) <= 3
}

// apply carries out an operation. The parent of an added value must exist.
func (o *Op) apply(db Database) error {
	p := pointer(o.Path)
	if o.Op != "add" && !o.there(db) {
		return fmt.Errorf("%s %s: nothing is there", o.Op, o.Path)
	}
	switch len(p) {
	case 1:
		return o.applyTable(db, p[0])
	case 2:
		if db[p[0]] == nil {
			return fmt.Errorf("member %q not found in the document", p[0])
		}
		delete(db[p[0]], p[1])
		if fields, ok := o.Value.(map[string]any); ok {
			db[p[0]][p[1]] = fields
		} else if o.Op != "remove" {
			return fmt.Errorf("%s: no row", o.Path)
		}
	case 3:
		if db[p[0]][p[1]] == nil {
			return fmt.Errorf("member %q not found in the document", p[1])
		}
		delete(db[p[0]][p[1]], p[2])
		if o.Op != "remove" {
			db[p[0]][p[1]][p[2]] = o.Value
		}
	default:
		return fmt.Errorf("%s: a path of %d elements", o.Path, len(p))
	}
	return nil
}

// applyTable carries out an operation on a whole table.
func (o *Op) applyTable(db Database, name string) error {
	delete(db, name)
	rows, ok := o.Value.(map[string]any)
	if !ok {
		if o.Op != "remove" {
			return fmt.Errorf("%s: no table", o.Path)
		}
		return nil
	}
	t := make(Table)
	for key, row := range rows {
		fields, ok := row.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: no row", o.Path)
		}
		t[key] = fields
	}
	db[name] = t
	return nil
}

// An Updater returns the CONFIG_DB that results from a JSON Patch, or the reason why the switch
// refuses the patch. An Updater leaves the original unchanged.
type Updater func(patch []Op, now Database) (next Database, err error)

// Update is the Updater that acts like generic_config_updater of sonic-utilities: a patch is
// applied whole or not at all. The resulting CONFIG_DB must have no table without rows, because
// redis could not hold it, and no dangling reference.
func Update(patch []Op, now Database) (next Database, err error) {
	next = make(Database, len(now))
	for name, t := range now {
		next[name] = t.Clone()
	}
	for i := range patch {
		if err := patch[i].apply(next); err != nil {
			return nil, err
		}
	}
	var empty []string
	for _, name := range slices.Sorted(maps.Keys(next)) {
		if len(next[name]) == 0 {
			empty = append(empty, name)
		}
	}
	if len(empty) > 0 {
		return nil, fmt.Errorf("given patch is not valid because it will result in empty tables "+
			"which is not allowed in ConfigDb. Tables: %s", strings.Join(empty, ", "))
	}
	return next, check(next)
}

// references lists the fields that name rows of other tables, as defined by the YANG models.
var references = []struct{ table, field, to string }{
	{"PORT_QOS_MAP", "dscp_to_tc_map", "DSCP_TO_TC_MAP"},
	{"PORT_QOS_MAP", "tc_to_queue_map", "TC_TO_QUEUE_MAP"},
	{"PORT_QOS_MAP", "tc_to_dscp_map", "TC_TO_DSCP_MAP"},
	{"QUEUE", "wred_profile", "WRED_PROFILE"},
	{"QUEUE", "scheduler", "SCHEDULER"},
	{"BUFFER_QUEUE", "profile", "BUFFER_PROFILE"},
	{"BUFFER_PROFILE", "pool", "BUFFER_POOL"},
}

// ofPorts are tables whose keys begin with a port name. Other interfaces, such as port channels,
// count as existing.
var ofPorts = []string{"BUFFER_QUEUE", "INTERFACE", "PORT_QOS_MAP", "QUEUE"}

// check returns which reference leads nowhere.
func check(db Database) error {
	for _, r := range references {
		for key, row := range db[r.table] {
			if name, ok := row[r.field]; ok && db[r.to][fmt.Sprint(name)] == nil {
				return fmt.Errorf("%s|%s %s: leafref to %v of %s, which is not there", r.table, key,
					r.field, name, r.to)
			}
		}
	}
	for _, table := range ofPorts {
		for key := range db[table] {
			if name, _, _ := strings.Cut(key, "|"); strings.HasPrefix(name, "Ethernet") &&
				db["PORT"][name] == nil {
				return fmt.Errorf("%s|%s: leafref to a port that is not there", table, key)
			}
		}
	}
	for key := range db["SRV6_MY_SIDS"] {
		if locator, _, _ := strings.Cut(key, "|"); db["SRV6_MY_LOCATORS"][locator] == nil {
			return fmt.Errorf("SRV6_MY_SIDS|%s: leafref to a locator that is not there", key)
		}
	}
	return nil
}
