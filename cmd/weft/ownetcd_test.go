//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// etcd returns the process of the controller's etcd; 0: there is none.
func (p *process) etcd() int {
	p.t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// proc(5): the process, its name in parentheses, its state and its parent.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(p.cmd.Process.Pid) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				p.t.Fatal(err)
			}
			return pid
		}
	}
	return 0
}

// TestEtcdProcess: a controller's etcd process that meets a damaged database takes nothing down
// with it: the controller reports the damage, refuses changes, and goes on with a whole file. The
// process ends with the controller, also when it is stopped.
func TestEtcdProcess(t *testing.T) {
	d := deploy(t)
	first := d.start()
	first.ready()
	if err := first.put("g0", spec(0)); err != nil {
		t.Fatal(err)
	}
	first.programmed("g0")
	etcd := first.etcd()
	if etcd == 0 {
		t.Fatal("the controller has no etcd in a process of its own")
	}
	database := filepath.Join(d.dataDir, "etcd", "member", "snap", "db")
	whole, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(database, 8192); err != nil {
		t.Fatal(err)
	}
	// it may have read what is gone
	if err := syscall.Kill(etcd, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
	const damaged = "it is damaged"
	first.until("it says that the database is damaged", func() bool {
		r, checks := first.checks()
		return !r.Ready && strings.Contains(checks["store"].Message, damaged) &&
			strings.Contains(first.output(t, "get", "controllers"), damaged)
	})
	if p := refusal(t, first, "g1", 1); p == nil || p.Status != http.StatusServiceUnavailable ||
		!strings.Contains(p.Detail, damaged) {
		t.Errorf("a change: %v", p)
	}
	if err := os.WriteFile(database, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	first.until("it takes changes again", func() bool { return refusal(t, first, "g1", 1) == nil })

	etcd = first.etcd()
	if err := syscall.Kill(etcd, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	first.kill()
	first.until("the etcd that was stopped ends with its controller", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", etcd))
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", etcd))
		// whoever takes orphans may not wait for them
		return err != nil || strings.Contains(string(text), ") Z ")
	})
	second := d.start()
	second.programmed("g0", "g1")
	second.kill()
}
