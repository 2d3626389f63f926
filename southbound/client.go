package southbound

import (
	"context"
	"fmt"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Client speaks P4Runtime to one switch by the names of a pipeline. It holds no
// state of the switch. A [Session] has one for each connection.
type Client struct {
	Transport Transport
	DeviceID  uint64
	Role      string
	Election  ElectionID
	Pipeline  *Pipeline
	// BatchUpdates and BatchBytes limit a request as Config's do; 0: its defaults.
	BatchUpdates, BatchBytes int
	// AtOnce bounds the requests of one Write under way. Above 1, several goroutines call Transport.
	// 0: 1.
	AtOnce int
}

// Install gives the switch the pipeline, which clears it.
func (c *Client) Install(ctx context.Context) error {
	return c.setPipeline(ctx, p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT)
}

// Reconcile gives the switch the pipeline, which keeps what the switch has and the pipeline too.
func (c *Client) Reconcile(ctx context.Context) error {
	return c.setPipeline(ctx, p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT)
}

func (c *Client) setPipeline(ctx context.Context,
	action p4v1.SetForwardingPipelineConfigRequest_Action) error {
	return c.Transport.SetPipeline(ctx, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: c.DeviceID, Role: c.Role, ElectionId: c.Election.proto(), Action: action,
		Config: &p4v1.ForwardingPipelineConfig{
			P4Info: c.Pipeline.info, P4DeviceConfig: c.Pipeline.device,
			Cookie: &p4v1.ForwardingPipelineConfig_Cookie{Cookie: c.Pipeline.cookie},
		},
	})
}

// PacketOut hands a packet to the switch.
func (c *Client) PacketOut(ctx context.Context, p entry.PacketOut) error {
	schema, err := c.schema()
	if err != nil {
		return err
	}
	out, err := schema.encodePacketOut(p)
	if err != nil {
		return err
	}
	return c.Transport.PacketOut(ctx, out)
}

// schema returns the names of the pipeline, without which nothing is encoded.
func (c *Client) schema() (*Schema, error) {
	if c.Pipeline == nil {
		return nil, fmt.Errorf("%w: the session has no P4Info", ErrNoPipeline)
	}
	return c.Pipeline.schema, nil
}
