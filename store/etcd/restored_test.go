package etcd

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ran returns members that have run, and a backup from between the two values that they gave x.
// They are stopped. Each has a process of its own.
func ran(t *testing.T) (w *trio, backup string) {
	t.Helper()
	w = newTrio(t)
	w.apart = true
	w.start("a", "b", "c")
	put(t, w.stores["a"], "x", "1")
	backup = w.backup("b")
	put(t, w.stores["a"], "x", "2")
	w.stop("a", "b", "c")
	return w, backup
}

// backup returns a file with a backup of what a member has.
func (w *trio) backup(name string) string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "backup")
	f, err := os.Create(file)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := errors.Join(w.stores[name].Backup(w.t.Context(), f), f.Close()); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// restore gives members new directories of a backup.
func (w *trio) restore(backup string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.dirs[name] = w.t.TempDir()
		if _, err := Restore(w.config(name), backup); err != nil {
			w.t.Fatal(err)
		}
	}
}

// begin starts a member that has to wait for others. The channel has why it has ended; the end of
// the test stops it.
func (w *trio) begin(name string) <-chan error {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	c := w.config(name)
	ended, over := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(over)
		s, err := Open(ctx, c)
		if err == nil {
			err = errors.Join(errors.New("it takes part"), s.Close())
		}
		ended <- err
	}()
	w.t.Cleanup(func() { cancel(); <-over })
	await(w.t, name+" listens", func() bool {
		c, err := net.Dial("tcp", w.members[name])
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return ended
}

// refused checks that a member may not start, and is told what to do.
func (w *trio) refused(name string, is error, texts ...string) {
	w.t.Helper()
	s, err := Open(w.t.Context(), w.config(name))
	if err == nil {
		r, read := s.Get(w.t.Context(), "x")
		closed(w.t, s)
		w.t.Fatalf("%s takes part, and x is %q there: %v", name, r.Value, read)
	}
	isRefusal(w.t, name, err, is, texts...)
}

func isRefusal(t *testing.T, name string, err, is error, texts ...string) {
	t.Helper()
	t.Logf("%s: %v", name, err)
	for _, text := range append(texts, "\"weft replace controller "+name+"\"") {
		if !errors.Is(err, is) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %v with %q", name, err, is, text)
		}
	}
}

// has checks which value members have for x.
func (w *trio) has(want string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		if got := get(w.t, w.stores[name], "x"); got != want {
			w.t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

// TestRestoredBesideRunning: a restored member takes no part while the others run on. After a
// replacement instead of the restore, the member has the data of the others.
func TestRestoredBesideRunning(t *testing.T) {
	t.Parallel()
	w, backup := ran(t)
	w.start("a", "b")
	w.restore(backup, "c")
	w.refused("c", ErrRestored, "if the others run on", "unlike a at "+w.members["a"]+" and b at ")
	put(t, w.stores["a"], "x", "3")
	w.has("3", "a", "b")
	if err := w.stores["b"].Replace(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	w.dirs["c"] = t.TempDir()
	w.start("c")
	w.has("3", "a", "b", "c")
}

// TestRestoredFirst: a member that was restored, and waits for others, ends when members with other
// data come; these take part without it.
func TestRestoredFirst(t *testing.T) {
	t.Parallel()
	w, backup := ran(t)
	w.restore(backup, "c")
	ended := w.begin("c")
	w.start("a", "b")
	isRefusal(t, "c", <-ended, ErrRestored, "if the others run on")
	w.has("2", "a", "b")
	put(t, w.stores["b"], "x", "3")
	w.has("3", "a", "b")
}

// TestTwoRestored: two members of a backup and one with the data of before form no etcd, in
// whatever order they start.
func TestTwoRestored(t *testing.T) {
	t.Parallel()
	w, backup := ran(t)
	old := w.begin("a")
	w.restore(backup, "b", "c")
	w.refused("b", ErrRestored, "if not, end all")
	w.refused("c", ErrRestored, "if not, end all")
	select {
	case err := <-old:
		t.Errorf("the one with the data of before: %v", err)
	default: // it may be that one of the others returns with these data
	}

	w, backup = ran(t)
	w.restore(backup, "b", "c")
	w.start("b", "c")
	w.refused("a", ErrForeign, "another backup may have made")
	w.has("1", "b", "c")
	w.dirs["a"] = t.TempDir()
	w.refused("a", ErrDataLost, "began with the data of a backup: restore the same one here")
	if err := w.stores["c"].Replace(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	w.start("a")
	w.has("1", "a", "b", "c")
}

// TestTwoBackups: members of different backups form no etcd.
func TestTwoBackups(t *testing.T) {
	t.Parallel()
	w, backup := ran(t)
	w.start("a", "b")
	second := w.backup("a")
	w.stop("a", "b")
	w.restore(backup, "a", "b")
	w.restore(second, "c")
	waits := w.begin("c")
	w.refused("a", ErrRestored, "unlike c at "+w.members["c"])
	select {
	case err := <-waits:
		isRefusal(t, "c", err, ErrRestored)
	default: // it has not looked again
	}

	w, backup = ran(t)
	w.start("a", "b")
	second = w.backup("a")
	w.stop("a", "b")
	w.restore(backup, "a", "b")
	w.restore(second, "c")
	w.start("a", "b")
	w.refused("c", ErrRestored, "unlike a at "+w.members["a"]+" and b at "+w.members["b"])
	w.has("1", "a", "b")
}

// TestRestoredTwice: a member of a restored backup that has run since and is restored again cannot
// take part, and cannot let in a member that starts with the member's own data.
func TestRestoredTwice(t *testing.T) {
	t.Parallel()
	w, backup := ran(t)
	w.restore(backup, "a", "b", "c")
	w.start("a", "b", "c")
	w.has("1", "a", "b", "c")
	put(t, w.stores["a"], "x", "3")
	w.stop("c")
	w.restore(backup, "c")
	w.refused("c", ErrRestored, "what it had before")
	w.stop("a", "b")
	w.begin("c")
	if _, err := Open(t.Context(), w.config("b")); !errors.Is(err, ErrForeign) ||
		!strings.Contains(err.Error(), "c at "+w.members["c"]+" began anew") {
		t.Errorf("b, beside one that was restored again: %v", err)
	}
}

// TestEmptyFirst: the first of the other members finds out a member that started before with an
// empty directory.
func TestEmptyFirst(t *testing.T) {
	t.Parallel()
	w, _ := ran(t)
	w.dirs["c"] = t.TempDir()
	w.begin("c")
	if _, err := Open(t.Context(), w.config("b")); !errors.Is(err, ErrForeign) ||
		!strings.Contains(err.Error(), "c at "+w.members["c"]+" began anew, from an empty directory") {
		t.Errorf("b, beside one that is empty: %v", err)
	}
}
