package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
)

// controllerClient is the controller's own client.
type controllerClient struct {
	session *southbound.Session
	updates []entry.Update
	held    []entry.Table
}

func connectController(ctx context.Context, address string, p *southbound.Pipeline,
	updates []entry.Update, batch int) (filler, error) {
	config := southbound.DefaultConfig()
	config.Target, config.DeviceID, config.Election, config.Pipeline = address, deviceID,
		southbound.ElectionID{Low: 1}, p
	config.BatchUpdates, config.RequestTimeout = batch, writeTime
	session, err := southbound.Open(ctx, config, nil)
	if err != nil {
		return nil, err
	}
	if err := session.WaitReady(ctx); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return &controllerClient{session: session, updates: updates}, nil
}

func (c *controllerClient) fill(ctx context.Context) error {
	return accepted(c.session.Write(ctx, c.updates))
}

// accepted is an error if a write failed, or an update was refused.
func accepted(refused []entry.Refusal, err error) error {
	if err == nil && len(refused) > 0 {
		return fmt.Errorf("%d updates refused, the first: update %d: %s", len(refused), refused[0].Update,
			refused[0].Message)
	}
	return err
}

func (c *controllerClient) readBack(ctx context.Context) (err error) {
	c.held, err = c.session.ReadTable(ctx, p4.TableMtBranch)
	return err
}

func (c *controllerClient) compare() error { return sameEntries(c.updates, c.held) }

func (c *controllerClient) close() error { return c.session.Close() }

// sameEntries compares the written entries with the read entries, ignoring default actions.
func sameEntries(written []entry.Update, read []entry.Table) error {
	byKey := make(map[entry.Key]entry.Table, len(read))
	for _, e := range read {
		if !e.Default {
			byKey[e.Key()] = e
		}
	}
	if len(byKey) != len(written) {
		return fmt.Errorf("read %d entries, wrote %d", len(byKey), len(written))
	}
	for _, u := range written {
		if e, ok := byKey[u.Entity.Key()]; !ok || !entry.Equal(e, u.Entity) {
			return fmt.Errorf("wrote %v, read %v", u.Entity, e)
		}
	}
	return nil
}

// encodedClient sends requests that are encoded already and keeps responses as they came.
type encodedClient struct {
	*controllerClient // the primary, in whose name requests are sent
	conn              *grpc.ClientConn
	messages          recordedTarget
	pipeline          *southbound.Pipeline
}

func connectEncoded(ctx context.Context, address string, p *southbound.Pipeline,
	updates []entry.Update, batch int) (filler, error) {
	c := &encodedClient{pipeline: p}
	recorder := southbound.Client{Transport: southbound.Direct{Device: &c.messages},
		DeviceID: deviceID, Pipeline: p, BatchUpdates: batch}
	if err := accepted(recorder.Write(ctx, updates)); err != nil {
		return nil, err
	}
	primary, err := connectController(ctx, address, p, updates, batch)
	if err != nil {
		return nil, err
	}
	c.controllerClient = primary.(*controllerClient)
	c.conn, err = grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(octetsCodec{})))
	if err != nil {
		return nil, errors.Join(err, c.controllerClient.close())
	}
	return c, nil
}

// encodedAtOnce is the number of concurrent requests of an encodedClient, equal to the controller's
// client.
const encodedAtOnce = 3

func (c *encodedClient) fill(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(encodedAtOnce)
	for i := range c.messages.requests {
		group.Go(func() error {
			var reply []byte
			return c.conn.Invoke(ctx, p4v1.P4Runtime_Write_FullMethodName, &c.messages.requests[i],
				&reply)
		})
	}
	return group.Wait()
}

func (c *encodedClient) readBack(ctx context.Context) error {
	request, err := proto.Marshal(&p4v1.ReadRequest{DeviceId: deviceID, Entities: []*p4v1.Entity{{
		Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: p4.TableMtBranchID}},
	}}})
	if err != nil {
		return err
	}
	stream, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true},
		p4v1.P4Runtime_Read_FullMethodName)
	if err != nil {
		return err
	}
	if err := errors.Join(stream.SendMsg(&request), stream.CloseSend()); err != nil {
		return err
	}
	for {
		var m []byte
		if err := stream.RecvMsg(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		c.messages.responses = append(c.messages.responses, m)
	}
}

func (c *encodedClient) compare() error {
	player := southbound.Client{Transport: southbound.Direct{Device: &c.messages}, DeviceID: deviceID,
		Pipeline: c.pipeline}
	var err error
	if c.held, err = player.ReadTable(context.Background(), p4.TableMtBranch); err != nil {
		return err
	}
	return c.controllerClient.compare()
}

func (c *encodedClient) close() error {
	return errors.Join(c.conn.Close(), c.controllerClient.close())
}

// recordedTarget stores writes in encoded form, and holds a switch's responses for reads of table
// entries.
type recordedTarget struct {
	southbound.Device
	requests, responses [][]byte
}

func (t *recordedTarget) Write(_ time.Duration, req *p4v1.WriteRequest) error {
	req.ElectionId = &p4v1.Uint128{Low: 1}
	octets, err := proto.Marshal(req)
	t.requests = append(t.requests, octets)
	return err
}

func (t *recordedTarget) Read(_ time.Duration, req *p4v1.ReadRequest,
	emit func(*p4v1.ReadResponse)) error {
	if e := req.GetEntities()[0].GetTableEntry(); e == nil || e.GetIsDefaultAction() {
		return nil
	}
	for _, octets := range t.responses {
		resp := &p4v1.ReadResponse{}
		if err := proto.Unmarshal(octets, resp); err != nil {
			return err
		}
		emit(resp)
	}
	return nil
}

// octetsCodec is a gRPC codec for messages that are already encoded or stay encoded.
type octetsCodec struct{}

func (octetsCodec) Name() string { return "proto" }

func (octetsCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (octetsCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
