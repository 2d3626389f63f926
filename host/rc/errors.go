package rc

import "errors"

// ErrHoldTooLate reports that a message at or after the PSN to hold before has begun already.
var ErrHoldTooLate = errors.New("a message at or after this PSN has been sent")
