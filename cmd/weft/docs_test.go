package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func document(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// eachCommand calls f with weft and every command below it.
func eachCommand(f func(*cobra.Command)) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		f(c)
	}
	walk(newRoot(environment{stdin: strings.NewReader(""), stdout: io.Discard,
		stderr: io.Discard, getenv: func(string) string { return "" }}))
}
