package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/clients/scheduler/nccl"
)

// mostTopology bounds a topology file of NCCL, in octets.
const mostTopology = 16 << 20

// ncclTopology carries out "weft nccl topology".
type ncclTopology struct {
	env               environment
	conn              connection
	file, nic, device string
}

func newNCCL(env environment) *cobra.Command {
	c := family("nccl", "Work with NCCL", "Gives NCCL the rails of the fabric.")
	x := &ncclTopology{env: env}
	of := &cobra.Command{
		Use: "topology NODE", Short: "Write the rails of a node's NICs into its topology file",
		Long: `Reads the topology file that NCCL wrote on a node (NCCL_TOPO_DUMP_FILE) and writes it with
the rail of each NIC, and the plane of one that is in one plane alone, for NCCL_TOPO_FILE.`,
		Args: arguments(1, 1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return x.run(cmd.Context(), args[0]) },
	}
	x.conn.register(of)
	nicFlag(of, &x.nic)
	of.Flags().StringVarP(&x.file, "file", "f", "-", "topology file of NCCL; - is standard input")
	of.Flags().StringVar(&x.device, "device", "mlx5_{nic}",
		"how NCCL names the NICs: {nic} is their number from 0")
	c.AddCommand(of)
	return c
}

func (x *ncclTopology) run(ctx context.Context, node string) error {
	names, err := namesOf(x.nic)
	if err != nil {
		return err
	}
	c, err := x.conn.open(x.env)
	if err != nil {
		return err
	}
	defer c.Close()
	hosts, err := c.Hosts().List(ctx, nil)
	if err != nil {
		return err
	}
	nics := make(map[string]nccl.NIC)
	var nodes []string
	for _, n := range scheduler.Nodes(hosts, names) {
		nodes = append(nodes, n.Name)
		for _, h := range n.NICs {
			if n.Name == node {
				number, ok := names.Number(h.Name)
				if !ok {
					return usagef("--nic is %q: host %s has no number by it", x.nic, h.Name)
				}
				nics[strings.ReplaceAll(x.device, "{nic}", strconv.Itoa(number))] = nicOf(h, number)
			}
		}
	}
	if len(nics) == 0 {
		return fmt.Errorf("there is no node %s: want one of %s", node, inLine(few(nodes)))
	}
	topology, err := x.read()
	if err != nil {
		return err
	}
	out, err := nccl.Annotate(topology, nics)
	if err != nil {
		return fmt.Errorf("%s: %w", x.file, err)
	}
	_, err = x.env.stdout.Write(out)
	return err
}

// nicOf returns the rail and the plane of a NIC, for its topology file.
func nicOf(h *api.Host, number int) nccl.NIC {
	nic := nccl.NIC{Rail: number}
	if len(h.Ports) == 1 {
		nic.Plane = int(h.Ports[0].Port)
	}
	return nic
}

func (x *ncclTopology) read() ([]byte, error) {
	in := x.env.stdin
	if x.file != "-" {
		f, err := os.Open(x.file)
		if err != nil {
			return nil, &usageError{err}
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, mostTopology+1))
	if err == nil && len(text) > mostTopology {
		err = fmt.Errorf("%s is longer than %d octets", x.file, mostTopology)
	}
	return text, err
}
