package clientlimit

import (
	"context"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/weft-sdn/weft/internal/connlimit"
)

// What one connection may have at once.
const (
	// MaxCalls is how many calls and streams a server takes unless told otherwise.
	MaxCalls = 64
	// MaxStreams bounds the streams of one service.
	MaxStreams = 8

	// MaxRequests is how many requests of a client may be under way; more wait unread.
	MaxRequests = 4
	maxReads    = 2 // answers to Reads that are put together; more wait
)

// overhead is the allowance for the frames and headers of a complete message, in octets.
const overhead = 512

// Client is one connection.
type Client struct {
	limiter *Limiter
	host    string
	conn    net.Conn
	// Requests has a place for each request that may be under way at once.
	Requests *semaphore.Weighted
	// Reads has a place for each answer to a Read that may be put together at once.
	Reads *semaphore.Weighted

	mu      sync.Mutex
	held    int64          // guarded by mu; octets received, of messages that are not complete
	open    int            // guarded by mu; calls and streams
	streams map[string]int // guarded by mu; open, by service
	gone    bool           // guarded by mu; what is received counts no longer
}

func newClient(g *Limiter, host string) *Client {
	return &Client{limiter: g, host: host, Requests: semaphore.NewWeighted(MaxRequests),
		Reads: semaphore.NewWeighted(maxReads), streams: make(map[string]int)}
}

// ClientOf returns the client of a call. A call of a server without a Limiter has one of its own.
func ClientOf(ctx context.Context) *Client {
	if x, ok := ctx.Value(clientKey{}).(*Client); ok {
		return x
	}
	return newClient(New(Config{}), "unknown")
}

// Stall returns how long the client may read nothing of an answer that waits for it.
func (x *Client) Stall() time.Duration { return x.limiter.cfg.Stall }

// Trust marks the client as known: its connection does not give way to those of strangers.
func (x *Client) Trust() { connlimit.Of(x.conn).Trust() }

// Refuse counts that the client was turned away.
func (x *Client) Refuse(why Reason) { x.limiter.Refuse(why, x.host) }

// Stream takes a place for a stream of a service. If no place is left, ok is false and the client
// counts as turned away. leave gives the place back.
func (x *Client) Stream(service string) (leave func(), ok bool) {
	x.mu.Lock()
	if x.streams[service] >= MaxStreams {
		x.mu.Unlock()
		x.Refuse(Streams)
		return nil, false
	}
	x.streams[service]++
	x.mu.Unlock()
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.streams[service]--
	}, true
}

func (x *Client) octets() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.held
}

// received accounts for octets off the wire.
func (x *Client) received(n int) {
	x.mu.Lock()
	if x.gone {
		x.mu.Unlock()
		return
	}
	x.held += int64(n)
	x.mu.Unlock()
	if x.limiter.unfinished.Add(int64(n)) > int64(x.limiter.cfg.Unfinished) {
		x.limiter.relieve()
	}
}

// end forgets what was received: the connection is closed.
func (x *Client) end() {
	x.mu.Lock()
	x.gone = true
	x.mu.Unlock()
	x.settle(x.octets())
}

// settle accounts for octets that are part of a complete message.
func (x *Client) settle(n int64) {
	x.mu.Lock()
	n = min(n, x.held)
	x.held -= n
	x.mu.Unlock()
	x.limiter.unfinished.Add(-n)
}

// calls accounts for calls that begin or end. Without one there is no message.
func (x *Client) calls(n int) {
	x.mu.Lock()
	x.open += n
	idle := x.open == 0
	x.mu.Unlock()
	if idle {
		x.settle(x.octets())
	}
}
