package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

// Records returns all records, oldest first.
func Records(ctx context.Context, s store.Store) ([]api.AuditRecord, error) {
	list, _, err := s.List(ctx, recordPrefix)
	if err != nil {
		return nil, err
	}
	out := make([]api.AuditRecord, len(list))
	for i := range list {
		if out[i], err = decode(&list[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b api.AuditRecord) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.Chain, b.Chain),
			cmp.Compare(a.Seq, b.Seq))
	})
	return out, nil
}

// Chains returns the chains in the store and further chains listed in the cluster's record, sorted
// by name.
func Chains(ctx context.Context, s store.Store) ([]api.AuditChain, error) {
	noted, _, err := register(ctx, s) // before the chains, which only grow
	if err != nil {
		return nil, err
	}
	found := make(map[string]*api.AuditChain)
	for name, p := range noted {
		found[name] = &api.AuditChain{Name: name, NotedSeq: p.Seq, NotedHash: p.Hash}
	}
	for _, prefix := range []string{headPrefix, prunedPrefix} {
		list, _, err := s.List(ctx, prefix)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			var p place
			if err := json.Unmarshal(r.Value, &p); err != nil {
				return nil, fmt.Errorf("record %s: %w", r.Key, err)
			}
			name := strings.TrimPrefix(r.Key, prefix)
			c := found[name]
			if c == nil {
				c = &api.AuditChain{Name: name}
				found[name] = c
			}
			if prefix == headPrefix {
				c.NewestSeq, c.NewestHash = p.Seq, p.Hash
			} else {
				c.PrunedSeq, c.PrunedHash = p.Seq, p.Hash
			}
		}
	}
	out := []api.AuditChain{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[name])
	}
	return out, nil
}

// Keep bounds what is kept of a chain.
type Keep struct {
	// Octets of the records of a chain, and their age. The newest record always stays.
	Octets int
	Age    time.Duration
}

// DefaultKeep returns the defaults.
func DefaultKeep() Keep { return Keep{Octets: 8 << 20, Age: 90 * 24 * time.Hour} }

// pruneAtOnce bounds the records that one transaction removes.
const pruneAtOnce = 64

// Prune removes the oldest records of each chain that exceed the bounds. It keeps number and hash
// of the newest removed record.
func Prune(ctx context.Context, s store.Store, keep Keep, now time.Time) (removed int, err error) {
	chains, err := Chains(ctx, s)
	if err != nil {
		return 0, err
	}
	for _, c := range chains {
		list, _, err := s.List(ctx, recordPrefix+c.Name+"/")
		if err != nil {
			return removed, err
		}
		n, err := excess(list, keep, now)
		if err != nil {
			return removed, err
		}
		for part := range slices.Chunk(list[:n], pruneAtOnce) {
			last, err := decode(&part[len(part)-1])
			if err != nil {
				return removed, err
			}
			ops := []store.Op{{Key: prunedPrefix + c.Name,
				Value: encode(&place{Seq: last.Seq, Hash: last.Hash})}}
			for _, r := range part {
				ops = append(ops, store.Op{Key: r.Key})
			}
			if err := s.Apply(ctx, ops); err != nil {
				return removed, err
			}
			removed += len(part)
		}
	}
	return removed, nil
}

// excess returns how many of a chain's records, oldest first, are to be removed.
func excess(list []store.Record, keep Keep, now time.Time) (int, error) {
	octets := 0
	for i, r := range slices.Backward(list) {
		octets += len(r.Value)
		if i == len(list)-1 {
			continue
		}
		var when struct {
			Timestamp time.Time `json:"timestamp"`
		}
		if err := json.Unmarshal(r.Value, &when); err != nil {
			return 0, fmt.Errorf("record %s: %w", r.Key, err)
		}
		if octets > keep.Octets || now.Sub(when.Timestamp) > keep.Age {
			return i + 1, nil
		}
	}
	return 0, nil
}
