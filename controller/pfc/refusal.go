package pfc

import (
	"errors"
	"fmt"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// refusalFor is refusal for a client that may not see the queues of other projects.
func (f *Feature) refusalFor(pre resource.Precondition, field string, err error) error {
	err = f.refusal(field, err)
	var known *api.Error
	if pre.Sees != nil && errors.As(err, &known) && len(known.Fields) > 0 &&
		known.Fields[0].Field == "spec.allowCycle" {
		known.Message = "it would close a circle of queues that wait for each other and could stop for " +
			"ever"
	}
	return err
}

// refusal returns the API error for an error of package tunnel.
func (f *Feature) refusal(field string, err error) error {
	var known *api.Error
	var cycle *tunnel.CycleError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.As(err, &cycle):
		text := "it would close a circle of queues that wait for each other and could stop for ever: " +
			f.cycleText(cycle.Cycle)
		return &api.Error{Code: api.CodeConflict, Message: text, Fields: []api.FieldError{{
			Field: "spec.allowCycle", Code: api.CodeConflict, Value: "false",
			Want: "true, to have it all the same",
		}}}
	}
	code := api.CodeNotPlannable
	switch {
	case errors.Is(err, tunnel.ErrUnreachable):
		code = api.CodeUnreachable
	case errors.Is(err, tunnel.ErrTooLong), errors.Is(err, tunnel.ErrNoRoom):
		code = api.CodeLimit
	case errors.Is(err, tunnel.ErrInUse):
		code = api.CodeConflict
	case errors.Is(err, tunnel.ErrNotCapable), errors.Is(err, tunnel.ErrLoop),
		errors.Is(err, tunnel.ErrNoSID):
		return &api.Error{Code: api.CodeInvalid, Message: field + ": " + err.Error()}
	}
	return &api.Error{Code: code, Message: field + ": " + err.Error()}
}

// cycleText names the queues of a circle.
func (f *Feature) cycleText(cycle []tunnel.Queue) string {
	text := ""
	for _, q := range cycle {
		text += f.queueName(q) + " -> "
	}
	return text + f.queueName(cycle[0])
}

func (f *Feature) queueName(q tunnel.Queue) string {
	return fmt.Sprintf("%s/%d/%d", f.switchName(q.Node), q.Port, q.Priority)
}

// switchName returns the name that clients know a node by.
func (f *Feature) switchName(id topology.NodeID) string {
	if name, ok := f.env.Net.SwitchOf(id); ok {
		return name
	}
	if n := f.env.Net.Snapshot.Node(id); n != nil {
		return n.DisplayName()
	}
	return string(id)
}
