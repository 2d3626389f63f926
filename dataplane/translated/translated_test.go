package translated_test

import (
	"bytes"
	"testing"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/translated"
	"github.com/weft-sdn/weft/p4"
)

// TestOnlyItself has the committed program run as Go, and any other not.
func TestOnlyItself(t *testing.T) {
	p, err := engine.Load(p4.JSON(), translated.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Translated() {
		t.Error("the committed program is interpreted")
	}
	if p, err = engine.Load(append(bytes.Clone(p4.JSON()), '\n'), translated.Fabric); err != nil {
		t.Fatal(err)
	}
	if p.Translated() {
		t.Error("another program than the committed one runs as that")
	}
}
