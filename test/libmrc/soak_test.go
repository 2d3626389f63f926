//go:build linux

package libmrc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	soakEnv   = "WEFT_MRC_SOAK" // how long, such as 1h
	soakTime  = 4 * time.Second // unless that says another
	soakPairs = 4               // of processes
	soakQPs   = 16              // of a pair
	// gone is the exit status of a load after the loss of its NIC or peer (testdata/load.c).
	gone = 3
	// loadTime is how long a load takes beside what it was told, at most.
	loadTime = 2 * time.Minute
)

func soakFor(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(soakEnv)
	if text == "" {
		return soakTime
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", soakEnv, err)
	}
	return d
}

// soak is a time in which programs and NICs are killed.
type soak struct {
	*machines
	mu                      sync.Mutex
	kills                   int          // guarded by mu
	down                    bool         // guarded by mu; a NIC is being replaced
	running                 map[int]bool // guarded by mu; loads, by process id
	messages, loads, broken int          // guarded by mu
}

// soak: eight processes with 64 queue pairs, which compare every octet and fork, are killed, and
// so are the NICs. The others go on; who loses a NIC or a peer gets an error and ends. Nothing
// hangs, and at the end the NICs hold nothing.
func (m *machines) soak(t *testing.T) {
	length, seed := soakFor(t), uint64(time.Now().UnixNano())
	t.Logf("%v, seed %d", length, seed)
	r := rand.New(rand.NewPCG(seed, 0))
	s := &soak{machines: m, running: make(map[int]bool)}
	empty := s.held(t)
	ctx, cancel := context.WithTimeout(t.Context(), length+2*loadTime)
	defer cancel()
	end := time.Now().Add(length)
	var all sync.WaitGroup
	for i := range soakPairs {
		all.Go(func() {
			for n := uint64(0); time.Now().Before(end); n++ {
				s.load(ctx, t, min(2*time.Second, time.Until(end)), seed+n*soakPairs+uint64(i))
			}
		})
	}
	every := time.NewTicker(min(length/4, 2*time.Second))
	defer every.Stop()
	for n := 1; time.Now().Before(end); n++ {
		<-every.C
		if n%3 == 0 {
			s.killNIC(t, r.IntN(2))
		} else {
			s.killProgram(t, r)
		}
	}
	all.Wait()
	// On a busy machine each load may have met a kill. The remaining NIC serves one.
	for s.messages == 0 && ctx.Err() == nil && !t.Failed() {
		s.load(ctx, t, time.Second, seed+uint64(s.loads))
	}
	t.Logf("%d loads, %d of them broken off; %d messages; %d kills", s.loads, s.broken, s.messages,
		s.kills)
	if s.messages == 0 {
		t.Error("no load came to its end")
	}
	s.awaitHeld(t, empty)
}

// load runs a load. The load must complete its work or report the loss of a killed part.
func (s *soak) load(ctx context.Context, t *testing.T, length time.Duration, seed uint64) {
	s.mu.Lock()
	before := s.kills
	s.loads++
	s.mu.Unlock()
	seconds := max(1, length.Seconds())
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds*1e9)+loadTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.dir, "load"), s.socket(0), s.socket(1),
		strconv.Itoa(soakQPs), strconv.Itoa(256<<10), fmt.Sprintf("%.1f", seconds), fmt.Sprint(seed))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	s.note(cmd.Process.Pid, true)
	err := cmd.Wait()
	s.note(cmd.Process.Pid, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	var exit *exec.ExitError
	switch {
	case err == nil:
		messages := 0
		_, _ = fmt.Sscan(out.String(), &messages)
		s.messages += messages
	case errors.As(err, &exit) && exit.ExitCode() == gone && (s.down || s.kills > before):
		s.broken++
	default:
		t.Errorf("load with seed %d: %v, %d kills meanwhile: %s", seed, err, s.kills-before, out.String())
	}
}

func (s *soak) note(pid int, runs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if runs {
		s.running[pid] = true
	} else {
		delete(s.running, pid)
	}
}

// killProgram kills a sender or a receiver.
func (s *soak) killProgram(t *testing.T, r *rand.Rand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid := range s.running {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		children := strings.Fields(string(text))
		if err != nil || len(children) == 0 {
			continue // it has just begun, or just ended
		}
		child, err := strconv.Atoi(children[r.IntN(len(children))])
		if err != nil {
			t.Error(err)
			return
		}
		s.kills++
		_ = syscall.Kill(child, syscall.SIGKILL) // it may have ended
		return
	}
}

// killNIC kills a NIC and starts another.
func (s *soak) killNIC(t *testing.T, host int) {
	s.mu.Lock()
	s.kills++
	s.down = true
	s.mu.Unlock()
	if err := s.nics[host].Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = s.nics[host].Wait() // it was killed
	s.start(host)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
	s.kills++ // for loads that began while there was none
}

// held is how many file descriptors each NIC has open.
func (s *soak) held(t *testing.T) (n [2]int) {
	t.Helper()
	for i, nic := range s.nics {
		all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", nic.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		n[i] = len(all)
	}
	return n
}

// awaitHeld waits until NICs hold no more than they did, as long as they give something back.
func (s *soak) awaitHeld(t *testing.T, want [2]int) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	every := time.NewTicker(50 * time.Millisecond)
	defer every.Stop()
	var last [2]int
	for {
		got := s.held(t)
		if got[0] <= want[0] && got[1] <= want[1] {
			return
		}
		if got != last {
			last = got
			deadline.Reset(patience)
		}
		select {
		case <-every.C:
		case <-deadline.C:
			t.Errorf("NICs have %d file descriptors, %d without programs", got, want)
			return
		}
	}
}
