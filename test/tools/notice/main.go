// Command notice writes the licences of what the program contains: modules of Go, Go's own library,
// and the packages of npm in the dashboard. It fails for a licence that is not known to go together
// with Apache-2.0, MIT and BSD.
//
//	notice DIR          writes DIR/NOTICE; DIR is the repository
//	notice DIR TEXTS    writes the texts of the licences to TEXTS, for packages
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences that go together with Apache-2.0, MIT and BSD: they ask for a notice.
// OFL-1.1 lets any program contain a typeface that nobody sells alone.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-2-Clause-Views", "BSD-3-Clause",
	"BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0", "OFL-1.1", "Unlicense", "Zlib"}

// licenceFile matches the names of files with licences and notices.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright)([-_.].*)?$`)

// A part is something that the program contains.
type part struct {
	name     string
	licences []string
	texts    []byte
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("notice: ")
	if len(os.Args) < 2 || len(os.Args) > 3 {
		log.Fatal("usage: notice DIR [TEXTS]")
	}
	parts, err := modules(os.Args[1])
	if err == nil {
		var web []part
		web, err = packages(os.Args[1])
		parts = append(parts, web...)
	}
	if err == nil {
		if len(os.Args) == 3 {
			err = write(os.Args[2], parts, true)
		} else {
			err = write(filepath.Join(os.Args[1], "NOTICE"), parts, false)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}

// modules returns what Go links into the program.
func modules(dir string) ([]part, error) {
	dirs := make(map[string]string)
	cmd := exec.Command("go", "list", "-deps", "-f",
		`{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}`, "./cmd/weft", "./cmd/weft-dl")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if path, at, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			dirs[path] = at
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	dirs["Go standard library"] = strings.TrimSpace(string(root))
	var all []part
	var faults []error
	for _, path := range slices.Sorted(maps.Keys(dirs)) {
		p, err := read(path, dirs[path])
		if err == nil {
			err = p.check()
		}
		all, faults = append(all, p), append(faults, err)
	}
	return all, errors.Join(faults...)
}

// read returns the licences in the folder of a module.
func read(name, dir string) (part, error) {
	p := part{name: name}
	files, err := os.ReadDir(dir)
	if err != nil {
		return p, err
	}
	for _, f := range files {
		if f.IsDir() || !licenceFile.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return p, err
		}
		for _, m := range licensecheck.Scan(text).Match {
			if !m.IsURL && !slices.Contains(p.licences, m.ID) {
				p.licences = append(p.licences, m.ID)
			}
		}
		p.texts = append(append(p.texts, bytes.TrimSpace(text)...), "\n\n"...)
	}
	slices.Sort(p.licences)
	return p, nil
}

// packages returns what npm puts into the dashboard. The lock file has the licences.
func packages(dir string) ([]part, error) {
	text, err := os.ReadFile(filepath.Join(dir, "web/package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			License string
			Dev     bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	var all []part
	var faults []error
	for _, path := range slices.Sorted(maps.Keys(lock.Packages)) {
		if l := lock.Packages[path]; path != "" && !l.Dev {
			p := part{name: "npm: " + strings.TrimPrefix(path, "node_modules/")}
			if l.License != "" {
				p.licences = []string{l.License}
			}
			all, faults = append(all, p), append(faults, p.check())
		}
	}
	return all, errors.Join(faults...)
}

// check returns an error for a part without a licence, or with one that is not allowed.
func (p *part) check() error {
	if len(p.licences) == 0 {
		return fmt.Errorf("%s: no licence is found", p.name)
	}
	for _, l := range p.licences {
		if !slices.Contains(allowed, l) {
			return fmt.Errorf("%s: its licence is %s: want one of %s", p.name, l,
				strings.Join(allowed, ", "))
		}
	}
	return nil
}

// write writes a line for each part, with its texts if these are wanted.
func write(path string, parts []part, texts bool) error {
	var out bytes.Buffer
	out.WriteString("Weft contains the following, under the licences of their authors. Its owner\n" +
		"has not chosen a licence for Weft itself yet. make notice writes this file.\n\n")
	for _, p := range parts {
		fmt.Fprintf(&out, "%s  %s\n", p.name, strings.Join(p.licences, " AND "))
	}
	for _, p := range parts {
		if texts && len(p.texts) > 0 {
			fmt.Fprintf(&out, "\n%s\n%s\n\n%s", strings.Repeat("=", 72), p.name, p.texts)
		}
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
