package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/weft-sdn/weft/dataplane/trace"
)

var (
	// ErrUnreachable reports that no answer came.
	ErrUnreachable = errors.New("cannot reach the switch")
	// ErrRefused reports that a switch answered, but not with traces.
	ErrRefused = errors.New("the switch refused")
)

// maxRefusal bounds the octets read of an error answer.
const maxRefusal = 1 << 10

// Receive asks the switch at a URL for traces (http://HOST:PORT, with the path in
// front of Path, if any) and calls take with each until there are no more, take
// fails or ctx ends. A nil client is http.DefaultClient.
func Receive(ctx context.Context, client *http.Client, base string, want trace.Filter,
	take func(trace.Item) error) error {
	q := url.Values{}
	if want.Port != nil {
		q.Set("port", strconv.FormatUint(uint64(*want.Port), 10))
	}
	if want.Count > 0 {
		q.Set("count", strconv.Itoa(want.Count))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+Path+"?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(r)
	var failed *url.Error
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &failed):
		return fmt.Errorf("%w at %s: %w", ErrUnreachable, base, failed.Err)
	case err != nil:
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
		return fmt.Errorf("%s: %w: %s: %s", base, ErrRefused, answer.Status, bytes.TrimSpace(text))
	}
	lines := json.NewDecoder(answer.Body)
	for {
		var i trace.Item
		switch err := lines.Decode(&i); {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("%s: %w", base, err)
		}
		if err := take(i); err != nil {
			return err
		}
	}
}
