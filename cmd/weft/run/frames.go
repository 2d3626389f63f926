package run

import (
	"fmt"
	"log/slog"
)

// dumper logs the first octets of frames.
type dumper struct {
	log    *slog.Logger
	octets int
}

func (d *dumper) frames(what string) func(frames [][]byte) {
	return func(frames [][]byte) {
		for _, f := range frames {
			d.log.Info(what, "octets", len(f), "data", fmt.Sprintf("%x", f[:min(len(f), d.octets)]))
		}
	}
}
