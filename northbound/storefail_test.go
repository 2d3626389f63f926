package northbound

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weft-sdn/weft/controller"
)

// TestStoreFails: a change that the store does not take is answered with the reason.
func TestStoreFails(t *testing.T) {
	full := errors.New("no space left on device")
	p, ok := problemOf(fmt.Errorf("%w: %w", controller.ErrStore, full)).(interface {
		GetStatus() int
		Error() string
	})
	if !ok || p.GetStatus() != 503 || p.Error() != "503 store_unavailable: the store takes no changes: no space left on device" {
		t.Errorf("%v", p)
	}
}
