package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// hashes has the contents of files, by their names.
type hashes struct {
	dir   string
	known map[string][]byte
}

// key names the code that tests are built from: the files of packages deps, the files of the tests'
// folder, and testdata. With the same key, the tests reach the same lines.
func (h *hashes) key(own goPackage, deps []string, code map[string]goPackage,
	targets []string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), targets)
	add := func(name string) error {
		if h.known[name] == nil {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			one := sha256.Sum256(b)
			h.known[name] = one[:]
		}
		rel, err := filepath.Rel(h.dir, name)
		fmt.Fprintf(sum, "%s %x\n", rel, h.known[name])
		return err
	}
	for _, d := range deps {
		for _, name := range slices.Concat(code[d].GoFiles, code[d].EmbedFiles) {
			if err := add(filepath.Join(code[d].Dir, name)); err != nil {
				return "", err
			}
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := add(filepath.Join(h.dir, name)); err != nil && !os.IsNotExist(err) {
			return "", err
		}
	}
	err := filepath.WalkDir(own.Dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && filepath.Dir(name) == own.Dir && d.Name() != "testdata":
			return fs.SkipDir
		case d.Type().IsRegular():
			return add(name)
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)[:12]), err
}

// forget removes what is kept of the tests of a package.
func forget(dir, name string) error {
	old, err := filepath.Glob(filepath.Join(dir, name+"-*.tests"))
	if err != nil {
		return err
	}
	for _, f := range old {
		// The key is the part after the last hyphen: the name of a package may have some.
		if rest := strings.TrimPrefix(filepath.Base(f), name+"-"); strings.Contains(rest, "-") {
			continue
		}
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return nil
}

// outcomes holds the results of changes in a file. An interrupted run continues at the same place.
// After a code change, a run repeats only affected trials, beginning with the test that noticed the
// change before.
type outcomes struct {
	file  *os.File
	known map[string]int
	by    map[string][2]string // package and name of a test, by the key of a change without tests
}

// openOutcomes reads a file with lines of two kinds: a key of changeKey and the outcome; or the
// word "by", a key, and the package and name of the test that noticed the change. It makes the file
// where there is none. A line that is not whole is left out.
func openOutcomes(name string) (*outcomes, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	o := &outcomes{file: f, known: map[string]int{}, by: map[string][2]string{}}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		w := strings.Split(lines.Text(), " ")
		switch {
		case len(w) == 2:
			if n, err := strconv.Atoi(w[1]); err == nil && invalid <= n && n <= notReached {
				o.known[w[0]] = n
			}
		case len(w) == 4 && w[0] == "by":
			o.by[w[1]] = [2]string{w[2], w[3]}
		}
	}
	return o, lines.Err()
}

func (o *outcomes) keep(key string, end int) error {
	o.known[key] = end
	_, err := fmt.Fprintf(o.file, "%s %d\n", key, end)
	return err
}

// noticed keeps which test noticed a change.
func (o *outcomes) noticed(key, pkg, test string) error {
	o.by[key] = [2]string{pkg, test}
	_, err := fmt.Fprintf(o.file, "by %s %s %s\n", key, pkg, test)
	return err
}

// method is how changes are made and tried: what became of them by another one is not known.
const method = 2

// changeKey identifies a change together with all code compiled into the tests that try the change.
func changeKey(c mutant, src []byte, by []batch) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s %x %d %q\n", method, c.File, sha256.Sum256(src), c.start, c.To)
	for _, b := range by {
		fmt.Fprintln(sum, b.pkg, b.key, b.names)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}
