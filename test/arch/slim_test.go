package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reflective are packages that call methods by names that the linker does not know, each with what
// may import it all the same. Go's linker keeps every exported method of every type in a program in
// which one such call is left: it drops that of cobra while nothing calls SetVersionTemplate or its
// like, and cast takes no more than the type of a string. Folder deploy/slim replaces go-cmp.
var reflective = map[string][]string{
	"text/template":                {"github.com/spf13/cobra", "html/template"},
	"html/template":                {"github.com/spf13/cast"},
	"github.com/google/go-cmp/cmp": {"go.etcd.io/etcd/server/v3/storage/backend"},
}

// TestReleaseDropsMethods: no other package of the static program imports one of reflective, and
// deploy/slim has all that etcd's server calls of go-cmp. make test-packages measures the program.
func TestReleaseDropsMethods(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^STATIC = .* build -modfile=\$\(SLIM\) -tags (\S+) `).
		FindSubmatch(makefile)
	if flags == nil {
		t.Fatal("the Makefile builds the static program in another way: adapt this test")
	}
	cmd := exec.Command("go", "list", "-deps", "-tags", string(flags[1]),
		"-json=ImportPath,Dir,GoFiles,Imports", "./cmd/weft", "./cmd/weft-dl")
	cmd.Dir, cmd.Env, cmd.Stderr = "../..", append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	calls, sets := regexp.MustCompile(`\bcmp\.[A-Z]\w*`),
		regexp.MustCompile(`\.Set(Version|Usage|Help)Template\(`)
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir  string
			GoFiles, Imports []string
		}
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for to, from := range reflective {
			if slices.Contains(p.Imports, to) && !slices.Contains(from, p.ImportPath) {
				t.Errorf("%s imports %s, with which all exported methods stay in the program",
					p.ImportPath, to)
			}
		}
		ofCmp := slices.Contains(p.Imports, "github.com/google/go-cmp/cmp")
		if !ofCmp && (!strings.HasPrefix(p.ImportPath, module) ||
			!slices.Contains(p.Imports, "github.com/spf13/cobra")) {
			continue
		}
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if set := sets.Find(text); set != nil {
				t.Errorf("%s calls %s...), with which cobra runs text/template", name, set)
			}
			if !ofCmp {
				continue
			}
			for _, call := range calls.FindAllString(string(text), -1) {
				if call != "cmp.Diff" {
					t.Errorf("%s calls %s, which deploy/slim lacks", name, call)
				}
			}
		}
	}
}
