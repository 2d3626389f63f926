package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// errnoName is the name of an error of the headers.
var errnoName = regexp.MustCompile(`^E(?:[A-Z]{2,}|2BIG)$`)

// TestInterface: rows API- of docs/conformance.tsv list the functions exported by lib_mrc.so, the
// attributes of all masks of mrc.h and mrc_ctl.h, and the errors that each function names: each
// once, at its header.
func TestInterface(t *testing.T) {
	rows := map[string]map[string]string{"API-F-": {}, "API-M-": {}, "API-E-": {}}
	for _, r := range readRows(t) {
		group, ok := rows[strings.TrimRight(r.id, "0123456789")]
		if !ok {
			continue
		}
		_, header, _ := strings.Cut(r.where, ", ")
		key := header + " " + r.words
		if group[key] != "" {
			t.Errorf("line %d: %s: %s has a row, %s", r.number, r.id, key, group[key])
		}
		group[key] = r.id
	}
	exported, err := os.ReadFile("../../host/libmrc/src/lib_mrc.map")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]bool{"API-F-": {}, "API-M-": {}, "API-E-": {}}
	for _, name := range regexp.MustCompile(`\bmrc_\w+;`).FindAllString(string(exported), -1) {
		name = strings.TrimSuffix(name, ";")
		header := "mrc.h"
		if strings.HasPrefix(name, "mrc_ctl_") {
			header = "mrc_ctl.h"
		}
		want["API-F-"][header+" "+name] = true
	}
	for _, header := range []string{"mrc.h", "mrc_ctl.h"} {
		text, err := os.ReadFile(filepath.Join("../../host/libmrc/include", header))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range regexp.MustCompile(`(?s)enum \w+_attr_mask \{(.*?)\};`).
			FindAllSubmatch(text, -1) {
			for _, m := range regexp.MustCompile(`(?m)^\t(MRC_\w+)`).FindAllSubmatch(e[1], -1) {
				want["API-M-"][header+" "+string(m[1])] = true
			}
		}
		for name := range strings.FieldsFuncSeq(string(text), func(c rune) bool {
			return (c < 'A' || c > 'Z') && (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '_'
		}) {
			if errnoName.MatchString(name) && name != "ERR" && name != "EXP" { // a state, a mode
				want["API-E-"][header+" "+name] = true
			}
		}
	}
	for group, names := range want {
		for name := range names {
			if rows[group][name] == "" {
				t.Errorf("no row %s of %s", group, name)
			}
		}
		for name, id := range rows[group] {
			if !names[name] {
				t.Errorf("%s: there is no %s", id, name)
			}
		}
	}
	if n := len(want["API-F-"]); n != 41 {
		t.Errorf("%d functions, want 41", n)
	}
}
