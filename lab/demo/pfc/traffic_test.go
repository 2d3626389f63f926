package pfc

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/lab"
)

// TestTraffic runs the lab's traffic for a round: the PFC policy is programmed, DC2 pauses tenant
// a, R1 holds its packets, and no queue drops any.
func TestTraffic(t *testing.T) {
	network, ok := lab.Builtin("pfc")
	if !ok || !Suits(&network) {
		t.Fatal("there is no built-in network for it")
	}
	if other := lab.Figure1(); Suits(&other) {
		t.Error("Figure 1 suits it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: network, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := live.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	rest, err := client.New(client.Config{Server: live.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer rest.Close()
	var out bytes.Buffer
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- Traffic(running, live, &out) }()
	var policy *api.PFCPolicy
	err = live.Wait(ctx, "R1 has held packets of a, and R3 sent it XOFF", func() (bool, error) {
		if policy, err = rest.PFCPolicies().Get(ctx, losslessName); err != nil {
			return false, nil //nolint:nilerr // it is being made
		}
		nodes := policy.Status.Nodes
		return len(nodes) == 2 && nodes[0].Queue != nil && nodes[0].Queue.MaxHeld > 0 &&
			nodes[1].Queue != nil && nodes[1].Queue.XOFFSent > 0, nil
	})
	stop()
	if stopped := <-ended; !errors.Is(stopped, context.Canceled) {
		t.Errorf("the traffic ended with %v", stopped)
	}
	if err != nil {
		t.Fatalf("%v: %+v\n%s", err, policy, out.String())
	}
	for _, n := range policy.Status.Nodes {
		if n.Queue.Dropped > 0 {
			t.Errorf("%s dropped %d packets", n.Switch, n.Queue.Dropped)
		}
	}
}
