package multicast

import (
	"testing"

	"github.com/weft-sdn/weft/topology/bgpls/bgplstest"
)

func TestMain(m *testing.M) { bgplstest.Main(m) }
