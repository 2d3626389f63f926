//go:build linux

package uverbs

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api/hostapi"
)

// channel is a completion channel: a pipe with the handles of the queues that have something.
type channel struct {
	write int // end of the pipe
	users int // completion queues
	lost  uint64
}

// completions is a completion queue.
type completions struct {
	process *process
	handle  uint64
	ring    *shared
	depth   uint32
	head    uint32
	channel *channel // nil: none
	users   int      // queue pairs, each of whose two queues counts
	events  bool     // it is for EV events
	dropped uint32   // EV events that found no room since the last that did
	failed  bool     // it has overflowed
	told    bool     // of it
}

// push adds an entry, and notifies the channel if the program asked for it. False: the queue is
// full. Then it is in error and takes no more entries (IBTA volume 1, section 11.6.3.1).
func (c *completions) push(e *cqe, urgent bool) bool {
	if c.failed {
		return false
	}
	if c.head-c.ring.word(cqTail).Load() >= c.depth {
		c.failed = true
		c.ring.word(cqOverflow).Store(1)
		c.wake()
		return false
	}
	at := ringEntries + int(c.head&(c.depth-1))*entryHead
	e.put(c.ring.octets[at : at+entryHead])
	c.head++
	c.ring.word(cqHead).Store(c.head)
	switch armed := c.ring.word(cqArmed); {
	case armed.Load() == 1, armed.Load() == 2 && urgent:
		if armed.Swap(0) != 0 {
			c.wake()
		}
	}
	return true
}

// pushEvent adds an EV event, or counts it where there is no room (mrc_ctl.h, mrc_ctl_ev_event).
func (c *completions) pushEvent(e evEvent) {
	if c.head-c.ring.word(cqTail).Load() >= c.depth {
		c.dropped++
		return
	}
	e.Dropped, c.dropped = c.dropped, 0
	at := ringEntries + int(c.head&(c.depth-1))*entryHead
	copy(c.ring.octets[at:at+entryHead], encode(nil, &e))
	c.head++
	c.ring.word(cqHead).Store(c.head)
	if c.ring.word(cqArmed).Swap(0) != 0 {
		c.wake()
	}
}

// evEvent hands a change of state of an EV to the queues for such.
func (s *Server) evEvent(e hostapi.EVEvent) {
	out := evEvent{Profile: idOf(e.Profile), EV: e.EV.Value, Port: uint32(e.EV.Port),
		State: stateNumber(e.State)}
	if own := s.profiles.evs[out.Profile]; own != nil && own.EventMask&out.State == 0 {
		return
	}
	for c := range s.eventQueues {
		c.pushEvent(out)
	}
}

// cqe is an entry of a completion queue.
type cqe struct {
	id                                            uint64
	status, opcode, octets, immediate, qpn, flags uint32
	index                                         uint32 // of the entry that it completes, plus 1
}

func (e *cqe) put(b []byte) {
	order := binary.NativeEndian
	order.PutUint64(b, e.id)
	order.PutUint32(b[8:], e.status)
	order.PutUint32(b[12:], e.opcode)
	order.PutUint32(b[16:], e.octets)
	order.PutUint32(b[20:], e.immediate)
	order.PutUint32(b[24:], e.qpn)
	order.PutUint32(b[32:], e.flags)
	order.PutUint32(b[40:], e.index)
}

// wake writes to the channel. A process with a full pipe must read the pipe before sleeping, and
// then finds the entry.
func (c *completions) wake() {
	if c.channel == nil {
		return
	}
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], c.handle)
	if _, err := unix.Write(c.channel.write, b[:]); err != nil {
		c.channel.lost++
	}
}

// pipe makes one whose write end never waits.
func pipe() (read, write int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return 0, 0, err
	}
	if err := unix.SetNonblock(fds[1], true); err != nil {
		return 0, 0, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return fds[0], fds[1], nil
}

// network is a number in network order as it stands in memory, and back.
func network(v uint32) uint32 {
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], v)
	return binary.BigEndian.Uint32(b[:])
}
