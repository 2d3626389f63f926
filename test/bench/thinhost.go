package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostpb"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/agent/agenttest"
)

const (
	thinStream = 1       // the only stream of a connection
	thinWindow = 1 << 30 // octets that the controller may send, which is more than a bench has
	grpcPrefix = 5       // octets before a message: its compression, none, and its length
)

// A thinHost is a host of the controller with little more than [agent.Core]: a thinHost applies
// updates and answers updates and probes at once. Like every host, a thinHost has its own TCP
// connection. Its single goroutine reads and writes HTTP/2 frames without gRPC, because a thousand
// thin hosts share their processors with the measured controller.
type thinHost struct {
	name   string
	core   *agent.Core
	parts  hostapi.Assembler
	conn   net.Conn
	in     *bufio.Reader
	out    *bufio.Writer
	frames *http2.Framer
	got    bytes.Buffer // of messages that are not whole
	took   func(time.Duration)
}

// runThinHost runs a thin host until ctx ends, which is no error. runThinHost passes every held
// state to applied, and to took the duration of an update, counted from the arrival of its octets.
func runThinHost(
	ctx context.Context, name, controller string, applied func(*hostapi.State),
	took func(time.Duration),
) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", controller)
	if err != nil {
		return ended(ctx, err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	h := &thinHost{
		name: name, core: agent.NewCore(&agenttest.Endpoint{Forget: true, Applied: applied}),
		conn: conn, in: bufio.NewReaderSize(conn, 4<<10), out: bufio.NewWriterSize(conn, 1<<10),
		took: took,
	}
	h.frames = http2.NewFramer(h.out, h.in)
	h.frames.SetReuseFrames()
	return ended(ctx, h.run())
}

// ended is no error when it is the context's end that made it.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (h *thinHost) run() error {
	if err := h.open(); err != nil {
		return fmt.Errorf("host %s: %w", h.name, err)
	}
	for {
		if h.in.Buffered() == 0 { // nothing more to answer with the same write
			if err := h.out.Flush(); err != nil {
				return fmt.Errorf("host %s: %w", h.name, err)
			}
		}
		f, err := h.frames.ReadFrame()
		if err == nil {
			err = h.frame(f)
		}
		if err != nil {
			return fmt.Errorf("host %s: %w", h.name, err)
		}
	}
}

// open begins the connection and its stream, and says hello.
func (h *thinHost) open() error {
	if _, err := io.WriteString(h.out, http2.ClientPreface); err != nil {
		return err
	}
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", hostpb.Hosts_Subscribe_FullMethodName},
		{":authority", h.conn.RemoteAddr().String()},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			return err
		}
	}
	for _, write := range []func() error{
		func() error {
			return h.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: thinWindow})
		},
		func() error { return h.frames.WriteWindowUpdate(0, thinWindow) },
		func() error {
			return h.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: thinStream,
				BlockFragment: block.Bytes(), EndHeaders: true})
		},
		func() error { return h.say(h.core.Hello(h.name, "bench", 1)) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// say sends a message.
func (h *thinHost) say(m hostapi.Up) error {
	b, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, grpcPrefix, 64), hostapi.EncodeUp(m))
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-grpcPrefix))
	return h.frames.WriteData(thinStream, false, b)
}

// frame takes a frame.
func (h *thinHost) frame(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.DataFrame:
		h.got.Write(f.Data())
		for {
			b := h.got.Bytes()
			if len(b) < grpcPrefix {
				return nil
			}
			n := grpcPrefix + int(binary.BigEndian.Uint32(b[1:]))
			if len(b) < n {
				return nil
			}
			if err := h.message(h.got.Next(n)[grpcPrefix:]); err != nil {
				return err
			}
		}
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return h.frames.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return h.frames.WritePing(true, f.Data)
		}
	case *http2.HeadersFrame:
		if f.StreamEnded() {
			return fmt.Errorf("the controller ended the stream")
		}
	case *http2.RSTStreamFrame, *http2.GoAwayFrame:
		return fmt.Errorf("the controller ended the stream: %v", f)
	}
	return nil
}

// message takes a message of the controller.
func (h *thinHost) message(b []byte) error {
	start := time.Now()
	var m hostpb.ControllerMessage
	if err := proto.Unmarshal(b, &m); err != nil {
		return err
	}
	switch m := m.GetMessage().(type) {
	case *hostpb.ControllerMessage_Update:
		u, lost, err := h.parts.Add(m.Update)
		switch {
		case lost:
			return fmt.Errorf("part %d of version %v does not follow", m.Update.GetPart(),
				m.Update.GetVersion())
		case err != nil:
			return err
		case u != nil:
			answer := h.core.Update(u)
			h.took(time.Since(start))
			return h.say(answer)
		}
	case *hostpb.ControllerMessage_ProbeRequest:
		p, err := hostapi.DecodeProbe(m.ProbeRequest)
		if err != nil {
			return err
		}
		var answer error
		if r := h.core.Probe(p, func(r hostapi.ProbeResult) { answer = h.say(&r) }); r != nil {
			return h.say(r)
		}
		return answer
	}
	return nil
}
