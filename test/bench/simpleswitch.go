package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/weft-sdn/weft/controller/entry"
	"github.com/weft-sdn/weft/p4"
)

// BMv2's switch and what programs it. Its own command line, rather than P4Runtime, so that a simple_switch alone is enough.
const (
	simpleSwitch    = "simple_switch"
	simpleSwitchCLI = "simple_switch_CLI"
)

// missingSimpleSwitch says what is missing to compare with BMv2, or nothing.
func missingSimpleSwitch() string {
	for _, program := range []string{simpleSwitch, simpleSwitchCLI} {
		if _, err := exec.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}

// simpleSwitchQueue is more packets than are ever under way, so that none is lost.
const simpleSwitchQueue = 1 << 16

// simpleSwitchCommand is a simple_switch between the pcap files of a folder.
func simpleSwitchCommand(ctx context.Context, dir string, r role, thrift int) (*exec.Cmd, error) {
	program := filepath.Join(dir, "fabric.json")
	if err := os.WriteFile(program, p4.JSON(), 0o600); err != nil {
		return nil, err
	}
	args := []string{"--use-files", "0", "--log-level", "off", "--device-id", fmt.Sprint(thrift), "--thrift-port", fmt.Sprint(thrift)}
	for _, port := range r.ports() {
		args = append(args, "-i", fmt.Sprintf("%d@%s", port, strings.TrimSuffix(inPath(dir, port), "_in.pcap")))
	}
	return exec.CommandContext(ctx, simpleSwitch, append(args, program)...), nil
}

// freePort is a TCP port that nobody listened on a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// programSimpleSwitch gives a simple_switch the entries of a role, as soon as it listens.
func programSimpleSwitch(ctx context.Context, r role, thrift int) error {
	script, err := simpleSwitchScript(r)
	if err != nil {
		return err
	}
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", thrift))
		if err == nil {
			conn.Close()
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen: %w", simpleSwitch, errors.Join(context.Cause(ctx), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
	cli := exec.CommandContext(ctx, simpleSwitchCLI, "--thrift-port", fmt.Sprint(thrift))
	cli.Stdin = strings.NewReader(script)
	said, err := cli.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", simpleSwitchCLI, err, said)
	}
	for _, bad := range []string{"Error", "Invalid", "DUPLICATE"} {
		if strings.Contains(string(said), bad) {
			return fmt.Errorf("%s: %s", simpleSwitchCLI, said)
		}
	}
	return nil
}

// simpleSwitchScript writes a role's entries as commands.
func simpleSwitchScript(r role) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "set_queue_depth %d\n", simpleSwitchQueue)
	info := p4.P4Info()
	nodes := 0 // multicast nodes so far, which is the next one's handle
	for _, e := range r.entries {
		switch e := e.(type) {
		case entry.Table:
			if err := tableCommand(&b, info, e); err != nil {
				return "", err
			}
		case entry.Multicast:
			fmt.Fprintf(&b, "mc_mgrp_create %d\n", e.ID)
			for _, copy := range e.Replicas {
				fmt.Fprintf(&b, "mc_node_create %d %d\nmc_node_associate %d %d\n", copy.Instance, copy.Port, e.ID, nodes)
				nodes++
			}
		default:
			return "", fmt.Errorf("no command for %v", e)
		}
	}
	return b.String(), nil
}

func tableCommand(b *strings.Builder, info *p4config.P4Info, e entry.Table) error {
	var table *p4config.Table
	for _, t := range info.GetTables() {
		if t.GetPreamble().GetAlias() == e.Name {
			table = t
		}
	}
	var action *p4config.Action
	for _, a := range info.GetActions() {
		if a.GetPreamble().GetAlias() == e.Action.Name {
			action = a
		}
	}
	if table == nil || action == nil {
		return fmt.Errorf("%v: no such table or action", e)
	}
	command := "table_add"
	if e.Default {
		command = "table_set_default"
	}
	fmt.Fprintf(b, "%s %s %s", command, table.GetPreamble().GetName(), action.GetPreamble().GetName())
	if !e.Default {
		for _, f := range table.GetMatchFields() {
			m, ok := e.Field(f.GetName())
			if !ok {
				return fmt.Errorf("%v: nothing for field %s", e, f.GetName())
			}
			fmt.Fprintf(b, " 0x%x", string(m.Value))
			if f.GetMatchType() == p4config.MatchField_LPM {
				fmt.Fprintf(b, "/%d", m.Bits)
			}
		}
		b.WriteString(" =>")
	}
	for _, p := range action.GetParams() {
		fmt.Fprintf(b, " 0x%x", string(e.Action.Arg(p.GetName())))
	}
	b.WriteByte('\n')
	return nil
}
