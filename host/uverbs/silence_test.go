//go:build linux

package uverbs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// silence is memory of another process whose middle page does not answer before the test says so:
// a file of a FUSE file system. An access to the page holds the address space of the process, which
// therefore is not the test's.
type silence struct {
	t      *testing.T
	memory int    // /proc/PID/mem of the process
	word   uint64 // address of octets that answer
	octets uint64 // address of the file
	server io.WriteCloser
}

const (
	page       = 4096
	silentFile = "WEFT_SILENT_FILE" // path, for TestSilentProcess
)

func newSilence(t *testing.T) *silence {
	if os.Geteuid() != 0 {
		t.Skip("this test needs root: it mounts a FUSE file system")
	}
	at := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := &silence{t: t}
	var line string
	if s.server, line = s.start("TestSilentServer", at); line != "served\n" {
		t.Skipf("no FUSE here: %s", line)
	}
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	var pid int
	_, line = s.start("TestSilentProcess", at)
	if _, err := fmt.Sscan(line, &pid, &s.word, &s.octets); err != nil {
		t.Fatalf("the process says %q: %v", line, err)
	}
	// The process may not end while an access waits, which the end of the server lets fail.
	t.Cleanup(func() { _ = s.server.Close() })
	s.memory = open(t, fmt.Sprintf("/proc/%d/mem", pid), unix.O_RDWR)
	return s
}

// start runs a test in a process that ends with its input, and returns its first line.
func (s *silence) start(test, path string) (in io.WriteCloser, line string) {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	process := exec.Command(self, "-test.run", "^"+test+"$")
	// An access that waits keeps the descriptors of a test that has ended.
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	process.Env = append(os.Environ(), silentFile+"="+path)
	to, err := process.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	from, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = errors.Join(to.Close(), process.Wait()) })
	line, err = bufio.NewReader(from).ReadString('\n')
	if err != nil {
		s.t.Fatalf("%s says %q: %v", test, line, err)
	}
	return to, line
}

// give has the middle page answer from now on.
func (s *silence) give() {
	s.t.Helper()
	if _, err := s.server.Write([]byte{1}); err != nil {
		s.t.Fatal(err)
	}
}

// TestSilentProcess is the process with the memory of a silence.
func TestSilentProcess(t *testing.T) {
	path := os.Getenv(silentFile)
	if path == "" {
		t.Skip("tests of silent memory run it")
	}
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err == nil {
		err = unix.Fstat(fd, &unix.Stat_t{}) // the kernel learns the size
	}
	if err != nil {
		t.Fatal(err)
	}
	word, err := unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	octets, err := unix.Mmap(fd, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(os.Getpid(), address(word), address(octets))
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the end of the test
}

// TestSilentServer is the server of the file: a process of its own, whose end lets all accesses
// fail, also when a test has failed.
func TestSilentServer(t *testing.T) {
	path := os.Getenv(silentFile)
	if path == "" {
		t.Skip("tests of silent memory run it")
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Mount("weft", path, "fuse", unix.MS_NOSUID|unix.MS_NODEV,
			fmt.Sprintf("fd=%d,rootmode=100000,user_id=0,group_id=0", fd))
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	f := &fuse{fd: fd}
	go f.serve()
	fmt.Println("served")
	for {
		if n, _ := os.Stdin.Read(make([]byte, 1)); n == 0 {
			return
		}
		f.give()
	}
}

// Operations of the FUSE protocol (linux/fuse.h).
const (
	fuseForget      = 2
	fuseGetAttr     = 3
	fuseRead        = 15
	fuseInit        = 26
	fuseInterrupt   = 36
	fuseBatchForget = 42
)

// fuse serves a file with 3 pages, where the middle page does not answer before give.
type fuse struct {
	fd      int
	mu      sync.Mutex
	waiting []uint64 // requests for the middle page
	given   bool
}

// serve answers the kernel.
func (s *fuse) serve() {
	b, o := make([]byte, 1<<17), binary.NativeEndian
	for {
		n, err := unix.Read(s.fd, b)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINTR):
			continue // a request that nobody waits for any more
		case err != nil || n < 40:
			return
		}
		unique := o.Uint64(b[8:])
		switch o.Uint32(b[4:]) {
		case fuseForget, fuseBatchForget, fuseInterrupt: // without an answer
		case fuseInit:
			out := make([]byte, 64) // struct fuse_init_out
			o.PutUint32(out, 7)
			o.PutUint32(out[4:], 31)
			o.PutUint32(out[20:], page) // max_write
			s.answer(unique, 0, out)
		case fuseGetAttr:
			out := make([]byte, 104)      // struct fuse_attr_out
			o.PutUint64(out[16:], 1)      // inode
			o.PutUint64(out[24:], 3*page) // size
			o.PutUint32(out[76:], unix.S_IFREG|0o600)
			o.PutUint32(out[80:], 1) // links
			s.answer(unique, 0, out)
		case fuseRead:
			s.mu.Lock()
			if o.Uint64(b[48:]) == page && !s.given {
				s.waiting = append(s.waiting, unique)
			} else {
				s.answer(unique, 0, make([]byte, o.Uint32(b[56:])))
			}
			s.mu.Unlock()
		default:
			s.answer(unique, unix.ENOSYS, nil)
		}
	}
}

func (s *fuse) answer(unique uint64, code unix.Errno, body []byte) {
	o := binary.NativeEndian
	out := o.AppendUint32(nil, uint32(16+len(body)))
	out = o.AppendUint32(out, uint32(-int32(code)))
	out = o.AppendUint64(out, unique)
	_, _ = unix.Write(s.fd, append(out, body...)) // ENOENT: nobody waits any more
}

func (s *fuse) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = true
	for _, unique := range s.waiting {
		s.answer(unique, 0, make([]byte, page))
	}
	s.waiting = nil
}
