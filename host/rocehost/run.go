package rocehost

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// runner owns the endpoint.
type runner struct {
	*hostrun.Runner
	cfg    *Config
	host   *rc.Host
	queues []*sendQueue
}

// onePort is a host with a port.
type onePort struct{ *rc.Host }

// ReceiveAll takes frames.
func (h onePort) ReceiveAll(now time.Duration, _ int, frames [][]byte) {
	for _, f := range frames {
		h.Receive(now, f)
	}
}

// sendQueue is the writes of a queue pair.
type sendQueue struct {
	*hostrun.Queue
	qp *rc.QP
}

// sender posts without a time.
type sender struct{ *rc.QP }

// PostSend posts a request.
func (s sender) PostSend(_ time.Duration, wr verbs.WorkRequest) error { return s.QP.PostSend(wr) }

// Run runs a host until its work is done or ctx ends, closes the port and
// reports. link is the Ethernet address of the interface. The report is there
// also when the work failed; errors wrap hostrun.ErrWrite, ErrInterrupted or ErrConfig.
func Run(ctx context.Context, cfg *Config, port hostrun.Port, link packet.MAC,
	progress hostrun.Progress) (*Report, error) {
	r := &runner{Runner: hostrun.New(cfg.Expect, cfg.Linger.D(), progress), cfg: cfg}
	if err := r.prepare(port, link); err != nil {
		return nil, errors.Join(err, port.Close())
	}
	// a host that waits for its link just retries
	e := cfg.endpoint(link)
	r.Attach(1, port, hostrun.Neighbor{MAC: e.MAC, Address: e.Addr, Gateway: e.GatewayMAC},
		func(bool) {})
	err := r.Run(ctx)
	err = errors.Join(err, port.Close())
	r.Tell()
	report, saveErr := r.report()
	return report, errors.Join(err, saveErr)
}

func (r *runner) prepare(port hostrun.Port, link packet.MAC) error {
	cfg := r.cfg.endpoint(link)
	cfg.Output = func(_ time.Duration, frame []byte) { r.Send(1, frame) }
	var err error
	if r.host, err = rc.NewHost(cfg); err != nil {
		return fmt.Errorf("%w: %w", hostrun.ErrConfig, err)
	}
	r.Endpoint, r.Pump, r.Received = onePort{r.host}, r.pump, r.received
	if err := r.Register(r.cfg.Regions); err != nil {
		return err
	}
	by := make(map[uint32]*sendQueue)
	for i := range r.cfg.QueuePairs {
		qp, err := r.host.CreateQP(r.cfg.QueuePairs[i].config())
		if err != nil {
			return fmt.Errorf("queuePairs[%d]: %w: %w", i, hostrun.ErrConfig, err)
		}
		q := &sendQueue{r.Queue(sender{qp}), qp}
		r.queues, by[qp.Config().QPN] = append(r.queues, q), q
	}
	for i, w := range r.cfg.Writes {
		if err := by[w.QPN].Add(i, w, nil); err != nil {
			return err
		}
	}
	return nil
}

// pump collects completions and posts what the send queues have room for.
func (r *runner) pump() error {
	for _, q := range r.queues {
		for c, ok := q.qp.Poll(); ok; c, ok = q.qp.Poll() {
			if err := q.Completed(c); err != nil {
				return err
			}
		}
		if q.qp.Failed() && r.received() < r.cfg.Expect {
			return fmt.Errorf("%w: queue pair %d, after %d of %d octets: a request of the peer was "+
				"refused, which ends a queue pair: want the pmtu of both ends to be equal (here %d), "+
				"and regions for what the peer writes; refused are %v", hostrun.ErrReceive, q.qp.Config().QPN,
				r.received(), r.cfg.Expect, q.qp.Config().PMTU, r.host.Counters().Refused.Map())
		}
		if err := q.Post(); err != nil {
			return err
		}
	}
	return nil
}

// received is how many octets of payload were executed.
func (r *runner) received() (octets uint64) {
	for _, q := range r.queues {
		octets += q.qp.Counters().PayloadReceived
	}
	return octets
}
