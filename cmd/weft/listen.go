package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
)

// checkListen reports, as a usage error and before the command starts anything, that nothing on
// this machine can listen at an address. what names the flag or field. checkListen accepts an empty
// address. An address in use only shows when the command binds it.
func checkListen(ctx context.Context, what, address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("%s is %q: want HOST:PORT, with an IPv6 address in brackets", what, address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("%s is %q: the port is %q: want 0 to 65535", what, address, port)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	var unknown *net.DNSError
	switch {
	case err == nil:
		return l.Close()
	case errors.As(err, &unknown):
		return usagef("%s is %q: the host is not known (%s): want an address of this machine", what,
			address, unknown.Err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return usagef("%s is %q: this machine has no such address: want one that it has, or no host "+
			"for all of them", what, address)
	case errors.Is(err, syscall.EACCES):
		return usagef("%s is %q: the port needs privileges: want one from 1024 to 65535", what, address)
	}
	return nil
}

// checkLoopback refuses an address that other machines reach, for what asks for no credentials;
// want is the right form.
func checkLoopback(ctx context.Context, what, address string, insecure bool, want string) error {
	if insecure {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, address, err)
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if host != "" && err != nil {
		return fmt.Errorf("%s %s: %w", what, address, err)
	}
	if host == "" || slices.ContainsFunc(addrs, func(a netip.Addr) bool {
		return !a.Unmap().IsLoopback()
	}) {
		return fmt.Errorf("%s %s: others reach this address, and the API asks for no credentials: %s",
			what, address, want)
	}
	return nil
}

// checkListens checks addresses to listen at, each with the name of its setting.
func checkListens(ctx context.Context, pairs ...string) error {
	var all []error
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, checkListen(ctx, pairs[i], pairs[i+1]))
	}
	return errors.Join(all...)
}
