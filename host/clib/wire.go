package clib

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"unsafe"
)

// request asks for a call of Name with Arguments; without a name, for Arguments[1] octets of memory
// at the address Arguments[0], or for the text there up to a NUL if that is 0.
type request struct {
	ID        uint64
	Name      string    `json:",omitempty"`
	Arguments []uint64  `json:",omitempty"`
	Memory    [][]byte  `json:",omitempty"`
	Pointers  []pointer `json:",omitempty"`
}

// pointer puts the address of Memory[To] in place of argument At, or with In from 1 into the 8
// octets at At of Memory[In-1].
type pointer struct{ In, At, To int }

// answer is what a request came to. Memory is the memory of the request after the call.
type answer struct {
	ID     uint64
	Value  int64    `json:",omitempty"`
	Errno  int      `json:",omitempty"`
	Memory [][]byte `json:",omitempty"`
	Error  string   `json:",omitempty"`
}

// Functions calls a function from the libraries in a process, and returns the function's value and
// errno. An error says that there is no such function.
type Functions func(name string, arguments ...uintptr) (value uintptr, errno int, err error)

// Serve answers requests until their end. Calls may wait: each has a goroutine of its own.
func Serve(in io.Reader, out io.Writer, call Functions) error {
	requests, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var mu sync.Mutex
	for {
		var r request
		if err := requests.Decode(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		go func() {
			a := r.carryOut(call)
			mu.Lock()
			defer mu.Unlock()
			_ = answers.Encode(a) // the caller has gone, as in has
		}()
	}
}

// carryOut calls the function. Go's memory does not move, and lives as long as the request does.
func (r *request) carryOut(call Functions) *answer {
	a := &answer{ID: r.ID, Memory: r.Memory}
	if r.Name == "" {
		a.Memory = [][]byte{at(uintptr(r.Arguments[0]), int(r.Arguments[1]))}
		return a
	}
	arguments := make([]uintptr, len(r.Arguments))
	for i, x := range r.Arguments {
		arguments[i] = uintptr(x)
	}
	for _, p := range r.Pointers {
		address := uintptr(unsafe.Pointer(unsafe.SliceData(r.Memory[p.To])))
		if p.In == 0 {
			arguments[p.At] = address
		} else {
			*(*uintptr)(unsafe.Pointer(&r.Memory[p.In-1][p.At])) = address
		}
	}
	value, errno, err := call(r.Name, arguments...)
	if a.Value, a.Errno = int64(value), errno; err != nil {
		a.Error = err.Error()
	}
	return a
}

// at copies memory of a library.
func at(address uintptr, octets int) []byte {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&address)) // C's memory, which Go does not move
	if octets == 0 {
		for *(*byte)(unsafe.Add(p, octets)) != 0 {
			octets++
		}
	}
	return append([]byte(nil), unsafe.Slice((*byte)(p), octets)...)
}
