package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// quotaPeriod is the length of a quota period. A process that uses up its quota waits for the next
// period.
const quotaPeriod = 10 * time.Millisecond

// quota is the control group (cgroup) of one process and its children.
type quota struct{ dir string }

// limitProcessors limits a process and its children to a number of processors, by a control group
// of version 2 or 1. Call end after the process has ended. limitProcessors requires root.
func limitProcessors(pid int, processors float64) (q *quota, err error) {
	period := quotaPeriod.Microseconds()
	most := strconv.FormatInt(int64(processors*float64(period)), 10)
	name := fmt.Sprintf("weft-bench-%d", pid)
	const root = "/sys/fs/cgroup"
	files := map[string]string{"cpu.max": most + " " + strconv.FormatInt(period, 10)}
	q = &quota{filepath.Join(root, name)}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil {
		q.dir = filepath.Join(root, "cpu", name)
		files = map[string]string{"cpu.cfs_period_us": strconv.FormatInt(period, 10),
			"cpu.cfs_quota_us": most}
	} else if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu"),
		0); err != nil {
		return nil, err
	}
	if err := os.Mkdir(q.dir, 0o755); err != nil {
		return nil, err
	}
	for file, value := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(q.dir, file), []byte(value), 0))
	}
	for _, p := range withChildren(pid) {
		if err == nil {
			err = os.WriteFile(filepath.Join(q.dir, "cgroup.procs"), []byte(p), 0)
		}
	}
	if err != nil {
		return nil, errors.Join(err, q.end())
	}
	return q, nil
}

// withChildren returns a process and its children, for example a controller's etcd (proc(5)).
func withChildren(pid int) []string {
	all := []string{strconv.Itoa(pid)}
	// the pattern is a good one
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file) // of a thread that has ended there is none
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

// end removes the control group after the process has ended. On a nil quota end does nothing.
func (q *quota) end() error {
	if q == nil {
		return nil
	}
	return os.Remove(q.dir)
}
