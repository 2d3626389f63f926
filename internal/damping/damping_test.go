package damping

import (
	"testing"
	"time"
)

// TestBackoff checks that the hold doubles with every failure up to its limit, and begins anew
// after a calm.
func TestBackoff(t *testing.T) {
	const first, most, calm = time.Second, 5 * time.Second, time.Minute
	var b Backoff
	if b.Hold(first, most) != 0 || b.Calm(time.Hour, calm) || b.Failures() != 0 {
		t.Error("held without a failure")
	}
	now := time.Duration(0)
	for i, want := range []time.Duration{1, 2, 4, 5, 5} {
		now += calm - 1
		b.Failed(now, calm)
		if got := b.Hold(first, most); got != want*time.Second || b.Failures() != i+1 {
			t.Errorf("failure %d: %v, want %ds", b.Failures(), got, want)
		}
	}
	if b.Calm(now+calm-1, calm) || !b.Calm(now+calm, calm) {
		t.Error("calm at another time than a calm after the failure")
	}
	b.Failed(now+calm, calm)
	if got := b.Hold(first, most); got != first {
		t.Errorf("%v after a calm, want %v", got, first)
	}
}
