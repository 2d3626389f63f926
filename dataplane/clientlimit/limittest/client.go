// Package limittest is a gRPC client that does not behave, for tests: it sends what it likes,
// leaves messages unfinished, and never gives the server leave to send more.
package limittest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Client is one connection of HTTP/2 (RFC 9113).
type Client struct {
	conn net.Conn

	write sync.Mutex // one frame at a time
	fr    *http2.Framer
	next  uint32 // stream; guarded by write

	mu      sync.Mutex
	changed sync.Cond
	initial int64              // guarded by mu; window of a new stream
	window  int64              // guarded by mu; of the connection
	streams map[uint32]*Stream // guarded by mu
	ended   error              // guarded by mu; why the connection has ended
}

// Stream is one call.
type Stream struct {
	c      *Client
	id     uint32
	window int64 // guarded by c.mu
	sent   int64 // guarded by c.mu; octets
	status int   // guarded by c.mu; of gRPC, -1 until the call has ended
}

// ErrEnded reports that a call has ended before all was sent.
var ErrEnded = errors.New("guardtest: the call has ended")

// Dial connects to a server, for as long as the test runs.
func Dial(t testing.TB, address string) *Client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{conn: conn, fr: http2.NewFramer(conn, conn), next: 1, initial: 65535, window: 65535,
		streams: make(map[uint32]*Stream)}
	c.changed.L = &c.mu
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_, err = io.WriteString(conn, http2.ClientPreface)
	if err = errors.Join(err, c.fr.WriteSettings()); err != nil {
		c.end(err) // the server takes no more connections
	}
	var reader sync.WaitGroup
	reader.Go(c.read)
	t.Cleanup(func() {
		c.Close()
		reader.Wait()
	})
	return c
}

// Close ends the connection and all that waits for it.
func (c *Client) Close() {
	_ = c.conn.Close() // the server may have closed it
	c.end(net.ErrClosed)
}

func (c *Client) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = errors.Join(c.ended, err)
	c.changed.Broadcast()
}

// read takes frames until the connection ends.
func (c *Client) read() {
	for {
		f, err := c.fr.ReadFrame()
		if err != nil {
			c.end(err)
			return
		}
		ack := false
		c.mu.Lock()
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if n, ok := f.Value(http2.SettingInitialWindowSize); ok {
				for _, s := range c.streams {
					s.window += int64(n) - c.initial
				}
				c.initial = int64(n)
			}
			ack = !f.IsAck()
		case *http2.WindowUpdateFrame:
			if s := c.streams[f.StreamID]; s != nil {
				s.window += int64(f.Increment)
			} else if f.StreamID == 0 {
				c.window += int64(f.Increment)
			}
		case *http2.RSTStreamFrame:
			if s := c.streams[f.StreamID]; s != nil && s.status < 0 {
				s.status = 1 // CANCELLED
			}
		case *http2.MetaHeadersFrame:
			for _, h := range f.Fields {
				if h.Name == "grpc-status" {
					c.streams[f.StreamID].status, _ = strconv.Atoi(h.Value) // 0 would be seen
				}
			}
		}
		c.changed.Broadcast()
		c.mu.Unlock()
		if ack {
			c.write.Lock()
			err := c.fr.WriteSettingsAck()
			c.write.Unlock()
			if err != nil {
				c.end(err)
				return
			}
		}
	}
}

// Call begins a call of a method, such as "/p4.v1.P4Runtime/Read".
func (c *Client) Call(method string) (*Stream, error) {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, h := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", method},
		{":authority", "switch"},
		{"content-type", "application/grpc"}, {"te", "trailers"}} {
		if err := e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			return nil, err
		}
	}
	c.write.Lock()
	defer c.write.Unlock()
	s := &Stream{c: c, id: c.next, status: -1}
	c.next += 2
	c.mu.Lock()
	s.window = c.initial
	c.streams[s.id] = s
	err := c.ended
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s, c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: s.id, BlockFragment: b.Bytes(),
		EndHeaders: true})
}

// Message sends a message with the announced length, but only the octets of the given pieces, as
// fast as flow control allows. It fails when the call or the connection ends first.
func (s *Stream) Message(announced int, pieces ...[]byte) error {
	prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(announced))
	for _, p := range append([][]byte{prefix}, pieces...) {
		for len(p) > 0 {
			n, err := s.room(len(p))
			if err != nil {
				return err
			}
			if err := s.data(p[:n], false); err != nil {
				return err
			}
			p = p[n:]
		}
	}
	return nil
}

// CloseSend ends the messages of the call.
func (s *Stream) CloseSend() error { return s.data(nil, true) }

func (s *Stream) data(b []byte, end bool) error {
	s.c.write.Lock()
	defer s.c.write.Unlock()
	return s.c.fr.WriteData(s.id, end, b)
}

// room waits for leave to send some of n octets.
func (s *Stream) room(n int) (int, error) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch room := min(int64(n), s.window, c.window, 16384); {
		case c.ended != nil:
			return 0, c.ended
		case s.status >= 0:
			return 0, ErrEnded
		case room > 0:
			s.window -= room
			c.window -= room
			s.sent += room
			return int(room), nil
		}
		c.changed.Wait()
	}
}

// Sent returns the octets of messages that were sent.
func (s *Stream) Sent() int64 {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.sent
}

// Status waits for the end of the call and returns its gRPC status, or an error when the connection
// ends before.
func (s *Stream) Status() (int, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for s.status < 0 && s.c.ended == nil {
		s.c.changed.Wait()
	}
	if s.status < 0 {
		return 0, s.c.ended
	}
	return s.status, nil
}

// Allow lets the server send some octets more on a stream, as if they had been read.
func (s *Stream) Allow(octets uint32) error {
	s.c.write.Lock()
	defer s.c.write.Unlock()
	return errors.Join(s.c.fr.WriteWindowUpdate(0, octets), s.c.fr.WriteWindowUpdate(s.id, octets))
}
