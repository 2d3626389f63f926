package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/export"
)

func newLabExport(env environment) *cobra.Command {
	var o export.Options
	var tool, mode, switches string
	c := &cobra.Command{
		Use:   "export NAME|FILE.yaml DIR --to TOOL",
		Short: "Write a network as a lab of Docker Compose, containerlab or Mininet",
		Long: `Writes a network, a built-in one or that of a file, as a lab of another tool: the tool's own
file, the configuration of the controller and of each host, and a README with the commands.
Switches and hosts are then processes of their own, on interfaces of the Linux kernel. docs/labs.md
says what each tool needs. Files of DIR with these names are replaced.`,
		Example: `  weft lab export figure1 --to compose figure1
  weft lab export figure1 --to compose --controllers 3 cluster
  weft lab export docs/examples/fabric.yaml --to mininet fabric
  weft lab export docs/examples/fabric.yaml --to containerlab --switches linux fabric`,
		Args:              arguments(2, 2),
		ValidArgsFunction: networkNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if tool == "" {
				return usagef("lab export: --to is missing: want one of %s", strings.Join(export.Tools(), ", "))
			}
			network, err := findNetwork(args[0])
			if err != nil {
				return &usageError{err}
			}
			if cmd.Flags().Changed("switches") {
				o.Switches = lab.Switches(switches)
			}
			if cmd.Flags().Changed("mode") {
				if err := network.Complete(); err != nil {
					return &usageError{err}
				}
				if err := setMode(&network, mode); err != nil {
					return err
				}
			}
			o.Tool = export.Tool(tool)
			files, err := export.Files(network, o)
			if err != nil {
				return &usageError{err}
			}
			dir := args[1]
			if err := export.Write(dir, files); err != nil {
				return err
			}
			for _, f := range files {
				if strings.HasSuffix(f.Name, "README.md") {
					fmt.Fprintf(env.stdout, "%d files in %s; read %s\n", len(files), dir,
						filepath.Join(dir, filepath.FromSlash(f.Name)))
				}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&tool, "to", "", "tool: "+strings.Join(export.Tools(), ", "))
	f.IntVar(&o.Controllers, "controllers", 1,
		"controllers, 1 or 3 to 9 that form an etcd; not with mininet")
	f.StringVar(&o.Data, "data", "",
		"folder for all files but docker-compose.yml, relative to DIR (default DIR); compose only")
	f.StringVar(&mode, "mode", "", "how packets of MRC hosts carry their path, as of weft lab")
	f.StringVar(&switches, "switches", string(lab.SwitchesP4),
		"what switches run, other than the file says: p4, linux (kernels; mininet, containerlab), mixed "+
			"(plane 1 p4, all others linux) or sonic (virtual machines; containerlab)")
	flagValues(c, "switches", values(export.Switches()...))
	flagValues(c, "to", values(export.Tools()...))
	return c
}

// networkNames completes the first argument of commands that run or write a network: built-in ones,
// and files.
func networkNames(_ *cobra.Command, args []string, begun string) ([]string,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names, _ := matching(lab.BuiltinNames(), begun)
	return names, cobra.ShellCompDirectiveDefault
}
