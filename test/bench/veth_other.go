//go:build !linux

package main

import (
	"context"
	"errors"
)

func veth(_ context.Context, out *report) error {
	out.tell("veth: needs Linux")
	return nil
}

func vethSwitch(string) error { return errors.New("needs Linux") }
