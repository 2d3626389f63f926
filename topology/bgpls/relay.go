package bgpls

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// A relay joins the connection to a peer with one to the GoBGP server. All
// messages go through unchanged, but for the peer's UPDATEs: they are handed
// to deliver, and the server gets KEEPALIVEs in their place, so that it knows
// the peer to be alive.
type relay struct {
	outer, inner net.Conn
	// writeTime is how long the peer may leave a message unread.
	writeTime time.Duration
	// established is called once, before deliver is called, when both sides
	// have accepted the session.
	established func()
	deliver     func(*wire.Update)

	mu       sync.Mutex
	fromPeer bool // the peer has confirmed the session
	toPeer   bool // the server has
	why      error
}

// updateKeepalive is the least time between KEEPALIVEs in place of UPDATEs.
const updateKeepalive = time.Second

// notificationMalformed is UPDATE Message Error, Malformed Attribute List (RFC
// 4271 section 6.3).
var notificationMalformed = []byte{3, 1}

// run relays until one side ends the session, closes both connections, and
// returns the reason.
func (r *relay) run() error {
	var wait sync.WaitGroup
	wait.Go(func() {
		r.end(r.fromServer())
	})
	r.end(r.fromOuter())
	wait.Wait()
	return r.why
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

// fromOuter relays what the peer sends.
func (r *relay) fromOuter() error {
	in := bufio.NewReaderSize(r.outer, 1<<16)
	keepalive := wire.AppendMessage(nil, wire.MessageKeepalive, nil)
	var kept time.Time
	for {
		t, message, err := readMessage(in)
		if errors.Is(err, wire.ErrMalformed) {
			// The server knows what to answer.
			_, _ = r.inner.Write(message)
			_, _ = io.Copy(r.inner, in)
			return err
		}
		if err != nil {
			return peerError(err)
		}
		if t == wire.MessageUpdate && r.isEstablished() {
			u, err := wire.ParseUpdate(message)
			if err != nil {
				_ = r.outer.SetWriteDeadline(time.Now().Add(r.writeTime))
				_, _ = r.outer.Write(wire.AppendMessage(nil, wire.MessageNotification, notificationMalformed))
				return fmt.Errorf("UPDATE from the peer: %w", err)
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

// fromServer relays what the server sends.
func (r *relay) fromServer() error {
	in := bufio.NewReaderSize(r.inner, 1<<16)
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
		}
		if err := r.outer.SetWriteDeadline(time.Now().Add(r.writeTime)); err != nil {
			return peerError(err)
		}
		if _, err := r.outer.Write(message); err != nil {
			return peerError(err)
		}
	}
}

// readMessage reads a message into octets of its own. When it is malformed,
// it returns what it has read.
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
