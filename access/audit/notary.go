package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

// registerKey is the key of the cluster's record of all chains. The record lies outside the chains,
// so a lost or shortened chain is noticed.
const registerKey = "cluster/audit"

var _ = store.Form[map[string]place](registerKey)

// register returns the record, by the names of chains, and its revision.
func register(ctx context.Context, s store.Store) (map[string]place, int64, error) {
	known := make(map[string]place)
	r, err := s.Get(ctx, registerKey)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return known, store.Absent, nil
	case err != nil:
		return nil, 0, fmt.Errorf("audit: %w", err)
	}
	if err := json.Unmarshal(r.Value, &known); err != nil {
		return nil, 0, fmt.Errorf("audit: record %s: %w", registerKey, err)
	}
	return known, r.Revision, nil
}

// Notary notes the newest record of each chain in the cluster's record and, if configured, in a
// file outside the store. Notary compares all noted positions with the chains, and restores the
// cluster's record after a change by others. Do not call the methods concurrently.
type Notary struct {
	store store.Store
	file  string // "": none
	held  map[string]place
	wrote map[string]place // in the file
}

// maxFile is the number of octets that a notary reads from the end of the file at its start. The
// last lines contain the positions of all chains.
const maxFile = 1 << 20

// NewNotary returns a notary that also writes to a file, "" for none. It takes over what the file
// has.
func NewNotary(s store.Store, file string) (*Notary, error) {
	n := &Notary{store: s, file: file, held: make(map[string]place), wrote: make(map[string]place)}
	if file == "" {
		return n, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	defer f.Close()
	skip := false
	if info, err := f.Stat(); err == nil && info.Size() > maxFile {
		_, err = f.Seek(-maxFile, io.SeekEnd)
		if err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		skip = true // the first line, of which a part may be missing
	}
	noted, err := ReadNoted(f, skip)
	if err != nil {
		return nil, fmt.Errorf("audit: %s: %w", file, err)
	}
	for _, p := range noted {
		if p.Seq >= n.held[p.Chain].Seq {
			n.held[p.Chain] = place{Seq: p.Seq, Hash: p.Hash}
		}
	}
	n.wrote = maps.Clone(n.held)
	return n, nil
}

// Noted is a record of a chain that was noted: its number and hash.
type Noted struct {
	Chain, Hash string
	Seq         uint64
}

// ParseNoted reads CHAIN:SEQ:HASH, as String writes it.
func ParseNoted(text string) (p Noted, err error) {
	parts := strings.Split(text, ":")
	if len(parts) == 3 {
		p.Chain, p.Hash = parts[0], parts[2]
		p.Seq, err = strconv.ParseUint(parts[1], 10, 64)
	}
	if len(parts) != 3 || err != nil || len(p.Hash) != 64 || p.Chain == "" {
		return p, fmt.Errorf("%.200q: want CHAIN:SEQ:HASH", text)
	}
	return p, nil
}

func (p Noted) String() string { return fmt.Sprintf("%s:%d:%s", p.Chain, p.Seq, p.Hash) }

// ReadNoted reads the lines of the file of a notary, each a time and CHAIN:SEQ:HASH. skip leaves
// out the first one.
func ReadNoted(r io.Reader, skip bool) (out []Noted, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		if n == 1 && skip || strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		_, text, _ := strings.Cut(lines.Text(), " ")
		p, err := ParseNoted(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, p)
	}
	return out, lines.Err()
}

// Note compares the chains with the positions noted earlier and returns the missing parts. For each
// intact chain, Note records the newest position.
func (n *Notary) Note(ctx context.Context, now time.Time) (faults []string, err error) {
	chains, err := Chains(ctx, n.store) // which have what the cluster's record has
	if err != nil {
		return nil, err
	}
	known, revision, err := register(ctx, n.store)
	if err != nil {
		return nil, err
	}
	next := maps.Clone(known)
	for name, p := range n.held { // which somebody may have taken out of the record
		if p.Seq > next[name].Seq {
			next[name] = p
		}
	}
	byName := make(map[string]api.AuditChain)
	for _, c := range chains {
		byName[c.Name] = c
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		c := byName[name]
		c.Name, c.NotedSeq, c.NotedHash = name, next[name].Seq, next[name].Hash
		fault, err := n.compare(ctx, c)
		if err != nil {
			return nil, err
		}
		if fault != "" {
			faults = append(faults, fault)
			delete(byName, name)
		}
	}
	for name, c := range byName {
		if c.NewestSeq > 0 {
			next[name] = place{Seq: c.NewestSeq, Hash: c.NewestHash}
		}
	}
	if !maps.Equal(next, known) {
		if _, err := n.store.Put(ctx, registerKey, encode(next), revision); err != nil {
			return faults, fmt.Errorf("audit: %w", err)
		}
	}
	n.held = next
	return faults, n.write(now)
}

// compare describes what a chain has lost since its last noted position; "": nothing.
func (n *Notary) compare(ctx context.Context, c api.AuditChain) (string, error) {
	if fault := missing(c); fault != "" || c.NotedSeq < c.PrunedSeq {
		return fault, nil
	}
	hash := c.PrunedHash
	if c.NotedSeq > c.PrunedSeq {
		r, err := n.store.Get(ctx, recordKey(c.Name, c.NotedSeq))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", fmt.Errorf("audit: %w", err)
		}
		var found api.AuditRecord
		if err == nil {
			err = json.Unmarshal(r.Value, &found)
		}
		if err != nil {
			return fmt.Sprintf("chain %s: record %d, which was noted, is gone", c.Name, c.NotedSeq), nil
		}
		hash = found.Hash
	}
	if hash != c.NotedHash {
		return fmt.Sprintf("chain %s: record %d is not the one that was noted: it has another hash",
			c.Name, c.NotedSeq), nil
	}
	return "", nil
}

// missing describes the records missing at the end of a chain, compared with the noted position;
// "": nothing.
func missing(c api.AuditChain) string {
	switch {
	case c.NewestSeq >= c.NotedSeq:
		return ""
	case c.NewestSeq == 0:
		return fmt.Sprintf("chain %s is gone: %d records of it were noted", c.Name, c.NotedSeq)
	}
	return fmt.Sprintf("chain %s is shorter than it was: it ends with record %d, and record %d was "+
		"noted", c.Name, c.NewestSeq, c.NotedSeq)
}

// write adds what is new to the file.
func (n *Notary) write(now time.Time) error {
	if n.file == "" || maps.Equal(n.held, n.wrote) {
		return nil
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(n.held)) {
		if p := n.held[name]; p != n.wrote[name] {
			fmt.Fprintln(&lines, now.UTC().Format(time.RFC3339), Noted{Chain: name, Seq: p.Seq,
				Hash: p.Hash})
		}
	}
	// each time: it may be rotated
	f, err := os.OpenFile(n.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	_, err = f.WriteString(lines.String())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	n.wrote = maps.Clone(n.held)
	return nil
}
