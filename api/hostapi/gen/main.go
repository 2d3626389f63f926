// Command gen makes the Go code of host.proto, without protoc: the file is compiled by
// protocompile, and the code is made by the two plugins that go.mod pins as tools.
//
//	go generate ./api/hostapi
package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

// Source is the file, in the folder it is in; Output is where its code goes, from there.
const (
	source = "host.proto"
	output = "hostpb"
)

// plugins are the tools of go.mod.
var plugins = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

func main() {
	if err := write(context.Background(), "."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, dir string) error {
	files, err := generate(ctx, dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, output), 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, output, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate makes the code of the source in dir: texts by file name.
func generate(ctx context.Context, dir string) (map[string][]byte, error) {
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{dir}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(ctx, source)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{source}, Parameter: proto.String("paths=source_relative"),
	}
	for _, f := range compiled {
		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(f))
	}
	files := make(map[string][]byte)
	for _, name := range plugins {
		made, err := plugin(ctx, name, request)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		maps.Copy(files, made)
	}
	return files, nil
}

// plugin runs a plugin of protoc.
func plugin(ctx context.Context, name string, request *pluginpb.CodeGeneratorRequest) (
	map[string][]byte, error) {
	in, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "tool", name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.Bytes())
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out.Bytes(), &response); err != nil {
		return nil, err
	}
	if response.Error != nil {
		return nil, fmt.Errorf("%s", response.GetError())
	}
	files := make(map[string][]byte)
	for _, f := range response.GetFile() {
		files[f.GetName()] = []byte(f.GetContent())
	}
	return files, nil
}
