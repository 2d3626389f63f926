package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/weft-sdn/weft/store"
)

// TestExplain: an error of the server names the remedy: another directory for a replaced member, a
// backup for a single controller, and a replacement for one of several controllers.
func TestExplain(t *testing.T) {
	other, alone, member := errors.New("other"), &Config{}, &Config{Peers: &Peers{Name: "b"}}
	removed := newCore(nil)
	removed.removed.Store(true)
	for _, c := range []struct {
		config *Config
		log    *core
		err    error
		kind   error // that it becomes; nil: none
		want   string
	}{
		{alone, nil, other, nil, ""},
		{alone, newCore(nil), other, nil, ""},
		{member, removed, other, ErrReplaced, "start with an empty one"},
		{member, nil, ErrReplaced, ErrReplaced, "start with an empty one"},
		{alone, nil, ErrDamaged, ErrDamaged, `"weft restore"`},
		{member, nil, ErrDamaged, ErrDamaged, `"weft replace controller b"`},
		{member, removed, ErrDamaged, ErrReplaced, "start with an empty one"},
	} {
		err := c.config.explain(c.err, c.log)
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want) ||
			c.kind == nil && err != c.err || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%v: %v, want %v, %q", c.err, err, c.kind, c.want)
		}
	}
}

// TestUnavailable: a failed request means that the store cannot be used, except after a client has
// left or with an exhausted quota; the store's own reason comes first.
func TestUnavailable(t *testing.T) {
	other, own := errors.New("other"), fmt.Errorf("%w: own", store.ErrUnavailable)
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(own)
	for _, c := range []struct {
		ctx       context.Context
		err       error
		is, isNot error
	}{
		{t.Context(), context.Canceled, context.Canceled, store.ErrUnavailable},
		{t.Context(), context.DeadlineExceeded, context.DeadlineExceeded, store.ErrUnavailable},
		{t.Context(), rpctypes.ErrNoSpace, store.ErrNoRoom, store.ErrUnavailable},
		{t.Context(), other, store.ErrUnavailable, store.ErrNoRoom},
		{t.Context(), rpctypes.ErrCorrupt, errCorrupt, store.ErrNoRoom},
		{t.Context(), rpctypes.ErrCorrupt, store.ErrUnavailable, store.ErrNoRoom},
		{gone, context.Canceled, own, context.Canceled},
		{gone, other, own, other},
	} {
		if err := unavailable(c.ctx, c.err); !errors.Is(err, c.is) || errors.Is(err, c.isNot) {
			t.Errorf("%v: %v, want %v and not %v", c.err, err, c.is, c.isNot)
		}
	}
}
