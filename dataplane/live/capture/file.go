package capture

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/weft-sdn/weft/internal/pcap"
)

const (
	// flushTime is how long a frame may wait before it is in the file.
	flushTime = 200 * time.Millisecond
	// fileBuffer is how many octets may wait.
	fileBuffer = 256 << 10
	snapLength = 256 << 10 // octets of the longest frame
)

// File is a pcap file that is being written, with stamps in nanoseconds. Errors
// end the writing, not the traffic.
type File struct {
	file    *os.File
	failed  func(error) // told of the first error of a write
	done    chan struct{}
	flusher sync.WaitGroup

	mu     sync.Mutex
	buffer *bufio.Writer // guarded by mu
	pcap   *pcap.Writer  // guarded by mu
	err    error         // guarded by mu
}

// Create makes a file, in place of any that has the name. failed is notified when it
// cannot be written any more.
func Create(name string, failed func(error)) (*File, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	f := &File{file: file, failed: failed, done: make(chan struct{}), buffer: bufio.NewWriterSize(file,
		fileBuffer)}
	f.pcap, err = pcap.NewWriter(f.buffer, snapLength)
	if err := errors.Join(err, f.buffer.Flush()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	f.flusher.Go(f.flush)
	return f, nil
}

// Write writes frames, with the time it is.
func (f *File) Write(frames [][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, frame := range frames {
		f.check(f.pcap.Write(time.Now(), frame, len(frame)))
		if f.err != nil {
			return
		}
	}
}

// check keeps the first error. The caller holds mu.
func (f *File) check(err error) {
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%s: %w", f.file.Name(), err)
		f.failed(f.err)
	}
}

// flush brings what was written into the file every now and then.
func (f *File) flush() {
	tick := time.NewTicker(flushTime)
	defer tick.Stop()
	for {
		select {
		case <-f.done:
			return
		case <-tick.C:
		}
		f.mu.Lock()
		f.check(f.buffer.Flush())
		f.mu.Unlock()
	}
}

// Close writes what is left. A reported error is not reported again.
func (f *File) Close() error {
	close(f.done)
	f.flusher.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.file.Close()
	}
	return errors.Join(f.buffer.Flush(), f.file.Close())
}
