package controller

import (
	"errors"

	"github.com/weft-sdn/weft/api"
)

var (
	// ErrStopped: the controller has ended, and the call did nothing.
	ErrStopped = errors.New("controller: stopped")
	// ErrStore: the store takes no writes now.
	ErrStore = errors.New("the store takes no changes")
)

func noSwitch(name string) error {
	return &api.Error{Code: api.CodeNotFound, Message: "there is no switch " + name + " that the controller programs"}
}

func unavailable(name string, err error) error {
	return &api.Error{Code: api.CodeUnavailable, Message: "switch " + name + " does not answer: " + err.Error()}
}
