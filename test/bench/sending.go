package main

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// An update is at least so many octets of a stream; what keeps a connection alive is less.
const updateOctets = 48

// sendTimes is a listener that records when a controller has handed the last of its hosts' updates
// to the kernel. Hosts of a real fabric have their own processors: besides network delay, a real
// host would see the time until then plus the time of one host.
type sendTimes struct {
	net.Listener

	mu    sync.Mutex
	wave  int // of updates; see begin
	open  int // hosts without one in this wave
	start time.Time
	last  chan time.Time // of the last update, once
}

// begin begins a wave of one update for each of n hosts.
func (s *sendTimes) begin(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wave, s.open, s.start, s.last = s.wave+1, n, time.Now(), make(chan time.Time, 1)
}

// took returns the ms from the beginning of the wave to the last of its updates. The host may have
// applied it before the connection gets to note it.
func (s *sendTimes) took() (float64, error) {
	select {
	case last := <-s.last:
		return float64(last.Sub(s.start).Microseconds()) / 1000, nil
	case <-time.After(answerLimit):
		return 0, fmt.Errorf("no update was seen for some host after %v", answerLimit)
	}
}

// Accept implements [net.Listener].
func (s *sendTimes) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &timedConn{Conn: c, times: s}, nil
}

// timedConn notes when a host's first update of a wave has been written.
type timedConn struct {
	net.Conn
	times *sendTimes
	wave  int // the last that it has had its update of; guarded by times.mu
}

// Write implements [net.Conn].
func (c *timedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if n >= updateOctets {
		c.times.mu.Lock()
		defer c.times.mu.Unlock()
		if c.wave != c.times.wave {
			c.wave = c.times.wave
			if c.times.open--; c.times.open == 0 {
				c.times.last <- time.Now()
			}
		}
	}
	return n, err
}
