//go:build linux

package bmv2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
)

// ErrNotPrimary: another controller has the switch.
var ErrNotPrimary = errors.New("not the primary controller")

const (
	maxMessage = 64 << 20
	packetIns  = 4096 // packet-ins that may wait to be read, and digest lists
)

// Client is a plain P4Runtime client of one switch. Client is the primary controller unless it only
// observes. Client shares no code with Weft's southbound and so checks a switch as any other
// controller would.
type Client struct {
	conn     *grpc.ClientConn
	stub     p4v1.P4RuntimeClient
	device   uint64
	election *p4v1.Uint128

	stream  p4v1.P4Runtime_StreamChannelClient
	cancel  context.CancelFunc
	packets chan *p4v1.PacketIn
	digests chan *p4v1.DigestList
	mu      sync.Mutex // for what follows
	err     error      // why the stream ended
}

func connect(target string, device uint64) (*Client, error) {
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage),
			grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, stub: p4v1.NewP4RuntimeClient(conn), device: device}, nil
}

// Observe connects to the switch at target (host:port) without becoming a controller: the client
// can only read.
func Observe(target string, device uint64) (*Client, error) { return connect(target, device) }

// Dial connects to the switch at target (host:port) and becomes its primary controller.
func Dial(ctx context.Context, target string, device uint64) (*Client, error) {
	c, err := connect(target, device)
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.election, c.cancel, c.packets = &p4v1.Uint128{Low: 1}, cancel,
		make(chan *p4v1.PacketIn, packetIns)
	c.digests = make(chan *p4v1.DigestList, packetIns)
	stop := context.AfterFunc(ctx, cancel) // ctx bounds the dialing only
	defer stop()
	if err := c.arbitrate(life); err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("arbitration: %w", err), c.conn.Close())
	}
	go c.receive()
	return c, nil
}

func (c *Client) arbitrate(ctx context.Context) (err error) {
	if c.stream, err = c.stub.StreamChannel(ctx); err != nil {
		return err
	}
	err = c.stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{
		Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: c.device, ElectionId: c.election},
	}})
	if err != nil {
		return err
	}
	answer, err := c.stream.Recv()
	if err != nil {
		return err
	}
	if a := answer.GetArbitration(); a == nil || codes.Code(a.GetStatus().GetCode()) != codes.OK {
		return fmt.Errorf("%w: %v", ErrNotPrimary, answer)
	}
	return nil
}

func (c *Client) receive() {
	defer close(c.packets)
	for {
		m, err := c.stream.Recv()
		if err != nil {
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
			return
		}
		if p := m.GetPacket(); p != nil {
			c.packets <- p
		}
		if d := m.GetDigest(); d != nil {
			c.digests <- d
		}
	}
}

// Close ends the stream and the connection.
func (c *Client) Close() error {
	if c.cancel != nil {
		c.cancel()
		for range c.packets { // until receive has ended
		}
	}
	return c.conn.Close()
}

// SetPipeline installs and starts a program.
func (c *Client) SetPipeline(ctx context.Context, info *p4config.P4Info, program []byte) error {
	_, err := c.stub.SetForwardingPipelineConfig(ctx, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: c.device, ElectionId: c.election,
		Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		Config: &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: program},
	})
	return err
}

// Write applies updates in order.
func (c *Client) Write(ctx context.Context, updates ...*p4v1.Update) error {
	if len(updates) == 0 {
		return nil
	}
	_, err := c.stub.Write(ctx, &p4v1.WriteRequest{DeviceId: c.device, ElectionId: c.election,
		Updates: updates})
	return err
}

// Read returns the entities that match any of the wanted ones.
func (c *Client) Read(ctx context.Context, wanted ...*p4v1.Entity) ([]*p4v1.Entity, error) {
	stream, err := c.stub.Read(ctx, &p4v1.ReadRequest{DeviceId: c.device, Entities: wanted})
	if err != nil {
		return nil, err
	}
	var entities []*p4v1.Entity
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return entities, nil
		}
		if err != nil {
			return nil, err
		}
		entities = append(entities, r.GetEntities()...)
	}
}

// PacketOut sends a packet-out.
func (c *Client) PacketOut(p *p4v1.PacketOut) error {
	return c.stream.Send(&p4v1.StreamMessageRequest{
		Update: &p4v1.StreamMessageRequest_Packet{Packet: p}})
}

// Digest waits for a digest list, and acknowledges it.
func (c *Client) Digest(ctx context.Context) (*p4v1.DigestList, error) {
	select {
	case d := <-c.digests:
		return d, c.stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_DigestAck{
			DigestAck: &p4v1.DigestListAck{DigestId: d.GetDigestId(), ListId: d.GetListId()},
		}})
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// PacketIn waits for a packet-in.
func (c *Client) PacketIn(ctx context.Context) (*p4v1.PacketIn, error) {
	select {
	case p, ok := <-c.packets:
		if !ok {
			c.mu.Lock()
			defer c.mu.Unlock()
			return nil, fmt.Errorf("stream ended: %w", c.err)
		}
		return p, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
