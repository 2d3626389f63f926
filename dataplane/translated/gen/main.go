// Command gen writes the translation of the fabric's P4 program. It runs in the folder
// dataplane/translated (go generate ./dataplane/translated).
package main

import (
	"log"
	"os"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/p4"
)

func main() {
	log.SetFlags(0)
	code, err := engine.Translate(p4.JSON(), "translated", "Fabric")
	if err == nil {
		err = os.WriteFile("fabric_gen.go", code, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}
