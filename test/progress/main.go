// Progress runs "go test", or any command that takes long, and says how far it is.
//
// Usage:
//
//	go run ./test/progress test -race -timeout=5m PACKAGE...
//	go run ./test/progress run COMMAND...
//
// Of go test it writes a line for every package that is done, one a minute for what still runs, and
// what tests that fail have said, the first fault of each once more at the end. Arguments are those
// of go test. It counts those that do not begin with a dash as packages: write flags with their
// values as one word. Of any other command it says once a minute that it runs. The exit status is
// that of the command. The variable GO names another go command.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// period is the time between two lines for what still runs.
const period = time.Minute

func main() {
	err := errors.New("usage: progress test ARGUMENTS, or progress run COMMAND")
	if len(os.Args) > 2 {
		switch args := os.Args[2:]; os.Args[1] {
		case "test":
			err = test(args, os.Stdout)
		case "run":
			err = run(args, os.Stdout, period)
		}
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs a command, and says every so often that it still does.
func run(args []string, out io.Writer, every time.Duration) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case now := <-ticker.C:
			fmt.Fprintf(out, "after %v: %s\n", now.Sub(began).Round(time.Second), strings.Join(args, " "))
		}
	}
}

// test runs go test with arguments and reports to out.
func test(args []string, out io.Writer) error {
	total := 0
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			total++
		}
	}
	command := os.Getenv("GO")
	if command == "" {
		command = "go"
	}
	cmd := exec.Command(command, append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := make(chan string)
	ended := make(chan error, 1)
	go func() {
		defer close(lines)
		in := bufio.NewReader(events)
		for {
			line, err := in.ReadString('\n')
			if line != "" {
				lines <- line
			}
			if err != nil {
				if err == io.EOF {
					err = nil
				}
				ended <- err
				return
			}
		}
	}()
	r := newReport(out, total, time.Now())
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for open := true; open; {
		select {
		case line, ok := <-lines:
			if ok {
				r.take([]byte(line), time.Now())
			}
			open = ok
		case now := <-ticker.C:
			r.tell(now)
		}
	}
	r.close()
	return errors.Join(<-ended, cmd.Wait())
}
