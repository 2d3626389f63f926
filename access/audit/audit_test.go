package audit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func record(n int) api.AuditRecord {
	return api.AuditRecord{Timestamp: began.Add(time.Duration(n) * time.Minute),
		Outcome: api.AuditSuccess, ServiceRequest: api.AuditRequest{Path: fmt.Sprint("/", n)}}
}

// write appends records 1 to n to a chain.
func write(t *testing.T, s store.Store, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		c, err := audit.Load(t.Context(), s, "core", nil) // each as after a restart
		if err == nil {
			err = s.Apply(t.Context(), c.Append(record(n)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, s store.Store) ([]api.AuditChain, []api.AuditRecord) {
	t.Helper()
	chains, err := audit.Chains(t.Context(), s)
	records, errRecords := audit.Records(t.Context(), s)
	if err := errors.Join(err, errRecords); err != nil {
		t.Fatal(err)
	}
	return chains, records
}

// TestVerify: whatever is done to a chain shows.
func TestVerify(t *testing.T) {
	s := store.NewMemory()
	write(t, s, 1, 6)
	chains, records := read(t, s)
	if faults := audit.Verify(chains, records); len(records) != 6 || len(faults) != 0 {
		t.Fatal(len(records), faults)
	}
	for want, spoil := range map[string]func([]api.AuditRecord) []api.AuditRecord{
		"record 3 was altered": func(r []api.AuditRecord) []api.AuditRecord {
			r[2].ServiceRequest.Path = "/other"
			return r
		},
		// with a new hash
		"record 4 does not follow record 3": func(r []api.AuditRecord) []api.AuditRecord {
			r[2].Detail = "nothing happened"
			r[2].Hash = audit.Hash(&r[2])
			return r
		},
		"records 3 to 3 are missing": func(r []api.AuditRecord) []api.AuditRecord {
			return slices.Delete(r, 2, 3)
		},
		"records 1 to 2 are missing": func(r []api.AuditRecord) []api.AuditRecord {
			return r[2:]
		},
		"records 5 to 6 are missing at the end": func(r []api.AuditRecord) []api.AuditRecord {
			return r[:4]
		},
		"record 2 is there, and was removed before": func(r []api.AuditRecord) []api.AuditRecord {
			return append(r, r[1])
		},
		"record 6 is not the one that was written last": func(r []api.AuditRecord) []api.AuditRecord {
			r[5].Detail = "nothing happened"
			r[5].Hash = audit.Hash(&r[5])
			return r
		},
		"chain other": func(r []api.AuditRecord) []api.AuditRecord { r[0].Chain = "other"; return r },
	} {
		faults := strings.Join(audit.Verify(chains, spoil(slices.Clone(records))), "; ")
		if !strings.Contains(faults, want) {
			t.Errorf("%q, want %q", faults, want)
		}
	}
}

// TestSwappedKeys: records that have changed keys show, in one chain and between two.
func TestSwappedKeys(t *testing.T) {
	for _, keys := range [][2]string{{"core/0000000000000002", "core/0000000000000004"},
		{"core/0000000000000002", "mrc/0000000000000001"}} {
		s := store.NewMemory()
		write(t, s, 1, 5)
		c, err := audit.Load(t.Context(), s, "mrc", nil)
		if err == nil {
			err = s.Apply(t.Context(), c.Append(record(6)))
		}
		a, errA := s.Get(t.Context(), "audit/records/"+keys[0])
		b, errB := s.Get(t.Context(), "audit/records/"+keys[1])
		if err := errors.Join(err, errA, errB); err != nil {
			t.Fatal(err)
		}
		chains, records := read(t, s)
		if faults := audit.Verify(chains, records); len(faults) > 0 {
			t.Fatal(faults)
		}
		if err := s.Apply(t.Context(), []store.Op{{Key: a.Key, Value: b.Value},
			{Key: b.Key, Value: a.Value}}); err != nil {
			t.Fatal(err)
		}
		chains, records = read(t, s)
		faults := strings.Join(audit.Verify(chains, records), "; ")
		if !strings.Contains(faults, "record 2 was altered") ||
			strings.Count(faults, "was altered") != 2 {
			t.Errorf("%v: %q, want that both were altered", keys, faults)
		}
	}
}

// TestLoadFindsRecordsBeyondTheHead: a crash between a record and its head, where a store takes
// them in two parts, loses neither.
func TestLoadFindsRecordsBeyondTheHead(t *testing.T) {
	s := store.NewMemory()
	write(t, s, 1, 2)
	c, err := audit.Load(t.Context(), s, "core", nil)
	if err != nil {
		t.Fatal(err)
	}
	ops := c.Append(record(3), record(4))
	if err := s.Apply(t.Context(), ops[:len(ops)-1]); err != nil {
		t.Fatal(err)
	}
	write(t, s, 5, 5)
	chains, records := read(t, s)
	if faults := audit.Verify(chains, records); len(records) != 5 || len(faults) != 0 {
		t.Error(len(records), faults)
	}
}

// TestPrune: old records go first, by size and by age, the newest stays, and what is left verifies.
func TestPrune(t *testing.T) {
	for name, c := range map[string]struct {
		keep audit.Keep
		now  time.Time
		left int
	}{
		"all": {audit.Keep{Octets: 1 << 20, Age: time.Hour}, began.Add(10 * time.Minute), 200},
		// of minutes 190 to 200
		"age":    {audit.Keep{Octets: 1 << 20, Age: time.Hour}, began.Add(250 * time.Minute), 11},
		"size":   {audit.Keep{Octets: 9000, Age: 100 * time.Hour}, began.Add(200 * time.Minute), -1},
		"newest": {audit.Keep{Octets: 1, Age: time.Minute}, began.Add(1000 * time.Minute), 1},
	} {
		s := store.NewMemory()
		write(t, s, 1, 200)
		for range 2 { // the second time there is nothing to do
			if _, err := audit.Prune(t.Context(), s, c.keep, c.now); err != nil {
				t.Fatal(err)
			}
		}
		chains, records := read(t, s)
		octets := 0
		list, _, _ := s.List(t.Context(), "audit/records/")
		for _, r := range list {
			octets += len(r.Value)
		}
		if c.left >= 0 && len(records) != c.left || c.left < 0 &&
			(octets > c.keep.Octets || octets < c.keep.Octets-1000) {
			t.Errorf("%s: %d records of %d octets are left, want %d", name, len(records), octets, c.left)
		}
		if records[len(records)-1].Seq != 200 {
			t.Errorf("%s: the newest is %d", name, records[len(records)-1].Seq)
		}
		if faults := audit.Verify(chains, records); len(faults) > 0 {
			t.Errorf("%s: %v", name, faults)
		}
		if faults := audit.Verify(chains, records[1:]); len(records) > 1 && len(faults) == 0 {
			t.Errorf("%s: the oldest record can be removed unseen", name)
		}
	}
}

func failure(client string, at time.Time) api.AuditRecord {
	return api.AuditRecord{Timestamp: at, Outcome: api.AuditFailure,
		SessionInfo: api.AuditSession{RemoteAddress: client}}
}

// TestFloodOfFailures: the log records a limited number of failures per client and counts the rest.
// Other clients have budgets of their own, and the log records every success.
func TestFloodOfFailures(t *testing.T) {
	s := store.NewMemory()
	l := audit.NewLog(s, "c1", nil)
	put := func(r api.AuditRecord) {
		t.Helper()
		if err := l.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		put(failure("192.0.2.1", began))
	}
	put(failure("192.0.2.2", began))
	ok := record(0)
	ok.SessionInfo.RemoteAddress = "192.0.2.1"
	put(ok)
	_, records := read(t, s)
	if len(records) != 22 || records[21].Suppressed != 980 ||
		records[21].SessionInfo.RemoteAddress != "192.0.2.2" || records[0].Outcome != api.AuditSuccess {
		t.Errorf("%d records, %+v", len(records), records[len(records)-2:])
	}
	// A common bound applies to all strangers together.
	for n := range 10000 {
		put(failure(fmt.Sprint("client ", n), began))
	}
	if _, records := read(t, s); len(records) > 250 {
		t.Errorf("%d records", len(records))
	}
	// Once the budgets of remembered clients are full again, the log forgets these clients and records
	// failures of further clients.
	_, before := read(t, s)
	for n, later := range []time.Duration{6*time.Second - 1, 6 * time.Second} {
		put(failure(fmt.Sprint("later client ", n), began.Add(later)))
	}
	_, records = read(t, s)
	if last := records[len(records)-1]; len(records) != len(before)+1 ||
		last.SessionInfo.RemoteAddress != "later client 1" {
		t.Errorf("%d records after %d, the last %+v; want one more, of the client after 6 s",
			len(records), len(before), last)
	}
}

// TestKnownPrincipalsAreRecorded: the log records every refusal of a known principal, however many
// failures of strangers came from the same address or from all addresses, and however many refusals
// there are. A wrong password counts as a stranger's failure, and so does a refused request without
// credentials.
func TestKnownPrincipalsAreRecorded(t *testing.T) {
	s := store.NewMemory()
	l := audit.NewLog(s, "c1", nil)
	put := func(n int, authn api.AuditAuthn) {
		t.Helper()
		for range n {
			r := failure("192.0.2.1", began)
			r.SessionInfo.User.Identity, r.SessionInfo.Authn = "ann", authn
			if err := l.Write(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(300, api.AuditAuthn{Status: audit.AuthnFail})
	put(300, api.AuditAuthn{Status: audit.AuthnSuccess, Type: api.WayToken})
	put(300, api.AuditAuthn{Status: audit.AuthnFail, Type: api.WayToken})
	put(300, api.AuditAuthn{Status: audit.AuthnSuccess, Type: api.WayNone})
	put(300, api.AuditAuthn{Status: audit.AuthnSuccess})
	chains, records := read(t, s)
	of := make(map[string]int)
	for _, r := range records {
		of[r.Chain]++
	}
	if of[audit.Edge("c1")] != 300 || of[audit.Strangers("c1")] != 20 || len(of) != 2 {
		t.Error(of)
	}
	if faults := audit.Verify(chains, records); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestLogGoesOnAfterAFailure: the log repeats a write with an unknown outcome before the next
// write, so the chain has no gap.
func TestLogGoesOnAfterAFailure(t *testing.T) {
	var s storetest.Faulty
	l := audit.NewLog(&s, "c1", nil)
	broken := errors.New("broken")
	for n, c := range []struct {
		fail, want error
	}{{nil, nil}, {broken, broken}, {nil, nil}, {nil, nil}} {
		s.Fail(c.fail)
		if err := l.Write(t.Context(), record(n)); !errors.Is(err, c.want) {
			t.Errorf("%d: %v, want %v", n, err, c.want)
		}
	}
	chains, records := read(t, &s)
	if faults := audit.Verify(chains, records); len(records) != 4 || len(faults) > 0 {
		t.Errorf("%d records, %v", len(records), faults)
	}
}

// TestLongSpecs: the log replaces a spec too long for a record by the spec's size and hash.
func TestLongSpecs(t *testing.T) {
	ctx, e := audit.With(context.Background(), record(1))
	audit.Of(ctx).Change(nil, strings.Repeat("x", 1<<20))
	r, ok := e.Take()
	if !ok || r.Before != nil || len(r.After) > 200 ||
		!strings.Contains(string(r.After), `"octets":1048578`) {
		t.Errorf("%s", r.After)
	}
}
