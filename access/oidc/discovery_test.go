package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
)

// provider answers questions for a provider's configuration; some of them hang.
type provider struct {
	mu    sync.Mutex
	asked int
	hang  func(n int) bool
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.asked++
	hangs := p.hang(p.asked)
	p.mu.Unlock()
	if hangs {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	b, err := json.Marshal(map[string]string{"issuer": "https://login.example",
		"authorization_endpoint": "https://login.example/auth"})
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(b))), Request: r}, err
}

// times returns how often it was asked.
func (p *provider) times() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func newProvider(t *testing.T, hang func(n int) bool) (*Provider, *provider) {
	t.Helper()
	p, asked := New(Config{Issuer: "https://login.example"}), &provider{hang: hang}
	p.client.Transport = asked
	t.Cleanup(p.Close)
	return p, asked
}

// TestDiscoveryThatHangs: one question that hangs holds the others for a second, and nobody waits
// for the provider longer than for one request.
func TestDiscoveryThatHangs(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p, asked := newProvider(t, func(n int) bool { return n == 1 })
		began := time.Now()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, err := p.find(t.Context()); err != nil || time.Since(began) != patience {
					t.Errorf("%v after %v", err, time.Since(began))
				}
			})
		}
		all.Wait()
		if asked.times() != 2 {
			t.Errorf("the provider was asked %d times, want twice", asked.times())
		}
	})
	bubble.Test(t, func(t *testing.T) {
		p, asked := newProvider(t, func(int) bool { return true })
		began := time.Now()
		if _, err := p.find(t.Context()); !errors.Is(err, ErrProvider) ||
			time.Since(began) != askTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if most := int(askTimeout/patience) + 1; asked.times() > most {
			t.Errorf("the provider was asked %d times, want at most %d", asked.times(), most)
		}
		// A client that leaves is not waited for.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began = time.Now()
		if _, err := p.find(ctx); !errors.Is(err, ErrProvider) || time.Since(began) != time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestDiscoveryIsShared: those who come at the same time share one question, and after a failure
// the next one asks again.
func TestDiscoveryIsShared(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p, asked := newProvider(t, func(int) bool { return false })
		for range 2 {
			if _, err := p.find(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if asked.times() != 1 {
			t.Errorf("asked %d times", asked.times())
		}
	})
}
