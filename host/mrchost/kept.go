package mrchost

import (
	"errors"
	"log/slog"
	"os"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/internal/wholefile"
)

// restore loads a file of keeper into an endpoint, and returns the host's resulting version and
// state. If the file is missing, restore returns nothing; restore logs an unusable file and also
// returns nothing. The controller then supplies the state again.
func restore(path string, e agent.Endpoint, log *slog.Logger) (hostapi.Version, *hostapi.State) {
	without := func(err error) (hostapi.Version, *hostapi.State) {
		log.Error("the host begins without what it has kept", "file", path, "reason", err)
		return hostapi.Version{}, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return hostapi.Version{}, nil
	}
	if err != nil {
		return without(err)
	}
	kept, err := hostapi.DecodeKept(text)
	if err != nil {
		return without(err)
	}
	version, state, err := agent.Restored(e, kept)
	if err != nil {
		return without(err)
	}
	log.Info("the host goes on with what it has kept", "file", path, "version", version)
	return version, state
}

// keeper returns what keeps the state of a host in a file.
func keeper(path string) func(hostapi.Version, *hostapi.State) error {
	return func(v hostapi.Version, s *hostapi.State) error {
		text, err := hostapi.EncodeKept(v, s)
		if err != nil {
			return err
		}
		return wholefile.Put(path, text)
	}
}
