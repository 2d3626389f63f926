package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModel: a model has no truncation, one field list, a table for each register that a control
// reads, and the replication engine around the program's ingress.
func TestModel(t *testing.T) {
	dir := t.TempDir()
	for i := range services {
		s := &services[i]
		keep := s.keep
		path, err := writeModel("../../../p4", filepath.Join(dir, services[i].name), &services[i])
		if err != nil {
			t.Fatal(err)
		}
		all := ""
		for _, glob := range []string{path, filepath.Join(filepath.Dir(path), "include", "*.p4")} {
			files, err := filepath.Glob(glob)
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, file := range files {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				all += string(b)
			}
		}
		if i := strings.Index(all, "truncate("); i >= 0 {
			t.Errorf("%s: truncate remains", keep)
		}
		for _, m := range fieldList.FindAllStringSubmatch(all, -1) {
			if m[1] != keep {
				t.Errorf("%s: field list %s remains", keep, m[1])
			}
		}
		reads, tables := strings.Count(all, ".read("), strings.Count(all, "table "+storedPrefix)
		if applied := strings.Count(all, ".apply(); "); reads == 0 || applied < reads || tables < 10 {
			t.Errorf("%s: %d reads, %d tables of registers applied %d times", keep, reads, tables,
				applied)
		}
		if strings.Contains(all, "ingress_global_timestamp") {
			t.Errorf("%s: time remains", s.name)
		}
		want := len(s.never) + len(s.require) + 2 + reads +
			strings.Count(all, "testgen_assume(cell")
		for _, e := range s.edits {
			want += strings.Count(e.new, "testgen_assume(") - strings.Count(e.new, ".read(") -
				strings.Count(e.new, "testgen_assume(cell")
		}
		if got := strings.Count(all, "testgen_assume("); got != want {
			t.Errorf("%s: %d assumptions, want %d", s.name, got, want)
		}
		if !strings.Contains(all, "NoVerifyChecksum(), "+modelIngress+"(),") {
			t.Errorf("%s: the program's ingress is not in the model's", keep)
		}
	}
}

// TestLead: a service names the parts of the program to avoid, and the parts that it needs; a part
// missing in the program is refused.
func TestLead(t *testing.T) {
	program := func() map[string]string {
		return map[string]string{
			"fabric.p4": "control FabricIngress(a b) {\n apply {\n" +
				" parser_verdict.apply(meta);\n admission.apply(hdr);\n" +
				" routing.apply(hdr);\n }\n}\ncontrol FabricEgress() { apply { next_hop.apply(); } }\n",
			"include/a.p4": " state one { }\n state two { }\n" +
				" action drop(@of(b) bit<8> a) { x = std.ingress_global_timestamp; }\n",
		}
	}
	texts := program()
	s := service{
		name: "a", never: []string{"two", "drop"}, skip: []string{"routing", "next_hop"},
		require: map[string]string{"": "first", "admission": "sound"},
		edits:   []edit{{"{ }", "{ ; }"}},
	}
	if err := s.lead(texts); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"fabric.p4": assumption + "control FabricIngress(a b) {\n apply {\n" +
			"  testgen_assume(first); parser_verdict.apply(meta);\n" +
			" admission.apply(hdr); testgen_assume(sound); \n" +
			" ;\n }\n}\ncontrol FabricEgress() { apply { ; } }\n",
		"include/a.p4": " state one { ; }\n state two { testgen_assume(false); ; }\n" +
			" action drop(@of(b) bit<8> a) { testgen_assume(false); x = " +
			timestamp + "; }\n",
	}
	for name, text := range want {
		if texts[name] != text {
			t.Errorf("%s is\n%s\nwant\n%s", name, texts[name], text)
		}
	}
	for what, s := range map[string]service{
		"states or actions three": {never: []string{"three"}},
		"does not apply connect":  {skip: []string{"connect"}},
		"not apply multicast":     {require: map[string]string{"multicast": "x"}},
		`has no "z"`:              {edits: []edit{{"z", "y"}}},
	} {
		if err := s.lead(program()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v, want one with %q", s, err, what)
		}
	}
}

// TestConvert: entries of tables found only in a model turn into the objects that they stand for.
func TestConvert(t *testing.T) {
	got, err := convert(`# p4testgen seed: 1
# Table ModelIngress.fabric.admission.port
add "ModelIngress.fabric.a.port" "port":0x0BB "ModelIngress.fabric.a.set"("vrf":0x0001)

add "ModelIngress.copies" "group":0x0041 "ModelIngress.copy"("to_rid":0x0102,"to_port":0x1FD)
add "ModelIngress.copies_of_copy" "group":0x42 "ModelIngress.copy"("to_rid":0x0103,"to_port":0x1FC)
add "ModelIngress.fabric.stored_cells" "index":0x10 "ModelIngress.fabric.v"("value":0x80)
add "ModelIngress.fabric.stored_cells_17" "index":0x11 "ModelIngress.fabric.v"("value":0x81)
packet 187 00112233
expect 4 00**$
`)
	want := `add "FabricIngress.a.port" "port":0x0BB "FabricIngress.a.set"("vrf":0x0001)
mc_mgrp_create 65
mc_node_create 258 509
mc_node_associate 65 0
mc_mgrp_create 66
mc_node_create 259 508
mc_node_associate 66 1
register_write cells 16 128
register_write cells 17 129
packet 187 00112233
expect 4 00**$
`
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}
