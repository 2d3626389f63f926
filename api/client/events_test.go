package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

func TestReadEvents(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		err        error
	}{
		{"comments and fields", ": hello\nretry: 1\n\nid: 1\nevent: group\ndata: {\"a\":1}\n\n",
			[]string{`1 group {"a":1}`}, io.EOF},
		{"id stays", "id: 1\ndata: 1\n\ndata: 2\n\n", []string{"1  1", "1  2"}, io.EOF},
		{"several lines of data", "data: [1,\ndata: 2]\n\n", []string{"  [1,\n2]"}, io.EOF},
		{"no space", "id:7\nevent:x\ndata:0\n\n", []string{"7 x 0"}, io.EOF},
		{"carriage returns", "id: 1\r\ndata: 1\r\n\r\n", []string{"1  1"}, io.EOF},
		{"cut off", "data: 1\n", nil, io.EOF},
		{"without data", "event: x\n\n", nil, io.EOF},
		{"not JSON", "data: hello\n\n", nil, ErrAnswer},
		{"too long", "data: " + strings.Repeat("1", maxEvent+1), nil, ErrAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			last := ""
			err := readEvents(strings.NewReader(c.text), &last, func(e Event) error {
				got = append(got, fmt.Sprintf("%s %s %s", e.ID, e.Type, e.Data))
				return nil
			})
			if !errors.Is(err, c.err) || strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got %q and %v, want %q and %v", got, err, c.want, c.err)
			}
		})
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add("id: 1\nevent: x\ndata: {}\n\n")
	f.Add(": c\n\ndata: [\ndata: ]\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		last := ""
		err := readEvents(strings.NewReader(text), &last, func(e Event) error {
			if strings.ContainsAny(e.ID+e.Type, "\n") {
				t.Errorf("event %q of type %q spans lines", e.ID, e.Type)
			}
			return nil
		})
		if err == nil {
			t.Error("a stream ended without an error")
		}
	})
}

// TestEventsResume: a stream that breaks off is taken up after the last event,
// and a refusal ends it.
func TestEventsResume(t *testing.T) {
	var requests atomic.Int32
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		switch n := requests.Add(1); n {
		case 1, 3:
			if n == 3 && r.Header.Get("Last-Event-ID") != "e1" {
				t.Errorf("resumed after %q", r.Header.Get("Last-Event-ID"))
			}
			fmt.Fprintf(w, "id: e%d\ndata: %d\n\n", n, n)
		case 2: // a controller that is being started
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	var got []string
	lost := 0
	err := c.Events(t.Context(), "/v1/events", nil, Handlers{
		Opened: func() error { got = append(got, "open"); return nil },
		Event:  func(e Event) error { got = append(got, string(e.Data)); return nil },
		Lost:   func(error, time.Duration) { lost++ },
	})
	var p *api.Problem
	if !errors.As(err, &p) || p.Status != http.StatusUnauthorized {
		t.Errorf("error %v", err)
	}
	if strings.Join(got, " ") != "open 1 open 3" || lost != 3 {
		t.Errorf("events %v, broke off %d times", got, lost)
	}
}

// TestEventsResumeWithoutOne: a stream that breaks off before its first event resumes after its
// initial ID.
func TestEventsResumeWithoutOne(t *testing.T) {
	var asked []string
	err := open(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", "text/event-stream")
		if len(asked) == 1 {
			fmt.Fprint(w, ": hello\nid: e7\n\n")
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}).Events(t.Context(), "/v1/events", nil, Handlers{})
	var p *api.Problem
	if !errors.As(err, &p) || strings.Join(asked, ",") != ",e7" {
		t.Errorf("%v, resumed after %q", err, asked)
	}
}

func TestEventsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hold := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	mine := errors.New("enough")
	if err := open(t, hold).Events(ctx, "/", nil,
		Handlers{Event: func(Event) error { return mine }}); !errors.Is(err, mine) {
		t.Errorf("error of the handler: got %v", err)
	}
	err := open(t, hold).Events(ctx, "/", nil, Handlers{Event: func(Event) error {
		cancel()
		return nil
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: got %v", err)
	}
}
