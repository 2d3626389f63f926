package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// whatIf prints what jobs would get of the fabric if some objects were drained.
func whatIf(ctx context.Context, c *client.Client, to io.Writer,
	objects ...api.SimulationObject) error {
	var spec api.SimulationSpec
	for _, o := range objects {
		spec.Events = append(spec.Events, api.SimulationEvent{Action: api.SimulationDrain, Object: o})
	}
	s, err := c.Simulate(ctx, spec)
	if err != nil {
		return err
	}
	return simulationTable(to, s)
}

func simulationTable(to io.Writer, s *api.Simulation) error {
	if len(s.Jobs) == 0 {
		_, err := fmt.Fprintln(to, "no job has ranks on the fabric")
		return err
	}
	g := newGrid("JOB", "RANKS", "RUNNING", "SHARE", "AFTER", "STEP", "AFTER", "LONGER", "CUT OFF",
		"BOUND BY")
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Before == nil || j.After == nil {
			g.row(j.Name, j.Ranks, j.Running, "", "", "", "", "", "", j.Why)
			continue
		}
		longer := "does not end"
		if j.Increase != nil {
			longer = fmt.Sprintf("%+.1f%%", 100**j.Increase)
		}
		g.row(j.Name, j.Ranks, j.Running, shareText(&j.Before.Share), shareText(&j.After.Share),
			stepCell(j.Before), stepCell(j.After), longer, j.After.CutOff,
			strings.Join(j.After.Bound[:min(len(j.After.Bound), 2)], ", "))
	}
	return writeTable(to, sure(g.writeTo))
}

// stepCell shows how long a step takes.
func stepCell(s *api.SimulatedStep) string {
	if s.Step == 0 {
		return "does not end"
	}
	return s.Step.D().Round(time.Microsecond).String()
}
