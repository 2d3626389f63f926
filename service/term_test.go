package service

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

// termStore is a store that refuses new terms while down.
type termStore struct {
	storetest.Faulty
	down atomic.Bool
}

func (s *termStore) Put(ctx context.Context, key string, value []byte, expect int64) (int64,
	error) {
	if s.down.Load() {
		return 0, store.ErrUnavailable
	}
	return s.Faulty.Put(ctx, key, value, expect)
}

// TestTermEnds: after a write of unknown outcome the only controller of a store answers 503 to
// readings until it has read the store again, and then shows what the store has, whether or not the
// write took effect. Stale readings go on, and have nothing that is not kept. After a restart all
// is the same, and no version is given twice.
func TestTermEnds(t *testing.T) {
	for name, took := range map[string]bool{"the write takes effect": true,
		"the write does not": false} {
		t.Run(name, func(t *testing.T) {
			s := new(termStore)
			inv, err := inventory.Load([]byte("api: {listen: '127.0.0.1:0'}\n"))
			if err != nil {
				t.Fatal(err)
			}
			start := func() (*Service, *client.Client) {
				t.Helper()
				// A context of its own, as in a process.
				running, err := Start(context.WithoutCancel(t.Context()), Options{Inventory: *inv, Store: s})
				if err != nil {
					t.Fatal(err)
				}
				c, err := client.New(client.Config{Server: "http://" + running.Addr().String(),
					Timeout: 10 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				return running, c
			}
			running, c := start()
			defer func() {
				c.Close()
				if err := running.Close(); err != nil {
					t.Error(err)
				}
			}()
			const path = "/v1/projects/p"
			spec := func(groups int) api.ProjectSpec {
				return api.ProjectSpec{Quotas: api.ProjectQuotas{Groups: &groups}}
			}
			refused := func(err error, status int) *api.Problem {
				t.Helper()
				var p *api.Problem
				if !errors.As(err, &p) || p.Status != status {
					t.Fatalf("%v, want status %d", err, status)
				}
				return p
			}
			stale := func() api.Project {
				t.Helper()
				a, err := c.Get(t.Context(), path, client.StaleQuery())
				var p api.Project
				if err == nil {
					err = a.Decode(&p)
				}
				if err != nil || a.Stale() == nil {
					t.Fatalf("a stale reading: %+v, %v", a, err)
				}
				return p
			}
			until := func(what string, holds func() bool) {
				t.Helper()
				for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("not so after 30 s: %s", what)
					}
				}
			}
			first, err := c.Projects().Put(t.Context(), "p", spec(1), client.Write{})
			if err != nil {
				t.Fatal(err)
			}
			until("the project is read", func() bool {
				_, err := c.Get(t.Context(), path, client.StaleQuery())
				return err == nil
			})

			s.down.Store(true)
			s.Answer(func(_ context.Context, apply func() error) error {
				if took {
					return errors.Join(apply(), errors.New("connection lost"))
				}
				return errors.New("connection lost")
			})
			_, err = c.Projects().Put(t.Context(), "p", spec(2), client.Write{})
			lost := refused(err, http.StatusGatewayTimeout)
			if lost.Code != string(api.CodeUnknown) || lost.Version <= first.Version {
				t.Errorf("%+v, after version %d", lost, first.Version)
			}
			for range 3 {
				_, err = c.Projects().Get(t.Context(), "p")
				refused(err, http.StatusServiceUnavailable)
				_, err = c.Projects().List(t.Context(), nil)
				refused(err, http.StatusServiceUnavailable)
				_, err = c.Groups().List(t.Context(), nil)
				refused(err, http.StatusServiceUnavailable)
				_, err = c.Switches().List(t.Context(), nil)
				refused(err, http.StatusServiceUnavailable)
				_, err = c.Projects().Put(t.Context(), "p", spec(3), client.Write{})
				refused(err, http.StatusServiceUnavailable)
			}
			if p := stale(); p.Version != first.Version && (!took || p.Version != lost.Version) {
				t.Errorf("a stale reading has version %d, of %d and %d", p.Version, first.Version, lost.Version)
			}

			s.Answer(nil)
			s.down.Store(false)
			var now *api.Project
			until("it answers again", func() bool {
				now, err = c.Projects().Get(t.Context(), "p")
				return err == nil
			})
			want, groups := first.Version, 1
			if took {
				want, groups = lost.Version, 2
			}
			if now.Version != want || *now.Spec.Quotas.Groups != groups {
				t.Errorf("version %d, %d groups; want version %d, %d groups", now.Version,
					*now.Spec.Quotas.Groups, want, groups)
			}
			third, err := c.Projects().Put(t.Context(), "p", spec(3), client.Write{Version: want})
			if err != nil || third.Version <= lost.Version {
				t.Fatalf("%+v, %v: a version above %d", third, err, lost.Version)
			}

			c.Close()
			if err := running.Close(); err != nil {
				t.Error(err)
			}
			running, c = start()
			if now, err = c.Projects().Get(t.Context(), "p"); err != nil || now.Version != third.Version ||
				*now.Spec.Quotas.Groups != 3 {
				t.Errorf("after a restart: %+v, %v", now, err)
			}
			if next, err := c.Projects().Put(t.Context(), "p", spec(4), client.Write{}); err != nil ||
				next.Version <= third.Version {
				t.Errorf("after a restart: %+v, %v: a version above %d", next, err, third.Version)
			}
		})
	}
}
