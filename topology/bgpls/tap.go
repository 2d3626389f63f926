package bgpls

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"

	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// A tap receives the BMP output of the GoBGP server in this process.
type tap struct {
	listener *net.TCPListener
	// initiated is closed when the server monitors its sessions: those that
	// begin from then on are seen whole.
	initiated chan struct{}
}

func newTap(ctx context.Context) (*tap, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("bgpls: BMP listener: %w", err)
	}
	return &tap{listener: l.(*net.TCPListener), initiated: make(chan struct{})}, nil
}

func (t *tap) addr() netip.AddrPort { return t.listener.Addr().(*net.TCPAddr).AddrPort() }

// run accepts one connection and hands every message of it to deliver, which
// keeps it, until the connection or the context ends.
func (t *tap) run(ctx context.Context, deliver func(wire.BMPMessage)) error {
	defer t.listener.Close()
	stop := context.AfterFunc(ctx, func() { t.listener.Close() })
	defer stop()
	conn, err := t.listener.Accept()
	if err != nil {
		return fmt.Errorf("bgpls: BMP connection: %w", err)
	}
	defer conn.Close()
	stopConn := context.AfterFunc(ctx, func() { conn.Close() })
	defer stopConn()
	r := bufio.NewReaderSize(conn, 1<<16)
	initiated := false
	for {
		m, err := readBMP(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("bgpls: BMP stream: %w", err)
		}
		if m.Type == wire.BMPInitiation && !initiated {
			initiated = true
			close(t.initiated)
		}
		deliver(m)
	}
}

func readBMP(r io.Reader) (wire.BMPMessage, error) {
	header := make([]byte, wire.BMPHeaderLen)
	if _, err := io.ReadFull(r, header); err != nil {
		return wire.BMPMessage{}, err
	}
	n, err := wire.BMPLength(header)
	if err != nil {
		return wire.BMPMessage{}, err
	}
	b := make([]byte, n)
	copy(b, header)
	if _, err := io.ReadFull(r, b[wire.BMPHeaderLen:]); err != nil {
		return wire.BMPMessage{}, err
	}
	return wire.ParseBMP(b)
}
