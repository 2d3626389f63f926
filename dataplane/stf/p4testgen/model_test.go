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
	for _, keep := range lists {
		path, err := writeModel("../../../p4", filepath.Join(dir, keep), keep)
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
		if !strings.Contains(all, "NoVerifyChecksum(), "+modelIngress+"(),") {
			t.Errorf("%s: the program's ingress is not in the model's", keep)
		}
	}
}

// TestConvert: entries of the tables that only a model has become what they stand for.
func TestConvert(t *testing.T) {
	got, err := convert(`# p4testgen seed: 1
# Table ModelIngress.fabric.admission.port
add "ModelIngress.fabric.a.port" "port":0x0BB "ModelIngress.fabric.a.set"("vrf":0x0001)

add "ModelIngress.copies" "group":0x0041 "ModelIngress.copy"("to_rid":0x0102,"to_port":0x1FD)
add "ModelIngress.fabric.stored_cells" "index":0x10 "ModelIngress.fabric.v"("value":0x80)
packet 187 00112233
expect 4 00**$
`)
	want := `add "FabricIngress.a.port" "port":0x0BB "FabricIngress.a.set"("vrf":0x0001)
mc_mgrp_create 65
mc_node_create 258 509
mc_node_associate 65 0
register_write cells 16 128
packet 187 00112233
expect 4 00**$
`
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}
