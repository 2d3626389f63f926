package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	storetest.Contract(t, func(*testing.T) store.Store { return store.NewMemory() })
}

// TestServer: the store with faults keeps the rules while it has none.
func TestServer(t *testing.T) {
	storetest.Contract(t, func(*testing.T) store.Store { return storetest.NewServer().Client() })
	storetest.SharedContract(t, func(*testing.T) store.Shared {
		return storetest.NewServer().Client()
	})
}

func TestWatchTooOld(t *testing.T) {
	m := store.NewMemory()
	for i := range store.History + 1 {
		_, _ = m.Put(t.Context(), "k", fmt.Append(nil, i), store.Any)
	}
	if _, err := m.Watch(t.Context(), "", 0); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("Watch of what is forgotten: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	events, err := m.Watch(ctx, "", store.History)
	if err != nil {
		t.Fatal(err)
	}
	if e := <-events; string(e.Record.Value) != fmt.Sprint(store.History) {
		t.Errorf("first event %q", e.Record.Value)
	}
	cancel()
	for range events {
		t.Error("event after the end")
	}
}
