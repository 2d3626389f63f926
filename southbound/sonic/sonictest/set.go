package sonictest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Set implements gpb.GNMIServer: one JSON Patch, which is applied whole or not at all.
func (s *Switch) Set(_ context.Context, r *gpb.SetRequest) (*gpb.SetResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets++
	next := make(map[string]Table)
	for name, t := range s.dbs["CONFIG_DB"] {
		next[name] = clone(t)
	}
	patch, err := patchOf(r, next)
	if err == nil && s.refuse != nil {
		err = s.refuse(patch)
	}
	for i := 0; err == nil && i < len(patch); i++ {
		err = patch[i].apply(next)
	}
	if err == nil {
		err = check(next)
	}
	if err != nil {
		return nil, status.Error(codes.Unknown, err.Error())
	}
	maps.DeleteFunc(next, func(_ string, t Table) bool { return len(t) == 0 })
	before := s.dbs["CONFIG_DB"]
	s.dbs["CONFIG_DB"] = next
	s.frr(before["SRV6_MY_SIDS"], next["SRV6_MY_SIDS"])
	s.apply()
	s.wake()
	if s.warts.ErrorAfter > 0 {
		s.warts.ErrorAfter--
		return nil, status.Error(codes.Unknown, "config save failed")
	}
	return &gpb.SetResponse{}, nil
}

// frr is what FRR does with SIDs that have changed: one that is new may get lost, and one that has
// gone is lost no more.
func (s *Switch) frr(before, after Table) {
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if before[key] == nil && s.warts.LoseSIDs > 0 {
			s.warts.LoseSIDs--
			s.lost[key] = true
		}
	}
	maps.DeleteFunc(s.lost, func(key string, _ bool) bool { return after[key] == nil })
}

// elems returns the elements of a path behind CONFIG_DB and the instance.
func elems(p *gpb.Path) ([]string, error) {
	if p.GetOrigin() != "sonic-db" {
		return nil, errors.New("origin conflict")
	}
	var out []string
	for _, e := range p.GetElem() {
		out = append(out, e.GetName())
	}
	if len(out) < 2 || out[0] != "CONFIG_DB" || out[1] != "localhost" {
		return nil, fmt.Errorf("set RPC does not support %v", out)
	}
	return out[2:], nil
}

// patchOf makes a JSON Patch of a Set, as the server does: what a delete names and is not there is
// left out.
func patchOf(r *gpb.SetRequest, now map[string]Table) (patch []Op, err error) {
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

// pointer returns the tokens of a JSON Pointer (RFC 6901).
func pointer(path string) []string {
	tokens := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, t := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	return tokens
}

func (o *Op) there(db map[string]Table) bool {
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

// apply carries out an operation. What it adds to must be there.
func (o *Op) apply(db map[string]Table) error {
	p := pointer(o.Path)
	if o.Op != "add" && !o.there(db) {
		return fmt.Errorf("%s %s: nothing is there", o.Op, o.Path)
	}
	switch len(p) {
	case 1:
		delete(db, p[0])
		if rows, ok := o.Value.(map[string]any); ok {
			t := make(Table)
			for key, row := range rows {
				fields, ok := row.(map[string]any)
				if !ok {
					return fmt.Errorf("%s: no row", o.Path)
				}
				t[key] = fields
			}
			db[p[0]] = t
		} else if o.Op != "remove" {
			return fmt.Errorf("%s: no table", o.Path)
		}
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

// references are fields that name rows of other tables, as the YANG models have them.
var references = []struct{ table, field, to string }{
	{"PORT_QOS_MAP", "dscp_to_tc_map", "DSCP_TO_TC_MAP"},
	{"PORT_QOS_MAP", "tc_to_queue_map", "TC_TO_QUEUE_MAP"},
	{"PORT_QOS_MAP", "tc_to_dscp_map", "TC_TO_DSCP_MAP"},
	{"QUEUE", "wred_profile", "WRED_PROFILE"},
	{"QUEUE", "scheduler", "SCHEDULER"},
	{"BUFFER_QUEUE", "profile", "BUFFER_PROFILE"},
}

// check returns which reference leads nowhere.
func check(db map[string]Table) error {
	for _, r := range references {
		for key, row := range db[r.table] {
			if name, ok := row[r.field]; ok && db[r.to][fmt.Sprint(name)] == nil {
				return fmt.Errorf("%s|%s %s: leafref to %v of %s, which is not there", r.table, key,
					r.field, name, r.to)
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
