// Package p4 holds the fabric's P4 program and the output of p4c: the pipeline that every switch
// runs, and its contract with all clients (P4Info).
//
// fabric.p4 is a thin main over include/, one concern a file. fabric.json and fabric.p4info.txtpb
// are committed, so nobody needs p4c to run Weft; "make p4" rebuilds them, and a test fails when
// they are older than the sources. A program contains
// fabric.json.gz, 0.2 MB of 5. Names, ids, sizes and reasons reach Go through ids_gen.go only: no
// numeric id stands in Go code.
package p4

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"sync"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/encoding/prototext"
)

//go:generate go run ./gen

//go:embed fabric.json.gz
var packed []byte

// program unpacks the compiled program when somebody asks for it: most commands do not.
var program = sync.OnceValue(func() []byte {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(broken("fabric.json.gz", err))
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(broken("fabric.json.gz", err))
	}
	return text
})

//go:embed fabric.p4info.txtpb
var fabricP4Info []byte

// MaxLinkPort is the last port that a link or a host can have: the ports above it,
// from PfcPort on, are the program's own.
const MaxLinkPort = PfcPort - 1

// JSON returns the compiled program in BMv2's JSON form: the p4_device_config of
// SetForwardingPipelineConfig. The caller must not change it.
func JSON() []byte { return program() }

// P4Info returns a fresh copy of the program's P4Info.
func P4Info() *p4config.P4Info {
	info := new(p4config.P4Info)
	if err := prototext.Unmarshal(fabricP4Info, info); err != nil {
		panic(broken("fabric.p4info.txtpb", err))
	}
	return info
}

// broken returns why an embedded file cannot be read. Tests read the files, which therefore cannot
// be broken in a build.
func broken(name string, err error) string { return fmt.Sprintf("p4: embedded %s: %v", name, err) }
