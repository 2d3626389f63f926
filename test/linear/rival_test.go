package linear

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/store"
)

// restoreBeside restores a backup of the present at one controller while the others run on. The
// controller has to refuse to start with it. Then the controller gets its own data back.
func (b *bed) restoreBeside(ctx context.Context, n *node) error {
	backup := filepath.Join(n.dir, "backup")
	f, err := os.Create(backup)
	if err != nil {
		return err
	}
	err = b.decider(ctx).client(patience).Backup(ctx, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("a backup: %w", err)
	}
	if !n.terminate(patience) {
		return fmt.Errorf("%s does not end %v after SIGTERM", n.name, patience)
	}
	own := n.data() + ".own"
	if err := os.Rename(n.data(), own); err != nil {
		return err
	}
	config := filepath.Join(n.dir, "weft.yaml")
	out, err := exec.Command(b.program, "restore", backup, "--config", config, "--name", n.name,
		"--data-dir", n.data()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("weft restore: %w: %s", err, out)
	}
	said, ended := n.refuses(ctx)
	if err := errors.Join(os.RemoveAll(n.data()), os.Rename(own, n.data())); err != nil {
		return err
	}
	n.start()
	if !ended || !strings.Contains(said, "restored from a backup") {
		return fmt.Errorf("%s does not refuse to run on a backup beside the others: %s", n.name, said)
	}
	return nil
}

// refuses starts a controller that is to end by itself, and returns what it said. It does not run
// afterwards.
func (n *node) refuses(ctx context.Context) (said string, ended bool) {
	before, _ := os.ReadFile(n.log()) // no log: it has said nothing
	n.start()
	for end := time.Now().Add(patience); n.running() && time.Now().Before(end); {
		wait(context.WithoutCancel(ctx), 50*time.Millisecond)
	}
	ended = !n.running()
	n.kill()
	after, err := os.ReadFile(n.log())
	if err != nil {
		return err.Error(), false
	}
	return string(after[len(before):]), ended
}

// goBack has a controller run the older release for a time. One of a lower schema must refuse the
// store, because all controllers have read the present schema.
func (b *bed) goBack(ctx context.Context, n *node, d time.Duration) error {
	set := func(old bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.old = old
	}
	for end := time.Now().Add(patience); b.older.Schema < store.Schema && !b.raised(); {
		if time.Now().After(end) {
			return fmt.Errorf("the schema is not raised %v after the upgrade", patience)
		}
		wait(ctx, 50*time.Millisecond)
	}
	if !n.terminate(patience) {
		return fmt.Errorf("%s does not end %v after SIGTERM", n.name, patience)
	}
	defer n.start()
	set(true)
	defer set(false)
	if b.older.Schema == store.Schema {
		n.start()
		wait(ctx, d)
		if !n.terminate(patience) {
			return fmt.Errorf("%s does not end %v after SIGTERM", n.name, patience)
		}
		return nil
	}
	said, ended := n.refuses(ctx)
	if !ended || !strings.Contains(said, store.ErrSchema.Error()) {
		return fmt.Errorf("%s, of schema %d, does not refuse the store: %s", n.name, b.older.Schema, said)
	}
	return nil
}

// raised reports whether a controller has said that it raised the schema of the store.
func (b *bed) raised() bool {
	return slices.ContainsFunc(b.nodes, func(n *node) bool {
		said, _ := os.ReadFile(n.log()) // no log: it has said nothing
		return bytes.Contains(said, []byte("the schema of the store is raised"))
	})
}

// contend has a controller of another installation wait at the same switches for a time, in which
// the owners of switches change. It must get none of the switches.
func (b *bed) contend(ctx context.Context, n *node, d time.Duration) error {
	if b.rival == nil {
		b.rival = b.newNode("rival", 5)
		b.place(b.rival)
		at := b.ports(b.rival)
		b.rival.api = at[0]
		inv := b.fabric.inventory
		inv.BGP, inv.API.Listen, inv.MRC.Listen = inventory.Default().BGP, at[0], at[3]
		inv.Topology.File = filepath.Join(n.dir, "topology.yaml")
		text, err := yaml.Marshal(inv)
		if err != nil {
			return err
		}
		config := filepath.Join(b.rival.dir, "weft.yaml")
		if err := os.WriteFile(config, text, 0o600); err != nil {
			return err
		}
		b.rival.args = []string{"controller", "--config", config, "--store", "memory", "--insecure"}
		b.t.Cleanup(b.rival.kill)
	}
	b.rival.start()
	defer b.rival.kill()
	work, c := context.WithoutCancel(ctx), b.rival.client(answerTime)
	contested := func() (n int, why string) {
		list, err := c.Switches().List(work, nil)
		for i := range list {
			if is := list[i].Conditions.Find(api.Contested); is != nil && is.Status {
				n++
			}
			why += fmt.Sprintf(" %s connected %v (%s)", list[i].Name, list[i].Connected, list[i].Reason)
		}
		return n, fmt.Sprint(why, " ", err)
	}
	for end := time.Now().Add(patience); ; wait(work, 50*time.Millisecond) {
		n, why := contested()
		if n == 2 {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("the rival does not see that others program its switches:%s", why)
		}
	}
	n.kill()
	wait(ctx, d)
	n.start()
	if n, why := contested(); n != 2 {
		return fmt.Errorf("the rival has switches:%s", why)
	}
	return nil
}
