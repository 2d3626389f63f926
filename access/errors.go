package access

import "errors"

var (
	// ErrCredentials reports credentials that are wrong, have expired or were revoked.
	ErrCredentials = errors.New("the credentials are wrong")
	// ErrTooMany reports a client that tries to sign in too often.
	ErrTooMany = errors.New("too many attempts to sign in: want a pause of some seconds")
	// ErrStore reports a store that does not take a change, or could not be read.
	ErrStore = errors.New("the store cannot be used now")
	// errUnaudited is a change without an entry for the audit log: a fault of this program.
	errUnaudited = errors.New("access: the change has no entry for the audit log")
)
