//go:build linux

package interop

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// bootTime bounds the start of a guest under software emulation, with others at the same time.
const bootTime = 10 * time.Minute

// A guest is a machine with Linux's soft-RoCE on a tap interface.
type guest struct {
	name    string
	qemu    *exec.Cmd
	conn    net.Conn
	answers *bufio.Reader
	qpn     uint32
	va      uint64
	rkey    uint32
	wait    time.Duration // for the next answer; 0: callTime
}

// within has the next call take so many seconds at most.
func (g *guest) within(seconds int) *guest {
	g.wait = time.Duration(seconds) * time.Second
	return g
}

// boot starts a guest and returns when its program has.
func boot(ctx context.Context, i image, dir, name, tap, mac string) (g *guest, err error) {
	socket := filepath.Join(dir, name+".sock")
	console, err := os.Create(filepath.Join(dir, name+".console"))
	if err != nil {
		return nil, err
	}
	defer console.Close()
	g = &guest{name: name, qemu: exec.Command("qemu-system-x86_64",
		"-accel", "tcg", "-cpu", "max", "-m", "384", "-smp", "1", "-nodefaults", "-no-user-config",
		"-display", "none", "-no-reboot",
		"-kernel", i.kernel, "-initrd", i.initrd, "-append", "console=ttyS0 panic=-1 quiet", "-serial",
		"stdio",
		"-device", "virtio-serial-pci", "-chardev", "socket,id=calls,path="+socket+",server=on,wait=off",
		"-device", "virtserialport,chardev=calls",
		"-netdev", "tap,id=port,ifname="+tap+",script=no,downscript=no,vnet_hdr=off",
		"-device", "virtio-net-pci,netdev=port,mac="+mac+
			",csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ufo=off,host_mtu=4500")}
	g.qemu.Stdout, g.qemu.Stderr = console, console
	if err := g.qemu.Start(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			text, _ := os.ReadFile(console.Name()) // the error says enough without it
			err = errors.Join(fmt.Errorf("guest %s: %w: %s", name, err, text[max(0, len(text)-2000):]),
				g.kill())
		}
	}()
	if err := await(ctx, bootTime, func() (err error) {
		g.conn, err = net.Dial("unix", socket)
		return err
	}); err != nil {
		return g, err
	}
	g.answers = bufio.NewReader(g.conn)
	if err := g.conn.SetDeadline(time.Now().Add(bootTime)); err != nil {
		return g, err
	}
	return g, g.answer(nil)
}

// kill ends the guest as a machine that loses its power.
func (g *guest) kill() error {
	var err error
	if g.conn != nil {
		err = g.conn.Close()
	}
	if e := g.qemu.Process.Kill(); e != nil && !errors.Is(e, os.ErrProcessDone) {
		err = errors.Join(err, e)
	}
	_ = g.qemu.Wait() // it was killed
	return err
}

// callTime bounds a call.
const callTime = 4 * time.Minute

type arguments map[string]any

// call has the guest's program do something. into may be nil.
func (g *guest) call(name string, args arguments, into any) error {
	text := arguments{"call": name}
	for k, v := range args {
		text[k] = v
	}
	line, err := json.Marshal(text)
	if err != nil {
		return err
	}
	wait := cmp.Or(g.wait, callTime)
	g.wait = 0
	if err := g.conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	if _, err := g.conn.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("guest %s: %s: %w", g.name, name, err)
	}
	if err := g.answer(into); err != nil {
		return fmt.Errorf("guest %s: %s: %w", g.name, name, err)
	}
	return nil
}

func (g *guest) answer(into any) error {
	line, err := g.answers.ReadBytes('\n')
	if err != nil {
		return err
	}
	var a struct {
		OK    json.RawMessage
		Error string
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("%q: %w", line, err)
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(a.OK, into)
}

// await calls ok until it returns nil.
func await(ctx context.Context, patience time.Duration, ok func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond) // other processes say nothing
	defer ticker.Stop()
	for {
		err := ok()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
	}
}
