package access

import "errors"

var (
	// ErrCredentials reports credentials that are wrong, have expired or were revoked.
	ErrCredentials = errors.New("the credentials are wrong")
	// ErrClock reports a forwarded request from another controller with a time too old, or in the
	// future, because one of the two clocks is wrong.
	ErrClock = errors.New("the clocks of the controllers differ")
	// ErrTooMany reports too many attempts to sign in: of a client, or as a user.
	ErrTooMany = errors.New("too many attempts to sign in")
	// ErrBusy reports a password for which there was no time: too many are checked.
	ErrBusy = errors.New("too many passwords are being checked")
	// ErrStore reports a store that does not take a change, or could not be read.
	ErrStore = errors.New("the store cannot be used now")
	// ErrUnknown reports a write that failed: whether the store has kept the change is not known.
	ErrUnknown = errors.New("the store does not say whether it has kept the change")
	// errUnaudited is a change without an entry for the audit log: a fault of this program.
	errUnaudited = errors.New("access: the change has no entry for the audit log")
)
