package dataplane

import "time"

// tokenBucket limits events to a rate beyond a burst.
type tokenBucket struct {
	rate, burst uint64 // a second; at most
	tokens      uint64
	last        time.Duration
}

func (b *tokenBucket) refill(now time.Duration) {
	if b.tokens == b.burst {
		b.last = now
		return
	}
	made := uint64(float64(now-b.last) / float64(time.Second) * float64(b.rate))
	if made == 0 {
		return
	}
	b.last = now
	b.tokens = min(b.burst, b.tokens+made)
}

func (b *tokenBucket) take() bool {
	if b.tokens == 0 {
		return false
	}
	b.tokens--
	return true
}

// ready is when there will be a token.
func (b *tokenBucket) ready(now time.Duration) time.Duration {
	return max(now+1, b.last+time.Duration(float64(time.Second)/float64(b.rate))+1)
}
