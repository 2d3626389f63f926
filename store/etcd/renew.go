package etcd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// After a failed sync, Linux marks the unwritten pages as clean: a reader gets data that the disk
// lacks, and the next sync succeeds without writing the pages (fsyncgate). etcd ends at a failed
// sync, before it acknowledges any of the data. A server that started again on these pages would
// build on a hole. So if a server has not ended in order, begin writes and syncs the server's files
// again, as they read, before the next server starts: data that reads wrong then is damaged, and
// the error says so. The file UNCLEAN is in a data directory from before a server starts until the
// server has ended in order, also for a controller that starts later.

func (c *Config) unclean() string { return filepath.Join(c.Dir, "UNCLEAN") }

// begin renews a directory whose last server has not ended in order, and marks it as in use.
func (c *Config) begin() error {
	_, err := os.Stat(c.unclean())
	switch {
	case err == nil:
		return c.renew()
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("data directory: %w", err)
	}
	f, err := os.Create(c.unclean())
	if err == nil {
		err = errors.Join(f.Close(), syncFile(c.Dir))
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// renew writes all files of etcd again, and syncs them. No server may run. After a failure renew
// may run again.
func (c *Config) renew() error {
	err := filepath.WalkDir(filepath.Join(c.Dir, "etcd"), func(path string, d fs.DirEntry,
		err error) error {
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil // there is nothing yet
		case err != nil:
			return err
		case d.IsDir():
			return syncFile(path)
		case !d.Type().IsRegular():
			return nil
		}
		return writeAgain(path)
	})
	if err != nil {
		return fmt.Errorf("%s was not synced before its etcd ended, and cannot be written again: %w",
			c.Dir, err)
	}
	return nil
}

// rewriteSize is how many octets are written again at a time.
const rewriteSize = 1 << 20

// writeAgain writes a file again, as it reads.
func writeAgain(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	text := make([]byte, rewriteSize)
	for at := int64(0); err == nil; {
		var n int
		n, err = f.ReadAt(text, at)
		if n > 0 && (err == nil || errors.Is(err, io.EOF)) {
			if _, failed := f.WriteAt(text[:n], at); failed != nil {
				err = failed
			}
			at += int64(n)
		}
	}
	if errors.Is(err, io.EOF) {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncFile syncs a directory or a file.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
