package afpacket

import (
	"unsafe"
)

// joins is what goes in front of frames of messages: the offload header and, of several frames, the
// headers of the first.
type joins struct {
	heads [sendBatch][offloadSize + joinedHeaders]byte
	upTo  [sendBatch + 1]int // frames of the first messages, by their number
}

// join makes messages of up to sendBatch frames, and returns how many.
func (t *transmitter) join(frames [][]byte) (messages int) {
	j, part := t.joins, 0
	add := func(b []byte) {
		t.parts[part].Base = unsafe.SliceData(b)
		t.parts[part].SetLen(len(b))
		part++
	}
	for at := 0; at < len(frames); messages++ {
		n := alike(frames[at:])
		m := &t.messages[messages].header
		m.Iov = &t.parts[part]
		m.SetIovlen(1 + n)
		head := &j.heads[messages]
		if n == 1 {
			clear(head[:offloadSize])
			add(head[:offloadSize])
			add(frames[at])
		} else {
			size := len(frames[at])
			putOffload(head[:], size)
			copy(head[offloadSize:], frames[at][:joinedHeaders])
			setLengths(head[offloadSize:], n*size-joinedHeaders)
			add(head[:])
			add(frames[at][joinedHeaders:])
			for _, f := range frames[at+1 : at+n] {
				add(f)
			}
		}
		at += n
		j.upTo[messages+1] = at
	}
	return messages
}
