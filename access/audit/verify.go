package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/api"
)

// Verify checks the records of chains, and returns the faults, sorted by chain; no faults: all
// chains are intact. Records may be in any order.
func Verify(chains []api.AuditChain, records []api.AuditRecord) (faults []string) {
	of := make(map[string][]*api.AuditRecord)
	for i := range records {
		of[records[i].Chain] = append(of[records[i].Chain], &records[i])
	}
	for _, c := range chains {
		faults = append(faults, verify(c, of[c.Name])...)
		delete(of, c.Name)
	}
	for name := range of {
		faults = append(faults, fmt.Sprintf("chain %s: %d records of no known chain", name,
			len(of[name])))
	}
	return faults
}

func verify(c api.AuditChain, records []*api.AuditRecord) (faults []string) {
	bad := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("chain %s: ", c.Name)+fmt.Sprintf(format, args...))
	}
	slices.SortFunc(records, func(a, b *api.AuditRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	if fault := missing(c); fault != "" {
		faults = append(faults, fault)
	}
	if c.NotedSeq > 0 && c.NotedSeq == c.PrunedSeq && c.NotedHash != c.PrunedHash {
		bad("record %d, which was removed, is not the one that was noted: it had another hash",
			c.NotedSeq)
	}
	seq, hash := c.PrunedSeq, c.PrunedHash
	for _, r := range records {
		switch {
		case r.Seq == seq+1:
		case r.Seq <= seq:
			bad("record %d is there, and was removed before", r.Seq)
			continue
		default:
			bad("records %d to %d are missing", seq+1, r.Seq-1)
			hash = r.Previous // the rest is checked against itself
		}
		if r.Previous != hash {
			bad("record %d does not follow record %d: it names another hash", r.Seq, r.Seq-1)
		}
		if Hash(r) != r.Hash {
			bad("record %d was altered: its hash is another one", r.Seq)
		}
		if r.Seq == c.NewestSeq && r.Hash != c.NewestHash {
			bad("record %d is not the one that was written last: it has another hash", r.Seq)
		}
		if r.Seq == c.NotedSeq && r.Hash != c.NotedHash {
			bad("record %d is not the one that was noted: it has another hash", r.Seq)
		}
		seq, hash = r.Seq, r.Hash
	}
	if c.NewestSeq > seq {
		bad("records %d to %d are missing at the end", seq+1, c.NewestSeq)
	}
	return faults
}
