package access

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

// TestForeignHashes: the hasher refuses a hash that this program did not write, before computing
// anything and whatever the password; above all a hash without a sum, because every password would
// match.
func TestForeignHashes(t *testing.T) {
	h := newHasher(Cost{Passes: 1, Memory: 8, Lanes: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	full := make(room) // without room: what is well formed waits until the client leaves
	const salt, sum = "AAAAAAAAAAAAAAAAAAAAAA", "AA"
	for hash, foreign := range map[string]bool{
		"$argon2id$v=19$m=8,t=1,p=1$" + salt + "$" + sum:       false,
		"$argon2id$v=19$m=8,t=1,p=1$" + salt + "$":             true,
		"$argon2id$v=19$m=8,t=1,p=1$" + salt:                   true,
		"$argon2id$v=19$m=8,t=1,p=1$" + salt + "$" + sum + "$": true,
		"$argon2i$v=19$m=8,t=1,p=1$" + salt + "$" + sum:        true,
		"$argon2id$v=18$m=8,t=1,p=1$" + salt + "$" + sum:       true,
		"$argon2id$v=20$m=8,t=1,p=1$" + salt + "$" + sum:       true,
		"$argon2id$v=19$m=8,t=0,p=1$" + salt + "$" + sum:       true,
		"$argon2id$v=19$m=8,t=2,p=1$" + salt + "$" + sum:       false,
		"$argon2id$v=19$m=8,t=1,p=0$" + salt + "$" + sum:       true,
		"$argon2id$v=19$m=8,t=1,p=2$" + salt + "$" + sum:       false,
		"$argon2id$v=19$m=1048576,t=1,p=1$" + salt + "$" + sum: false,
		"$argon2id$v=19$m=1048577,t=1,p=1$" + salt + "$" + sum: true,
		"$argon2id$v=19$m=8,t=1$" + salt + "$" + sum:           true,
		"$argon2id$v=19$m=8,t=1,p=1$" + salt + "!$" + sum:      true,
		"$argon2id$v=19$m=8,t=1,p=1$" + salt + "$" + sum + "!": true,
		"$argon2id$v=19$m=8,t=1,p=1$$" + sum:                   false,
		strings.Repeat("$", 5):                                 true,
	} {
		want := context.Canceled
		if foreign {
			want = errHash
		}
		if good, err := h.check(ctx, full, goodPassword, hash); good || !errors.Is(err, want) {
			t.Errorf("%s: %v, %v; want %v", hash, good, err, want)
		}
	}
}

// TestDefaultCost: passwords cost what RFC 9106, section 4, recommends second: t=3, m=64 MiB, p=4.
func TestDefaultCost(t *testing.T) {
	if got, want := DefaultCost(), (Cost{Passes: 3, Memory: 65536, Lanes: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestGarbageOfHashes: hashes that the garbage collector has seen since do not count.
func TestGarbageOfHashes(t *testing.T) {
	h := &hasher{cycles: math.MaxUint64, garbage: maxGarbage - 1}
	if h.collect(); h.garbage != 1 {
		t.Errorf("%d hashes since the garbage collector ran, want 1", h.garbage)
	}
}
