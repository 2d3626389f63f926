package main

import (
	"slices"
	"testing"
)

// TestSameChanges holds which changes of a program mean the same, and are none: the others that a
// compiler writes alike stay.
func TestSameChanges(t *testing.T) {
	program := `{
 "field_lists": [{"elements": [{"type": "field", "value": ["scalars", "kept"]}]}],
 "parsers": [{"parse_states": [{"name": "start", "parser_ops": [
  {"op": "set", "parameters": [{"type": "field", "value": ["scalars", "parsed"]},
   {"type": "hexstr", "value": "0x00"}]}], "transitions": [
   {"type": "hexstr", "value": "0x1100", "mask": "0xff00"},
   {"type": "hexstr", "value": "0x0011", "mask": "0x00ff"},
   {"type": "hexstr", "value": "0x22", "mask": null}, {"type": "default", "value": null}]}]}],
 "actions": [
  {"name": "first", "id": 0, "primitives": [` +
		assign("a", "0x00") + `,` + assign("parsed", "0x00") + `,` + assign("kept", "0x00") + `,` +
		assign("b", "0x05") + `,` + assign("b", "0x00") + `,` +
		`{"op": "assign", "parameters": [{"type": "field", "value": ["ethernet", "type"]},
    {"type": "hexstr", "value": "0x00"}]}]},
  {"name": "left", "id": 1, "primitives": [` + assign("c", "0x01") + `]},
  {"name": "right", "id": 2, "primitives": [` + assign("c", "0x00") + `]},
  {"name": "join", "id": 3, "primitives": [` + assign("c", "0x00") + `,` +
		`{"op": "_jump_if_zero", "parameters": [{"type": "field", "value": ["scalars", "a"]},
    {"type": "hexstr", "value": "0x4"}]},` +
		assign("d", "0x01") + `,{"op": "_jump", "parameters": [{"type": "hexstr", "value": "0x5"}]},` +
		assign("d", "0x00") + `,` + assign("d", "0x00") + `]},
  {"name": "sum", "id": 4, "primitives": [` + sum("e", "0x0000", "0x00010000") + `,` +
		sum("e", "0x0000", "0x00001000") + `,` + assign("e", "0x00") + `]},
  {"name": "never", "id": 5, "primitives": [` + assign("g", "0x00") + `]}],
 "pipelines": [
  {"name": "ingress", "init_table": "first", "conditionals": [
   {"name": "if", "true_next": "left", "false_next": "right"}], "tables": [
   {"name": "first", "action_ids": [0], "next_tables": {"first": "if"}, "base_default_next": null},
   {"name": "left", "action_ids": [1], "next_tables": {"left": "join"},
    "base_default_next": "join"},
   {"name": "right", "action_ids": [2], "next_tables": {}, "base_default_next": "join"},
   {"name": "join", "action_ids": [3], "next_tables": {"join": null}, "base_default_next": null}]},
  {"name": "egress", "init_table": "sum", "conditionals": [], "tables": [
   {"name": "sum", "action_ids": [4, 2], "next_tables": {"sum": null}, "base_default_next": null}]}]
}`
	all, err := programMutants("program.json", []byte(program))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		if m.Rule == "statement" && m.From == `{"type": "hexstr", "value": "0x00"}` {
			got = append(got, m.Func+" "+m.To)
		} else if m.Rule == "constant" && m.From != `"0x00"` && m.From != `"0x0000"` {
			got = append(got, m.Func+" "+m.From)
		}
	}
	field := func(header, name string) string {
		return `{"type": "field", "value": ["` + header + `", "` + name + `"]}`
	}
	want := []string{
		`start "0x0011"`, `start "0x22"`,
		"first " + field("scalars", "parsed"), "first " + field("scalars", "kept"),
		"first " + field("scalars", "b"), `first "0x05"`, "first " + field("ethernet", "type"),
		`left "0x01"`, "right " + field("scalars", "c"), // also in egress, after it was assigned
		"join " + field("scalars", "c"), `join "0x01"`, `join "0x5"`, "join " + field("scalars", "d"),
		`sum "0x00001000"`, "sum " + field("scalars", "e"), "never " + field("scalars", "g"),
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func assign(variable, value string) string {
	return `{"op": "assign", "parameters": [{"type": "field", "value": ["scalars", "` + variable +
		`"]}, {"type": "hexstr", "value": "` + value + `"}]}`
}

func sum(variable, least, modulus string) string {
	return `{"op": "modify_field_with_hash_based_offset", "parameters": [{"type": "field",
    "value": ["scalars", "` + variable + `"]}, {"type": "hexstr", "value": "` + least +
		`"}, {"type": "calculation", "value": "calc"}, {"type": "hexstr", "value": "` + modulus + `"}]}`
}
