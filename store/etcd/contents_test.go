package etcd

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/store"
)

// TestMost: contents count when more than half of all members agree; a majority of the answering
// members does not suffice.
func TestMost(t *testing.T) {
	for _, c := range []struct {
		has  contents
		all  int
		want []string
	}{
		{contents{"a": 1}, 1, []string{"a"}},
		{contents{"a": 1}, 2, nil},
		{contents{"a": 1, "b": 1}, 2, []string{"a", "b"}},
		{contents{"a": 1, "b": 2}, 2, nil},
		{contents{"a": 1, "b": 1}, 3, []string{"a", "b"}},
		{contents{"a": 1, "b": 1}, 4, nil},
		{contents{"a": 2, "c": 1, "b": 1}, 3, []string{"b", "c"}},
		{contents{"a": 1, "b": 2}, 3, nil},
		{contents{"a": 1, "b": 2, "c": 3}, 3, nil},
		{contents{"a": 1, "b": 1, "c": 2, "d": 2}, 5, nil},
		{contents{"a": 1, "b": 1, "c": 1, "d": 2}, 5, []string{"a", "b", "c"}},
	} {
		if got := c.has.most(c.all); !slices.Equal(got, c.want) {
			t.Errorf("%v of %d: %v, want %v", c.has, c.all, got, c.want)
		}
	}
}

// TestRefusedFor: of what a status says the alarms refuse writes.
func TestRefusedFor(t *testing.T) {
	corrupt := &etcdserverpb.AlarmMember{MemberID: 7, Alarm: etcdserverpb.AlarmType_CORRUPT}
	full := &etcdserverpb.AlarmMember{MemberID: 7, Alarm: etcdserverpb.AlarmType_NOSPACE}
	for _, c := range []struct {
		status []string
		is     error
		text   string
	}{
		{nil, nil, ""},
		{[]string{"etcdserver: no leader"}, nil, ""},
		{[]string{"etcdserver: no leader", corrupt.String()}, store.ErrUnavailable,
			"have those replaced"},
		{[]string{full.String()}, store.ErrNoRoom, "quota is used up"},
	} {
		err := refusedFor(c.status)
		if (err == nil) != (c.is == nil) || err != nil && (!errors.Is(err, c.is) ||
			!strings.Contains(err.Error(), c.text)) {
			t.Errorf("%q: %v, want %v with %q", c.status, err, c.is, c.text)
		}
	}
}

// damage changes the last value of weft/x in the database of a member that is stopped.
func (w *trio) damage(name, value string) {
	w.t.Helper()
	c := w.config(name)
	db, err := bolt.Open(c.database(), 0o600, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		at := tx.Bucket([]byte("key")).Cursor()
		for k, v := at.Last(); k != nil; k, v = at.Prev() {
			var kv mvccpb.KeyValue
			if err := proto.Unmarshal(v, &kv); err != nil {
				return err
			}
			if string(kv.Key) != defaultPrefix+"x" {
				continue
			}
			kv.Value = []byte(value)
			text, err := proto.Marshal(&kv)
			if err != nil {
				return err
			}
			return tx.Bucket([]byte("key")).Put(k, text)
		}
		return errors.New("x is not there")
	})
	if err := errors.Join(err, db.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// differing returns three members that have run and are stopped, some with damage of their own.
func differing(t *testing.T, damaged ...string) *trio {
	t.Helper()
	w := newTrio(t)
	w.apart, w.compare = true, 100*time.Millisecond
	w.start("a", "b", "c")
	put(t, w.stores["a"], "x", "1")
	w.stop("a", "b", "c")
	for _, name := range damaged {
		w.damage(name, "of "+name)
	}
	return w
}

// TestDamagedMemberStarts: a damaged member does not start beside two agreeing members, names both
// and the remedy, and stops nobody. After a replacement, the member serves equal contents.
func TestDamagedMemberStarts(t *testing.T) {
	t.Parallel()
	w := differing(t, "c")
	w.start("a", "b")
	w.refused("c", ErrDiffers, "the other members (a, b)")
	put(t, w.stores["a"], "x", "2")
	if err := w.stores["b"].Replace(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	w.dirs["c"] = t.TempDir()
	w.start("c")
	w.has("2", "a", "b", "c")
}

// TestDamagedMemberRuns: a running member reports damage and then stops for good; a sound member
// starts beside the damaged member.
func TestDamagedMemberRuns(t *testing.T) {
	t.Parallel()
	w := differing(t, "c")
	w.start("c", "a") // which of them is right nobody knows yet
	c := w.stores["c"]
	w.start("b")
	await(t, "c says so", func() bool {
		d, _ := c.Disk()
		return d.State == store.DiskFailed && strings.Contains(d.Reason, ErrDiffers.Error()+" (a, b)") &&
			strings.Contains(d.Reason, "\"weft replace controller c\"")
	})
	await(t, "c has stopped", func() bool { return c.pid() == 0 })
	if err := c.Writable(); !errors.Is(err, store.ErrDisk) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("c takes writes: %v", err)
	}
	await(t, "the others take writes", func() bool {
		_, err := w.stores["b"].Put(t.Context(), "x", []byte("2"), store.Any)
		return err == nil && w.stores["a"].Writable() == nil
	})
	w.has("2", "a", "b")
}

// TestDamagedMemberRestarts: after damage between two servers of a controller, the member stays
// down.
func TestDamagedMemberRestarts(t *testing.T) {
	t.Parallel()
	w := differing(t)
	w.start("a", "b")
	f, config := newFake(), w.config("c")
	config.disk = f.become
	c := open(t, config)
	w.stores["c"] = c
	f.fail(unix.EIO)
	await(t, "c has stopped", func() bool { return c.pid() == 0 })
	w.damage("c", "of c")
	f.fail(nil)
	await(t, "c says so", func() bool {
		d, _ := c.Disk()
		return d.State == store.DiskFailed && strings.Contains(d.Reason, ErrDiffers.Error()+" (a, b)")
	})
	if err := c.Writable(); !errors.Is(err, store.ErrUnavailable) || c.pid() != 0 {
		t.Errorf("c takes writes: %v", err)
	}
}

// TestNobodyAgrees: while no majority agrees, members refuse every change and give the reason.
// Changes succeed again when a third member starts and agrees with a member.
func TestNobodyAgrees(t *testing.T) {
	t.Parallel()
	w := differing(t, "b")
	w.start("a", "b")
	a := w.stores["a"]
	await(t, "a says so", func() bool {
		err := a.Writable()
		return errors.Is(err, store.ErrUnavailable) && errors.Is(err, errCorrupt)
	})
	_, err := a.Put(t.Context(), "x", []byte("2"), store.Any)
	if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, rpctypes.ErrCorrupt) ||
		!strings.Contains(err.Error(), "start the members that are missing") {
		t.Errorf("a change: %v", err)
	}
	w.has("1", "a")
	w.start("c")
	await(t, "a takes writes", func() bool { return a.Writable() == nil })
	put(t, a, "x", "2")
	w.has("2", "a", "c")
}

// TestReplaceEndsAlarm: a replacement ends the alarm of differing contents, of any member.
func TestReplaceEndsAlarm(t *testing.T) {
	t.Parallel()
	w := newTrio(t)
	w.start("a", "b", "c")
	a := w.stores["a"]
	put(t, a, "x", "1")
	for _, id := range []uint64{0, 7} {
		if _, err := a.member.Alarm(t.Context(), &etcdserverpb.AlarmRequest{MemberID: id,
			Action: etcdserverpb.AlarmRequest_ACTIVATE, Alarm: etcdserverpb.AlarmType_CORRUPT}); err != nil {
			t.Fatal(err)
		}
	}
	w.stop("c")
	for range 2 { // the second time c waits for the one that takes its place
		if err := a.Replace(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		put(t, a, "x", "2")
		if _, err := a.member.Alarm(t.Context(), &etcdserverpb.AlarmRequest{
			Action: etcdserverpb.AlarmRequest_ACTIVATE, Alarm: etcdserverpb.AlarmType_CORRUPT}); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := a.client.AlarmList(t.Context()); err != nil || len(list.Alarms) != 1 {
		t.Errorf("alarms: %v, %v", (*clientv3.AlarmResponse)(list), err)
	}
}
