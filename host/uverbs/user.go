//go:build linux

package uverbs

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"
)

// Limits of a user of the machine, over all processes of the user.
const (
	maxConnections = 256
	// connectionsOfAll bounds the connections of all users: memory that does not answer can hold two
	// threads of each, and Go ends a program with 10,000.
	connectionsOfAll = 4096
	// maxSharedOfUser is the octets of rings.
	maxSharedOfUser = 4 << 30
	// ofConnection is the number of descriptors charged to a connection: permanent descriptors, and
	// temporary descriptors for a request.
	ofConnection = 8
	// ownDescriptors is the number of descriptors reserved for the NIC itself.
	ownDescriptors = 128
	// helloTime is how long a connection may take to say HELLO.
	helloTime = 5 * time.Second
)

// user is a user with applications, identified by SO_PEERCRED, and counts the objects of the user's
// processes. Server.mu protects all fields, except the fields owned by the NIC's goroutine.
type user struct {
	id          uint32
	connections int
	descriptors int

	slow   *rate.Limiter // of accesses to memory
	rests  atomic.Bool   // the NIC leaves the memory of its processes alone
	rested func()        // ends that

	processes map[*process]bool // the NIC's goroutine's, as what follows
	octets    int               // of rings
}

// descriptors returns the number of descriptors for all users. A user may take at most as many
// descriptors as remain for other users, so some descriptors always remain, however many users take
// their maximum.
func descriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1024 - ownDescriptors
	}
	return int(min(limit.Cur, ofConnection*connectionsOfAll)) - ownDescriptors
}

// peer returns the credentials of the process at the other end, from the time of its connection.
func peer(c *net.UnixConn) (who *unix.Ucred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		who, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	return who, errors.Join(controlErr, err)
}

// admit counts a connection of a user. The error says which bound it is beyond.
func (s *Server) admit(uid uint32) (*user, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.accounts[uid]
	if u == nil {
		u = s.newUser(uid)
	}
	if u.connections >= maxConnections {
		return u, fmt.Errorf("user %d has %d connections: %w", uid, u.connections, unix.EUSERS)
	}
	if !s.takeLocked(u, ofConnection) {
		return u, fmt.Errorf("user %d has %d of %d descriptors (RLIMIT_NOFILE): %w", uid, u.descriptors,
			s.room, unix.EUSERS)
	}
	u.connections++
	s.accounts[uid] = u
	return u, nil
}

func (s *Server) newUser(uid uint32) *user {
	u := &user{id: uid, processes: make(map[*process]bool),
		slow: rate.NewLimiter(slowAccesses, slowAccesses)}
	u.rested = func() {
		s.do(func(time.Duration) {
			u.rests.Store(false)
			for p := range u.processes {
				p.resume()
			}
		})
	}
	return u
}

// dismiss takes a connection back.
func (s *Server) dismiss(u *user) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveLocked(u, ofConnection)
	if u.connections--; u.connections == 0 {
		delete(s.accounts, u.id)
	}
}

// take charges n more descriptors to a user, unless fewer would then remain for other users than
// the user holds.
func (s *Server) take(u *user, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeLocked(u, n)
}

func (s *Server) takeLocked(u *user, n int) bool {
	if u.descriptors+n > s.room-s.held-n {
		return false
	}
	u.descriptors += n
	s.held += n
	return true
}

func (s *Server) give(u *user, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveLocked(u, n)
}

func (s *Server) giveLocked(u *user, n int) {
	u.descriptors -= n
	s.held -= n
}
