package silence

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind describes silences.
var Kind = kind.New[api.SilenceSpec, api.Silence](kind.About{
	Names: kind.Names{One: "silence", Noun: "silence"}, Prefix: "silences/", Creates: true,
	Heading: kind.HeadingNetwork, Reads: access.Read, Writes: access.Operate,
	Example: map[string]any{"note": "a spare cable is on its way"},
	Created: "The cause is shown behind the others until then, and makes no alert.",
	Deleted: "The cause makes alerts again.",
	Help:    "silences: causes that somebody has taken notice of", Events: []string{"silence"},
})
