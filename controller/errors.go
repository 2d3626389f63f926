package controller

import (
	"errors"

	"github.com/weft-sdn/weft/controller/intent"
)

var (
	// ErrStopped: the controller has ended, and the call did nothing.
	ErrStopped = errors.New("controller: stopped")
	// ErrStore: the store failed, so the controller cannot go on.
	ErrStore = errors.New("controller: store failed")
)

func noSwitch(name string) error {
	return &intent.Error{Code: intent.CodeNotFound, Message: "there is no switch " + name + " that the controller programs"}
}

func unavailable(name string, err error) error {
	return &intent.Error{Code: intent.CodeUnavailable, Message: "switch " + name + " does not answer: " + err.Error()}
}
