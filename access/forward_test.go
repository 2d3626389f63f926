package access

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/store"
)

// brokenStore is a store that fails to read, fails to write, or returns another value.
type brokenStore struct {
	store.Store
	get, put error
	value    string // "": that of the store
}

func (s brokenStore) Get(ctx context.Context, key string) (store.Record, error) {
	if s.get != nil {
		return store.Record{}, s.get
	}
	r, err := s.Store.Get(ctx, key)
	if s.value != "" {
		r.Value = []byte(s.value)
	}
	return r, err
}

func (s brokenStore) Put(ctx context.Context, key string, v []byte, after int64) (int64, error) {
	if s.put != nil {
		return 0, s.put
	}
	return s.Store.Put(ctx, key, v, after)
}

// TestSealed: every controller of a store accepts a value sealed by another controller of the
// store, but only for the sealed purpose and only unchanged.
func TestSealed(t *testing.T) {
	shared := store.NewMemory()
	one, two := NewSigner(shared), NewSigner(shared)
	sealed, err := one.Seal(t.Context(), "principal", "ann")
	if err != nil {
		t.Fatal(err)
	}
	text, mac, _ := strings.Cut(sealed, ".")
	other, _ := NewSigner(store.NewMemory()).Seal(t.Context(), "principal", "ann")
	for _, c := range []struct {
		what, purpose, sealed string
		want                  bool
	}{
		{"as it was sealed", "principal", sealed, true},
		{"for another purpose", "cookie", sealed, false},
		{"by another store", "principal", other, false},
		{"without a signature", "principal", text, false},
		{"with an empty signature", "principal", text + ".", false},
		{"with another text", "principal", "x" + sealed, false},
		{"with a signature that is cut off", "principal", sealed[:len(sealed)-2], false},
		{"with a signature that is no number", "principal", text + ".x" + mac[1:], false},
		{"nothing", "principal", "", false},
	} {
		for _, by := range []*Signer{one, two} {
			var got string
			err := by.Open(t.Context(), c.purpose, c.sealed, &got)
			if (err == nil && got == "ann") != c.want || err != nil && !errors.Is(err, ErrCredentials) {
				t.Errorf("%s: %q, %v; want it taken: %v", c.what, got, err, c.want)
			}
		}
	}
}

// TestClocks: a signature from too long ago, or from the future, is a clock fault and no client
// fault. The error names the deviating clock and the deviation.
func TestClocks(t *testing.T) {
	s, now := NewSigner(store.NewMemory()), time.Now()
	signed, err := s.Sign(t.Context(), Forwarded{Method: "GET", Target: "/", Issued: now})
	if err != nil {
		t.Fatal(err)
	}
	for off, want := range map[time.Duration]string{
		0: "", MaxSkew: "", -MaxSkew: "",
		MaxSkew + time.Second:  "forwards the request is 2m1s behind that of the one that decides",
		-MaxSkew - time.Second: "2m1s ahead of that of",
		MaxSkew + time.Hour*24: "24h2m0s behind",
	} {
		_, err := s.Verify(t.Context(), signed, "GET", "/", now.Add(off))
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrClock) ||
			errors.Is(err, ErrCredentials) || !strings.Contains(err.Error(), want)) {
			t.Errorf("the clock is %v off: %v, want %q", off, err, want)
		}
	}
	if _, err := s.Verify(t.Context(), signed, "PUT", "/", now); !errors.Is(err, ErrCredentials) {
		t.Errorf("another request: %v", err)
	}
}

// TestSealWithoutStore: without the store's key a signer seals and accepts nothing: neither if the
// key cannot be read or made, nor if the stored key is invalid.
func TestSealWithoutStore(t *testing.T) {
	down := errors.New("down")
	good := store.NewMemory()
	if _, err := NewSigner(good).Seal(t.Context(), "principal", "ann"); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		store store.Store
		want  error
	}{
		"cannot be read":    {brokenStore{Store: good, get: down}, down},
		"cannot be made":    {brokenStore{Store: store.NewMemory(), put: down}, down},
		"is too short":      {brokenStore{Store: good, value: "abcd"}, nil},
		"is no hexadecimal": {brokenStore{Store: good, value: strings.Repeat("xy", 32)}, nil},
	} {
		_, err := NewSigner(c.store).Seal(t.Context(), "principal", "ann")
		var got string
		errOpen := NewSigner(c.store).Open(t.Context(), "principal", "a.b", &got)
		for _, err := range []error{err, errOpen} {
			switch {
			case c.want != nil && (!errors.Is(err, ErrStore) || !errors.Is(err, c.want)):
				t.Errorf("the key %s: %v", what, err)
			case c.want == nil && (err == nil || !strings.Contains(err.Error(), "is no key")):
				t.Errorf("the key %s: %v", what, err)
			}
		}
	}
}
