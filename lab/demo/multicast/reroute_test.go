package multicast

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// TestLiveReroute: a link fails, its switches withdraw it by BGP-LS, and the tree moves to the
// other way round.
func TestLiveReroute(t *testing.T) {
	ctx, d := startDemo(t, 1<<20)
	live := d.Live
	if err := d.Write(ctx); err != nil {
		t.Fatal(err)
	}
	parent := func(tree *api.GroupTree, sw string) string {
		i := slices.IndexFunc(tree.Nodes, func(n api.TreeNode) bool { return n.Switch == sw })
		if i < 0 {
			return ""
		}
		return tree.Nodes[i].Parent
	}
	was := parent(d.Tree, "N2")
	want := map[string]string{"N4": "N5", "N5": "N4"}[was]

	var down error
	if err := live.Clock.Do(ctx,
		func(time.Duration) { down = live.World.SetLink(was, "N2", false) }); err != nil || down != nil {
		t.Fatal(err, down)
	}
	if err := live.Advertise(ctx); err != nil {
		t.Fatal(err)
	}
	rest, err := client.New(client.Config{Server: live.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer rest.Close()
	err = live.Wait(ctx, "the tree has moved", func() (bool, error) {
		g, err := rest.Groups().Get(ctx, groupName)
		if err != nil {
			return false, err
		}
		return g.Status.Is(api.Programmed) && parent(g.Status.Tree, "N2") == want, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := d.count(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.check(); err != nil {
		t.Error(err)
	}
	if r.LinkPackets[want+"-N2"] == 0 {
		t.Errorf("no data packets on %s-N2 after %s-N2 failed: %v", want, was, r.LinkPackets)
	}
}
