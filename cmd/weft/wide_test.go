package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestWideTables: -o wide has the columns of the table, and to their right a cell under each
// further heading, however long the cells of the table are.
func TestWideTables(t *testing.T) {
	for _, k := range kinds {
		var items []json.RawMessage
		for _, name := range []string{"a", "Łódź with a long name"} {
			item, err := json.Marshal(map[string]any{k.key: name})
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains([]string{"plane", ""}, k.key) {
				item = []byte("{}")
			}
			items = append(items, item)
		}
		var narrow, wide bytes.Buffer
		if err := k.table(&narrow, items); err != nil {
			t.Errorf("%s: %v", k.noun, err)
			continue
		}
		if err := k.wideTable(&wide, items); err != nil {
			t.Errorf("%s: %v", k.noun, err)
			continue
		}
		table, more := rowsOf(narrow.String()), rowsOf(wide.String())
		if len(table) != len(items)+1 || len(more) != len(table) {
			t.Errorf("%s: %d rows, wide %d, want %d", k.noun, len(table), len(more), len(items)+1)
			continue
		}
		at := -1
		for i := range table {
			rest, ok := strings.CutPrefix(more[i], table[i])
			if !ok {
				t.Errorf("%s: wide row %q does not begin as the table: %q", k.noun, more[i], table[i])
			}
			if k.wide == nil {
				if rest != "" {
					t.Errorf("%s has no further columns: %q", k.noun, rest)
				}
				continue
			}
			begins := len([]rune(more[i])) - len([]rune(strings.TrimLeft(rest, " ")))
			if at < 0 {
				at = begins
			} else if begins != at {
				t.Errorf("%s: row %d of the further columns begins at %d, want %d", k.noun, i, begins, at)
			}
		}
		if k.wide == nil {
			continue
		}
		cells, err := k.wide.cells(items[0])
		if err != nil || len(cells) != len(k.wide.heading) {
			t.Errorf("%s: %d cells under %d headings, %v", k.noun, len(cells), len(k.wide.heading), err)
		}
	}
}

// TestLinkConclusions: the wide table of links says what loses packets, and in which direction.
func TestLinkConclusions(t *testing.T) {
	for want, of := range map[string]api.LinkConclusion{
		"blackHole, this direction": {Kind: "blackHole", Direction: "one"},
		"grey, the other direction": {Kind: "grey", Direction: "other"},
		"grey, both directions":     {Kind: "grey", Direction: "both"},
		"loses packets":             {},
	} {
		var l api.Link
		l.Status.Truth = &api.LinkTruth{Concluded: &of}
		if row := linkMore(&l); !slices.Contains(row, any(want)) {
			t.Errorf("%+v is shown as %v, want %s", of, row, want)
		}
	}
}
