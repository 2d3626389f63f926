package linear

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// processes returns the numbers of the node's process and of its children.
func (n *node) processes() []int {
	n.mu.Lock()
	pids := []int{n.cmd.Process.Pid}
	n.mu.Unlock()
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[0]))
	if err != nil {
		n.b.t.Error(err)
	}
	for _, path := range children {
		text, _ := os.ReadFile(path) // nothing: the thread has ended
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// noClocks returns why wall clocks of processes cannot be moved here.
func noClocks(*bed) string {
	if runtime.GOARCH != "amd64" {
		return "clocks are moved by machine code for amd64"
	}
	return ""
}

// shiftClocks has the wall clocks of a node's processes off by d for a time.
func (n *node) shiftClocks(ctx context.Context, d, by time.Duration) error {
	var errs []error
	for _, pid := range n.processes() {
		back, err := shiftClock(pid, by)
		errs = append(errs, err)
		defer back()
	}
	wait(ctx, d)
	return errors.Join(errs...)
}

// shiftClock moves the wall clock of a process of Go by whole seconds, until back is called. The
// program asks the kernel for the time by a function of the vDSO, whose address the variable
// runtime.vdsoClockgettimeSym has. There it finds the address of other code, in place of code that
// runs only at a program's start.
func shiftClock(pid int, by time.Duration) (back func(), err error) {
	back = func() {}
	program, err := elf.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return back, err
	}
	defer program.Close()
	symbols, err := program.Symbols()
	if err != nil {
		return back, fmt.Errorf("the program has no symbols, by which its clock is found: %w", err)
	}
	var code, variable uint64
	for i := range symbols {
		switch symbols[i].Name {
		case "runtime.rt0_go.abi0":
			code = symbols[i].Value
		case "runtime.vdsoClockgettimeSym":
			variable = symbols[i].Value
		}
	}
	if program.Type != elf.ET_EXEC || code == 0 || variable == 0 {
		return back, errors.New("the program's clock is not found")
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return back, err
	}
	var was [8]byte
	if _, err := memory.ReadAt(was[:], int64(variable)); err != nil {
		return back, errors.Join(err, memory.Close())
	}
	clock := binary.LittleEndian.AppendUint32([]byte{
		0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi
		0x75, 7, // jne ret, unless it is CLOCK_REALTIME
		0x48, 0x81, 0x06, // add qword [rsi], seconds
	}, uint32(int32(by/time.Second)))
	clock = append(clock, 0xc3) // ret
	_, err = memory.WriteAt(clock, int64(code))
	if err == nil {
		_, err = memory.WriteAt(binary.LittleEndian.AppendUint64(nil, code), int64(variable))
	}
	return func() {
		_, _ = memory.WriteAt(was[:], int64(variable)) // an error: the process has ended
		_ = memory.Close()
	}, err
}
