package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestWrite: Write replaces a file whole, with a file that only its owner can read; a failure
// leaves the old file, and no other file beside it.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if n, err := Write(path, text("before")); n != 6 || err != nil {
		t.Fatalf("%d octets, %v", n, err)
	}
	broken := errors.New("broken")
	if _,
		err := Write(path,
		func(w io.Writer) error { return errors.Join(text("half")(w), broken) }); !errors.Is(err,
		broken) {
		t.Errorf("%v, want what the writer returned", err)
	}
	holds := func(want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		files, _ := os.ReadDir(dir)
		if string(got) != want || err != nil || len(files) != 1 {
			t.Errorf("%q, %v, beside %d files, want %q alone", got, err, len(files), want)
		}
	}
	holds("before")
	if err := Put(path, []byte("after")); err != nil {
		t.Fatal(err)
	}
	holds("after")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want mode 0600", info.Mode(), err)
	}
	if _, err := Write(filepath.Join(dir, "none", "f"), text("x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a directory that is not there: %v", err)
	}
}
