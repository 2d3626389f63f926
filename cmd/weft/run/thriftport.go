package run

import (
	"fmt"
	"net"
)

// ThriftPort is a TCP port that accepts connections and closes them: scripts take
// one that listens for the sign that a switch has started.
type ThriftPort struct {
	listener net.Listener
	ended    chan struct{}
}

// ListenThrift opens the port on loopback; nil for an empty one.
func ListenThrift(port string) (*ThriftPort, error) {
	if port == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, fmt.Errorf("--thrift-port: %w", err)
	}
	t := &ThriftPort{l, make(chan struct{})}
	go func() {
		defer close(t.ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	return t, nil
}

// Close ends it; nil is none.
func (t *ThriftPort) Close() {
	if t != nil {
		t.listener.Close()
		<-t.ended
	}
}
