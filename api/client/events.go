package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
)

// Event is one server-sent event.
type Event struct {
	// ID is the last event that the client has; the stream resumes after it.
	ID string
	// Type is the event's name.
	Type string
	Data json.RawMessage
}

// Pauses between attempts to connect to the stream of events again.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 8 * time.Second
)

// Handlers are notified of a stream of events; those that are nil are not.
type Handlers struct {
	// Opened is called whenever the stream is open: what happens from then on comes as
	// events.
	Opened func() error
	// Event is called with every event.
	Event func(Event) error
	// Lost is called with the reason before each pause.
	Lost func(err error, pause time.Duration)
}

// Events follows a stream of events until ctx ends, the server refuses or a handler fails. A
// stream that was up and is lost is taken up after the last event.
func (c *Client) Events(ctx context.Context, path string, query url.Values, h Handlers) error {
	return c.events(ctx, path, query, "", h)
}

// events is Events, from the event after an id on.
func (c *Client) events(
	ctx context.Context, path string, query url.Values, last string, h Handlers,
) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	pause, opened := firstPause, false
	for {
		err := c.stream(ctx, path, &last, h.Opened, func(e Event) error {
			pause = firstPause
			if h.Event == nil {
				return nil
			}
			return h.Event(e)
		}, &opened)
		var stopped *handlerError
		var refused *api.Problem
		switch {
		case errors.As(err, &stopped):
			return stopped.err
		case ctx.Err() != nil:
			return ctx.Err()
		case !opened, errors.As(err, &refused) && refused.Status < 500, errors.Is(err, ErrAnswer):
			return err
		}
		if h.Lost != nil {
			h.Lost(err, pause)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		pause = min(2*pause, lastPause)
	}
}

type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }

// stream reads one connection's events. It never returns nil.
func (c *Client) stream(
	ctx context.Context, path string, last *string, begun func() error, handle func(Event) error,
	opened *bool,
) error {
	header := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-store"}}
	if *last != "" {
		header.Set("Last-Event-ID", *last)
	}
	resp, err := c.send(ctx, http.MethodGet, path, header, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if k := kind(resp.Header); k != "text/event-stream" {
		return fmt.Errorf("%w: %s is %s, not a stream of events", ErrAnswer, path, k)
	}
	*opened = true
	if begun != nil {
		if err := begun(); err != nil {
			return &handlerError{err}
		}
	}
	err = readEvents(resp.Body, last, func(e Event) error {
		if err := handle(e); err != nil {
			return &handlerError{err}
		}
		return nil
	})
	var stopped *handlerError
	if errors.As(err, &stopped) || errors.Is(err, ErrAnswer) {
		return err
	}
	return c.unreachable(ctx, err)
}

// maxEvent is the longest line of a stream, in octets.
const maxEvent = 16 << 20

// readEvents parses a stream of server-sent events (HTML standard, 9.2.6). It returns io.EOF at its
// end. last becomes the last id, also that of an event without data, which says where the stream
// begins.
func readEvents(r io.Reader, last *string, handle func(Event) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxEvent)
	var e Event
	var data []string
	id := ""
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			if id != "" {
				*last = id
			}
			if len(data) > 0 {
				e.ID, e.Data = id, json.RawMessage(strings.Join(data, "\n"))
				if !json.Valid(e.Data) {
					return fmt.Errorf("%w: the data of an event are not JSON", ErrAnswer)
				}
				if err := handle(e); err != nil {
					return err
				}
			}
			e, data = Event{}, nil
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field { // "" is a comment
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		case "event":
			e.Type = value
		case "data":
			data = append(data, value)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%w: an event is longer than %d octets", ErrAnswer, maxEvent)
	} else if err != nil {
		return err
	}
	return io.EOF
}
