package runner

import (
	"context"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc"
)

// Hold has exactly these objects drained for maintenances, whatever clients want, and returns how
// far each is; why is why nothing was done.
func (r *Runner) Hold(
	ctx context.Context, objects []api.MaintenanceObject,
) (states []api.MaintenanceObjectState, why string, err error) {
	err = r.ledger.Do(ctx, func() { states, why = r.desk.Hold(objects) })
	return states, why, err
}

// Impact returns for each object why it is unknown, and for each need its losses without the
// objects, from an intact fabric. why says why no answer is possible.
func (r *Runner) Impact(
	ctx context.Context, objects []api.MaintenanceObject, needs []*ready.Need,
) (unknown []string, impacts []ready.Impact, why string, err error) {
	var losses *mrc.Losses
	err = r.ledger.Do(ctx, func() { losses, unknown, why = r.core.Losses(objects, needs) })
	if err != nil || why != "" {
		return nil, nil, why, err
	}
	for _, text := range unknown {
		if text != "" {
			return unknown, nil, "", nil
		}
	}
	for i, need := range needs {
		impacts = append(impacts, losses.Of(i, need))
	}
	return unknown, impacts, "", nil
}
