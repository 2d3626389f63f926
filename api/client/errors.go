package client

import "errors"

var (
	// ErrConfig: the configuration of a client cannot be used.
	ErrConfig = errors.New("cannot be used")
	// ErrUnreachable: no answer came from the server.
	ErrUnreachable = errors.New("cannot reach the controller")
	// ErrAnswer: the answer is not one of this API.
	ErrAnswer = errors.New("not an answer of the API")
)
