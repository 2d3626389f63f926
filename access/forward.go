package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weft-sdn/weft/store"
)

// ForwardHeader carries the principal of a request that one controller hands to another.
const ForwardHeader = "X-Weft-Forwarded-Principal"

// Forwarded describes a request that a controller forwards.
type Forwarded struct {
	Principal Principal `json:"principal"`
	// Remote is the address and port of the client.
	Remote string `json:"remote"`
	// TLS reports whether the client has connected by TLS.
	TLS bool `json:"tls"`
	// Method and Target bind it to one request.
	Method string    `json:"method"`
	Target string    `json:"target"`
	Issued time.Time `json:"issued"`
}

// MaxSkew bounds the age of a forwarded principal, and how much the clocks of controllers differ.
const MaxSkew = 2 * time.Minute

// Signer authenticates principals between controllers, by a key in their store: only who reads the
// store can make one. A certificate of the controllers' authority alone is not enough. Its methods
// may be called from any goroutine.
type Signer struct {
	store store.Store

	// mu guards the field below it.
	mu   sync.Mutex
	held []byte // nil before it was read
}

const signerKey = recordPrefix + "forward-key"

var _ = store.Form[string](signerKey)

// NewSigner returns the signer of a store.
func NewSigner(s store.Store) *Signer { return &Signer{store: s} }

// key returns the key of the store, which the first controller makes.
func (s *Signer) key(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held == nil {
		r, err := s.store.Get(ctx, signerKey)
		switch {
		case errors.Is(err, store.ErrNotFound):
			key := make([]byte, sha256.Size)
			_, _ = rand.Read(key) // never fails
			if _, err := s.store.Put(ctx, signerKey, hex.AppendEncode(nil, key), store.Absent); err != nil &&
				!errors.Is(err, store.ErrConflict) {
				return nil, fmt.Errorf("%w: %w", ErrStore, err)
			}
			continue // one of another controller may be there
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrStore, err)
		}
		key, err := hex.DecodeString(string(r.Value))
		if err != nil || len(key) != sha256.Size {
			return nil, fmt.Errorf("access: record %s is no key", signerKey)
		}
		s.held = key
	}
	return s.held, nil
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// Seal returns a text of a value for a purpose, which [Signer.Open] of any controller of the store
// takes. Others can read it, and not change it.
func (s *Signer) Seal(ctx context.Context, purpose string, v any) (string, error) {
	key, err := s.key(ctx)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(b)
	return text + "." + hex.EncodeToString(sum(key, purpose+" "+text)), nil
}

// Open takes what [Signer.Seal] has sealed for a purpose.
func (s *Signer) Open(ctx context.Context, purpose, sealed string, v any) error {
	key, err := s.key(ctx)
	if err != nil {
		return err
	}
	text, mac, _ := strings.Cut(sealed, ".")
	given, err := hex.DecodeString(mac)
	if err != nil || !hmac.Equal(given, sum(key, purpose+" "+text)) {
		return fmt.Errorf("%w: the %s is not sealed by a controller of this store", ErrCredentials,
			purpose)
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return fmt.Errorf("%w: the %s: %w", ErrCredentials, purpose, err)
	}
	return nil
}

// Apart describes how far a clock runs ahead of another clock, or behind: "1h0m0s ahead of".
func Apart(ahead time.Duration) string {
	if ahead < 0 {
		return ahead.Abs().Round(time.Second).String() + " behind"
	}
	return ahead.Round(time.Second).String() + " ahead of"
}

// forwardPurpose is the purpose of [ForwardHeader].
const forwardPurpose = "forwarded principal"

// Sign returns the value of [ForwardHeader].
func (s *Signer) Sign(ctx context.Context, f Forwarded) (string, error) {
	return s.Seal(ctx, forwardPurpose, f)
}

// Verify returns what a controller has signed for a request of a method and target at about now.
// The error is ErrClock where all but the time is right.
func (s *Signer) Verify(ctx context.Context, value, method, target string,
	now time.Time) (f Forwarded, err error) {
	if err := s.Open(ctx, forwardPurpose, value, &f); err != nil {
		return f, err
	}
	if f.Method != method || f.Target != target {
		return f, fmt.Errorf("%w: %s is of another request", ErrCredentials, ForwardHeader)
	}
	if age := now.Sub(f.Issued); age.Abs() > MaxSkew {
		return f, fmt.Errorf("%w: that of the controller that forwards the request is %s that of the "+
			"one that decides, and they may differ by %v", ErrClock, Apart(-age), MaxSkew)
	}
	return f, nil
}
