package etcd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-sdn/weft/internal/bubble"
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

// status answers what health asks about alarms.
type status struct {
	clientv3.Maintenance
	of func() ([]string, error)
}

func (s status) Status(context.Context, string) (*clientv3.StatusResponse, error) {
	errs, err := s.of()
	if err != nil {
		return nil, err
	}
	return &clientv3.StatusResponse{Errors: errs}, nil
}

// answering returns a client whose etcd answers by functions.
func answering(get func(context.Context) error, of func() ([]string, error)) *clientv3.Client {
	return &clientv3.Client{KV: kv{get: get}, Maintenance: status{of: of}}
}

// TestHealth: the health check asks an etcd once a healthPause, waits healthTimeout, and reports
// the last answer.
func TestHealth(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		other := errors.New("other")
		corrupt := &etcdserverpb.AlarmMember{Alarm: etcdserverpb.AlarmType_CORRUPT}
		var mu sync.Mutex // guards what the next answer is, and how many there were
		var answer error
		var slow time.Duration
		asked := 0
		var alarms []string
		h := newHealth(answering(func(ctx context.Context) error {
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
		}, func() ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			if slices.Contains(alarms, "unknown") {
				return nil, other
			}
			return alarms, nil
		}), "key")
		synctest.Wait()
		for i, c := range []struct {
			answer error
			slow   time.Duration
			alarms []string
			want   string
		}{
			{nil, 0, nil, ""},
			{other, 0, []string{corrupt.String()}, "other"},
			{nil, healthTimeout - 1, nil, ""},
			{nil, healthTimeout + 1, nil, "no answer within 2s"},
			{nil, 0, []string{corrupt.String()}, errCorrupt.Error()},
			{nil, 0, []string{"unknown"}, ""},
		} {
			mu.Lock()
			answer, slow, alarms = c.answer, c.slow, c.alarms
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
		if asked != 7 {
			t.Errorf("asked %d times more after the end", asked-7)
		}
		(*health)(nil).close()
	})
}

// TestHealthEnds: when it is closed no question is under way any more: the client may be closed.
func TestHealthEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		release, closed := make(chan struct{}), false
		h := newHealth(answering(func(context.Context) error {
			<-release
			return nil
		}, func() ([]string, error) { return nil, nil }), "key")
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
