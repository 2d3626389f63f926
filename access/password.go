package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/argon2"
)

// Cost is what the hash of a password takes: passes, KiB of memory and lanes of argon2id.
type Cost struct {
	Passes, Memory uint32
	Lanes          uint8
}

// DefaultCost is the second recommended option of RFC 9106, section 4.
func DefaultCost() Cost { return Cost{Passes: 3, Memory: 64 << 10, Lanes: 4} }

// Lengths of salt and hash in octets (RFC 9106, section 4).
const (
	saltOctets = 16
	hashOctets = 32
)

// maxHashes bounds the concurrent password hashes for strangers and, separately, for known
// principals, and so bounds the memory. hashWait is the time that a password waits for its turn.
const (
	maxHashes = 2
	hashWait  = 5 * time.Second
)

// room is for a bounded number of hashes at a time.
type room chan struct{}

// hasher hashes passwords, a bounded number at a time.
type hasher struct {
	cost Cost
	// strangers is the room for clients that have yet to authenticate, own the room for all other
	// clients. Strangers leave own free.
	strangers, own room

	// mu guards the fields below it.
	mu      sync.Mutex
	cycles  uint64 // of the garbage collector, when one was seen last
	garbage int    // hashes since then, whose memory is not free yet
}

// maxGarbage bounds the hashes whose memory waits for the garbage collector. Beside a large heap
// the collector by itself would run only after many hashes: 40 wrong passwords took a gigabyte.
const maxGarbage = 4

// collect frees the memory of hashes once it is large.
func (h *hasher) collect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(seen)
	if now := seen[0].Value.Uint64(); now != h.cycles {
		h.cycles, h.garbage = now, 0
	}
	if h.garbage++; h.garbage >= maxGarbage {
		h.garbage = 0
		runtime.GC()
	}
}

func newHasher(cost Cost) *hasher {
	if cost == (Cost{}) {
		cost = DefaultCost()
	}
	return &hasher{cost: cost, strangers: make(room, maxHashes), own: make(room, maxHashes)}
}

func (h *hasher) run(ctx context.Context, in room, password string, salt []byte, c Cost,
	octets uint32) ([]byte, error) {
	late := time.NewTimer(hashWait)
	defer late.Stop()
	select {
	case in <- struct{}{}:
		defer func() { <-in }()
		defer h.collect()
		return argon2.IDKey([]byte(password), salt, c.Passes, c.Memory, c.Lanes, octets), nil
	case <-late.C:
		return nil, &Pause{After: hashWait, Why: ErrBusy}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hash returns a password's hash in the PHC string format.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltOctets)
	_, _ = rand.Read(salt) // never fails
	sum, err := h.run(ctx, h.own, password, salt, h.cost, hashOctets)
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.cost.Memory,
		h.cost.Passes, h.cost.Lanes,
		b64.EncodeToString(salt), b64.EncodeToString(sum)), nil
}

// errHash reports a hash that this program did not write.
var errHash = errors.New("access: the hash of the password is not one of argon2id")

// check reports whether a password has a hash. Without a hash it takes the same time, and the
// answer is no: that a user is not there does not show.
func (h *hasher) check(ctx context.Context, in room, password, hash string) (bool, error) {
	if hash == "" {
		_, err := h.run(ctx, in, password, make([]byte, saltOctets), h.cost, hashOctets)
		return false, err
	}
	part := strings.Split(hash, "$")
	if len(part) != 6 || part[1] != "argon2id" {
		return false, errHash
	}
	var version int
	var c Cost
	if _, err := fmt.Sscanf(part[2]+" "+part[3], "v=%d m=%d,t=%d,p=%d", &version, &c.Memory, &c.Passes,
		&c.Lanes); err != nil {
		return false, errors.Join(errHash, err)
	}
	salt, errSalt := base64.RawStdEncoding.DecodeString(part[4])
	want, errSum := base64.RawStdEncoding.DecodeString(part[5])
	if errSalt != nil || errSum != nil || version != argon2.Version || c.Passes == 0 || c.Lanes == 0 ||
		c.Memory > 1<<20 || len(want) == 0 {
		return false, errHash
	}
	got, err := h.run(ctx, in, password, salt, c, uint32(len(want)))
	return err == nil && subtle.ConstantTimeCompare(got, want) == 1, err
}
