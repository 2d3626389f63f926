package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

// probe is a command of the scripts: what a user does on a host to see whether
// the network works.
//
//	probe ping ADDRESS COUNT OCTETS       ICMPv6 echoes, one after the other
//	probe serve ADDRESS:PORT              takes one TCP connection and answers with the hash of what came
//	probe send ADDRESS:PORT OCTETS        sends so much to it, and compares the hash
func probe() {
	if err := probing(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func probing(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "ping":
		count, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		octets, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		return ping(args[1], count, octets)
	case len(args) == 2 && args[0] == "serve":
		return probeServe(args[1])
	case len(args) == 3 && args[0] == "send":
		octets, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return probeSend(args[1], octets)
	}
	return errors.New("usage: probe ping ADDRESS COUNT OCTETS | serve ADDRESS | send ADDRESS OCTETS")
}

// ping fails when an echo is not answered in time; the first ones may get lost
// while the neighbors find each other.
func ping(address string, count, octets int) error {
	const echoRequest, echoReply, header = 128, 129, 8
	conn, err := net.ListenPacket("ip6:ipv6-icmp", "::")
	if err != nil {
		return err
	}
	defer conn.Close()
	echo := make([]byte, header+octets)
	echo[0] = echoRequest
	binary.BigEndian.PutUint16(echo[4:], uint16(os.Getpid()))
	began, least := time.Now(), time.Duration(1<<62)
	reply := make([]byte, 64<<10)
	for i := range count {
		binary.BigEndian.PutUint16(echo[6:], uint16(i))
		for j := range octets {
			echo[header+j] = byte(i + j)
		}
		for try := 0; ; try++ {
			sent := time.Now()
			if _, err := conn.WriteTo(echo, &net.IPAddr{IP: net.ParseIP(address)}); err != nil {
				return err
			}
			if err := conn.SetReadDeadline(sent.Add(time.Second)); err != nil {
				return err
			}
			n, err := awaitReply(conn, reply, echo, echoReply)
			if err == nil && bytes.Equal(reply[header:n], echo[header:]) {
				least = min(least, time.Since(sent))
				break
			}
			if i > 0 || try == 10 {
				return fmt.Errorf("echo %d of %d: %d octets: %w", i, count, n, err)
			}
		}
	}
	fmt.Printf("%d echoes of %d octets answered in %v, one in %v\n", count, octets,
		time.Since(began).Round(time.Millisecond), least.Round(time.Microsecond))
	return nil
}

func awaitReply(conn net.PacketConn, reply, echo []byte, reType byte) (int, error) {
	for {
		n, _, err := conn.ReadFrom(reply)
		if err != nil {
			return n, err
		}
		if n >= 8 && reply[0] == reType && bytes.Equal(reply[4:8], echo[4:8]) {
			return n, nil
		}
	}
}

func probeServe(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	h := sha256.New()
	if _, err := io.Copy(h, conn); err != nil {
		return err
	}
	_, err = conn.Write(h.Sum(nil))
	return errors.Join(err, conn.Close(), l.Close())
}

func probeSend(address string, octets int) error {
	var conn net.Conn
	var err error
	// until it listens
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if conn, err = net.DialTimeout("tcp", address, 5*time.Second); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return err
		}
	}
	data := make([]byte, octets)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write(data); err != nil {
		return err
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	sum, err := io.ReadAll(conn)
	if want := sha256.Sum256(data); err == nil && !bytes.Equal(sum, want[:]) {
		err = fmt.Errorf("the hash is %x, want %x", sum, want)
	}
	if err == nil {
		fmt.Printf("%d octets arrived\n", octets)
	}
	return errors.Join(err, conn.Close())
}
