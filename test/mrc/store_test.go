package mrc

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/mrc"
)

// TestStoreHangs: hosts deny a lost link as fast as ever while the store hangs in the middle of a
// change, and after it has failed. Changes are refused then, whatever the store does.
func TestStoreHangs(t *testing.T) {
	run(t, nil, func(t *testing.T, f *bed) {
		link := mrc.Target{Link: f.linkBetween("P2-T0-2", "P2-T1-1").ID}
		lose := func(a, b string) {
			t.Helper()
			began := time.Now()
			f.setLink(a, b, false) // the runner takes it before this returns
			f.until(time.Second, "all hosts deny the link", func() bool { return f.denies(a, b) })
			if took := time.Since(began); took > 20*time.Millisecond {
				t.Errorf("denied after %v", took)
			}
			f.setLink(a, b, true)
			f.until(20*time.Second, "the link is used again", f.deniesNothing)
		}
		f.store.Hang()
		refused := make(chan error, 1)
		go func() { refused <- f.admin(link, api.AdminDrained) }()
		time.Sleep(time.Second)
		if !f.deniesNothing() {
			t.Error("a drain that is not kept is carried out")
		}
		lose("P1-T0-1", "P1-T1-1")
		var unknown *api.Error
		if err := <-refused; !errors.As(err, &unknown) || unknown.Code != api.CodeUnknown ||
			unknown.Version == 0 {
			t.Errorf("a change while the store hangs: %v", err)
		}
		f.store.Fail(nil)
		time.Sleep(10 * time.Second)
		if !f.deniesNothing() {
			t.Error("a drain whose write has failed is carried out")
		}
		if err := f.admin(link, api.AdminDrained); !errors.Is(err, controller.ErrStore) {
			t.Errorf("a change after a write that failed: %v", err)
		}
		if !f.deniesNothing() {
			t.Error("a drain that was refused is carried out")
		}
		lose("P1-T0-1", "P1-T1-1")
	})
}
