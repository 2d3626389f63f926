package p4

import (
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTargetFrame(t *testing.T) {
	f := TargetFrame{Op: TargetOpXoff, Direction: PfcDirectionIngress, Port: 0x1fe, Priority: 3,
		Upstream: 7}
	want := strings.Repeat("00", 12) + "88b6" + "03" + "01" + "01fe" + "03" + "07" + "0000"
	b := f.Append(nil)
	if got := hex.EncodeToString(b); got != want || len(b) != TargetFrameLen {
		t.Errorf("%s, want %s", got, want)
	}
	if got, rest, err := ParseTargetFrame(append(b, 1, 2)); got != f || len(rest) != 2 || err != nil {
		t.Errorf("%+v, %x, %v", got, rest, err)
	}
	for n := range b {
		if _, _, err := ParseTargetFrame(b[:n]); !errors.Is(err, ErrTargetFrame) {
			t.Errorf("%d octets: %v", n, err)
		}
	}
	b[13] = 0xb5
	if _, _, err := ParseTargetFrame(b); !errors.Is(err, ErrTargetFrame) {
		t.Errorf("another EtherType: %v", err)
	}
}

func TestQueueReport(t *testing.T) {
	var r QueueReport
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int64:
			f.SetInt(int64(i + 1))
		default:
			f.SetUint(uint64(i + 1))
		}
	}
	r.XONSent = NeverYet
	for _, r := range []QueueReport{r, {}, {Asserted: true}, {Storm: true}, {Paused: time.Hour}} {
		f := TargetFrame{Op: TargetOpState, Port: 3, Priority: 2}
		b := r.Append(f.Append(nil))
		if len(b) != TargetFrameLen+QueueReportLen {
			t.Errorf("%d octets, want %d", len(b), TargetFrameLen+QueueReportLen)
		}
		if reserved := b[TargetFrameLen+1 : TargetFrameLen+4]; string(reserved) != "\x00\x00\x00" {
			t.Errorf("reserved octets % x, want 0", reserved)
		}
		gotFrame, got, err := ParseTargetReport(b)
		if err != nil || got != r || gotFrame != f {
			t.Errorf("%+v %+v, %v; want %+v", gotFrame, got, err, r)
		}
		for n := range b {
			if _, _, err := ParseTargetReport(b[:n]); !errors.Is(err, ErrTargetFrame) {
				t.Errorf("%d octets: %v", n, err)
			}
		}
	}
	if _, _,
		err := ParseTargetReport(r.Append(TargetFrame{Op: TargetOpPause}.Append(nil))); !errors.Is(err,
		ErrTargetFrame) {
		t.Errorf("a report of a PAUSE: %v", err)
	}
}

func FuzzParseTargetReport(f *testing.F) {
	f.Add(QueueReport{Packets: 3}.Append(TargetFrame{Op: TargetOpStorm}.Append(nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, r, err := ParseTargetReport(b)
		if err != nil {
			if !errors.Is(err, ErrTargetFrame) {
				t.Fatal(err)
			}
			return
		}
		again, q, err := ParseTargetReport(r.Append(frame.Append(nil)))
		if err != nil || again != frame || q != r {
			t.Fatalf("%+v %+v %v, want %+v %+v", again, q, err, frame, r)
		}
	})
}
