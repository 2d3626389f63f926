package arch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// shown lists the folders and files that show users what to write about hosts, and the guests that
// test the hosts of Weft. lab/export tests its own output.
var shown = []string{"README.md", "clients", "deploy", "docker-compose.yml", "docs", "test/interop"}

// tolds are the only ones that tell somebody a neighbor, with the reason.
var tolds = map[string]string{
	"docs/libmrc.md": "two NICs back to back: no switch is there that could answer",
}

var (
	// writtenNeighbor matches a command that writes a neighbor, also as a list of words in a program.
	writtenNeighbor = regexp.MustCompile(
		`\bneigh(bou?rs?)?\W+(add|replace|change|append)\b|\blladdr\b|\bnud permanent\b|\barp -s\b`)
	proxyNeighbor = regexp.MustCompile(`\bneigh(bou?r)?\W+add\W+proxy\b`) // another thing
	// toldFlag is a flag of weft host or weft nic with a MAC.
	toldFlag = regexp.MustCompile(`--(gateway|mac)[ =]["']?[0-9A-Fa-f]{2}:`)
	fence    = regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```")
)

// toldIn returns what a page, a configuration or a program tells of hosts and their switches.
func toldIn(name, text string) (out []string) {
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if writtenNeighbor.MatchString(line) && !proxyNeighbor.MatchString(line) ||
			toldFlag.MatchString(line) {
			out = append(out, line)
		}
	}
	var documents []string
	switch filepath.Ext(name) {
	case ".md":
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			documents = append(documents, m[1])
		}
	case ".yaml", ".yml":
		documents = []string{text}
	}
	for _, d := range documents {
		for one := range strings.SplitSeq(d, "\n---\n") {
			var v any
			if err := yaml.Unmarshal([]byte(one), &v); err != nil {
				continue // a page may show a part of a document
			}
			out = append(out, toldBy("", v)...)
		}
	}
	return out
}

// toldBy returns the MACs of hosts, and the gateways, in a value of YAML that a field has.
func toldBy(field string, v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			host := field == "hosts" || field == "planes" || field == "ports" || v["queuePairs"] != nil
			if key == "gateway" || key == "mac" && host {
				out = append(out, fmt.Sprintf("%s: %v", key, value))
			}
			out = append(out, toldBy(key, value)...)
		}
	case []any:
		for _, x := range v {
			out = append(out, toldBy(field, x)...)
		}
	}
	slices.Sort(out)
	return out
}

// TestHostsPlugIn: nowhere is a user shown a host's MAC, a switch's MAC for a host, or a neighbor
// that somebody writes: hosts and switches find each other (docs/neighbors.md).
func TestHostsPlugIn(t *testing.T) {
	count, used := 0, make(map[string]bool)
	files(t, []string{".md", ".yaml", ".yml", ".sh", ".py", ".go", ".c", ".h", ".txt", ".env"},
		func(path, text string) {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(shown, func(s string) bool {
				return name == s || strings.HasPrefix(name, s+"/")
			}) {
				return
			}
			count++
			told := toldIn(name, text)
			if tolds[name] != "" {
				used[name] = len(told) > 0
				return
			}
			for _, x := range told {
				t.Errorf("%s tells a neighbor: %s", name, x)
			}
		})
	if count < 60 {
		t.Errorf("%d files were looked at", count)
	}
	for name := range tolds {
		if !used[name] {
			t.Errorf("%s tells nothing any more: it needs no exception", name)
		}
	}
	for _, s := range shown {
		if _, err := os.Stat(filepath.Join(root, s)); err != nil {
			t.Error(err)
		}
	}
}

// TestToldNeighborsAreFound: what the test above looks for is found, and nothing beside it.
func TestToldNeighborsAreFound(t *testing.T) {
	const page = "text\n```yaml\n%s\n```\n"
	for _, c := range []struct {
		name, text string
		told       int
	}{
		{"a.sh", "ip -6 neighbor replace fe80::1 lladdr 02:00:00:00:00:01 dev eth0", 1},
		{"a.sh", "ip neigh add 10.0.0.1 \\\n  lladdr 02:00:00:00:00:01 nud permanent dev eth0", 1},
		{"a.py", `sh(["ip", "-6", "neigh", "add", a, "dev", "eth0"])`, 1},
		{"a.sh", "arp -s 10.0.0.1 02:00:00:00:00:01", 1},
		{"a.md", "weft host -i eth0 \\\n  --gateway 02:00:00:00:00:01", 1},
		{"a.md", "weft host -i eth0 --mac=02:00:00:00:00:01", 1},
		{"a.md", fmt.Sprintf(page, `hosts: [{name: a, mac: "02:00:00:00:00:01"}]`), 1},
		{"a.md", fmt.Sprintf(page, "address: ::1\ngateway: 02:00:00:00:00:01"), 1},
		{"a.yaml", "hosts:\n- {name: a, planes: [{port: 1, mac: '02:00:00:00:00:01'}]}", 1},
		{"a.yaml", "ports:\n- {interface: e, gateway: '02:00:00:00:00:01', mac: '02:00:00:00:00:01'}", 2},
		{"a.yaml", "mac: 02:00:00:00:00:01\nqueuePairs: [{qpn: 1}]", 1},
		{"a.yaml", "kind: x\n---\nhosts: [{mac: '02:00:00:00:00:01'}]", 1},
		{"a.yaml", "switches: [{name: a, mac: '02:00:00:00:00:01'}]", 0},
		{"a.md", "ip neighbor add proxy ADDRESS dev eth1", 0},
		{"a.md", "`--gateway` names the switch", 0},
		{"a.py", `run(["/bin/ip", "-6", "neigh"])`, 0},
		{"a.md", "| `mac` | required | `hosts[].mac` |", 0},
	} {
		if got := toldIn(c.name, c.text); len(got) != c.told {
			t.Errorf("%s: %q tells %q, want %d", c.name, c.text, got, c.told)
		}
	}
}
