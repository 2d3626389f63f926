package linear

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/api"
)

// damage changes the newest record of a group in the etcd of a controller that does not run.
func (n *node) damage() error {
	db, err := bolt.Open(filepath.Join(n.data(), "etcd", "member", "snap", "db"), 0o600, nil)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		at := tx.Bucket([]byte("key")).Cursor()
		for k, v := at.Last(); k != nil; k, v = at.Prev() {
			var kv mvccpb.KeyValue
			if err := proto.Unmarshal(v, &kv); err != nil {
				return err
			}
			if !strings.Contains(string(kv.Key), "groups/") || len(kv.Value) == 0 {
				continue
			}
			kv.Value = append(kv.Value, ' ')
			text, err := proto.Marshal(&kv)
			if err != nil {
				return err
			}
			return tx.Bucket([]byte("key")).Put(k, text)
		}
		return errors.New("there is no record of a group")
	})
	return errors.Join(err, db.Close())
}

// cause returns what a controller says of controllers as a cause, with words in the detail; "":
// nothing, or no answer.
func (n *node) cause(ctx context.Context, words ...string) string {
	a, err := n.client(time.Second).Get(ctx, "/v1/causes", nil)
	if err != nil {
		return ""
	}
	var list api.List[api.Cause]
	if err := a.Decode(&list); err != nil {
		n.b.t.Error(err)
	}
	for i := range list.Items {
		c := &list.Items[i]
		has := c.Kind == "controller"
		for _, word := range words {
			has = has && strings.Contains(c.Detail, word)
		}
		if has {
			return fmt.Sprintf("%s: %s: %s", c.ID, c.What, c.Detail)
		}
	}
	return ""
}

// TestDamagedMember: damage of records at one member of the etcd is a cause at the other
// controllers, with the remedy, and the remedy ends the cause.
func TestDamagedMember(t *testing.T) {
	if os.Getenv("WEFT_PROGRESS") == "" {
		t.Skip("20 s, in which members compare contents again: make soak, or WEFT_PROGRESS=1")
	}
	b := newBed(t, false, "")
	l := &load{b: b, h: newHistory(), keys: newKeys()}
	ctx := t.Context()
	if !l.alive(ctx, patience) {
		t.Fatal("no controller takes a change")
	}
	first, second, damaged := b.nodes[0], b.nodes[1], b.nodes[2]
	until := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(patience); !holds(); wait(ctx, 50*time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not after %v: %s; causes of controllers: %q", patience, what,
					[]string{first.cause(ctx), second.cause(ctx), damaged.cause(ctx)})
			}
		}
	}
	for _, n := range []*node{second, damaged} {
		if !n.terminate(patience) {
			t.Fatalf("%s does not end %v after SIGTERM", n.name, patience)
		}
	}
	if err := damaged.damage(); err != nil {
		t.Fatal(err)
	}
	damaged.start() // which of two is right nobody knows
	until("the two answer", func() bool { return damaged.answers(ctx, time.Second) })
	second.start()
	for _, n := range []*node{first, second} {
		said := ""
		until(n.name+" has a cause", func() bool {
			said = n.cause(ctx, damaged.name, "contents differ", "weft replace controller "+damaged.name)
			return said != ""
		})
		t.Log(n.name, "says", said)
	}
	until("the damaged one says why itself", func() bool {
		return damaged.cause(ctx, "contents differ") != ""
	})
	damaged.kill()
	if err := errors.Join(os.RemoveAll(damaged.data()), os.Mkdir(damaged.data(), 0o700)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(b.program, "replace", "controller", damaged.name, "--server",
		"http://"+first.api).CombinedOutput(); err != nil {
		t.Fatalf("weft replace: %v: %s", err, out)
	}
	damaged.start()
	for _, n := range b.nodes {
		until(n.name+" answers, without the cause", func() bool {
			return n.answers(ctx, time.Second) && n.cause(ctx, "contents differ") == ""
		})
	}
}
