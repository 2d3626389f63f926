package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/store"
)

// version is the version that the linker has set with -X main.version, for builds from a source
// archive. Elsewhere Go takes the version from the tag of the repository or of the module.
var version string

// built is the answer of "weft version".
type built struct {
	Version string `json:"version"`
	// Commit is the full hash; empty in builds without a repository.
	Commit string `json:"commit,omitempty"`
	// Modified reports that the files differed from those of the commit.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// P4Program is the cookie, in hex, by which switches know the P4 program of this release.
	P4Program string `json:"p4Program"`
	// API is the prefix of the paths of the REST API.
	API string `json:"api"`
	// Schema is the version of the store's records that this program writes; see store.Schema.
	Schema int `json:"schema"`
}

// build returns what Go and the linker have written into this program.
func build() built {
	b := built{Version: "unknown", Go: runtime.Version(), API: "v1", Schema: store.Schema,
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = cmp.Or(info.Main.Version, "(devel)")
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	b.Version = cmp.Or(version, b.Version)
	return b
}

// buildVersion is the version, and the commit when it is known.
func buildVersion() string {
	b := build()
	if b.Commit == "" {
		return b.Version
	}
	modified := ""
	if b.Modified {
		modified = ", modified"
	}
	return fmt.Sprintf("%s (%s%s)", b.Version, b.Commit[:min(12, len(b.Commit))], modified)
}

// programVersion is the line of "weft version" and "weft --version" after these words.
func programVersion() string {
	return fmt.Sprintf("%s %s %s/%s", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersion(env environment) *cobra.Command {
	var output format
	c := &cobra.Command{
		Use: "version", Short: "Print the version",
		Long: `Prints the version. With -o json or yaml there are also the commit, the version of Go, the
cookie by which switches know the P4 program, the version of the API, and the schema of the
store.`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := build()
			pipeline, err := southbound.NewPipeline(p4.P4Info(), p4.JSON())
			if err != nil {
				return err
			}
			b.P4Program = fmt.Sprintf("%016x", pipeline.Cookie())
			document, err := json.Marshal(b)
			if err != nil {
				return err
			}
			return output.write(env.stdout, document, sure(func(w *bytes.Buffer) {
				fmt.Fprintf(w, "weft version %s\n", programVersion())
			}))
		},
	}
	output.register(c)
	return c
}
