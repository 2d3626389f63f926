package multicast

import (
	"context"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/lab"
)

// message is the octets of a WRITE at most.
const message = 256 << 10

// A Transfer holds a multicast group of RoCEv2 hosts, and the data that the source writes to the
// receivers.
type Transfer struct {
	Live  *lab.Live
	Say   func(format string, args ...any) // gets a line for every step
	Name  string                           // of the group
	Mode  api.GroupMode
	Hosts lab.GroupConfig // queue pairs and memory are the transfer's
	Data  []byte
	// Make has the controller make the group of a spec, whose queue pairs are there, under Name; nil:
	// a request for the group makes it.
	Make func(ctx context.Context, s *api.MulticastGroupSpec) error

	// What Begin has made.
	Group *lab.Group
	Tree  *api.GroupTree

	Took      time.Duration // by the last Write
	Transfers int           // so many were there
}

// Packets returns the number of packets of a transfer without retransmissions.
func (t *Transfer) Packets() (packets uint64) {
	for rest := len(t.Data); rest > 0; rest -= message {
		pmtu := t.Hosts.QP.PMTU
		packets += uint64((min(rest, message) + pmtu - 1) / pmtu)
	}
	return packets
}

// Begin makes the queue pairs, and the group by one request.
func (t *Transfer) Begin(ctx context.Context) error {
	t.Hosts.QP, t.Hosts.Memory = rc.DefaultQPConfig(), len(t.Data)
	t.Hosts.QP.LocalAckTimeout = 20 // 4.3 s: a busy laptop is no lossy network
	err := t.Live.Do(ctx, func(w *lab.World) (err error) {
		t.Group, err = w.NewGroup(t.Hosts)
		return err
	})
	if err != nil {
		return err
	}
	return t.program(ctx)
}

// program makes the tree.
func (t *Transfer) program(ctx context.Context) error {
	spec := api.MulticastGroupSpec{
		ProxyAddress: t.Hosts.Proxy, DesignatedQPN: t.Hosts.DesignatedQPN,
		InitialPSN: t.Hosts.InitialPSN, Mode: t.Mode,
		Source: api.GroupSource{Address: t.Group.Source.Config().Addr,
			QPN: t.Group.SourceQP.Config().QPN},
	}
	for _, r := range t.Group.Receivers {
		spec.Receivers = append(spec.Receivers, api.GroupReceiver{Address: r.Host.Config().Addr,
			QPN: r.QP.Config().QPN})
	}
	begin := time.Now()
	rest, err := client.New(client.Config{Server: t.Live.URL()})
	if err != nil {
		return err
	}
	defer rest.Close()
	how := "POST /v1/multicast-groups"
	if t.Make != nil {
		how, err = "PUT /v1/jobs: group "+t.Name, t.Make(ctx, &spec)
	} else {
		_, err = rest.Groups().Create(ctx, t.Name, spec, client.Write{})
	}
	if err != nil {
		return err
	}
	var made *api.MulticastGroup
	err = t.Live.Wait(ctx, "the group is programmed", func() (bool, error) {
		if made, err = rest.Groups().Get(ctx, t.Name); err != nil {
			return false, err
		}
		return made.Status.Is(api.Programmed), nil
	})
	if err != nil {
		return err
	}
	t.Tree = made.Status.Tree
	t.Say("%s: programmed in %v, epoch %d", how,
		time.Since(begin).Round(100*time.Microsecond), made.Status.Epoch)
	if t.Mode != api.ModeInband {
		return nil
	}
	return t.Live.Do(ctx, func(*lab.World) error { return t.Group.Encapsulate(t.Tree) })
}

// Write writes the data and waits for the last acknowledgement.
func (t *Transfer) Write(ctx context.Context) error {
	t.Say("%s writes %d MiB in %d-octet packets to %v, queue pair %#06x", t.Hosts.Source,
		len(t.Data)>>20, t.Hosts.QP.PMTU, t.Hosts.Proxy, t.Hosts.DesignatedQPN)
	begin := time.Now()
	err := t.Live.Do(ctx, func(*lab.World) error { return t.Group.Write(t.Data, message) })
	if err != nil {
		return err
	}
	err = t.Live.Until(ctx, "the transfer is over", func(*lab.World) (bool, error) {
		err := t.Group.Pump()
		return t.Group.Done(), err
	})
	t.Took = time.Since(begin)
	t.Transfers++
	return err
}

// Wrong returns how many octets of a receiver's memory are not the source's. Call it on the world's
// goroutine.
func (t *Transfer) Wrong(r *lab.Receiver) (octets int) {
	for i, octet := range t.Data {
		if r.Memory[i] != octet {
			octets++
		}
	}
	return octets
}
