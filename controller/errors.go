package controller

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/ledger"
	"github.com/weft-sdn/weft/internal/plain"
	"github.com/weft-sdn/weft/store"
)

// Errors of calls; see package ledger.
var (
	ErrStopped = ledger.ErrStopped
	ErrStore   = ledger.ErrStore
	ErrUnknown = ledger.ErrUnknown
	ErrDeposed = ledger.ErrDeposed
)

// ErrNoRoom reports that the store's disk has no room for the records of a call. The call changed
// nothing.
var ErrNoRoom = store.ErrNoRoom

func noSwitch(name string) error {
	return &api.Error{Code: api.CodeNotFound,
		Message: "there is no switch " + name + " that the controller programs"}
}

func unavailable(name string, err error) error {
	return &api.Error{Code: api.CodeUnavailable,
		Message: "switch " + name + " does not answer: " + plain.Error(err)}
}

// unsettled returns why the topology may not be whole yet, "" when it is: a peer has not sent
// everything once, or it changed a moment ago and nothing was known before.
func (c *Core) unsettled() string {
	switch stale := c.advertised.Stale; {
	case stale != nil && stale.Incomplete:
		return stale.Reason
	case !c.underlay.Settled():
		return "it is being learned"
	}
	return ""
}

// early makes the refusal of what the network lacks one for the time being, while why says that the
// topology may not be whole.
func early(err error, why string) error {
	var refused *api.Error
	if why == "" || !errors.As(err, &refused) {
		return err
	}
	lacks := func(c api.Code) bool { return c == api.CodeNotPlannable || c == api.CodeUnreachable }
	other := func(f api.FieldError) bool { return !lacks(f.Code) }
	if !lacks(refused.Code) && (len(refused.Fields) == 0 ||
		slices.ContainsFunc(refused.Fields, other)) {
		return err
	}
	return &api.Error{Code: api.CodeSettling,
		Message: fmt.Sprintf("the topology is not known whole yet: %s. As far as it is known: %v", why,
			err)}
}
