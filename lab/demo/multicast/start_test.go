package multicast

import (
	"context"
	"testing"
	"time"

	"github.com/weft-sdn/weft/lab"
)

// startDemo starts the reference network in real time, with a group whose source
// may write. It ends with the test.
func startDemo(t *testing.T, bytes int) (context.Context, *demo) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: lab.Figure1(), Listen: "127.0.0.1:0",
		Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := live.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	d, err := newDemo(Options{Bytes: bytes}.withDefaults(), live, t.Logf)
	if err == nil {
		err = d.begin(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ctx, d
}
