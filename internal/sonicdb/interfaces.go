package sonicdb

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// ocTarget is the target for OpenConfig paths, which the management framework translates to rows.
const ocTarget = "OC-YANG"

// translated reports whether a Set is of OpenConfig.
func translated(r *gpb.SetRequest) bool { return r.GetPrefix().GetTarget() == ocTarget }

const ocInterfaces = "openconfig-interfaces:interfaces/interface/"

// interfaces returns a function that returns the values under a path of the interfaces, by the path
// of each value; nil: the path is unknown. The caller holds mu, here and when it calls the returned
// function.
func (s *Server) interfaces(at string) func() map[*gpb.Path]any {
	leaf, ok := strings.CutPrefix(at, ocInterfaces)
	if !ok {
		return nil
	}
	var of func(name string, state, config map[string]any) any
	switch leaf {
	case "state/oper-status":
		of = func(_ string, state, _ map[string]any) any {
			return map[string]any{
				"openconfig-interfaces:oper-status": strings.ToUpper(text(state, "oper_status"))}
		}
	case "config":
		of = func(name string, _, config map[string]any) any { return ocConfig(name, config) }
	case "openconfig-if-ethernet:ethernet/state":
		if !s.has("mac") {
			return nil
		}
		of = func(_ string, state, _ map[string]any) any {
			return map[string]any{"openconfig-if-ethernet:state": map[string]any{
				"mac-address": text(state, "mac")}}
		}
	default:
		return nil
	}
	parts := strings.Split(leaf, "/")
	return func() map[*gpb.Path]any {
		out := make(map[*gpb.Path]any)
		for name, state := range s.dbs[ApplDB]["PORT_TABLE"] {
			p := &gpb.Path{Elem: []*gpb.PathElem{{Name: "openconfig-interfaces:interfaces"},
				{Name: "interface", Key: map[string]string{"name": name}}}}
			for _, e := range parts {
				p.Elem = append(p.Elem, &gpb.PathElem{Name: e})
			}
			out[p] = of(name, state, s.dbs[ConfigDB]["PORT"][name])
		}
		return out
	}
}

// has reports whether the ports have a field.
func (s *Server) has(field string) bool {
	for _, state := range s.dbs[ApplDB]["PORT_TABLE"] {
		return state[field] != nil
	}
	return false
}

func text(row map[string]any, field string) string {
	if v, ok := row[field]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

func ocConfig(name string, config map[string]any) any {
	out := map[string]any{"name": name, "enabled": text(config, "admin_status") != "down"}
	if n, err := strconv.ParseUint(text(config, "mtu"), 10, 16); err == nil {
		out["mtu"] = n
	}
	if d := text(config, "description"); d != "" {
		out["description"] = d
	}
	return map[string]any{"openconfig-interfaces:config": out}
}

// interfacePatch makes a JSON Patch of a Set of settings of interfaces.
func interfacePatch(r *gpb.SetRequest, now Database) (patch []Op, err error) {
	for _, u := range slices.Concat(r.GetReplace(), r.GetUpdate()) {
		var name string
		for _, e := range u.GetPath().GetElem() {
			if e.GetKey()["name"] != "" {
				name = e.GetKey()["name"]
			}
		}
		at := strings.Join(names(u.GetPath()), "/")
		leaf, ok := strings.CutPrefix(at, ocInterfaces)
		if !ok || now["PORT"][name] == nil {
			return nil, fmt.Errorf("resource not found: %s of %q", at, name)
		}
		var v any
		if err := json.Unmarshal(u.GetVal().GetJsonIetfVal(), &v); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		field, value, err := setting(leaf, v)
		if err != nil {
			return nil, err
		}
		patch = append(patch, Op{Op: "add", Path: "/PORT/" + name + "/" + field, Value: value})
	}
	return patch, nil
}

// setting returns the PORT field for a leaf, and the text of the field's value.
func setting(leaf string, v any) (field, value string, err error) {
	switch v := v.(type) {
	case bool:
		if leaf == "config/enabled" {
			return "admin_status", map[bool]string{true: "up", false: "down"}[v], nil
		}
	case float64:
		if leaf == "config/mtu" && v == math.Trunc(v) && v >= 68 && v <= 9216 {
			return "mtu", strconv.Itoa(int(v)), nil
		}
	case string:
		if leaf == "config/description" {
			return "description", v, nil
		}
	}
	return "", "", fmt.Errorf("%s: %v is not supported, of %v", leaf, v,
		slices.Sorted(maps.Keys(settable)))
}

// settable are the leaves that can be set.
var settable = map[string]bool{"config/enabled": true, "config/mtu": true,
	"config/description": true}
