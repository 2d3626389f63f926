//go:build linux

package libmrc_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/abi.txt and src/layout.c anew")

var (
	comments   = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	directives = regexp.MustCompile(`(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*\n`)
	externC    = regexp.MustCompile(`extern "C" \{`)
	enums      = regexp.MustCompile(`(?s)enum (\w+)\s*\{(.*?)\}\s*;`)
	prototypes = regexp.MustCompile(`(?s)(?:^|[;}])\s*((?:struct \w+ \*|int |void )\s*\**` +
		`(mrc_\w+)\([^;{}]*\))\s*;`)
	macros = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(MRC_\w+)[ \t]`)
)

// header is what a header declares.
type header struct {
	macros, enums, enumerators []string
	structs                    map[string][]string // members, with dots for those of members
	functions                  map[string]string   // prototypes
}

// parse reads C headers in the style of this project: no function pointers, no bit fields.
func parse(t *testing.T, prefix string, files ...string) *header {
	t.Helper()
	h := &header{structs: make(map[string][]string), functions: make(map[string]string)}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text := comments.ReplaceAllString(string(b), " ")
		for _, m := range macros.FindAllStringSubmatch(text, -1) {
			h.macros = append(h.macros, m[1])
		}
		text = externC.ReplaceAllString(directives.ReplaceAllString(text, ""), "")
		for _, m := range enums.FindAllStringSubmatch(text, -1) {
			h.enums = append(h.enums, m[1])
			for _, e := range strings.Split(m[2], ",") {
				if name, _, _ := strings.Cut(e, "="); strings.TrimSpace(name) != "" {
					h.enumerators = append(h.enumerators, strings.TrimSpace(name))
				}
			}
		}
		text = enums.ReplaceAllString(text, ";")
		for rest := text; ; {
			at := regexp.MustCompile(`struct (` + prefix + `\w+)\s*\{`).FindStringSubmatchIndex(rest)
			if at == nil {
				break
			}
			body := block(rest[at[1]:])
			h.structs[rest[at[2]:at[3]]] = members(body)
			rest = rest[at[1]+len(body):]
		}
		for rest := text; ; {
			m := prototypes.FindStringSubmatchIndex(rest)
			if m == nil {
				break
			}
			h.functions[rest[m[4]:m[5]]] = strings.Join(strings.Fields(rest[m[2]:m[3]]), " ")
			rest = rest[m[1]-1:]
		}
	}
	slices.Sort(h.macros)
	h.macros = slices.Compact(h.macros)
	return h
}

// block is the text before the brace that ends a block.
func block(text string) string {
	depth := 1
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:i]
			}
		}
	}
	return text
}

var declarator = regexp.MustCompile(`(\w+)\s*(?:\[[^\]]*\])?\s*$`)

// members returns the members of a struct body; the members of an untagged inner struct follow the
// inner struct.
func members(body string) []string {
	var all []string
	for rest := strings.TrimSpace(body); rest != ""; rest = strings.TrimSpace(rest) {
		semicolon, brace := strings.Index(rest, ";"), strings.Index(rest, "{")
		if brace >= 0 && brace < semicolon {
			inner := block(rest[brace+1:])
			after := rest[brace+1+len(inner)+1:]
			name, tail, _ := strings.Cut(after, ";")
			name = strings.TrimSpace(name)
			all = append(all, name)
			for _, m := range members(inner) {
				all = append(all, name+"."+m)
			}
			rest = tail
			continue
		}
		if semicolon < 0 {
			break
		}
		for _, d := range strings.Split(rest[:semicolon], ",") {
			if m := declarator.FindStringSubmatch(d); m != nil {
				all = append(all, m[1])
			}
		}
		rest = rest[semicolon+1:]
	}
	return all
}

// facts is a program that prints what a header's names stand for.
func facts(h *header, include string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#include <stddef.h>\n#include <stdio.h>\n%s\nint main(void)\n{\n", include)
	for _, m := range h.macros {
		if !strings.HasSuffix(m, "_UNPOPULATED") && !strings.HasSuffix(m, "_") {
			fmt.Fprintf(&b, "\tprintf(\"define %s %%lld\\n\", (long long)(%s));\n", m, m)
		}
	}
	for _, e := range h.enums {
		fmt.Fprintf(&b, "\tprintf(\"enum %s %%zu %%d\\n\", sizeof(enum %s), (enum %s)-1 < 0);\n", e, e, e)
	}
	for _, e := range h.enumerators {
		fmt.Fprintf(&b, "\tprintf(\"%s %%lld\\n\", (long long)%s);\n", e, e)
	}
	for _, s := range sorted(h.structs) {
		fmt.Fprintf(&b, "\tprintf(\"struct %s %%zu\\n\", sizeof(struct %s));\n", s, s)
		for _, m := range h.structs[s] {
			fmt.Fprintf(&b, "\tprintf(\"struct %s %s %%zu %%zu\\n\", offsetof(struct %s, %s), "+
				"sizeof(((struct %s *)0)->%s));\n", s, m, s, m, s, m)
		}
	}
	b.WriteString("\treturn 0;\n}\n")
	return b.String()
}

func sorted[T any](m map[string]T) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// output compiles and runs a program that includes headers of a folder.
func output(t *testing.T, include, code string) string {
	t.Helper()
	cc := compiler(t)
	c, bin := filepath.Join(t.TempDir(), "p.c"), filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(c, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, cc, "-std=gnu11", "-w", "-I"+include, "-o", bin, c)
	return run(t, bin)
}

// TestABI: the headers of OCP and ours declare the same functions, and the same names stand for the
// same values, sizes and offsets. The folder of OCP's repository is OCP_MRC_DIR.
func TestABI(t *testing.T) {
	theirs := os.Getenv("OCP_MRC_DIR")
	if theirs == "" {
		t.Skip("OCP_MRC_DIR does not name OCP's headers")
	}
	files := []string{"mrc_api_ver.h", "mrc_ctl_api_ver.h", "mrc.h", "mrc_ctl.h"}
	var headers [2]*header
	for i, dir := range []string{theirs, "include"} {
		var paths []string
		for _, f := range files {
			paths = append(paths, filepath.Join(dir, f))
		}
		headers[i] = parse(t, "mrc_", paths...)
	}
	h := headers[0]
	if len(h.functions) != 41 || len(headers[1].functions) != 41 {
		t.Fatalf("%d functions of OCP, %d of ours, want 41", len(h.functions), len(headers[1].functions))
	}
	if len(h.structs) < 15 || len(h.enumerators) < 60 {
		t.Fatalf("%d structs, %d enumerators", len(h.structs), len(h.enumerators))
	}
	const both = "#include <mrc.h>\n#include <mrc_ctl.h>"
	for _, version := range []string{"", "#define MRC_CTL_API_VER_USED 0x01000000\n"} {
		old, ours := *h, *headers[1]
		if version != "" {
			old.structs, ours.structs = without(old.structs), without(ours.structs)
		}
		code := facts(&old, version+both)
		a, b := output(t, theirs, code), output(t, "include", code)
		if a != b {
			t.Errorf("%sfrom OCP:\n%s\nours:\n%s", version, difference(a, b), difference(b, a))
		}
		// A fact that only our headers have would change the ABI.
		code = facts(&ours, version+both)
		if a, b := output(t, theirs, code), output(t, "include", code); a != b {
			t.Errorf("%sours:\n%s\nfrom OCP:\n%s", version, difference(b, a), difference(a, b))
		}
	}
	// Declarations of one function that differ do not compile.
	var redeclared strings.Builder
	redeclared.WriteString(both + "\n")
	for _, f := range sorted(h.functions) {
		redeclared.WriteString(h.functions[f] + ";\n")
	}
	output(t, "include", redeclared.String()+"int main(void) { return 0; }\n")
}

// without is the structs of the API before the state of EV events.
func without(structs map[string][]string) map[string][]string {
	old := make(map[string][]string)
	for k, m := range structs {
		if k == "mrc_ctl_ev_event" {
			m = slices.DeleteFunc(slices.Clone(m), func(s string) bool { return s == "state" })
		}
		old[k] = m
	}
	return old
}

// difference is the lines that only a has.
func difference(a, b string) string {
	var only []string
	for _, line := range strings.Split(a, "\n") {
		if !slices.Contains(strings.Split(b, "\n"), line) {
			only = append(only, line)
		}
	}
	return strings.Join(only, "\n")
}

// TestABIKept: what the headers declare is what it was. testdata/abi.txt has the values of machines
// with 64 bits.
func TestABIKept(t *testing.T) {
	h := parse(t, "mrc_", "include/mrc_api_ver.h", "include/mrc_ctl_api_ver.h", "include/mrc.h",
		"include/mrc_ctl.h")
	code := facts(h, "#include <mrc.h>\n#include <mrc_ctl.h>")
	golden(t, "testdata/abi.txt", output(t, "include", code))
}

// TestLayout: src/layout.c, the reference for the other end, lists every member of nic.h.
func TestLayout(t *testing.T) {
	h := parse(t, "nic_", "src/nic.h")
	h.macros, h.enums, h.enumerators = nil, nil, append([]string{"NIC_VERSION", "NIC_MAX_MESSAGE",
		"NIC_MAX_PORTS", "NIC_DOORBELL_SIZE", "NIC_DIRTY_WORDS", "NIC_RING_ENTRIES", "NIC_MAX_SGE",
		"NIC_MAX_INLINE", "NIC_MAX_FIELDS", "NIC_MAX_ENTRIES"}, h.enumerators...)
	if len(h.structs) < 25 || len(h.enumerators) < 30 {
		t.Fatalf("%d structs, %d values", len(h.structs), len(h.enumerators))
	}
	const what = "/*\n * Prints the values of nic.h, and of each struct its size, and offset and " +
		"size of each member: for\n * the other end to compare. Written by " +
		"go test ./libmrc -run Layout -update.\n */\n"
	code := what + facts(h, "#include \"nic.h\"")
	golden(t, "src/layout.c", code)
	if out := output(t, "src", code); !strings.Contains(out, "struct nic_cqe 64\n") ||
		!strings.Contains(out, "struct nic_cqe index 40 4\n") {
		t.Error(out)
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s has, and should not:\n%s\nand should have:\n%s", path,
			difference(string(want), got), difference(got, string(want)))
	}
}
