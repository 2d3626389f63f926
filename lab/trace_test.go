package lab

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// TestLiveTraces asks the API of a lab for the next packet of a switch, and has a host send one.
func TestLiveTraces(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	live, err := StartLive(ctx, LiveOptions{Network: Figure1(), Listen: "127.0.0.1:0"})
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
	frame := make([]byte, 60)
	copy(frame, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x99\x88\xb5")
	sent := make(chan error, 1)
	go func() {
		// The switch is asked first: a packet before is not traced.
		sent <- live.Wait(ctx, "somebody traces", func() (bool, error) {
			watched := false
			err := live.Do(ctx, func(w *World) error {
				if watched = live.traces["N1"].feed.Wants(2, frame); !watched {
					return nil
				}
				wire, err := w.Wire("R1", "N1")
				if err == nil {
					wire.Inject(frame)
				}
				return err
			})
			return watched, err
		})
	}()
	answer, err := rest.Get(ctx, "/v1/switches/N1/traces?port=2&wait=20s", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	var got api.PacketTraces
	if err := answer.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Items) != 1 || !got.Complete || got.Items[0].Port != 2 || got.Items[0].Length != 60 ||
		!strings.Contains(got.Items[0].Text, "received on port 2, 60 octets") ||
		!strings.Contains(string(got.Items[0].Record), `"steps"`) {
		t.Errorf("%+v", got)
	}
}
