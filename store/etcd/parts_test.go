package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-sdn/weft/store"
)

// txns are the transactions that an etcd was asked for; the one of number refuse is refused.
type txns struct {
	clientv3.KV
	made   []string // the operations of each
	refuse int
}

type txn struct {
	clientv3.Txn
	of *txns
}

func (x *txns) Txn(context.Context) clientv3.Txn { return &txn{of: x} }
func (x *txn) If(...clientv3.Cmp) clientv3.Txn   { return x }
func (x *txn) Else(...clientv3.Op) clientv3.Txn  { return x }
func (x *txn) Then(ops ...clientv3.Op) clientv3.Txn {
	text := ""
	for _, op := range ops {
		if text += string(op.KeyBytes()); op.IsDelete() {
			text += "-"
		}
	}
	x.of.made = append(x.of.made, text)
	return x
}
func (x *txn) Commit() (*clientv3.TxnResponse, error) {
	return &clientv3.TxnResponse{Header: &etcdserverpb.ResponseHeader{},
		Succeeded: len(x.of.made) != x.of.refuse}, nil
}

// TestApplyInParts: a write is made in as few transactions as operations and octets allow, in
// order, with the last operation of each key. One whose first part is refused is refused; when a
// later part is, the write is neither made nor refused.
func TestApplyInParts(t *testing.T) {
	put := func(keys ...string) (ops []store.Op) {
		for _, key := range keys {
			ops = append(ops, store.Op{Key: key, Value: []byte{1, 2, 3, 4}}) // 5 octets with its key
		}
		return ops
	}
	for _, c := range []struct {
		ops               []store.Op
		maxOps, maxOctets int
		want              []string
	}{
		{nil, 2, 100, nil},
		{put("a", "b"), 2, 100, []string{"ab"}},
		{put("a", "b", "c"), 2, 100, []string{"ab", "c"}},
		{put("a", "b", "c", "d", "e"), 2, 100, []string{"ab", "cd", "e"}},
		{put("a", "b", "c"), 9, 10, []string{"ab", "c"}},
		{put("a", "b", "c"), 9, 9, []string{"a", "b", "c"}},
		{put("a", "b"), 9, 1, []string{"a", "b"}}, // etcd says that one is too large
		{append(put("a", "b", "a", "c"), store.Op{Key: "b"}), 2, 100, []string{"ac", "b-"}},
	} {
		for refuse := range len(c.want) + 1 {
			x := &txns{refuse: refuse}
			s := &Store{client: &clientv3.Client{KV: x}, timeout: time.Minute, maxOps: c.maxOps,
				maxOctets: c.maxOctets}
			err := s.Apply(t.Context(), c.ops)
			want := c.want
			if refuse > 0 {
				want = want[:refuse]
			}
			if !slices.Equal(x.made, want) {
				t.Errorf("%v by %d, %d octets: %q, want %q", c.ops, c.maxOps, c.maxOctets, x.made, want)
			}
			if errors.Is(err, store.ErrConflict) != (refuse > 0) ||
				errors.Is(err, store.ErrUnavailable) != (refuse > 1) {
				t.Errorf("%q, number %d refused: %v", want, refuse, err)
			}
		}
	}
	unavailable := fmt.Errorf("so: %w", store.ErrUnavailable)
	if err := partly(unavailable, 1); err != unavailable {
		t.Errorf("%v, want it as it is", err)
	}
}
