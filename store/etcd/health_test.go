package etcd

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-sdn/weft/store"
)

// kv answers what health asks by a function.
type kv struct {
	clientv3.KV
	get func(context.Context) error
}

func (k kv) Get(
	ctx context.Context, _ string, _ ...clientv3.OpOption,
) (*clientv3.GetResponse, error) {
	return nil, k.get(ctx)
}

// TestHealth: an etcd is asked once a healthPause, has healthTimeout to answer, and is what its
// last answer says.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := errors.New("other")
		var mu sync.Mutex // guards what the next answer is, and how many there were
		var answer error
		var slow time.Duration
		asked := 0
		h := newHealth(&clientv3.Client{KV: kv{get: func(ctx context.Context) error {
			mu.Lock()
			asked++
			answer, slow := answer, slow
			mu.Unlock()
			select {
			case <-time.After(slow):
				return answer
			case <-ctx.Done():
				return ctx.Err()
			}
		}}}, "key")
		synctest.Wait()
		for i, c := range []struct {
			answer error
			slow   time.Duration
			want   string
		}{
			{nil, 0, ""},
			{other, 0, "other"},
			{nil, healthTimeout - 1, ""},
			{nil, healthTimeout + 1, "no answer within 2s"},
			{nil, 0, ""},
		} {
			mu.Lock()
			answer, slow = c.answer, c.slow
			mu.Unlock()
			time.Sleep(healthPause + min(c.slow, healthTimeout))
			synctest.Wait()
			err := h.err()
			if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, store.ErrUnavailable) ||
				!strings.Contains(err.Error(), c.want)) {
				t.Errorf("answer %d, %v after %v: %v, want %q", i, c.answer, c.slow, err, c.want)
			}
			if asked != i+2 {
				t.Errorf("asked %d times, want %d", asked, i+2)
			}
		}
		h.close()
		time.Sleep(time.Minute)
		if asked != 6 {
			t.Errorf("asked %d times more after the end", asked-6)
		}
		(*health)(nil).close()
	})
}

// TestHealthEnds: when it is closed no question is under way any more: the client may be closed.
func TestHealthEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, closed := make(chan struct{}), false
		h := newHealth(&clientv3.Client{KV: kv{get: func(context.Context) error {
			<-release
			return nil
		}}}, "key")
		go func() {
			h.close()
			closed = true
		}()
		synctest.Wait()
		if closed {
			t.Error("closed with a question under way")
		}
		close(release)
		synctest.Wait()
		if !closed {
			t.Error("not closed without one")
		}
	})
}
