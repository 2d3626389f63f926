package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/dataplane/replay"
	"github.com/weft-sdn/weft/dataplane/setup"
)

// replayCommand is the argument that makes this program an embedded switch between capture files; a
// folder and the input ports follow.
const replayCommand = "replay"

// profileEnv names a folder for processor profiles of the embedded switch, one a workload.
const profileEnv = "WEFT_BENCH_PROFILE"

// Files of a workload's folder.
const (
	programFile  = "program.json"
	infoFile     = "program.p4info.txtpb"
	entriesFile  = "entries.txtpb"
	embeddedOuts = "embedded" // a folder
)

// writeFiles writes what either switch is started from.
func (w *workload) writeFiles(dir string) error {
	info, err := prototext.Marshal(w.info)
	if err != nil {
		return err
	}
	var entries bytes.Buffer
	for i, r := range w.entries {
		if i > 0 {
			entries.WriteString("---\n")
		}
		text, err := prototext.MarshalOptions{Multiline: true}.Marshal(r)
		if err != nil {
			return err
		}
		entries.Write(text)
	}
	for name, content := range map[string][]byte{programFile: w.program, infoFile: info,
		entriesFile: entries.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return w.writeCaptures(dir)
}

// replayResult is what the process says.
type replayResult struct {
	replay.Result
	CPUSeconds float64 `json:"cpuSeconds"`
}

// replayed puts a workload's files through the embedded switch, in a process of its own on one
// core.
func replayed(ctx context.Context, w workload, dir string) (pass, error) {
	self, err := os.Executable()
	if err != nil {
		return pass{}, err
	}
	args := []string{replayCommand, w.title, dir}
	for _, port := range w.ports() {
		args = append(args, fmt.Sprint(port))
	}
	cmd := exec.CommandContext(ctx, self, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := startPinned(cmd); err != nil {
		return pass{}, err
	}
	if err := cmd.Wait(); err != nil {
		return pass{}, fmt.Errorf("%w: %s", err, errs.Bytes())
	}
	var r replayResult
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return pass{}, fmt.Errorf("%w: %s", err, out.Bytes())
	}
	p := pass{int(r.Packets), time.Duration(r.Seconds * 1e9), time.Duration(r.CPUSeconds * 1e9)}
	return p, w.checkCaptures(filepath.Join(dir, embeddedOuts))
}

// replayFiles is the process: it does what "weft replay" does.
func replayFiles(title, dir string, ports []string) (err error) {
	device, err := setup.Device(setup.Files{
		Program: filepath.Join(dir, programFile), P4Info: filepath.Join(dir, infoFile),
		Entries: filepath.Join(dir, entriesFile),
	}, p4rt.Config{})
	if err != nil {
		return err
	}
	var inputs []replay.Input
	for _, text := range ports {
		port, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return err
		}
		inputs = append(inputs, replay.Input{Port: uint32(port), Path: inPath(dir, uint32(port))})
	}
	run, err := replay.Open(replay.Config{Inputs: inputs, OutDir: filepath.Join(dir, embeddedOuts),
		CPUPort: p4rt.DefaultCPUPort})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	if folder := os.Getenv(profileEnv); folder != "" {
		f, err := os.Create(filepath.Join(folder, strings.ReplaceAll(title, " ", "-")+".prof"))
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	before := processorTime()
	result, err := run.Run(context.Background(), device.Switch())
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(replayResult{result,
		(processorTime() - before).Seconds()})
}
