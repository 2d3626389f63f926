// Package worktree makes source trees and programs of earlier commits, for tests and benchmarks
// beside these.
package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Add makes a new source tree of a commit of the repository in folder root. The caller calls remove
// once the tree is not needed.
func Add(root, commit string) (dir string, remove func() error, err error) {
	git := func(args ...string) error {
		cmd := exec.Command("git", append([]string{"-C", root}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s of commit %s: %w: %s", args[0], commit, err, bytes.TrimSpace(out))
		}
		return nil
	}
	parent, err := os.MkdirTemp("", "weft-worktree-")
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(parent, "source")
	if err := git("worktree", "add", "--detach", dir, commit); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(parent))
	}
	return dir, func() error {
		return errors.Join(git("worktree", "remove", "--force", dir), os.RemoveAll(parent))
	}, nil
}
