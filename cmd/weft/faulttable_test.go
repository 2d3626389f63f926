//go:build linux

package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/etcd"
)

// rowsOfFaults returns the messages of the table of faults in docs/operations.md.
func rowsOfFaults(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n| message | cause | solution |\n")
	if !ok {
		t.Fatal("docs/operations.md has no table of faults")
	}
	out := make(map[string]bool)
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			message, _, _ := strings.Cut(m[1], ": process N")
			out[message] = true
		}
	}
	return out
}

// faulted is a controller that a test of the table of faults starts.
type faulted struct {
	*testing.T
	d     *deployment
	table map[string]bool
}

// weft runs a command that ends by itself, and returns what it says and whether it succeeds.
func (f *faulted) weft(args ...string) (string, bool) {
	f.Helper()
	var out strings.Builder
	status := execute(f.Context(), args, environment{stdin: strings.NewReader(""), stdout: &out,
		stderr: &out, getenv: func(string) string { return "" }})
	return out.String(), status == exitOK
}

// fails starts a controller, which must end with a message of the table, in one line.
func (f *faulted) fails(message string, flags ...string) {
	f.Helper()
	out, ok := f.weft(append([]string{"controller"}, flags...)...)
	f.failed(message, out, ok)
}

func (f *faulted) failed(message, out string, ok bool) {
	f.Helper()
	if !f.table[message] {
		f.Errorf("docs/operations.md has no row %q", message)
	}
	delete(f.table, message)
	last := out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]
	if ok || !strings.Contains(last, message) {
		f.Errorf("want %q in the last line of what it says: %s", message, out)
	}
}

// starts starts a controller, which must run with so many groups, and ends it.
func (f *faulted) starts(groups int, flags ...string) {
	f.Helper()
	p := startProcess(f.T, flags...)
	if n := len(p.groups()); n != groups {
		f.Errorf("it has %d groups, want %d", n, groups)
	}
	p.kill()
}

// TestFaultTable follows the table of faults in docs/operations.md: for each row it makes the
// cause, sees the message, does what the row says, and sees the controller start with everything it
// had. It fails for a row that it does not follow.
func TestFaultTable(t *testing.T) {
	f := &faulted{t, deploy(t), rowsOfFaults(t)}
	if len(f.table) < 9 {
		t.Fatalf("the table has the messages %q only", slices.Sorted(maps.Keys(f.table)))
	}
	alone := func(dir string) []string { return []string{"--config", f.d.config, "--data-dir", dir} }
	backup := filepath.Join(t.TempDir(), "weft.backup")
	dir := f.d.dataDir
	p := f.d.start()
	p.ready()
	if err := p.put("g0", spec(0)); err != nil {
		t.Fatal(err)
	}
	if out, ok := f.weft("backup", backup, "--server", p.url); !ok {
		t.Fatalf("weft backup: %s", out)
	}
	f.fails("another process uses it", alone(dir)...)
	p.kill() // stop it
	f.starts(1, alone(dir)...)
	restored := func() string { // restore a backup into an empty directory
		dir := filepath.Join(t.TempDir(), "data")
		if out, ok := f.weft("restore", backup, "--data-dir", dir); !ok {
			t.Fatalf("weft restore: %s", out)
		}
		return dir
	}
	copied := func() string {
		to := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		return to
	}

	newer := copied()
	if err := os.WriteFile(filepath.Join(newer, "FORMAT"),
		[]byte(`{"format": 99, "etcd": "9.0.0", "release": "weft 9"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f.fails("a newer release wrote it", alone(newer)...)
	f.starts(1, alone(restored())...)
	newer = copied()
	s, err := etcd.Open(t.Context(), etcd.Config{Dir: newer, Release: "weft test"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), "schema", []byte(`{"version": 99, "release": "weft 9"}`), store.Any)
	if closed := s.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	f.fails("a newer release wrote the records", alone(newer)...)

	damaged := copied()
	if err := os.Truncate(filepath.Join(damaged, "etcd", "member", "snap", "db"), 8192); err != nil {
		t.Fatal(err)
	}
	f.fails("it is damaged", alone(damaged)...)
	if err := os.Rename(damaged, damaged+".away"); err != nil {
		t.Fatal(err)
	}
	if out, ok := f.weft("restore", backup, "--data-dir", damaged); !ok {
		t.Fatalf("weft restore: %s", out)
	}
	f.starts(1, alone(damaged)...)

	t.Run("full", func(t *testing.T) {
		f := &faulted{t, f.d, f.table}
		defer delete(f.table, "its disk is full") // where nothing can be mounted
		small := newDisks(t, 1, 192)[0]
		small.fill(40)
		flags := append([]string{"controller"}, alone(small.dir)...)
		out, err := small.command(flags...).CombinedOutput()
		f.failed("its disk is full", string(out), err == nil)
		small.clear()
		startCommand(t, small.command(flags...)).kill()
	})
	t.Run("permission", func(t *testing.T) {
		const message = "permission denied"
		f := &faulted{t, f.d, f.table}
		defer delete(f.table, message) // where no other user can be made the owner
		if os.Geteuid() != 0 {
			t.Skip("giving a directory to another user takes root")
		}
		if _, err := exec.LookPath("setpriv"); err != nil {
			t.Skip(err)
		}
		weft := namedWeft(t)
		theirs := copied()
		if err := os.Chown(theirs, 12345, 12345); err != nil {
			t.Skip(err)
		}
		if err := os.Chmod(theirs, 0o700); err != nil {
			t.Fatal(err)
		}
		// As a user that owns everything else, and may not pass over owners.
		const rights = "-dac_override,-dac_read_search"
		command := func() *exec.Cmd {
			return exec.CommandContext(t.Context(), "setpriv",
				append([]string{"--inh-caps", rights, "--bounding-set", rights, weft, "controller"},
					alone(theirs)...)...)
		}
		out, err := command().CombinedOutput()
		f.failed(message, string(out), err == nil)
		if err := os.Chown(theirs, 0, 0); err != nil {
			t.Fatal(err)
		}
		startCommand(t, command()).kill()
	})

	w := newOwnTeam(t)
	first := w.decider(nil)
	w.accept(first, 0)
	w.settled(first)
	lost := w.other(first, nil)
	flags := w.members[0].flags() // the other way round is in TestForeign
	f.fails("it is of another etcd", append(flags[:len(flags)-1], copied())...)
	if err := lost.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = lost.cmd.Wait() // it was killed
	lost.process = nil
	before := lost.store
	lost.store = []string{"--data-dir", t.TempDir()}
	f.fails("this member has lost its data", lost.flags()...)
	young := filepath.Join(t.TempDir(), "weft.backup")
	if out, ok := f.weft("backup", young, "--server", first.url); !ok {
		t.Fatalf("weft backup: %s", out)
	}
	text, err := os.ReadFile(lost.config)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "weft.yaml") // --peer-listen is the controller's alone
	text = regexp.MustCompile(`(?m)(^cluster:\n(?: .*\n)*? *listen: ).*`).ReplaceAll(text,
		[]byte("${1}127.0.0.1:1"))
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "made")
	if out, ok := f.weft("restore", young, "--config", config, "--name", lost.name, "--data-dir",
		made); !ok || !strings.Contains(out, "member "+lost.name+" of backup ") {
		t.Fatalf("weft restore: %s", out)
	}
	empty := lost.store
	lost.store = []string{"--data-dir", made}
	f.fails("it was restored from a backup", lost.flags()...)
	lost.store = empty
	if out, ok := f.weft("replace", "controller", lost.name, "--server", first.url); !ok {
		t.Fatalf("weft replace: %s", out)
	}
	lost.store = before
	f.fails("this member was replaced", lost.flags()...)
	lost.store = empty
	w.run(lost)
	lost.ready()
	w.settled(lost)

	if err := lost.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = lost.cmd.Wait() // it was killed
	lost.process = nil
	damage(t, empty[1])
	f.fails("its contents differ from those of the other members", lost.flags()...)
	if out, ok := f.weft("replace", "controller", lost.name, "--server", first.url); !ok {
		t.Fatalf("weft replace: %s", out)
	}
	lost.store = []string{"--data-dir", t.TempDir()}
	w.run(lost)
	lost.ready()
	w.settled(lost)

	for message := range f.table {
		t.Errorf("this test does not follow the row %q of docs/operations.md", message)
	}
}

// damage changes the last value in the database of a controller that is stopped.
func damage(t *testing.T, dir string) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, "etcd", "member", "snap", "db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		keys := tx.Bucket([]byte("key"))
		key, value := keys.Cursor().Last()
		var kv mvccpb.KeyValue
		if err := proto.Unmarshal(value, &kv); err != nil {
			return err
		}
		kv.Value = append(kv.Value, ' ')
		changed, err := proto.Marshal(&kv)
		if err != nil {
			return err
		}
		return keys.Put(key, changed)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
