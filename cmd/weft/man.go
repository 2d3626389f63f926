package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan is the command that writes the manual pages, from the same texts as the help.
func newMan(environment) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write manual pages, one a command",
		Long: `Writes the manual pages of all commands to a directory, which it makes if there is none:
weft.1, weft-get.1, weft-get-groups.1 and so on. "man -M" takes the directory above one that
is called man1.`,
		Example: "  weft man ~/.local/share/man/man1",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			keepIndents(root)
			root.DisableAutoGenTag = true // the same pages at any time
			return doc.GenManTree(root, &doc.GenManHeader{Title: "WEFT", Section: "1", Source: "Weft",
				Manual: "Weft"}, args[0])
		},
	}
}

// keepIndents indents by four spaces the blocks that the texts of commands indent by two. The pages
// come from Markdown, which leaves lines with an indent of four unchanged.
func keepIndents(c *cobra.Command) {
	lines := strings.Split(c.Long, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		}
	}
	c.Long = strings.Join(lines, "\n")
	for _, below := range c.Commands() {
		keepIndents(below)
	}
}
