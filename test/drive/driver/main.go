// Driver is package drive as a process: it takes a load on standard input.
package main

import (
	"fmt"
	"os"

	"github.com/weft-sdn/weft/test/drive"
)

func main() {
	if err := drive.Run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}
