package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/lab"
)

const (
	transferOctets  = 4 << 20
	messageOctets   = 64 << 10
	transferPackets = transferOctets / payloadOctets
	transferLimit   = 10 * time.Second // of virtual time
	linkRate        = 100e9
	linkDelay       = time.Microsecond
)

// transfer is what one transfer to some receivers took, counted on the wires.
type transfer struct {
	packets, octets uint64 // data that the source put on its wire
	responses       uint64 // ACKs and NAKs that came to the source
	mostResponses   uint64 // those of the receiver that sent most
	took            time.Duration
}

// multicast compares one multicast transfer of 4 MiB to 1, 2 or 5 receivers with a unicast transfer
// to each receiver, in the same lab: Figure 1 in virtual time, programmed by the controller, with
// links of 100 Gb/s and 1 µs. It counts between S1 and its switch: data packets, their octets, the
// responses that reach S1, and the time to the last completion. unicast is the figure of a queue
// pair to each receiver.
func multicast(ctx context.Context, out *report) error {
	for _, n := range []int{1, 2, 5} {
		if err := ctx.Err(); err != nil {
			return err
		}
		out.tell("multicast: %d receivers", n)
		receivers := []string{"R1", "R2", "R3", "R4", "R5"}[:n]
		many, err := transferTo(receivers, multicastTransfer)
		if err != nil {
			return fmt.Errorf("multicast to %d: %w", n, err)
		}
		each, err := transferTo(receivers, unicastTransfer)
		if err != nil {
			return fmt.Errorf("unicast to %d: %w", n, err)
		}
		switch {
		case many.packets != transferPackets:
			return fmt.Errorf("multicast to %d: the source sent %d packets, want %d", n, many.packets,
				transferPackets)
		case each.packets != uint64(n)*transferPackets:
			return fmt.Errorf("unicast to %d: the source sent %d packets, want %d", n, each.packets,
				n*transferPackets)
		case many.responses > many.mostResponses:
			return fmt.Errorf("multicast to %d: %d responses at the source, %d of a receiver", n,
				many.responses, many.mostResponses)
		}
		print := func(what, unit string, multicast, unicast float64, more ...field) {
			f := figure{bench: "multicast/" + what, unit: unit, value: multicast,
				more: []field{{"receivers", n}, {"transfer", transferOctets}}}
			f.more = append(append(f.more, more...), field{"unicast", unicast},
				field{"ratio", multicast / unicast})
			if err == nil {
				err = out.print(f)
			}
		}
		print("packets", "packets", float64(many.packets), float64(each.packets))
		print("octets", "octets", float64(many.octets), float64(each.octets))
		print("responses", "packets", float64(many.responses), float64(each.responses),
			field{"receiver", many.mostResponses})
		print("time", "s", many.took.Seconds(), each.took.Seconds())
		if err != nil {
			return err
		}
	}
	return nil
}

// transferTo builds the lab, has the controller program it, and runs a transfer.
func transferTo(receivers []string, run func(*lab.World, *lab.Control, []string) (time.Duration,
	error)) (transfer, error) {
	network := lab.Figure1()
	for i := range network.Links {
		network.Links[i].Rate, network.Links[i].Delay = linkRate, linkDelay
	}
	world, err := lab.NewWorld(network, lab.Options{Seed: 1, Cache: &cache})
	if err != nil {
		return transfer{}, err
	}
	control, err := lab.NewControl(world, lab.DefaultLatencies())
	if err != nil {
		return transfer{}, err
	}
	if err := control.Start(); err != nil {
		return transfer{}, err
	}
	synced := func() bool {
		for _, s := range control.Core().Switches() {
			if !s.Synced {
				return false
			}
		}
		return true
	}
	if !world.Run(world.Now()+transferLimit, synced) {
		return transfer{}, fmt.Errorf("the switches were not programmed within %v", transferLimit)
	}
	traffic := lab.NewTraffic()
	world.AddTap(traffic)
	took, err := run(world, control, receivers)
	if err != nil {
		return transfer{}, err
	}
	if err := control.Err(); err != nil {
		return transfer{}, err
	}
	source, _ := world.Network.Uplink("S1")
	t := transfer{
		packets: traffic.Data["S1-"+source], octets: traffic.DataBytes["S1-"+source],
		responses: traffic.Responses(source + "-S1"),
		took:      took,
	}
	for _, r := range receivers {
		sw, _ := world.Network.Uplink(r)
		t.mostResponses = max(t.mostResponses, traffic.Responses(r+"-"+sw))
	}
	return t, nil
}

// multicastTransfer writes to a group of the receivers, and returns how long it took.
func multicastTransfer(world *lab.World, control *lab.Control, receivers []string) (time.Duration,
	error) {
	group, err := world.NewGroup(lab.GroupConfig{
		Proxy: proxyAddr, DesignatedQPN: designatedQPN, Source: "S1", Receivers: receivers,
		QP: rc.DefaultQPConfig(), Memory: transferOctets,
	})
	if err != nil {
		return 0, err
	}
	spec := api.MulticastGroupSpec{
		ProxyAddress: proxyAddr, DesignatedQPN: designatedQPN,
		Source: api.GroupSource{Address: group.Source.Config().Addr, QPN: group.SourceQP.Config().QPN},
	}
	for _, r := range group.Receivers {
		spec.Receivers = append(spec.Receivers, api.GroupReceiver{Address: r.Host.Config().Addr,
			QPN: r.QP.Config().QPN})
	}
	const name = "bench"
	err = control.Change(func(core *controller.Core) error {
		_, _, err := core.Groups().Put(name, spec, resource.Precondition{})
		return err
	})
	if err != nil {
		return 0, err
	}
	programmed := func() bool {
		g, err := control.Core().Groups().Get(name)
		if err != nil {
			return false
		}
		c := g.Status.Condition(api.Programmed)
		return c != nil && c.Status
	}
	if !world.Run(world.Now()+transferLimit, programmed) {
		return 0, fmt.Errorf("not programmed within %v", transferLimit)
	}

	start := world.Now()
	if err := group.Write(transferData(), messageOctets); err != nil {
		return 0, err
	}
	var failed error
	done := world.Run(start+transferLimit, func() bool {
		failed = group.Pump()
		return failed != nil || group.Done()
	})
	early, first := group.EarlyAcks()
	switch corrupt := group.Corrupt(); {
	case failed != nil:
		return 0, failed
	case !done:
		return 0, fmt.Errorf("not done within %v", transferLimit)
	case len(corrupt) > 0:
		return 0, fmt.Errorf("memory of %v is not the source's", corrupt)
	case early > 0:
		return 0, fmt.Errorf("%d early ACKs, the first at %s", early, first)
	}
	return world.Now() - start, nil
}

// unicastTransfer writes to each of the receivers over a queue pair of its own, all at the same
// time.
func unicastTransfer(world *lab.World, _ *lab.Control, receivers []string) (time.Duration, error) {
	const rkey = 0x5eed
	source, err := world.Host("S1")
	if err != nil {
		return 0, err
	}
	data := transferData()
	var senders []*rc.QP
	var memories [][]byte
	start := world.Now()
	for i, name := range receivers {
		host, err := world.Host(name)
		if err != nil {
			return 0, err
		}
		there, here := rc.DefaultQPConfig(), rc.DefaultQPConfig()
		there.QPN, there.RemoteAddr, there.RemoteQPN = receiverQPN, source.Config().Addr, sourceQPN+
			uint32(i)
		here.QPN, here.RemoteAddr, here.RemoteQPN = there.RemoteQPN, host.Config().Addr, there.QPN
		if _, err := host.CreateQP(there); err != nil {
			return 0, err
		}
		memory := make([]byte, transferOctets)
		if _, err := host.RegisterMR(0, rkey, memory, verbs.AccessRemoteWrite); err != nil {
			return 0, err
		}
		memories = append(memories, memory)
		sender, err := source.CreateQP(here)
		if err != nil {
			return 0, err
		}
		senders = append(senders, sender)
		for at := 0; at < len(data); at += messageOctets {
			err := sender.PostSend(verbs.WorkRequest{
				ID: uint64(at), Op: verbs.OpWrite, Data: data[at : at+messageOctets], RemoteVA: uint64(at),
				RKey: rkey,
			})
			if err != nil {
				return 0, err
			}
		}
	}
	source.Wake()
	left := len(senders) * len(data) / messageOctets
	var failed error
	done := world.Run(start+transferLimit, func() bool {
		for _, q := range senders {
			for c, ok := q.Poll(); ok; c, ok = q.Poll() {
				if left--; c.Status != verbs.StatusOK {
					failed = fmt.Errorf("message at %d: %v", c.ID, c.Status)
				}
			}
		}
		return failed != nil || left == 0
	})
	if failed == nil && !done {
		failed = fmt.Errorf("not done within %v", transferLimit)
	}
	for i, memory := range memories {
		if failed == nil && !bytes.Equal(memory, data) {
			failed = fmt.Errorf("memory of %s is not the source's", receivers[i])
		}
	}
	return world.Now() - start, failed
}

func transferData() []byte {
	data := make([]byte, transferOctets)
	rng := rand.NewChaCha8([32]byte{})
	rng.Read(data) // never fails
	return data
}
