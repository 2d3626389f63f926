package arch

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A word has one meaning in the whole code. Identifiers may contain the word only in folders that
// make or use things with this meaning.
type word struct {
	// name matches an identifier or part of an identifier.
	name *regexp.Regexp
	// types restricts the rule to names of types.
	types   bool
	meaning string
	folders []string
}

var words = []word{
	{
		name:    regexp.MustCompile(`(^w|W)ays?($|[A-Z0-9_])`),
		meaning: "how a principal shows who it is (api.Way)",
		folders: []string{"access", "access/audit", "access/oidc", "api", "cmd/weft", "northbound"},
	},
	{
		name:    regexp.MustCompile(`(^[gG]|[^Aae]G)ates?($|[A-Z0-9_])`),
		meaning: "what lets requests of one term in, and those of terms before out (southbound.Gate)",
		folders: []string{"service/cluster", "service", "southbound"},
	},
	{
		name:    regexp.MustCompile(`(^[gG]|[^e]G)uard(s|ed|ing)?($|[A-Z0-9_])`),
		meaning: "a write that is refused unless a record is as it was (store.Guarded)",
		folders: []string{
			"service/cluster", "controller/ledger", "service", "store", "store/etcd", "store/storetest",
		},
	},
	{
		name:    regexp.MustCompile(`(^[oO]|O)wn(er|ers|ed|s)?($|[A-Z0-9_])`),
		types:   true,
		meaning: "to whom a thing in switches belongs: an entity to a feature, a switch to a controller",
		folders: []string{"service/cluster", "controller/reconcile", "p4", "test/bench"},
	},
	{
		name:    regexp.MustCompile(`(^[lL]|L)inks?($|[A-Z0-9_])`),
		types:   true,
		meaning: "a link of a network",
		folders: []string{
			"api", "cmd/weft", "host/mrchost", "controller/job/lease", "controller/job/ready",
			"controller/mrc/fabric", "controller/mrc/flows", "controller/mrc/prove",
			"controller/mrc/runner",
			"controller/mrc/selfprobe", "controller/pfc/tunnel", "dataplane/gnmi", "host/rc", "lab",
			"lab/export",
			"clients/scheduler/topograph", "telemetry", "test/bench", "test/mrc/flows", "topology",
			"topology/bgpls/wire", "topology/static",
		},
	},
}

// otherMeanings returns the names in a file that use a word outside of the word's folders.
func otherMeanings(s source) []string {
	var found []string
	add := func(id *ast.Ident, isType bool) {
		for _, w := range words {
			if w.types == isType && w.name.MatchString(id.Name) &&
				!slices.Contains(w.folders, path.Dir(s.path)) {
				found = append(found, s.path+" "+id.Name+": the word means "+w.meaning)
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			add(n.Name, true)
		case *ast.Ident:
			add(n, false)
		}
		return true
	})
	return found
}

// TestOneMeaning: names have the words of words only where these have their one meaning.
func TestOneMeaning(t *testing.T) {
	used := make(map[string]bool)
	for _, s := range handwritten(t) {
		for _, fault := range otherMeanings(s) {
			t.Error(fault)
		}
		for _, w := range words {
			ast.Inspect(s.file, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && w.name.MatchString(id.Name) {
					used[w.meaning+path.Dir(s.path)] = true
				}
				return true
			})
		}
	}
	for _, w := range words {
		for _, folder := range w.folders {
			if !used[w.meaning+folder] {
				t.Errorf("%s has no name with the word that means %s: take it off the list", folder,
					w.meaning)
			}
		}
	}
}

// TestOneMeaningFails: the check finds each word where it does not belong, and nowhere else.
func TestOneMeaningFails(t *testing.T) {
	text := "package p\ntype linkOfP struct{ gate, qaGate int }\n" +
		"func f(way, away, sourceGuard int) { guarded, link := 1, 2 }\n"
	for folder, want := range map[string]string{
		"p": "linkOfP gate way guarded", "topology": "gate way guarded", "access": "linkOfP gate guarded",
		"store": "linkOfP gate way", "southbound": "linkOfP way guarded",
	} {
		var got []string
		for _, fault := range otherMeanings(parse(t, folder+"/p.go", text)) {
			got = append(got, strings.TrimSuffix(strings.Fields(fault)[1], ":"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("in %s: %q, want %q", folder, got, want)
		}
	}
}
