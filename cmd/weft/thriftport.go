package main

import (
	"fmt"
	"net"
	"strconv"
)

// thriftPort is a TCP port that accepts connections and closes them: scripts take
// one that listens for the sign that a switch has started.
type thriftPort struct {
	listener net.Listener
	ended    chan struct{}
}

// listenThrift opens the port on loopback; nil for an empty one.
func listenThrift(port string) (*thriftPort, error) {
	if port == "" {
		return nil, nil
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, usagef("--thrift-port is %q: want 0 to 65535", port)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, fmt.Errorf("--thrift-port: %w", err)
	}
	t := &thriftPort{l, make(chan struct{})}
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

func (t *thriftPort) close() {
	if t != nil {
		t.listener.Close()
		<-t.ended
	}
}
