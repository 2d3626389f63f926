package hostlist

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/test/seeds"
)

// lists holds hostlists with the names that "scontrol show hostnames" of Slurm 22.05 prints.
var lists = []struct{ list, names string }{
	{"n1", "n1"},
	{"n[1-2,10,3]", "n1 n2 n10 n3"},
	{"n[08-11]", "n08 n09 n10 n11"},
	{"n[9-11]", "n9 n10 n11"},
	{"n[08-10,9]", "n08 n09 n10 n9"},
	{"n[98-101,5]", "n98 n99 n100 n101 n5"},
	{"n[1,002]", "n1 n002"},
	{"a[1-2]b[3-4]", "a1b3 a1b4 a2b3 a2b4"},
	{"rack[1-2]-node[01-02],login1,n1.example,n2.example",
		"rack1-node01 rack1-node02 rack2-node01 rack2-node02 login1 n1.example n2.example"},
	{"[1-2]", "1 2"},
	{"r[1-2]n[1]", "r1n1 r2n1"},
	{"p1r[1-2]n[1-2],p2r[1-2]n[1-2]", "p1r1n1 p1r1n2 p1r2n1 p1r2n2 p2r1n1 p2r1n2 p2r2n1 p2r2n2"},
	{"p[1-2]r3n[1-2]", "p1r3n1 p1r3n2 p2r3n1 p2r3n2"},
	{"p[1-2]r1n[1],p[1-2]r2n[1]", "p1r1n1 p2r1n1 p1r2n1 p2r2n1"},
}

func TestParse(t *testing.T) {
	for _, x := range lists {
		got, err := Parse(x.list, 100)
		if err != nil || strings.Join(got, " ") != x.names {
			t.Errorf("%s: %q, %v; want %s", x.list, got, err, x.names)
		}
	}
	if got, err := Parse("n[1-2].x", 100); err != nil || len(got) != 2 || got[1] != "n2.x" {
		t.Errorf("n[1-2].x: %q, %v", got, err)
	}
	// A range may grow beyond the width of its first number.
	if got, err := Parse("n[98-0100]", 100); err == nil {
		t.Errorf("98-0100: %q", got)
	}
	if got, err := Parse("n[98-100]", 100); err != nil || len(got) != 3 || got[2] != "n100" {
		t.Errorf("98-100: %q, %v", got, err)
	}
}

func TestFold(t *testing.T) {
	for _, x := range lists {
		got, err := Fold(strings.Fields(x.names))
		if err != nil || got != x.list {
			t.Errorf("%s: %q, %v; want %s", x.names, got, err, x.list)
		}
	}
	for names, want := range map[string]string{
		"":                                "",
		"b a":                             "b,a",
		"n3 n2 n1":                        "n[3,2,1]",
		"r1n1 r1n2 r2n1":                  "r1n[1-2],r2n1",
		"r1n1 r2n1 r1n2 r2n2":             "r[1-2]n[1],r[1-2]n[2]", // r[1-2]n[1-2] has another order
		"n1 n02 n3":                       "n[1,02,3]",
		"n99 n100 n101 n0102":             "n[99-101,0102]",
		"n099 n100":                       "n[099-100]",
		"n18446744073709551615x n1":       "n18446744073709551615x,n1",
		"n123456789012345678 n1":          "n[123456789012345678,1]",
		"h1.dc2.example3 h2.dc2.example3": "h[1-2].dc2.example[3]",
	} {
		got, err := Fold(strings.Fields(names))
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %s", names, got, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, x := range []struct{ list, value, want string }{
		{"", "", "a name"},
		{"a,,b", "", "between two commas"},
		{"a,", "", "between two commas"},
		{"n[1-3", "n[1-3", "']' after every '['"},
		{"n1-3]", "n1-3]", "letters, digits"},
		{"n[[1]]", "[1", "a number or a range"},
		{"n[]", "", "a number or a range"},
		{"n[1,]", "", "a number or a range"},
		{"n[2-1]", "2-1", "ends at its first number"},
		{"n[a-b]", "a-b", "a number or a range"},
		{"n[1-2-3]", "1-2-3", "a number or a range"},
		{"n[001-10]", "001-10", "same number of digits"},
		{"n[1-010]", "1-010", "same number of digits"},
		{"n[1234567890123456789]", "1234567890123456789", "at most 18 digits"},
		{"a b", "a b", "letters, digits"},
		{"h\u00fc", "h\u00fc", "letters, digits"},
		{"n[1-2],n2", "n2", "every name once"},
		{"n[1-11]", "n[1-11]", "at most 10 names"},
		{"n[1-6],m[1-6]", "n[1-6],m[1-6]", "at most 10 names"},
		{"n[1-4]m[1-4]", "n[1-4]m[1-4]", "at most 10 names"},
		{"n[0-999999999999999999]m[0-999999999999999999]", "", "at most 10 names"},
		{"a[1]b[1]c[1]", "a[1]b[1]c[1]", "at most 2 brackets"},
		{strings.Repeat("x", 256), strings.Repeat("x", 256), "at most 255 octets"},
	} {
		names, err := Parse(x.list, 10)
		var wrong *Error
		if !errors.As(err, &wrong) || names != nil || !strings.Contains(wrong.Want, x.want) ||
			x.value != "" && wrong.Value != x.value {
			t.Errorf("%q: %q, %v; want %q and a word on %q", x.list, names, err, x.want, x.value)
		}
	}
	for names, want := range map[string]string{
		"n1 n1234567890123456789": "at most 18 digits", "n1 1234567890123456789": "at most 18 digits",
		"n1 n2 n1": "every name once", "a b[1]": "letters, digits", "h\u00fc": "letters, digits",
	} {
		if got, err := Fold(strings.Fields(names)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", names, got, err, want)
		}
	}
	if _, err := Fold([]string{""}); err == nil {
		t.Error("a name of no octets was folded")
	}
}

// TestCountIsBounded: products that do not fit into 64 bits are over every bound.
func TestCountIsBounded(t *testing.T) {
	for _, list := range []string{"[0-4294967295]x[0-4294967295]", "[0-4294967295]x[0-8589934591]"} {
		p, err := parseElement(list)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := p.count(1 << 40); ok {
			t.Errorf("%s has %d names", list, n)
		}
	}
}

// TestFoldIsShort: names of a regular cluster make a list of a few octets, and come back.
func TestFoldIsShort(t *testing.T) {
	var names []string
	for pod := 1; pod <= 8; pod++ {
		for rack := 1; rack <= 16; rack++ {
			for n := 1; n <= 1024; n++ {
				names = append(names, fmt.Sprintf("pod%d-rack%02d-n%04d", pod, rack, n))
			}
		}
	}
	list, err := Fold(names)
	var pods []string
	for pod := 1; pod <= 8; pod++ {
		pods = append(pods, fmt.Sprintf("pod%d-rack[01-16]-n[0001-1024]", pod))
	}
	if want := strings.Join(pods, ","); err != nil || list != want {
		t.Fatalf("%q, %v; want %s", list, err, want)
	}
	back, err := Parse(list, len(names))
	if err != nil || !slices.Equal(back, names) {
		t.Errorf("%d names came back, %v; want %d", len(back), err, len(names))
	}
	if _, err := Parse(list, len(names)-1); err == nil {
		t.Error("one name more than the bound was parsed")
	}
}

// TestAgainstSlurm compares both directions with scontrol, where it is installed.
func TestAgainstSlurm(t *testing.T) {
	scontrol, err := exec.LookPath("scontrol")
	if err != nil {
		t.Skip("scontrol of Slurm is not installed")
	}
	conf := filepath.Join(t.TempDir(), "slurm.conf")
	text := []byte("ClusterName=c\nSlurmctldHost=localhost\n")
	if err := os.WriteFile(conf, text, 0o600); err != nil {
		t.Fatal(err)
	}
	expand := func(list string) []string {
		cmd := exec.Command(scontrol, "show", "hostnames", list)
		cmd.Env = append(os.Environ(), "SLURM_CONF="+conf)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("scontrol show hostnames %s: %v: %s", list, err, out)
		}
		return strings.Fields(string(out))
	}
	for _, x := range lists {
		if got := expand(x.list); strings.Join(got, " ") != x.names {
			t.Errorf("scontrol: %s is %q, want %s", x.list, got, x.names)
		}
	}
	first, count := seeds.Range(t, 1, 20)
	for seed := first; seed < first+count; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		names := random(r)
		list, err := Fold(names)
		if err != nil {
			t.Fatal(err)
		}
		if got := expand(list); !slices.Equal(got, names) {
			t.Errorf("seed %d: scontrol: %s is %q, want %q", seed, list, got, names)
		}
	}
}

// random returns names of up to three numbers, mostly neighbours of each other.
func random(r *rand.Rand) []string {
	var names []string
	seen := make(map[string]bool)
	for range 1 + r.IntN(40) {
		name := fmt.Sprintf("%c%0*d", 'a'+rune(r.IntN(2)), 1+r.IntN(2), 8+r.IntN(5))
		if r.IntN(2) == 0 {
			name += fmt.Sprintf("-x%d.y%02d", 1+r.IntN(3), r.IntN(3))
		}
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if r.IntN(2) == 0 {
		slices.Sort(names)
	}
	return names
}

func TestRoundTrip(t *testing.T) {
	first, count := seeds.Range(t, 1, 1000)
	for seed := first; seed < first+count; seed++ {
		names := random(rand.New(rand.NewPCG(seed, 1)))
		list, err := Fold(names)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(list, len(names))
		if err != nil || !slices.Equal(back, names) {
			t.Fatalf("seed %d: %s: %q, %v; want %q", seed, list, back, err, names)
		}
	}
}

// FuzzParse: what is parsed has no duplicates, keeps the bound, and comes back from its fold.
func FuzzParse(f *testing.F) {
	for _, x := range lists {
		f.Add(x.list)
	}
	for _, s := range []string{"", "n[1-", "n[2-1]", "n[1-99999999]", "[0-9][0-9]", "a,a",
		"n[001-10]", "n[0-0]", "n[00-100]", ",", "[", "]", "n[1]2[3]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const most = 2000
		names, err := Parse(text, most)
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) || wrong.Want == "" || names != nil {
				t.Fatalf("%q: %q, %v", text, names, err)
			}
			return
		}
		if len(names) == 0 || len(names) > most {
			t.Fatalf("%q: %d names", text, len(names))
		}
		list, err := Fold(names)
		if err != nil {
			t.Fatalf("%q: %q: %v", text, names, err)
		}
		back, err := Parse(list, most)
		if err != nil || !slices.Equal(back, names) {
			t.Fatalf("%q: %q folds to %q, which is %q, %v", text, names, list, back, err)
		}
	})
}
