package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Names of what a model adds to the program.
const (
	modelIngress  = "ModelIngress"
	modelProgram  = modelIngress + ".fabric."
	programPrefix = "FabricIngress."
	copiesTable   = "copies"
	copiesOfCopy  = "copies_of_copy"
	storedPrefix  = "stored_"
)

var (
	truncation    = regexp.MustCompile(`\btruncate\([^;]*\);`)
	fieldList     = regexp.MustCompile(`@field_list\(([^)]*)\)`)
	declaredArray = regexp.MustCompile(`\bregister<bit<(\d+)>, *bit<32>>\(([^)]*)\) *(\w+);`)
	readOfArray   = regexp.MustCompile(`\b(\w+)\.read\((\w+), ([^;]*)\);`)
	controlHead   = regexp.MustCompile(`(?m)^control [^{]*\{`)
)

// replicationEngine is the model's ingress: one copy of a group goes on, whatever its replication
// id and port. A packet that goes round has a copy in both passes.
const replicationEngine = `control ModelIngress(inout headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t std) {
    FabricIngress() fabric;
    bit<16> rid = 0;
    bit<9> port = 0;
    bit<1> copied = 0;
    action copy(bit<16> to_rid, bit<9> to_port) { rid = to_rid; port = to_port; copied = 1; }
    table copies {
        key = { std.mcast_grp : exact @name("group"); }
        actions = { copy; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 4095;
    }
    table copies_of_copy {
        key = { std.mcast_grp : exact @name("group"); }
        actions = { copy; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 4095;
    }
    apply {
        fabric.apply(hdr, meta, std);
        if (std.mcast_grp != 0 && std.mcast_grp < 4096) {
            if (meta.pass == PASS_TLVS) {
                copies_of_copy.apply();
            } else {
                copies.apply();
            }
            if (copied == 1) {
                std.mcast_grp = 0;
                std.egress_rid = rid;
                std.egress_spec = port;
            }
        }
    }
}

`

// writeModel writes the model of the program in folder from that leads to a service into folder
// to. It returns the path of its main file.
func writeModel(from, to string, s *service) (string, error) {
	files, err := filepath.Glob(filepath.Join(from, "include", "*.p4"))
	if err != nil {
		return "", err
	}
	texts := map[string]string{}
	arrays := map[string]array{}
	for _, path := range append(files, filepath.Join(from, "fabric.p4")) {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return "", err
		}
		texts[name] = string(b)
		for _, m := range declaredArray.FindAllStringSubmatch(texts[name], -1) {
			arrays[m[3]] = array{m[1], m[2]}
		}
	}
	for name, text := range texts {
		texts[name] = modelText(text, s.keep, arrays)
	}
	if err := s.lead(texts); err != nil {
		return "", err
	}
	for name, text := range texts {
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(to, "fabric.p4"), nil
}

// modelText returns a source file as it stands in a model.
func modelText(text, keep string, arrays map[string]array) string {
	text = truncation.ReplaceAllString(text, ";")
	text = fieldList.ReplaceAllStringFunc(text, func(annotation string) string {
		of := fieldList.FindStringSubmatch(annotation)[1]
		for list := range strings.SplitSeq(of, ",") {
			if strings.TrimSpace(list) == keep {
				return "@field_list(" + keep + ")"
			}
		}
		return ""
	})
	text = storedTables(text, arrays)
	text = readOfArray.ReplaceAllString(text, storedRead("${1}", "", "${2}", "${3}", ""))
	if i := strings.Index(text, "\nV1Switch("); i >= 0 {
		end := strings.Replace(text[i+1:], "FabricIngress()", modelIngress+"()", 1)
		text = text[:i+1] + replicationEngine + end
	}
	return text
}

// storedTables gives each control a table for every register that it reads.
func storedTables(text string, arrays map[string]array) string {
	heads := controlHead.FindAllStringIndex(text, -1)
	var b strings.Builder
	done := 0
	for _, head := range heads {
		body := text[head[1]:]
		if i := strings.Index(body, "\n}"); i >= 0 {
			body = body[:i]
		}
		var names []string
		for _, m := range readOfArray.FindAllStringSubmatch(body, -1) {
			names = append(names, m[1])
		}
		for _, m := range declaredArray.FindAllStringSubmatch(body, -1) {
			names = append(names, m[3])
		}
		b.WriteString(text[done:head[1]])
		done = head[1]
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			b.WriteString(storedTable(name, "", arrays[name]))
		}
	}
	b.WriteString(text[done:])
	return b.String()
}

// An array has a register's declared width and size.
type array struct{ width, cells string }

// storedTable declares a table for the cells of a register, and everything that storedRead needs
// with the table.
func storedTable(name, suffix string, a array) string {
	return fmt.Sprintf(`
    const bit<32> cells_%[1]s = %[3]s;
    bit<32> at_%[1]s;
    bit<%[2]s> in_%[1]s;
    action value_%[1]s(bit<%[2]s> value) { in_%[1]s = value; }
    table stored_%[1]s {
        key = { at_%[1]s : exact @name("index"); }
        actions = { value_%[1]s; @defaultonly NoAction; }
        const default_action = NoAction();
    }`, name+suffix, a.width, a.cells)
}

// storedRead reads a cell of a register under a condition: the packet's own write, or the table's
// value.
func storedRead(array, suffix, to, at, condition string) string {
	name := array + suffix
	apply := "stored_" + name + ".apply();"
	if condition != "" {
		apply = "if (" + condition + ") { " + apply + " }"
	}
	return fmt.Sprintf("%s.read(%s, %s); at_%s = (bit<32>)(%s); "+
		"testgen_assume(at_%[4]s < cells_%[4]s); in_%[4]s = 0; %[6]s %[2]s = %[2]s | in_%[4]s;",
		array, to, at, name, at, apply)
}
