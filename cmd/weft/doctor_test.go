package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// fakeMachine is a machine with some programs; its fields define the rest.
type fakeMachine struct {
	programs string   // with spaces
	fails    []string // beginnings of commands that fail
	filters  bool
	sockets  error
	user     bool
	lacks    []string // of the kernel
}

func (m fakeMachine) Find(program string) error {
	if strings.Contains(" "+m.programs+" ", " "+program+" ") {
		return nil
	}
	return os.ErrNotExist
}

func (m fakeMachine) Run(_ context.Context, name string, args ...string) error {
	command := strings.Join(append([]string{name}, args...), " ")
	for _, f := range m.fails {
		if strings.HasPrefix(command, f) {
			return errors.New("exit status 1")
		}
	}
	return nil
}

func (m fakeMachine) Read(string) (string, error) {
	if m.filters {
		return "1\n", nil
	}
	return "", os.ErrNotExist
}

func (m fakeMachine) Sockets() error { return m.sockets }
func (m fakeMachine) Root() bool     { return !m.user }

func (m fakeMachine) Lacks() ([]string, error) { return m.lacks, nil }

// TestDoctor: the report names each missing thing with a remedy, and only for the uses that need
// it.
func TestDoctor(t *testing.T) {
	const everything = "docker docker-compose containerlab simple_switch_grpc qemu-system-x86_64 " +
		"mmdebstrap cpio tshark"
	for _, c := range []struct {
		name    string
		machine fakeMachine
		missing []string // "use: what"
	}{
		{"everything", fakeMachine{programs: everything}, nil},
		{"no programs", fakeMachine{fails: []string{"docker compose"}}, []string{
			"compose: docker", "compose: docker-compose", "containerlab: docker",
			"containerlab: containerlab", "bmv2: simple_switch_grpc",
			"interop: qemu-system-x86_64", "interop: mmdebstrap", "interop: cpio", "wireshark: tshark"}},
		{"Compose as a plugin of Docker",
			fakeMachine{programs: strings.Replace(everything, "docker-compose", "", 1)}, nil},
		{"no daemon", fakeMachine{programs: everything, fails: []string{"docker info", "docker image"}},
			[]string{
				"compose: a Docker daemon", "compose: image weft", "containerlab: a Docker daemon",
				"containerlab: image weft"}},
		{"no RDMA", fakeMachine{programs: everything, fails: []string{"sh -c ls /sys/class/infiniband"}},
			[]string{"rdma: an RDMA device"}},
		{"no Mininet", fakeMachine{programs: everything, fails: []string{"/usr/bin/python3"}},
			[]string{"mininet: Mininet"}},
		{"a user", fakeMachine{programs: everything, user: true, sockets: os.ErrPermission}, []string{
			"interfaces: packet sockets (CAP_NET_RAW)", "kernel: root", "mininet: root",
			"containerlab: root", "interop: root"}},
		{"an old kernel", fakeMachine{programs: everything, lacks: []string{"End.X", "VRF"}}, []string{
			"kernel: a kernel with uSIDs"}},
		{"bridges are filtered, and packets dropped", fakeMachine{programs: everything, filters: true},
			[]string{"compose: bridges that pass IPv6"}},
		{"bridges are filtered, and packets pass", fakeMachine{programs: everything, filters: true,
			fails: []string{"sh -c ip6tables"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if err := doctor(t.Context(), environment{stdout: &out}, c.machine, nil); err != nil {
				t.Fatal(err)
			}
			var missing []string
			for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
				if i == 0 {
					continue
				}
				name, _, _ := strings.Cut(line, " ")
				for _, u := range uses() {
					for _, n := range u.needs {
						if u.name == name && strings.Contains(line, " "+n.what) &&
							strings.HasSuffix(line, n.fix) {
							missing = append(missing, name+": "+n.what)
						}
					}
				}
			}
			if strings.Join(missing, "; ") != strings.Join(c.missing, "; ") {
				t.Errorf("missing %q; want %q\n%s", missing, c.missing, out.String())
			}
			for _, u := range uses() {
				want := false
				for _, m := range c.missing {
					want = want || strings.HasPrefix(m, u.name+":")
				}
				err := doctor(t.Context(), environment{stdout: new(strings.Builder)}, c.machine,
					[]string{u.name})
				if (err != nil) != want {
					t.Errorf("weft doctor %s: %v", u.name, err)
				}
			}
		})
	}
}
