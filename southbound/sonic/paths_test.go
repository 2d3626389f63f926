package sonic

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestFailedSet: an error of the way to the switch, or of a Set that was given up, is no refusal,
// and the session begins anew; every other code is an answer of the switch, and refuses the rows.
func TestFailedSet(t *testing.T) {
	lost := map[codes.Code]bool{codes.Unavailable: true, codes.DeadlineExceeded: true,
		codes.Canceled: true}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		cause := status.Error(code, "why")
		err := failed("Set", cause)
		if refusal(err) == lost[code] || !errors.Is(err, cause) {
			t.Errorf("%v: %v, a refusal: %t", code, err, refusal(err))
		}
	}
}
