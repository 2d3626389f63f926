package arch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoPrograms: the repository has no program that was built, as "go build" in a folder leaves.
func TestNoPrograms(t *testing.T) {
	list, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skip("this is no checkout of git: ", err)
	}
	magic := [][]byte{[]byte("\x7fELF"), []byte("MZ"), []byte("\xcf\xfa\xed\xfe"), []byte("!<arch>\n")}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range magic {
			if bytes.HasPrefix(text, m) {
				t.Errorf("%s is a program: want its source alone", name)
			}
		}
	}
}
