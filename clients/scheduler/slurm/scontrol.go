package slurm

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Scontrol is the path of Slurm's scontrol, used to read and change nodes.
type Scontrol string

// Nodes returns all nodes.
func (s Scontrol) Nodes(ctx context.Context) ([]Node, error) {
	out, err := s.run(ctx, "--oneliner", "show", "node")
	if err != nil {
		return nil, err
	}
	return ParseNodes(string(out)), nil
}

// Do carries out an action. A node is resumed by UNDRAIN, which leaves it down if it is.
func (s Scontrol) Do(ctx context.Context, a Action) error {
	if a.Reason != "" {
		_, err := s.run(ctx, "update", "nodename="+a.Node, "state=drain", "reason="+a.Reason)
		return err
	}
	_, err := s.run(ctx, "update", "nodename="+a.Node, "state=undrain")
	return err
}

func (s Scontrol) run(ctx context.Context, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, string(s), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := strings.Join(strings.Fields(stderr.String()+" "+stdout.String()), " ")
		return nil, fmt.Errorf("%s %s: %w: %s", s, strings.Join(args, " "), err, said)
	}
	return stdout.Bytes(), nil
}
