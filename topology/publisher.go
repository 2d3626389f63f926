package topology

import "sync"

// A Publisher hands the newest snapshot to any number of readers. Its zero
// value publishes the empty snapshot.
type Publisher struct {
	mu      sync.Mutex
	current *Snapshot
	changed chan struct{}
}

// Publish replaces the newest snapshot and tells all readers.
func (p *Publisher) Publish(s *Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = s
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Current returns the newest snapshot, and a channel that closes when a newer snapshot exists.
func (p *Publisher) Current() (*Snapshot, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		p.current = Empty()
	}
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.current, p.changed
}
