package worktree

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// FromVariable names the commit of the release before: a commit, or "yes" for the last tag, and
// where there is none, for untagged. Unset: a test has the present release alone.
const FromVariable = "WEFT_UPGRADE_FROM"

// untagged is a commit of 2026-11-28 with schema 2: fields of records did not count for that yet.
const untagged = "5f9199040b26ab6c2fa4f6ae903bca18e05267a4"

// ErrNoCommit reports that the repository has no source tree of the commit.
var ErrNoCommit = errors.New("the commit cannot be checked out")

// Release is a built program.
type Release struct {
	Path    string // of the program
	Schema  int    // of the store
	Program string // P4 program that switches get, with its description
}

// Build builds the program of a source tree into a file, with flags of go build.
func Build(tree, to string, flags ...string) (Release, error) {
	r := Release{Path: to}
	cmd := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-o", to},
		flags...), "./cmd/weft")...)
	cmd.Dir = tree
	if out, err := cmd.CombinedOutput(); err != nil {
		return r, fmt.Errorf("%v: %w: %s", cmd, err, out)
	}
	text := make([]string, 3)
	for i, name := range []string{"store/schema.go", "p4/fabric.json", "p4/fabric.p4info.txtpb"} {
		b, err := os.ReadFile(filepath.Join(tree, name))
		if err != nil {
			return r, err
		}
		text[i] = string(b)
	}
	said := regexp.MustCompile(`(?m)^const Schema = (\d+)$`).FindStringSubmatch(text[0])
	if said == nil {
		return r, errors.New("store/schema.go has no const Schema")
	}
	r.Schema, _ = strconv.Atoi(said[1]) // they are digits
	r.Program = text[1] + text[2]
	return r, nil
}

// Earlier builds the program of a commit of the repository in folder root into a file. The commit
// is named as in [FromVariable]. An error wraps [ErrNoCommit] where there is no source tree.
func Earlier(root, commit, to string) (r Release, err error) {
	if commit == "yes" {
		cmd := exec.Command("git", "-C", root, "describe", "--tags", "--abbrev=0")
		tag, err := cmd.Output()
		if commit = strings.TrimSpace(string(tag)); err != nil {
			commit = untagged
		}
	}
	tree, remove, err := Add(root, commit)
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrNoCommit, err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	return Build(tree, to, "-trimpath") // the next run finds what this one has compiled
}

// Changed returns a value as YAML without the fields that are zero or as in the defaults: an
// earlier release may not know those.
func Changed(v, defaults any) ([]byte, error) {
	var trees [2]any
	for i, v := range []any{v, defaults} {
		text, err := yaml.Marshal(v)
		if err == nil {
			err = yaml.Unmarshal(text, &trees[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return yaml.Marshal(prune(trees[0], trees[1]))
}

// prune returns a value without fields that are as in the defaults, or zero where the defaults have
// none; nil: nothing is left.
func prune(v, defaults any) any {
	if defaults != nil && reflect.DeepEqual(v, defaults) {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		known, _ := defaults.(map[string]any)
		for name, x := range v {
			if x = prune(x, known[name]); x == nil {
				delete(v, name)
			} else {
				v[name] = x
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i], nil)
		}
		if len(v) == 0 {
			return nil
		}
	case nil:
		return nil
	default:
		if defaults == nil && (reflect.ValueOf(v).IsZero() || v == "0s") {
			return nil
		}
	}
	return v
}
