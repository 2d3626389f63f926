package retry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/internal/retry"
)

// TestKeep: the pauses grow up to Max, give or take a half, and begin anew after a long service.
func TestKeep(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := retry.Backoff{Initial: time.Second, Max: 8 * time.Second, Multiplier: 2}
		// seconds; the sixth attempt is served long, the seventh not long enough
		want := []time.Duration{1, 2, 4, 8, 8, 1, 2, 4}
		ctx, cancel := context.WithCancel(t.Context())
		down := errors.New("down")
		var attempts int
		var told []time.Duration
		var until time.Time // the end of the last pause
		b.Keep(ctx, func(context.Context) (time.Duration, error) {
			if !until.IsZero() && !time.Now().Equal(until) {
				t.Errorf("attempt %d at %v, want %v", attempts, time.Now(), until)
			}
			if attempts++; attempts > len(want) {
				cancel()
			}
			switch attempts {
			case 6:
				return b.Max + 1, down
			case 7:
				return b.Max, down
			}
			return 0, down
		}, func(err error, pause time.Duration) {
			if !errors.Is(err, down) {
				t.Errorf("told %v, want %v", err, down)
			}
			told, until = append(told, pause), time.Now().Add(pause)
		})
		if len(told) != len(want) {
			t.Fatalf("%d pauses, want %d: none after the end", len(told), len(want))
		}
		for i, w := range want {
			w *= time.Second
			if told[i] < w/2 || told[i] > w+w/2 {
				t.Errorf("pause %d is %v, want %v give or take a half", i, told[i], w)
			}
		}
	})
}

// TestKeepEnds: the end of the context ends a pause.
func TestKeepEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		b := retry.Backoff{Initial: time.Hour, Max: time.Hour, Multiplier: 1}
		b.Keep(ctx, func(context.Context) (time.Duration, error) {
			return 0, nil
		}, func(error, time.Duration) {})
		if took := time.Since(start); took != time.Minute {
			t.Errorf("took %v, want a minute", took)
		}
	})
}

func TestValidate(t *testing.T) {
	if err := retry.DefaultBackoff().Validate(); err != nil {
		t.Error(err)
	}
	for field, change := range map[string]func(*retry.Backoff){
		"Backoff.Initial":    func(b *retry.Backoff) { b.Initial = 0 },
		"Backoff.Max":        func(b *retry.Backoff) { b.Max = b.Initial - 1 },
		"Backoff.Multiplier": func(b *retry.Backoff) { b.Multiplier = 0.9 },
	} {
		b := retry.DefaultBackoff()
		change(&b)
		if err := b.Validate(); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
