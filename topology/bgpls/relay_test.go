package bgpls

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// tcpPair returns the two ends of a connection.
func tcpPair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err == nil {
		b, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// The server has something for a peer whose session is being ended: it does not get through, and
// the reason stays the malformed UPDATE.
func TestReasonOfCut(t *testing.T) {
	t.Parallel()
	outer, peer := tcpPair(t)
	inner, server := tcpPair(t)
	established := make(chan struct{})
	r := &relay{
		outer: outer, inner: inner, remove: func() { server.Close() }, writeTime: time.Minute,
		established: func() { close(established) }, deliver: func(*wire.Update) {},
	}
	why := make(chan error, 1)
	go func() { why <- r.run() }()

	keepalive := wire.AppendMessage(nil, wire.MessageKeepalive, nil)
	for _, c := range []net.Conn{peer, server} {
		if _, err := c.Write(keepalive); err != nil {
			t.Fatal(err)
		}
	}
	<-established
	if _, err := peer.Write(updateMessage([]byte{0, 5, 0, 5, 0, 0, 0, 0}, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, peer); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write(keepalive); err != nil {
		t.Fatal(err)
	}
	if err := <-why; !errors.Is(err, wire.ErrTruncated) && !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("the session ended for %q, want the malformed UPDATE", err)
	}
}
