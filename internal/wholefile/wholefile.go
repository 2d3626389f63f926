// Package wholefile replaces files so that a crash leaves the old one or the new one, never a part.
package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Put is Write of a text.
func Put(path string, text []byte) error {
	_, err := Write(path, func(w io.Writer) error { _, err := w.Write(text); return err })
	return err
}

// Write writes a file that only its owner can read, and moves the file into place when all of it is
// on disk. Write returns the size in octets. After an error, the place has the old file or, if only
// the sync of the directory failed, the new file.
func Write(path string, write func(io.Writer) error) (size int64, err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return 0, err
	}
	err = errors.Join(write(f), f.Sync())
	if info, failed := f.Stat(); failed == nil {
		size = info.Size()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(f.Name()))
	}
	return size, syncDir(dir)
}

// syncDir has the name of a new file survive a crash.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
