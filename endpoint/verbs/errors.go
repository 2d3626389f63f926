package verbs

import "errors"

var (
	// ErrConfig: a field of a configuration has a value that cannot be used.
	ErrConfig = errors.New("invalid configuration")
	// ErrExists: the queue pair number or remote key is in use.
	ErrExists = errors.New("already exists")
	// ErrNotFound: there is no such queue pair or remote key.
	ErrNotFound = errors.New("not found")
	// ErrQPState: the queue pair is in the error state and takes no work until it is reset.
	ErrQPState = errors.New("queue pair is in the error state")
	// ErrBusy: the queue pair has work that is not complete, so it cannot be removed.
	ErrBusy = errors.New("queue pair in use")
	// ErrQueueFull: the send or receive queue holds as many requests as it was created for.
	ErrQueueFull = errors.New("queue full")
	// ErrWorkRequest: the request names an unknown operation, or its message is longer than 2^31
	// octets or 2^23-1 packets.
	ErrWorkRequest = errors.New("invalid work request")
)
