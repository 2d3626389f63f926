package capture

import "github.com/weft-sdn/weft/dataplane/live"

// Tap is a port whose frames are seen on their way: In and Out get them, valid
// during the call, before the switch and the port do. Nil sees nothing.
type Tap struct {
	live.Port
	In, Out func(frames [][]byte)
}

// Attach implements live.Port.
func (t *Tap) Attach(deliver func(frames [][]byte), link func(up bool)) {
	if t.In == nil {
		t.Port.Attach(deliver, link)
		return
	}
	t.Port.Attach(func(frames [][]byte) {
		t.In(frames)
		deliver(frames)
	}, link)
}

// Send implements live.Port.
func (t *Tap) Send(frames [][]byte) (taken, octets int) {
	if t.Out != nil {
		t.Out(frames)
	}
	return t.Port.Send(frames)
}

// Unwrap returns the port itself.
func (t *Tap) Unwrap() live.Port { return t.Port }

// Losses returns the losses of the port, if the port counts losses.
func (t *Tap) Losses() live.Losses {
	if l, ok := t.Port.(interface{ Losses() live.Losses }); ok {
		return l.Losses()
	}
	return live.Losses{}
}
