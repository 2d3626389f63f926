package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
)

const (
	fabricJSON = "../../p4/fabric.json"
	fabricInfo = "../../p4/fabric.p4info.txtpb"
)

// station is the text of an update of my_station.
func station(typ string, mac byte) string {
	return fmt.Sprintf(`updates { type: %s entity { table_entry { table_id: %#x
  match { field_id: 1 exact { value: "\002\000\000\000\000\%03o" } }
  action { action { action_id: %#x } }
} } }
`, typ, p4.TableMyStationID, mac, p4.ActionAcceptStationID)
}

// files writes contents into a folder and names them.
func files(t *testing.T, entries string) Files {
	t.Helper()
	f := Files{Program: fabricJSON, P4Info: fabricInfo, Entries: filepath.Join(t.TempDir(), "w.txtpb")}
	if err := os.WriteFile(f.Entries, []byte(entries), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func stations(d *p4rt.Device) int {
	for i, table := range d.Switch().Program().Tables() {
		if strings.HasSuffix(table.Name, "."+p4.TableMyStation) {
			return d.Switch().EntryCount(i)
		}
	}
	return -1
}

func TestDevice(t *testing.T) {
	for _, c := range []struct {
		name, entries string
		want          int
	}{
		{"no request", "# nothing\n\n", 0},
		{"one", station("INSERT", 1) + station("INSERT", 2), 2},
		{"two requests", station("INSERT", 1) + "---\n# more\n" + station("DELETE", 1) +
			station("INSERT", 2) + "---\n", 1},
		{"another switch's", "device_id: 77 role: \"x\" election_id { low: 9 }\n" + station("INSERT", 1),
			1},
		{"windows", strings.ReplaceAll(station("INSERT", 1)+"---\n"+station("INSERT", 2), "\n", "\r\n"),
			2},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Device(files(t, c.entries), p4rt.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if got := stations(d); got != c.want {
				t.Errorf("%d entries, want %d", got, c.want)
			}
		})
	}
}

func TestProgramAlone(t *testing.T) {
	d, err := Device(Files{Program: fabricJSON}, p4rt.Config{ID: 3})
	if err != nil {
		t.Fatal(err)
	}
	if d.ID() != 3 || stations(d) != 0 {
		t.Errorf("device %d, %d entries", d.ID(), stations(d))
	}
}

// TestErrors: every error names the file, the place in it, and what is wrong.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := file("other.txtpb",
		`tables { preamble { id: 0x02000001 name: "x.y" alias: "y" } size: 1 }`)
	for _, c := range []struct {
		name    string
		f       Files
		want    string
		refused bool
	}{
		{"no program", Files{}, "there is no program", false},
		{"no program file", Files{Program: "nosuch.json"}, "open nosuch.json: no such file", false},
		{"bad program", Files{Program: file("a.json", "{}")}, "a.json: ", false},
		{"bad program with P4Info", Files{Program: file("a.json", "{}"), P4Info: fabricInfo}, "a.json: ",
			false},
		{"no P4Info file", Files{Program: fabricJSON, P4Info: "nosuch.txtpb"}, "open nosuch.txtpb",
			false},
		{"bad P4Info", Files{Program: fabricJSON, P4Info: file("b.txtpb", "tables {\n  frob: 1\n}")},
			"b.txtpb: not a P4Info in protobuf text form: (line 2:3): unknown field: frob", false},
		{"another P4Info", Files{Program: fabricJSON, P4Info: other},
			`fabric.json: table "x.y" of the P4Info is not in the program`, false},
		{"entries without P4Info", Files{Program: fabricJSON, Entries: "w.txtpb"},
			"w.txtpb: entries without a P4Info", false},
		{"no entries file", Files{Program: fabricJSON, P4Info: fabricInfo, Entries: "nosuch.txtpb"},
			"open nosuch.txtpb", false},
		{"syntax", files(t, station("INSERT", 1)+"---\n\nupdates {\n type: FROB\n}\n"),
			"w.txtpb: (line 8:8): invalid value for enum type: FROB", false},
		{"two in one", files(t, "device_id: 1\ndevice_id: 2\n"),
			`(line 2:1): non-repeated field "device_id" is repeated`, false},
		{"refused", files(t, station("INSERT", 1)+station("INSERT", 2)+station("INSERT", 1)),
			"w.txtpb:1: update 3 of 3 refused: ", true},
		{"refused in the second", files(t, station("INSERT", 1)+"---\n# x\n"+station("DELETE", 2)),
			"w.txtpb:7: request 2 of 2: update 1 of 1 refused: ", true},
		{"many refused", files(t, strings.Repeat(station("DELETE", 2), 12)),
			"w.txtpb:1: and 2 more of its updates refused", true},
		{"atomicity", files(t, "atomicity: 7\n"+station("INSERT", 1)),
			"w.txtpb:1: refused: atomicity 7; want CONTINUE_ON_ERROR", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Device(c.f, p4rt.Config{})
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				errors.Is(err, ErrRefused) != c.refused {
				t.Errorf("%v\nwant %q, refused: %v", err, c.want, c.refused)
			}
		})
	}
}

func FuzzEntries(f *testing.F) {
	f.Add(station("INSERT", 1) + "---\n" + station("DELETE", 1))
	f.Add("---\n---\n#\n")
	f.Fuzz(func(t *testing.T, text string) {
		requests, err := parseEntries([]byte(text))
		if err == nil {
			for _, r := range requests {
				if r.line < 1 || r.line > strings.Count(text, "\n")+1 {
					t.Fatalf("line %d", r.line)
				}
			}
		}
	})
}
