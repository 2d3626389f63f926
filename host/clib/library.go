package clib

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// Memory is what an argument points to. A call may change Octets.
type Memory struct {
	Octets []byte
	// Points has what the 8 octets at an offset point to.
	Points map[int]*Memory
}

// Library is libraries that a process of their own has opened.
type Library struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr bytes.Buffer
	ended  chan struct{}

	mu      sync.Mutex
	encode  *json.Encoder
	last    uint64
	waiting map[uint64]chan *answer
}

// ErrEnded is a call when the process of the library has ended.
var ErrEnded = errors.New("the process of the library has ended")

// Start starts a program, for example weft-dl, with the files of libraries; a function comes from
// the first library that has the function.
func Start(program string, files ...string) (*Library, error) {
	l := &Library{cmd: exec.Command(program, files...), ended: make(chan struct{}),
		waiting: make(map[uint64]chan *answer)}
	l.cmd.Stderr = &l.stderr
	out, err := l.cmd.StdoutPipe()
	if err == nil {
		l.in, err = l.cmd.StdinPipe()
	}
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	l.encode = json.NewEncoder(l.in)
	go l.receive(out)
	return l, nil
}

// receive hands answers to the waiting callers until the process ends.
func (l *Library) receive(out io.Reader) {
	defer close(l.ended)
	for d := json.NewDecoder(out); ; {
		a := new(answer)
		if d.Decode(a) != nil {
			_ = l.cmd.Wait() // calls say what the process said
			return
		}
		l.mu.Lock()
		to := l.waiting[a.ID]
		delete(l.waiting, a.ID)
		l.mu.Unlock()
		if to != nil {
			to <- a
		}
	}
}

// Close ends the process, and calls under way.
func (l *Library) Close() error {
	_ = l.in.Close() // it may have ended by itself
	<-l.ended
	return nil
}

// Wait waits until the process has ended, and returns what it said.
func (l *Library) Wait() error {
	<-l.ended
	return fmt.Errorf("%w: %s", ErrEnded, strings.TrimSpace(l.stderr.String()))
}

// Call calls a function with integers (int, uint64) and *Memory, nil being NULL, and returns its
// value and the errno that it left. An error says that the function was not called, or that nobody
// knows what it did.
func (l *Library) Call(name string, arguments ...any) (int64, syscall.Errno, error) {
	r := &request{Name: name}
	var all []*Memory
	var add func(in, at int, m *Memory)
	add = func(in, at int, m *Memory) {
		all, r.Memory = append(all, m), append(r.Memory, m.Octets)
		to := len(all) - 1
		r.Pointers = append(r.Pointers, pointer{in, at, to})
		for offset, p := range m.Points {
			add(to+1, offset, p)
		}
	}
	for i, x := range arguments {
		r.Arguments = append(r.Arguments, 0)
		switch x := x.(type) {
		case int:
			r.Arguments[i] = uint64(x)
		case uint64:
			r.Arguments[i] = x
		case *Memory:
			if x != nil {
				add(0, i, x)
			}
		default:
			return 0, 0, fmt.Errorf("%s: argument %d is a %T, want an int, uint64 or *Memory", name, i, x)
		}
	}
	a, err := l.exchange(r)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	for i, m := range all {
		copy(m.Octets, a.Memory[i])
	}
	return a.Value, syscall.Errno(a.Errno), nil
}

// Read returns octets of the library's memory; 0 octets: the text up to a NUL.
func (l *Library) Read(address uint64, octets int) ([]byte, error) {
	a, err := l.exchange(&request{Arguments: []uint64{address, uint64(octets)}})
	if err != nil {
		return nil, fmt.Errorf("memory at %#x: %w", address, err)
	}
	return a.Memory[0], nil
}

func (l *Library) exchange(r *request) (*answer, error) {
	to := make(chan *answer, 1)
	l.mu.Lock()
	l.last++
	r.ID = l.last
	l.waiting[r.ID] = to
	err := l.encode.Encode(r)
	l.mu.Unlock()
	if err == nil {
		select {
		case a := <-to:
			if a.Error != "" {
				return nil, errors.New(a.Error)
			}
			return a, nil
		case <-l.ended:
		}
	}
	select {
	case <-l.ended:
		return nil, l.Wait()
	default:
		return nil, err
	}
}
