package verbs

import "errors"

var (
	// ErrConfig: a field of a configuration has an invalid value.
	ErrConfig = errors.New("invalid configuration")
	// ErrExists: the queue pair number or remote key is in use.
	ErrExists = errors.New("already exists")
	// ErrNotFound: there is no such queue pair or remote key.
	ErrNotFound = errors.New("not found")
	// ErrQPState: the queue pair is in the error state and takes no work until it is reset.
	ErrQPState = errors.New("queue pair is in the error state")
	// ErrBusy: the queue pair has incomplete work, so the caller cannot remove it.
	ErrBusy = errors.New("queue pair in use")
	// ErrQueueFull: the send or receive queue holds as many requests as it was created for.
	ErrQueueFull = errors.New("queue full")
	// ErrLater: memory outside the program (Foreign, WorkRequest.From) does not answer now. The queue
	// pair asks again.
	ErrLater = errors.New("memory does not answer now")
	// ErrWorkRequest: the request names an unknown operation, or its message is longer than 2^31
	// octets or 2^23-1 packets.
	ErrWorkRequest = errors.New("invalid work request")
)

// Underway is an error of Foreign.Memory, and wraps ErrLater: the write has begun, and goes on
// without the host.
type Underway struct {
	// Ended is set by the memory when the write has ended, on the goroutine of the host.
	Ended bool
	// Err is how the write has ended; nil: the octets are placed.
	Err error
}

func (*Underway) Error() string { return ErrLater.Error() }

// Unwrap returns ErrLater.
func (*Underway) Unwrap() error { return ErrLater }
