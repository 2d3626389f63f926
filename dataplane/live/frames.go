package live

// frames is a sequence of frames in one buffer.
type frames struct {
	octets []byte
	ends   []int // of each frame in octets
}

// keptOctets is the size up to which a buffer is kept, whatever its last use. It exceeds the size
// of any outbox, because an outbox is full one time and almost empty the next.
const keptOctets = 2 * outOctets

func (f *frames) len() int { return len(f.ends) }

func (f *frames) at(i int) []byte {
	start := 0
	if i > 0 {
		start = f.ends[i-1]
	}
	return f.octets[start:f.ends[i]:f.ends[i]]
}

func (f *frames) append(frame []byte) {
	f.octets = append(f.octets, frame...)
	f.ends = append(f.ends, len(f.octets))
}

// clear forgets the frames, and the buffer too when it is much larger than they
// were: the next flood will grow it again.
func (f *frames) clear() {
	if n := cap(f.octets); n > keptOctets && len(f.octets) < n/4 {
		*f = frames{}
		return
	}
	f.octets, f.ends = f.octets[:0], f.ends[:0]
}
