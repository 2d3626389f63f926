package southbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/p4/wire"
)

// conn is one connection of a session, from dial to loss.
type conn struct {
	cfg        *Config
	cc         Conn
	rpc        p4v1.P4RuntimeClient
	stream     p4v1.P4Runtime_StreamChannelClient
	ctx        context.Context // ends with the connection
	fail       context.CancelCauseFunc
	sendq      chan *p4v1.StreamMessageRequest
	arbitrated chan *p4v1.MasterArbitrationUpdate // of capacity 1: the latest answer
	setup      *time.Timer                        // fails the connection unless stopped
	// the first answer to the arbitration; lead's until it ends
	answered   time.Time
	installing atomic.Bool // a pipeline is being installed: no probes
	group      *errgroup.Group
	// election is the id that this connection takes part in the election with; nil: none yet.
	election atomic.Pointer[ElectionID]
}

// serve connects and stays until the connection or ctx ends; the error says
// why. served is the time since the switch answered the arbitration, 0 when it
// did not.
func (s *Session) serve(ctx context.Context) (served time.Duration, err error) {
	cc, err := s.cfg.Connect(s.cfg.Target)
	if err != nil {
		return 0, err
	}
	defer func() { _ = cc.Close() }()

	cctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	g, gctx := errgroup.WithContext(cctx)
	c := &conn{
		group: g,
		cfg:   &s.cfg, cc: cc, rpc: p4v1.NewP4RuntimeClient(cc), ctx: gctx, fail: fail,
		sendq:      make(chan *p4v1.StreamMessageRequest, s.cfg.SendQueue),
		arbitrated: make(chan *p4v1.MasterArbitrationUpdate, 1),
	}
	c.setup = time.AfterFunc(s.cfg.SetupTimeout, func() {
		fail(fmt.Errorf("%w: no answer within %v", ErrArbitration, s.cfg.SetupTimeout))
	})
	defer c.setup.Stop()
	c.stream, err = c.rpc.StreamChannel(gctx, grpc.MaxCallRecvMsgSize(maxStreamMessage))
	if s.cfg.Claim == ClaimFixed {
		c.election.Store(&s.cfg.Election)
	}
	if err == nil {
		err = c.stream.Send(c.arbitration())
	}
	if err != nil && !errors.Is(err, io.EOF) { // io.EOF: Recv has the reason
		return 0, c.cause(fmt.Errorf("opening the stream: %w", asError(err)))
	}
	g.Go(func() error { return s.receive(c) })
	g.Go(c.send)
	g.Go(func() error { return s.lead(c) })
	g.Go(c.probe)
	if !s.cfg.NoPortState && s.cfg.GNMI == "" {
		g.Go(func() error {
			s.ports.Run(gctx, func() (grpc.ClientConnInterface, func(), error) { return cc, func() {}, nil })
			return nil
		})
	}
	err = c.cause(g.Wait())
	if !c.answered.IsZero() {
		served = time.Since(c.answered)
	}
	return served, err
}

// writesAtOnce is how many requests of a Write a switch has at once: the switch carries out one
// request while the next request travels and is decoded.
const writesAtOnce = 3

// client returns a client with this connection as its transport.
func (c *conn) client() *Client {
	return &Client{
		Transport: c, DeviceID: c.cfg.DeviceID, Role: c.cfg.Role, Election: c.own(),
		Pipeline:     c.cfg.Pipeline,
		BatchUpdates: c.cfg.BatchUpdates, BatchBytes: c.cfg.BatchBytes, AtOnce: writesAtOnce,
	}
}

// names returns the names of the pipeline, none if the session has no pipeline.
func (c *conn) names() *Schema {
	if c.cfg.Pipeline == nil {
		return &Schema{}
	}
	return c.cfg.Pipeline.schema
}

// keepWhatFits has RECONCILE_AND_COMMIT leave out what the new pipeline lacks, at switches that
// know the key.
func keepWhatFits(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, p4.ReconcileKey, "partial")
}

// SetPipeline implements Transport; ctx bounds it.
func (c *conn) SetPipeline(ctx context.Context,
	req *p4v1.SetForwardingPipelineConfigRequest) error {
	_, err := c.rpc.SetForwardingPipelineConfig(keepWhatFits(ctx), req)
	return err
}

// Write implements Transport.
func (c *conn) Write(ctx context.Context, req *p4v1.WriteRequest) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	if _, err := c.rpc.Write(ctx, req, withCodec()); err != nil {
		return c.requestError(ctx, err)
	}
	return nil
}

// Read implements Transport.
func (c *conn) Read(ctx context.Context, req *p4v1.ReadRequest,
	emit func(*p4v1.ReadResponse)) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	stream, err := c.rpc.Read(ctx, req, withCodec())
	for octets := 0; err == nil; {
		var m *p4v1.ReadResponse
		if m, err = stream.Recv(); err != nil {
			break
		}
		for _, e := range m.GetEntities() {
			octets += wire.ListedSize(e)
		}
		if octets > c.cfg.MaxReadBytes {
			return fmt.Errorf("%w: more than %d octets", ErrTooMuch, c.cfg.MaxReadBytes)
		}
		emit(m)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return c.requestError(ctx, err)
}

// PacketOut implements Transport: it queues the packet for the stream.
func (c *conn) PacketOut(ctx context.Context, p *p4v1.PacketOut) error {
	select {
	case c.sendq <- &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: p}}:
		return nil
	case <-c.ctx.Done():
		return ErrNotConnected
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cause prefers the reason given to fail over the errors that it caused.
func (c *conn) cause(err error) error {
	if why := context.Cause(c.ctx); why != nil && !errors.Is(why, context.Canceled) {
		return why
	}
	return err
}

// requestError explains the failure of a request that ran under ctx.
func (c *conn) requestError(ctx context.Context, err error) error {
	if c.ctx.Err() != nil && ctx.Err() == nil {
		if err = c.cause(err); errors.Is(err, ErrNotConnected) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrNotConnected, err)
	}
	err = asError(err)
	// A switch that has forgotten its pipeline without hanging up gets it again.
	if c.cfg.Pipeline != nil && errors.Is(err, ErrNoPipeline) {
		c.fail(err)
	}
	return err
}

// own is the election id of this connection; before it takes part in an election, the one it would.
func (c *conn) own() ElectionID {
	if e := c.election.Load(); e != nil {
		return *e
	}
	return c.cfg.Election
}

// arbitration is an arbitration update. Without an election id, which is below every other, it only
// asks who is primary (P4Runtime specification, "Client Arbitration and Controller Replication").
func (c *conn) arbitration() *p4v1.StreamMessageRequest {
	a := &p4v1.MasterArbitrationUpdate{DeviceId: c.cfg.DeviceID}
	if e := c.election.Load(); e != nil {
		a.ElectionId = e.proto()
	}
	if c.cfg.Role != "" {
		a.Role = &p4v1.Role{Name: c.cfg.Role}
	}
	return &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: a}}
}

// receive takes what the switch sends until the stream ends.
func (s *Session) receive(c *conn) error {
	for {
		m, err := c.stream.Recv()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: the switch closed the stream", ErrNotConnected)
		}
		if err != nil {
			return streamError(err)
		}
		if s.stream != nil && m.GetArbitration() == nil {
			s.stream(c.ctx, m)
			continue
		}
		switch m := m.GetUpdate().(type) {
		case *p4v1.StreamMessageResponse_Arbitration:
			select {
			case <-c.arbitrated: // outdated before it was looked at
			default:
			}
			c.arbitrated <- m.Arbitration
		case *p4v1.StreamMessageResponse_Packet:
			s.emit(c.ctx, PacketIn{c.names().DecodePacketIn(m.Packet)})
		case *p4v1.StreamMessageResponse_Digest:
			if d, err := c.names().DecodeDigest(m.Digest); err == nil {
				s.emit(c.ctx, Digest{d})
			}
			ack := &p4v1.DigestListAck{DigestId: m.Digest.GetDigestId(), ListId: m.Digest.GetListId()}
			select {
			case c.sendq <- &p4v1.StreamMessageRequest{
				Update: &p4v1.StreamMessageRequest_DigestAck{DigestAck: ack}}:
			default:
				// Waiting here for a switch that waits for us to read would never
				// end; it repeats an unacknowledged digest.
			}
		case *p4v1.StreamMessageResponse_Error:
			s.emit(c.ctx, StreamError{Code: codeOf(m.Error.GetCanonicalCode()),
				Message: m.Error.GetMessage()})
		}
	}
}

// streamError explains the end of a stream: refusals of the arbitration arrive
// as its status (P4Runtime spec §16.1).
func streamError(err error) error {
	switch st := status.Convert(err); st.Code() {
	case codes.Aborted:
		if strings.HasPrefix(st.Message(), ErrForeign.Error()) { // by a relay
			return foreignError(st.Message())
		}
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.ResourceExhausted,
		codes.AlreadyExists, codes.PermissionDenied:
		return fmt.Errorf("%w: %w", ErrArbitration, err)
	}
	return asError(err)
}

// send writes what is queued.
func (c *conn) send() error {
	for {
		select {
		case m := <-c.sendq:
			if err := c.stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
				return asError(err)
			}
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
}

// lead follows the arbitration: it makes the session ready when this controller
// becomes primary and backup when it does not.
func (s *Session) lead(c *conn) error {
	ready, anyway := false, c.cfg.Claim == ClaimAnyway
	won := false // the switch has taken the present id
	var a *p4v1.MasterArbitrationUpdate
	var later <-chan time.Time // when to claim the switch of which a is the last answer
	for {
		due := false
		select {
		case a = <-c.arbitrated:
			later = nil
		case <-later:
			due, later = true, nil
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
		if c.answered.IsZero() {
			c.answered = time.Now()
		}
		if a.GetDeviceId() != c.cfg.DeviceID {
			return fmt.Errorf("%w: answer for device %d, not %d", ErrArbitration, a.GetDeviceId(),
				c.cfg.DeviceID)
		}
		highest, primary := electionFromProto(a.GetElectionId()), codes.Code(a.GetStatus().GetCode())
		b := Backup{Own: c.own(), Highest: highest, Vacant: primary == codes.NotFound}
		if c.cfg.Claim != ClaimFixed {
			e := c.election.Load()
			switch {
			case e == nil || highest.Compare(*e) >= 0:
				won = e != nil && (won || primary == codes.OK)
			case won && primary == codes.NotFound:
				c.election.Store(nil) // the switch has forgotten all ids
				if ready {
					ready = false
					s.backup(c, Backup{Own: c.own(), Vacant: true})
				}
			default:
				continue // sent before the switch took our id
			}
			b.Waiting = primary == codes.AlreadyExists
			b.Foreign = b.Waiting && !c.own().sameController(highest)
			pause, may := s.rival.met(c.cfg, b.Foreign, !b.Waiting, ready)
			// No id is above the highest possible id.
			back := b.Foreign && may && c.own().above(highest).Compare(highest) > 0
			id, claims := c.claims(highest, primary, anyway || back)
			if claims && pause > 0 && !due {
				b.Pause, b.Vacant, later = pause, !b.Waiting, time.After(pause)
			} else if claims {
				if back {
					s.rival.back()
				}
				anyway, won = false, false
				c.election.Store(&id)
				select {
				case c.sendq <- c.arbitration():
				case <-c.ctx.Done():
					return c.ctx.Err()
				}
				continue // the setup timeout covers the answer
			}
		}
		c.setup.Stop()
		if primary != codes.OK || later != nil {
			ready = false
			s.backup(c, b)
			continue
		}
		if ready {
			continue
		}
		installed, programmed, err := c.ensurePipeline(c.ctx)
		if programmed != nil {
			c.group.Go(func() error {
				programmed(c.ctx)
				return nil
			})
		}
		switch {
		case errors.Is(err, ErrNotPrimary): // deposed meanwhile; the stream says by whom
			s.backup(c, Backup{Own: c.own()})
		case err != nil:
			return err
		default:
			ready = true
			s.rival.hold(c.cfg, true)
			s.setState(StateReady, c, nil)
			s.emit(c.ctx, Ready{Installed: installed})
		}
	}
}

// claims returns the id for the next step of the election, after an answer to the arbitration:
// highest is the highest id that the switch knows. primary is OK if highest is this connection's
// id, NOT_FOUND without a primary, and ALREADY_EXISTS if another connection is primary.
func (c *conn) claims(highest ElectionID, primary codes.Code, anyway bool) (id ElectionID,
	ok bool) {
	own := c.election.Load()
	switch {
	case primary == codes.OK && own != nil && highest == *own:
		return ElectionID{}, false // won
	case primary == codes.OK || primary == codes.NotFound:
		// BMv2 makes a client without an id primary when it is alone.
	case !anyway && !(c.own().sameController(highest) && highest.Compare(c.own()) < 0):
		return ElectionID{}, false
	}
	id = c.own().above(highest)
	// The same id again would get the same answer.
	return id, own == nil || id != *own
}

func (s *Session) backup(c *conn, b Backup) {
	s.setState(StateBackup, c, nil)
	s.emit(c.ctx, b)
}

// probe asks the switch for its capabilities now and then. Any answer will do:
// only silence ends the connection.
func (c *conn) probe() error {
	tick := time.NewTicker(c.cfg.ProbeInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
		if c.installing.Load() {
			continue
		}
		ctx, cancel := context.WithTimeout(c.ctx, c.cfg.ProbeTimeout)
		_, err := c.rpc.Capabilities(ctx, &p4v1.CapabilitiesRequest{})
		cancel()
		switch {
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		case status.Code(err) == codes.DeadlineExceeded:
			return fmt.Errorf("%w: no answer within %v", ErrDeadPeer, c.cfg.ProbeTimeout)
		case status.Code(err) == codes.Unavailable:
			return asError(err)
		}
	}
}
