//go:build linux

package bmv2

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// TestQueueDepthReplies: the client distinguishes a switch without the service so far, a switch
// that refuses the depth, and an invalid reply.
func TestQueueDepthReplies(t *testing.T) {
	reply := func(kind byte, rest ...byte) []byte {
		return append([]byte{0x80, 1, 0, kind, 0, 0, 0, 1, 'm', 0, 0, 0, 1}, rest...)
	}
	for name, x := range map[string]struct {
		reply []byte
		ok    bool
		later bool
	}{
		"done":       {reply(2, 8, 0, 0, 0, 0, 0, 0), true, false},
		"refused":    {reply(2, 8, 0, 0, 0, 0, 0, 1), false, false},
		"no service": {reply(3), false, true},
		"a call":     {reply(1, 8, 0, 0, 0, 0, 0, 0), false, false},
		"cut off":    {reply(2, 8), false, false},
	} {
		var sent bytes.Buffer
		err := setQueueDepths(struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(x.reply), &sent}, 4096)
		if (err == nil) != x.ok || errors.Is(err, errNoService) != x.later {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.HasSuffix(sent.Bytes(), []byte{8, 0, 1, 0, 0, 0x10, 0, 0}) {
			t.Errorf("%s: sent %x", name, sent.Bytes())
		}
	}
}
