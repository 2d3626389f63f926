package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

// Keys of the store: records, the newest of each chain, and the newest that was removed.
const (
	recordPrefix = "audit/records/"
	headPrefix   = "audit/heads/"
	prunedPrefix = "audit/pruned/"
)

// The chains of a controller that decides; that of each controller is [Edge].
const (
	ChainCore   = "core"   // changes of groups, tenants, policies and orphans
	ChainMRC    = "mrc"    // changes of the MRC fabric
	ChainAccess = "access" // changes of users, tokens and sessions
)

// Edge returns the name of the chain for a controller's refusals to principals and for reads of
// secrets.
func Edge(controller string) string { return "edge." + plain(controller) }

// Strangers returns the name of the chain for a controller's refusals to unauthenticated clients.
// These clients have a budget, and their records push out no other records.
func Strangers(controller string) string { return "strangers." + plain(controller) }

// plain returns a name as a part of a key.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' {
			return '-'
		}
		return r
	}, name)
}

// place is where a chain is at: the number and hash of a record.
type place struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

var (
	_ = store.Form[api.AuditRecord](recordPrefix)
	_ = store.Form[place](headPrefix)
	_ = store.Form[place](prunedPrefix)
)

// Chain makes the writes of records. Its methods must not be called concurrently.
type Chain struct {
	name string
	at   place
	log  *slog.Logger // nil: records are not logged
}

// Load returns the chain of a name as the store has it. Each new record is also logged, with its
// hash.
func Load(ctx context.Context, s store.Store, name string, log *slog.Logger) (*Chain, error) {
	c := &Chain{name: name, log: log}
	if err := getPlace(ctx, s, headPrefix+name, &c.at); err != nil {
		return nil, err
	}
	for { // records that were written before their head
		r, err := s.Get(ctx, recordKey(name, c.at.Seq+1))
		if errors.Is(err, store.ErrNotFound) {
			return c, nil
		}
		var next api.AuditRecord
		if err == nil {
			next, err = decode(&r)
		}
		if err != nil {
			return nil, fmt.Errorf("audit: chain %s, record %d: %w", name, c.at.Seq+1, err)
		}
		c.at = place{Seq: next.Seq, Hash: next.Hash}
	}
}

func getPlace(ctx context.Context, s store.Store, key string, p *place) error {
	r, err := s.Get(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("audit: %w", err)
	}
	if err := json.Unmarshal(r.Value, p); err != nil {
		return fmt.Errorf("audit: record %s: %w", key, err)
	}
	return nil
}

func recordKey(chain string, seq uint64) string {
	return fmt.Sprintf("%s%s/%016x", recordPrefix, chain, seq)
}

// decode returns a record of the store. Chain and number come from its key: if two records have
// changed keys, their hashes show that ([Verify]).
func decode(r *store.Record) (out api.AuditRecord, err error) {
	if err = json.Unmarshal(r.Value, &out); err == nil {
		chain, seq, _ := strings.Cut(strings.TrimPrefix(r.Key, recordPrefix), "/")
		out.Chain = chain
		out.Seq, err = strconv.ParseUint(seq, 16, 64)
	}
	if err != nil {
		return out, fmt.Errorf("record %s: %w", r.Key, err)
	}
	return out, nil
}

// Append returns the writes that keep records. These writes come before the writes of the recorded
// changes, so that a store that takes effect in parts has no change without its record.
func (c *Chain) Append(records ...api.AuditRecord) []store.Op {
	var ops []store.Op
	for _, r := range records {
		r.Chain, r.Seq, r.Previous, r.Hash = c.name, c.at.Seq+1, c.at.Hash, ""
		r.Timestamp = r.Timestamp.UTC()
		r.Hash = Hash(&r)
		c.at = place{Seq: r.Seq, Hash: r.Hash}
		ops = append(ops, store.Op{Key: recordKey(c.name, r.Seq), Value: encode(&r)})
		if c.log != nil {
			c.log.Info("audit", "chain", r.Chain, "seq", r.Seq, "hash", r.Hash, "identity",
				r.SessionInfo.User.Identity,
				"method", r.ServiceRequest.Method, "path", r.ServiceRequest.Path, "outcome", r.Outcome,
				"request", r.SessionInfo.ChannelID)
		}
	}
	if len(ops) == 0 {
		return nil
	}
	return append(ops, store.Op{Key: headPrefix + c.name, Value: encode(&c.at)})
}

// Hash returns the hash of a record, over all its fields but the hash.
func Hash(r *api.AuditRecord) string {
	bare := *r
	bare.Hash = ""
	sum := sha256.Sum256(encode(&bare))
	return hex.EncodeToString(sum[:])
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("audit: record cannot be written: %v", err)) // plain structs of our own
	}
	return b
}
