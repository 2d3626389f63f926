package mrc

import "errors"

var (
	// ErrConfig reports that a Config cannot be used.
	ErrConfig = errors.New("mrc")
	// ErrUnknownTarget reports that there is no such link, node, plane or port.
	ErrUnknownTarget = errors.New("no such target")
	// ErrLastPath reports that a drain would take the last path between two hosts.
	ErrLastPath = errors.New("last path")
)
