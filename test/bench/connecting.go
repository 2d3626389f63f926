package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
	endpoint "github.com/weft-sdn/weft/host/cm"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet/cm"
)

const (
	connectPort   = 4242
	connectVA     = 0x1_0000 // where a source takes the memory of receivers to begin
	connectRKey   = 100
	connectOctets = 4096
	connectPoll   = 50 * time.Microsecond
)

// connecting measures the time from a source's request for a connection to the acknowledgement of
// its first write: Figure 1 in real time, whose receivers listen and are connected before.
func connecting(ctx context.Context, out *report, live *lab.Live) error {
	hosts := live.World.Network.Hosts
	memory := make([][]byte, len(hosts))
	err := live.Do(ctx, func(w *lab.World) error {
		for i, h := range hosts[1:] {
			node, err := w.Host(h.Name)
			if err != nil {
				return err
			}
			memory[i+1] = make([]byte, connectOctets)
			if _, err := node.RegisterMR(connectVA, connectRKey, memory[i+1],
				verbs.AccessRemoteWrite); err != nil {
				return err
			}
			node.CM.Listen(connectPort, func(endpoint.Request) endpoint.Reply {
				join := cm.Join{HasMemory: true, RKey: connectRKey, VA: connectVA, Length: connectOctets}
				return endpoint.Reply{Private: join.Append(nil)}
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	var took runs
	for i := range programRuns {
		spec := api.MulticastGroupSpec{
			ProxyAddress:  netip.MustParseAddr(fmt.Sprintf("2001:db8:fffe::%x", i+1)),
			DesignatedQPN: designatedQPN, BaseVA: connectVA,
			Connect: &api.GroupConnect{Port: connectPort, MTU: connectOctets},
			Source:  api.GroupSource{Address: hosts[0].Address},
		}
		for _, h := range hosts[1:] {
			spec.Receivers = append(spec.Receivers, api.GroupReceiver{Address: h.Address})
		}
		name := fmt.Sprintf("connect-%d", i)
		if err := connected(ctx, live, name, spec); err != nil {
			return err
		}
		data := bytes.Repeat([]byte{byte(i + 1)}, connectOctets)
		d, err := timeToWrite(ctx, live, hosts[0].Name, spec.ProxyAddress, data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		took = append(took, float64(d.Microseconds())/1e3)
		err = live.Do(ctx, func(*lab.World) error {
			for k := range memory[1:] {
				if !bytes.Equal(memory[k+1], data) {
					return fmt.Errorf("%s: the memory of %s is not the source's", name, hosts[k+1].Name)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	params := []field{{"switches", len(live.World.Network.Switches)}, {"receivers", len(hosts) - 1}}
	return out.print(figure{bench: "program/connect", unit: "ms", value: took.median(),
		more: append(params, took.spread()...)})
}

// connected makes a group, and waits until all its receivers are connected and in its tree.
func connected(ctx context.Context, live *lab.Live, name string,
	spec api.MulticastGroupSpec) error {
	url := live.URL() + "/v1/multicast-groups"
	body, err := groupBody(name, spec)
	if err != nil {
		return err
	}
	if _, err := exchange(ctx, http.MethodPost, url, body); err != nil {
		return err
	}
	return live.Wait(ctx, "the receivers of "+name+" are connected", func() (bool, error) {
		group, err := exchange(ctx, http.MethodGet, url+"/"+name, nil)
		up := 0
		for _, c := range group.Status.Connections {
			if c.State == "established" {
				up++
			}
		}
		c := group.Status.Condition(api.Programmed)
		return up == len(spec.Receivers) && c != nil && c.Status, err
	})
}

// timeToWrite has a host connect to a group, and write data once when it is connected.
func timeToWrite(ctx context.Context, live *lab.Live, host string, to netip.Addr,
	data []byte) (time.Duration, error) {
	var start, end time.Time
	done := make(chan error, 1)
	var node *lab.HostNode
	var qp *rc.QP
	// step goes on with what has happened, and reports whether that is all.
	step := func() (bool, error) {
		for _, e := range node.CM.Events() {
			if e.QP == nil {
				return true, fmt.Errorf("%v: %v", e.Kind, e.Reason)
			}
			qp = e.QP
			err := qp.PostSend(verbs.WorkRequest{ID: 1, Op: verbs.OpWrite, Data: data,
				RemoteVA: connectVA})
			if err != nil {
				return true, err
			}
			node.Wake()
		}
		if qp == nil {
			return false, nil
		}
		c, ok := qp.Poll()
		end = time.Now()
		if ok && c.Status != verbs.StatusOK {
			return true, fmt.Errorf("the write ended as %v", c.Status)
		}
		return ok, nil
	}
	err := live.Do(ctx, func(w *lab.World) error {
		var err error
		if node, err = w.Host(host); err != nil {
			return err
		}
		start = time.Now()
		if _, err := node.CM.Connect(w.Now(), to, connectPort, cm.Join{}.Append(nil)); err != nil {
			return err
		}
		node.Wake()
		var poll func()
		poll = func() {
			if over, err := step(); over {
				done <- err
				return
			}
			if ctx.Err() == nil {
				w.After(connectPoll, poll)
			}
		}
		poll()
		return nil
	})
	if err != nil {
		return 0, err
	}
	select {
	case err := <-done:
		return end.Sub(start), err
	case <-ctx.Done():
		return 0, errors.New("the source has not written in time")
	}
}
