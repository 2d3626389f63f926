package wire

import (
	"bytes"
	"testing"
)

func TestMessageHeader(t *testing.T) {
	b := AppendMessage([]byte{1}, MessageNotification, []byte{6, 2})[1:]
	if want := octets(t, marker+"0015 03 0602"); !bytes.Equal(b, want) {
		t.Errorf("encoded as %x", b)
	}
	typ, n, err := ParseHeader(b)
	if err != nil || typ != MessageNotification || n != len(b) {
		t.Errorf("type %d, %d octets, %v", typ, n, err)
	}
	for n := range HeaderLen {
		if _, _, err := ParseHeader(b[:n]); err == nil {
			t.Errorf("%d octets are a header", n)
		}
	}
	for i := range 16 {
		bad := bytes.Clone(b)
		bad[i] = 0
		if _, _, err := ParseHeader(bad); err == nil {
			t.Errorf("a marker with another octet %d", i)
		}
	}
	b[16], b[17] = 0, HeaderLen-1
	if _, _, err := ParseHeader(b); err == nil {
		t.Error("a message shorter than its header")
	}
}
