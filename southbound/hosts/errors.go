package hosts

import "errors"

var (
	// ErrConfig is a Config that makes no sense; the error names the field.
	ErrConfig = errors.New("hosts: config")
	// ErrProtocol is a host that breaks a rule of the stream.
	ErrProtocol = errors.New("hosts: protocol")
	// ErrUnknownEV is a host that speaks of an EV that it does not hold.
	ErrUnknownEV = errors.New("hosts: unknown EV")
	// ErrNotConnected is a host without a stream.
	ErrNotConnected = errors.New("hosts: not connected")
	// ErrBusy is a host with as many probe requests waiting as it may have.
	ErrBusy = errors.New("hosts: busy")
	// ErrReplaced is the end of a stream whose host has opened a newer one.
	ErrReplaced = errors.New("hosts: a newer stream of the host has taken over")
	// ErrSilent is a host that did not answer an update in time.
	ErrSilent = errors.New("hosts: no answer to an update")
	// ErrEnded is the end of a stream by a host that has said all that it had to say.
	ErrEnded = errors.New("hosts: the host has ended")
	// ErrClosed is the end of the server.
	ErrClosed = errors.New("hosts: the controller is going away")
)
