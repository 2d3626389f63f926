package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

// notaryBed is a store with the records 1 to 6 of the chain core, and a notary with a file.
type notaryBed struct {
	t      *testing.T
	store  store.Store
	file   string
	notary *audit.Notary
}

func newNotaryBed(t *testing.T) *notaryBed {
	t.Helper()
	w := &notaryBed{t: t, store: store.NewMemory(), file: filepath.Join(t.TempDir(), "noted")}
	write(t, w.store, 1, 6)
	w.restart()
	w.note("")
	return w
}

// restart makes a new notary from the store and the file.
func (w *notaryBed) restart() {
	w.t.Helper()
	var err error
	if w.notary, err = audit.NewNotary(w.store, w.file); err != nil {
		w.t.Fatal(err)
	}
}

// note has the notary look at the chains; it finds the fault, "" for none.
func (w *notaryBed) note(fault string) {
	w.t.Helper()
	faults, err := w.notary.Note(w.t.Context(), began)
	if text := strings.Join(faults, "; "); err != nil || (text == "") != (fault == "") ||
		!strings.Contains(text, fault) {
		w.t.Errorf("%q, %v, want %q", text, err, fault)
	}
}

// verify has a client check the chains; it finds the fault, "" for none.
func (w *notaryBed) verify(fault string) {
	w.t.Helper()
	text := strings.Join(audit.Verify(read(w.t, w.store)), "; ")
	if (text == "") != (fault == "") || !strings.Contains(text, fault) {
		w.t.Errorf("%q, want %q", text, fault)
	}
}

// remove removes all records whose keys begin with a text.
func (w *notaryBed) remove(prefixes ...string) {
	w.t.Helper()
	for _, prefix := range prefixes {
		list, _, err := w.store.List(w.t.Context(), prefix)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range list {
			if err := w.store.Apply(w.t.Context(), []store.Op{{Key: r.Key}}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

const (
	everything = "audit/"
	noted      = "cluster/audit"
)

// TestChainThatIsGone: the notary reports a chain removed together with its head, as long as the
// cluster's record, the notary or the notary's file remains.
func TestChainThatIsGone(t *testing.T) {
	const gone = "chain core is gone: 6 records of it were noted"
	w := newNotaryBed(t)
	w.verify("")
	w.remove(everything)
	w.verify(gone)
	w.note(gone)

	w = newNotaryBed(t)
	w.remove(everything, noted)
	w.note(gone)
	w.verify(gone) // the notary has restored the record

	w = newNotaryBed(t)
	w.remove(everything, noted)
	w.restart()
	w.note(gone)
	w.verify(gone)
	write(t, w.store, 1, 3) // a chain of that name begins anew
	w.note("chain core is shorter than it was: it ends with record 3, and record 6 was noted")
	w.verify("chain core is shorter than it was")
	write(t, w.store, 40, 45) // and has more records than the one that is gone
	w.note("record 6 is not the one that was noted")
	w.verify("record 6 is not the one that was noted")

	// Without a file the last that knows is the cluster's record.
	w = newNotaryBed(t)
	w.remove(everything)
	w.file = ""
	w.restart()
	w.note(gone)
}

// TestNotary: the notary notes new records, also in its file, and does not report pruned records as
// a fault.
func TestNotary(t *testing.T) {
	w := newNotaryBed(t)
	write(t, w.store, 7, 9)
	w.verify("") // what is not noted yet is no fault
	w.note("")
	w.note("")
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := audit.ReadNoted(strings.NewReader(string(text)), false)
	chains, _ := read(t, w.store)
	if c := chains[0]; err != nil || len(lines) != 2 || lines[0].Seq != 6 ||
		lines[1] != (audit.Noted{Chain: "core", Seq: 9, Hash: c.NewestHash}) || c.NotedSeq != 9 ||
		c.NotedHash != c.NewestHash {
		t.Errorf("%v %+v %v", lines, chains, err)
	}
	if info, err := os.Stat(w.file); err != nil || info.Mode().Perm() != 0o600 ||
		!strings.HasPrefix(string(text), began.Format(time.RFC3339)+" core:6:") {
		t.Errorf("%v %v %s", info, err, text)
	}
	// Remove all records but the newest, including the noted record, and then write one.
	if err := os.Remove(w.file); err != nil { // rotated
		t.Fatal(err)
	}
	write(t, w.store, 10, 12)
	if _, err := audit.Prune(t.Context(), w.store, audit.Keep{Octets: 1, Age: time.Minute},
		began.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	w.verify("")
	w.note("")
	w.verify("")
	if text, err := os.ReadFile(w.file); err != nil || strings.Count(string(text), "\n") != 1 ||
		!strings.Contains(string(text), "core:12:") {
		t.Errorf("%s %v", text, err)
	}
	if err := os.WriteFile(w.file, []byte("2026-01-02T03:04:05Z core:12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.NewNotary(w.store, w.file); err == nil ||
		!strings.Contains(err.Error(), "line 1") {
		t.Errorf("a broken file: %v", err)
	}
}

// TestAnotherChain: a rewritten chain, with the same number of records or with other records before
// its end, does not match the noted chain.
func TestAnotherChain(t *testing.T) {
	w := newNotaryBed(t)
	w.remove(everything)
	write(t, w.store, 101, 106)
	w.note("record 6 is not the one that was noted")
	w.verify("record 6 is not the one that was noted")
	if _, err := audit.Prune(t.Context(), w.store, audit.Keep{Octets: 1, Age: 30 * time.Minute},
		began.Add(1000*time.Hour)); err != nil {
		t.Fatal(err)
	}
	write(t, w.store, 107, 107)
	if _, err := audit.Prune(t.Context(), w.store, audit.Keep{Octets: 1, Age: 30 * time.Minute},
		began.Add(1000*time.Hour)); err != nil {
		t.Fatal(err)
	}
	chains, _ := read(t, w.store)
	if chains[0].PrunedSeq != 6 {
		t.Fatalf("%+v", chains)
	}
	w.note("record 6 is not the one that was noted")
	w.verify("record 6, which was removed, is not the one that was noted")
	if faults := audit.Verify([]api.AuditChain{{Name: "x", NotedSeq: 1}}, nil); len(faults) != 1 {
		t.Error(faults)
	}
}
