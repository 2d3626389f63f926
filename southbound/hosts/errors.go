package hosts

import "errors"

var (
	// ErrConfig is a Config that makes no sense; the error names the field.
	ErrConfig = errors.New("hosts: config")
	// ErrProtocol is a host that breaks a rule of the stream.
	ErrProtocol = errors.New("hosts: protocol")
	// ErrUnknownEV reports a host that names an EV which it does not hold.
	ErrUnknownEV = errors.New("hosts: unknown EV")
	// ErrNotConnected reports a host without a stream.
	ErrNotConnected = errors.New("hosts: not connected")
	// ErrBusy reports a host with the maximum number of waiting probe requests.
	ErrBusy = errors.New("hosts: busy")
	// ErrReplaced ends a stream after its host has opened a newer stream.
	ErrReplaced = errors.New("hosts: a newer stream of the host has taken over")
	// ErrSilent reports a host that did not answer an update in time.
	ErrSilent = errors.New("hosts: no answer to an update")
	// ErrEnded reports a stream that its host ended after its last message.
	ErrEnded = errors.New("hosts: the host has ended")
	// ErrLost reports a stream whose connection ended without a word of the host.
	ErrLost = errors.New("hosts: the connection to the host was lost")
	// ErrClosed is the end of the server.
	ErrClosed = errors.New("hosts: the controller is going away")
)
