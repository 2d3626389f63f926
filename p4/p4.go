// Package p4 holds the fabric's P4 program and the output of p4c: the pipeline that every switch
// runs, and its contract with all clients (P4Info).
//
// fabric.p4 is a thin main over include/, one concern a file. fabric.json and fabric.p4info.txtpb
// are committed, so nobody needs p4c to run Weft; "make p4" rebuilds them, and a test fails when
// they are older than the sources. Names, ids, sizes and reasons reach Go through ids_gen.go only:
// no numeric id stands in Go code.
package p4

import (
	_ "embed"
	"fmt"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/encoding/prototext"
)

//go:generate go run ./gen

//go:embed fabric.json
var fabricJSON []byte

//go:embed fabric.p4info.txtpb
var fabricP4Info []byte

// MaxLinkPort is the last port that a link or a host can have: the ports above it,
// from PfcPort on, are the program's own.
const MaxLinkPort = PfcPort - 1

// JSON returns the compiled program in BMv2's JSON form: the p4_device_config of
// SetForwardingPipelineConfig. The caller must not change it.
func JSON() []byte { return fabricJSON }

// P4Info returns a fresh copy of the program's P4Info.
func P4Info() *p4config.P4Info {
	info := new(p4config.P4Info)
	if err := prototext.Unmarshal(fabricP4Info, info); err != nil {
		// the tests read it: it cannot be broken in a build
		panic(fmt.Sprintf("p4: embedded fabric.p4info.txtpb: %v", err))
	}
	return info
}
