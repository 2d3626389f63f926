package main

import (
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/internal/printable"
)

// logging is the flags of commands that keep running.
type logging struct{ level, format string }

func (l *logging) register(cmd *cobra.Command, level string) {
	cmd.Flags().StringVar(&l.level, "log-level", level, "least log level: debug, info, warn or error")
	cmd.Flags().StringVar(&l.format, "log-format", "text",
		"log format on standard error: text or json")
}

func (l *logging) open(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, usagef("--log-level is %q: want debug, info, warn or error", l.level)
	}
	options := &slog.HandlerOptions{Level: level}
	w = printable.NewWriter(w) // JSON of slog leaves C1, DEL and bidirectional marks as they are
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, usagef("--log-format is %q: want text or json", l.format)
}
