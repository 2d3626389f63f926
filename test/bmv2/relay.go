//go:build linux

package bmv2

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/weft-sdn/weft/dataplane/live/afpacket/afpackettest"
)

// relay makes an address inside a namespace reachable at a loopback address of the caller's.
type relay struct {
	listener net.Listener
	cancel   context.CancelFunc
	group    sync.WaitGroup
}

func newRelay(ns *afpackettest.Namespace, address string) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &relay{listener: listener, cancel: cancel}
	r.group.Add(1)
	go func() {
		defer r.group.Done()
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			r.group.Add(1)
			go func() {
				defer r.group.Done()
				r.join(ctx, ns, near, address)
			}()
		}
	}()
	return r, nil
}

// join copies octets both ways until one side ends or the relay is closed.
func (r *relay) join(ctx context.Context, ns *afpackettest.Namespace, near net.Conn,
	address string) {
	defer near.Close()
	far, err := dial(ctx, ns, address)
	if err != nil {
		return
	}
	defer far.Close()
	stop := context.AfterFunc(ctx, func() { near.Close(); far.Close() })
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(far, near)
		far.Close()
		near.Close()
	}()
	io.Copy(near, far)
	near.Close()
	far.Close()
	<-done
}

func (r *relay) close() {
	r.cancel()
	r.listener.Close()
	r.group.Wait()
}
