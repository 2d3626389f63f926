package bgpls

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// A relay joins the connection to a peer with one to the GoBGP server. All
// messages go through unchanged until the session is established. Then the
// peer's UPDATEs are handed to deliver, and the server gets KEEPALIVEs in their
// place, so that it knows the peer to be alive; and what ends a session ends it
// here: see [relay.empty].
type relay struct {
	outer, inner net.Conn
	// remove has the server forget the neighbor that stands for the peer.
	remove func()
	// writeTime is how long the peer may leave a message unread.
	writeTime time.Duration
	// established is called once, before deliver is called, when both sides
	// have accepted the session.
	established func()
	deliver     func(*wire.Update)

	// cutting is set before the relay breaks the peer's connection for that reason.
	cutting atomic.Pointer[cut]

	mu       sync.Mutex
	fromPeer bool // the peer has confirmed the session
	toPeer   bool // the server has
	why      error

	// emptied is closed when the server has sent all queued messages to the peer (End-of-RIB), and
	// serverGone when the server has closed its connection.
	emptied, serverGone chan struct{}
}

// emptying bounds the wait for a server with data for a gone peer.
const emptying = time.Second

// updateKeepalive is the least time between KEEPALIVEs in place of UPDATEs.
const updateKeepalive = time.Second

// run relays until one side ends the session, closes both connections, and
// returns the reason.
func (r *relay) run() error {
	r.emptied, r.serverGone = make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		err := r.fromServer()
		close(r.serverGone)
		r.end(err)
	})
	r.note(r.fromOuter())
	r.outer.Close()
	r.empty()
	r.remove()
	r.inner.Close()
	wait.Wait()
	return r.why
}

// empty waits until the server has sent all queued messages to the peer. GoBGP 4.8.0 leaks the
// goroutine of a neighbor's queue if it deletes the neighbor while the queue has entries. GoBGP
// queues its End-of-RIB marker when a session begins, and an error if GoBGP itself finds that the
// session has ended.
func (r *relay) empty() {
	r.mu.Lock()
	begun := r.fromPeer
	r.mu.Unlock()
	if !begun {
		return
	}
	select {
	case <-r.emptied:
	case <-r.serverGone:
	case <-time.After(emptying):
	}
}

// end notes why the session ended, the first reason being the true one, and
// closes the connections.
func (r *relay) end(err error) {
	r.mu.Lock()
	if r.why == nil {
		r.why = err
	}
	r.mu.Unlock()
	r.outer.Close()
	r.inner.Close()
}

func (r *relay) note(err error) {
	r.mu.Lock()
	if r.why == nil {
		r.why = err
	}
	r.mu.Unlock()
}

// confirm notes that a side has accepted the session.
func (r *relay) confirm(side *bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.fromPeer && r.toPeer
	*side = true
	if !before && r.fromPeer && r.toPeer {
		r.established()
	}
}

func (r *relay) isEstablished() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fromPeer && r.toPeer
}

// cut ends the session from another goroutine, with a NOTIFICATION. The first reason counts.
func (r *relay) cut(c *cut) {
	if r.cutting.CompareAndSwap(nil, c) {
		_ = r.outer.SetReadDeadline(time.Now())
	}
}

// sayCut sends the peer the NOTIFICATION and returns the reason. It reads on for a moment: a
// connection that is closed with octets unread is reset, and the NOTIFICATION lost. What the server
// sends meanwhile fails: that is not the reason.
func (r *relay) sayCut(c *cut) error {
	r.note(c)
	_ = r.outer.SetDeadline(time.Now().Add(farewell))
	if _, err := r.outer.Write(c.message()); err != nil {
		return c
	}
	if half, ok := r.outer.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, r.outer)
	}
	return c
}

// fromOuter relays what the peer sends.
func (r *relay) fromOuter() error {
	in := bufio.NewReaderSize(r.outer, 1<<16)
	keepalive := wire.AppendMessage(nil, wire.MessageKeepalive, nil)
	var kept time.Time
	for {
		t, message, err := readMessage(in)
		if errors.Is(err, wire.ErrMalformed) {
			if r.isEstablished() {
				return r.sayCut(headerError(message, err))
			}
			// The server knows what to answer.
			_, _ = r.inner.Write(message)
			_, _ = io.Copy(r.inner, in)
			return err
		}
		if c := r.cutting.Load(); c != nil {
			return r.sayCut(c)
		}
		if err != nil {
			return peerError(err)
		}
		if t == wire.MessageUpdate && r.isEstablished() {
			u, err := wire.ParseUpdate(message)
			if err != nil {
				// Malformed Attribute List (RFC 4271 section 6.3).
				return r.sayCut(&cut{notification{code: codeUpdate, subcode: subcodeAttributes, sent: true},
					fmt.Errorf("UPDATE from the peer: %w", err)})
			}
			r.deliver(&u)
			if now := time.Now(); now.Sub(kept) >= updateKeepalive {
				kept = now
				if _, err := r.inner.Write(keepalive); err != nil {
					return errSpeakerClosed
				}
			}
			continue
		}
		if t == wire.MessageNotification && r.isEstablished() {
			return parseNotification(message, false)
		}
		if r.isEstablished() {
			if c := unexpected(t, len(message)-wire.HeaderLen); c != nil {
				return r.sayCut(c)
			}
		}
		switch t {
		case wire.MessageKeepalive:
			r.confirm(&r.fromPeer)
		case wire.MessageNotification:
			r.note(parseNotification(message, false))
		}
		if _, err := r.inner.Write(message); err != nil {
			return errSpeakerClosed
		}
	}
}

// headerError is the answer to a header that cannot be read (RFC 4271 section 6.1).
func headerError(header []byte, err error) *cut {
	subcode := byte(subcodeSynchronized)
	if len(header) >= wire.HeaderLen && bytes.Count(header[:16], []byte{0xff}) == 16 {
		subcode = subcodeLength
	}
	return &cut{notification{code: codeHeader, subcode: subcode, sent: true}, err}
}

// unexpected is the answer to a message that an established session has no place for, or not with a
// body of this length; nil when it has one.
func unexpected(t wire.MessageType, body int) *cut {
	answer := func(code, subcode byte) *cut {
		return &cut{notification{code: code, subcode: subcode, sent: true},
			fmt.Errorf("message of type %d with %d octets from the peer", t, body)}
	}
	switch {
	case t == wire.MessageKeepalive && body == 0, t == wire.MessageRouteRefresh && body == 4:
		return nil
	case t == wire.MessageKeepalive:
		return answer(codeHeader, subcodeLength)
	case t == wire.MessageRouteRefresh:
		return answer(codeRefresh, subcodeRefreshLength)
	case t == wire.MessageOpen:
		return answer(codeState, subcodeEstablished)
	}
	return answer(codeHeader, subcodeType)
}

// fromServer relays what the server sends, until it closes its connection. When the peer stops
// reading, the relay reads the rest.
func (r *relay) fromServer() error {
	in := bufio.NewReaderSize(r.inner, 1<<16)
	emptied, gone := false, false
	for {
		t, message, err := readMessage(in)
		if err != nil {
			return errSpeakerClosed
		}
		switch t {
		case wire.MessageKeepalive:
			r.confirm(&r.toPeer)
		case wire.MessageNotification:
			r.note(parseNotification(message, true))
		case wire.MessageUpdate:
			if u, err := wire.ParseUpdate(message); err == nil && u.EndOfRIB && !emptied {
				emptied = true
				close(r.emptied)
			}
		}
		if gone {
			continue
		}
		err = r.outer.SetWriteDeadline(time.Now().Add(r.writeTime))
		if err == nil {
			_, err = r.outer.Write(message)
		}
		if err != nil {
			gone = true
			r.note(peerError(err))
			r.outer.Close()
		}
	}
}

// readMessage reads a message into a new slice. For a malformed message, it returns the octets read
// so far.
func readMessage(r io.Reader) (t wire.MessageType, message []byte, err error) {
	header := make([]byte, wire.HeaderLen)
	if _, err := io.ReadFull(r, header); err != nil {
		return 0, nil, err
	}
	t, n, err := wire.ParseHeader(header)
	if err != nil {
		return t, header, err
	}
	message = make([]byte, n)
	copy(message, header)
	_, err = io.ReadFull(r, message[wire.HeaderLen:])
	return t, message, err
}
