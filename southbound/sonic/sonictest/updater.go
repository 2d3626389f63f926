package sonictest

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-sdn/weft/internal/sonicdb"
)

// Releases lists, in order, the SONiC releases whose updaters differ here.
var Releases = []string{"202505", "202511", "master"}

// Updater returns the updater of a release: [sonicdb.Update], and the field operation validators of
// the release (generic_config_updater/field_operation_validators.py, and its configuration).
func Updater(release string) sonicdb.Updater {
	return func(patch []Op, now sonicdb.Database) (sonicdb.Database, error) {
		next, err := sonicdb.Update(patch, now)
		if err != nil {
			return nil, err
		}
		for _, table := range []string{"BUFFER_PROFILE", "WRED_PROFILE"} {
			for _, c := range changes(table, now[table], next[table]) {
				if !c.allowed(release) {
					return nil, fmt.Errorf("patch refused: Modification of %s table is illegal", table)
				}
			}
		}
		return next, nil
	}
}

// change is one JSON Patch operation between two states of a table.
type change struct {
	op   string
	path []string // table, row and field, as far as the operation goes
}

// changes returns the operations that jsonpatch finds between two states of a table: a whole value
// if it is new or gone.
func changes(table string, now, next Table) (out []change) {
	add := func(op string, path ...string) { out = append(out, change{op, path}) }
	switch {
	case now == nil && next == nil:
		return nil
	case now == nil:
		add("add", table)
		return out
	case next == nil:
		add("remove", table)
		return out
	}
	for _, row := range both(now, next) {
		was, is := now[row], next[row]
		switch {
		case was == nil:
			add("add", table, row)
			continue
		case is == nil:
			add("remove", table, row)
			continue
		}
		for _, field := range both(was, is) {
			old, had := was[field]
			v, has := is[field]
			switch {
			case !had:
				add("add", table, row, field)
			case !has:
				add("remove", table, row, field)
			case !reflect.DeepEqual(old, v):
				add("replace", table, row, field)
			}
		}
	}
	return out
}

// both returns the keys of two maps, in order, each once.
func both[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// allowed reports whether the validators of a release let a change pass, at a chip that trims.
func (c *change) allowed(release string) bool {
	field := c.path[len(c.path)-1]
	switch old := release == "202505"; c.path[0] {
	case "WRED_PROFILE":
		return !old || c.op == "replace" && slices.Contains(
			[]string{"green_min_threshold", "green_max_threshold", "green_drop_probability"}, field)
	case "BUFFER_PROFILE":
		tuned := c.op == "replace" && (field == "dynamic_th" || field == "xoff")
		if old { // the name of the row counts as part of the field, unless it has a digit
			return tuned && strings.ContainsAny(c.path[1], "0123456789")
		}
		return len(c.path) == 2 || tuned ||
			c.op != "remove" && len(c.path) == 3 && field == "packet_discard_action"
	}
	return true
}

// What drives the updater of SONiC, and who runs it.
const (
	utilities = "SONIC_UTILITIES_DIR" // sources of github.com/sonic-net/sonic-utilities
	release   = "SONIC_RELEASE"       // their release; master where it is not set
)

//go:embed updater.py
var driver []byte

// Real runs generic_config_updater of sonic-utilities on a separate redis, and returns the updater
// with its source release. Real skips the test unless SONIC_UTILITIES_DIR names the sources;
// updater.py lists further requirements, and the parts that do not come from SONiC.
func Real(t *testing.T) (u sonicdb.Updater, of string) {
	t.Helper()
	if os.Getenv(utilities) == "" {
		t.Skipf("%s does not name sources of github.com/sonic-net/sonic-utilities", utilities)
	}
	if of = os.Getenv(release); of == "" {
		of = "master"
	}
	if !slices.Contains(Releases, of) {
		t.Fatalf("%s is %q, want one of %v", release, of, Releases)
	}
	folder := t.TempDir()
	script := filepath.Join(folder, "updater.py")
	if err := os.WriteFile(script, driver, 0o600); err != nil {
		t.Fatal(err)
	}
	build := map[string]string{"master": "202611"}[of]
	if build == "" {
		build = of
	}
	// By its own path: a python3 of pyenv has not the packages of the distribution.
	python := "/usr/bin/python3"
	if p := os.Getenv("SONIC_PYTHON"); p != "" {
		python = p
	}
	cmd := exec.Command(python, script, folder, build)
	var said strings.Builder
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the updater: %v\n%s", err, said.String())
		}
	})
	answers := bufio.NewReader(out)
	var one sync.Mutex
	return func(patch []Op, now sonicdb.Database) (sonicdb.Database, error) {
		one.Lock()
		defer one.Unlock()
		request, err := json.Marshal(map[string]any{"config": now, "patch": patch})
		if err != nil {
			return nil, err
		}
		if _, err := in.Write(append(request, '\n')); err != nil {
			return nil, err
		}
		text, err := answers.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("the updater has ended: %w", err)
		}
		var answer struct {
			Config sonicdb.Database `json:"config"`
			Error  string           `json:"error"`
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return nil, err
		}
		if answer.Error != "" {
			return nil, fmt.Errorf("%s", strings.Join(strings.Fields(answer.Error), " "))
		}
		return answer.Config, nil
	}, of
}
