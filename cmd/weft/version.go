package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildVersion is the version of the module, and the commit when it is known.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	if revision != "" {
		version += " (" + revision + modified + ")"
	}
	return version
}

// programVersion is the line of "weft version" and "weft --version".
func programVersion() string {
	return fmt.Sprintf("weft %s %s %s/%s\n", buildVersion(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
}

func newVersion(env environment) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(env.stdout, programVersion())
			return err
		},
	}
}
