package queues

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/weft-sdn/weft/packet"
)

// forward puts a frame that came by a link into the queue of the next: down by address, up by entropy.
func (f *Fabric) forward(l *Link, frame []byte) {
	p := &f.planes[l.Plane-1]
	host, ok := f.destination(frame)
	if !ok {
		f.stats.Malformed++
		f.release(frame)
		return
	}
	leaf := host / f.cfg.HostsPerLeaf
	switch {
	case l.Tier == LeafUp:
		p.spineDown[l.To][leaf].enqueue(f.now, frame)
	case leaf == l.To:
		p.leafDown[host].enqueue(f.now, frame)
	default:
		spine, ok := f.spine(p, l.To, frame)
		if !ok {
			f.stats.InvalidEV++
			f.release(frame)
			return
		}
		p.leafUp[l.To][spine].enqueue(f.now, frame)
	}
}

// destination is the host of a frame's destination address.
func (f *Fabric) destination(frame []byte) (int, bool) {
	b := frame[offDestination:]
	host := int(b[13])<<16 | int(b[14])<<8 | int(b[15])
	if host >= len(f.hosts) || [16]byte(b) != Address(host).As16() {
		return 0, false
	}
	return host, true
}

// spine is where a leaf sends a frame that goes up.
func (f *Fabric) spine(p *plane, leaf int, frame []byte) (int, bool) {
	flowLabel := binary.BigEndian.Uint32(frame[offTrafficClass:]) & packet.MaxFlowLabel
	if f.cfg.Spine != nil {
		v := packet.NewEV(binary.BigEndian.Uint16(frame[offSrcPort:]), flowLabel).Field(*f.cfg.Spine)
		return int(v), v < uint32(f.cfg.Spines)
	}
	// As the fabric's program: a hash, times an odd number of the switch, of which the top bits count.
	var key [40]byte
	copy(key[:32], frame[offSource:])
	binary.BigEndian.PutUint32(key[32:], flowLabel)
	copy(key[36:], frame[offSrcPort:offSrcPort+4])
	h := crc32.ChecksumIEEE(key[:]) * p.leafHash[leaf]
	return int(uint64(h) * uint64(f.cfg.Spines) >> 32), true
}
