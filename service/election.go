package service

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/store"
)

// electionKey is the key of the record that makes election ids grow with each start.
const electionKey = "election"

// electionRecord identifies the installation and counts its starts and decisions.
type electionRecord struct {
	// Identity distinguishes the election ids of this installation; never 0.
	Identity uint32 `json:"identity"`
	// Generation counts the starts, and the decisions on owners of switches.
	Generation uint32 `json:"generation"`
}

var _ = store.Form[electionRecord](electionKey)

// id returns the election id of the generation.
func (e electionRecord) id() southbound.ElectionID {
	return southbound.NewElectionID(e.Generation, e.Identity)
}

// nextElection returns the next generation, and stores it before anybody sees it. Its election id
// exceeds the ids from all earlier generations on the store.
func nextElection(ctx context.Context, s store.Store) (e electionRecord, err error) {
	expect := store.Absent
	r, err := s.Get(ctx, electionKey)
	switch {
	case err == nil:
		if err := json.Unmarshal(r.Value, &e); err != nil {
			return e, fmt.Errorf("record %s: %w", electionKey, err)
		}
		if e.Identity == 0 {
			return e, fmt.Errorf("record %s: %s has no identity", electionKey, r.Value)
		}
		expect = r.Revision
	case errors.Is(err, store.ErrNotFound):
		for e.Identity == 0 {
			var b [4]byte
			_, _ = rand.Read(b[:]) // never fails
			e.Identity = binary.BigEndian.Uint32(b[:])
		}
	default:
		return e, err
	}
	e.Generation++
	value, err := json.Marshal(e)
	if err == nil {
		_, err = s.Put(ctx, electionKey, value, expect)
	}
	return e, err
}
