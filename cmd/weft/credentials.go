package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-sdn/weft/internal/wholefile"
)

// signIns are the sessions of "weft login", in a file that its owner alone can read.
type signIns struct {
	path string
	// Servers has them by the URL of the controller.
	Servers map[string]credential `json:"servers"`
}

type credential struct {
	Name    string    `json:"name"`
	Token   string    `json:"token"`
	Expires time.Time `json:"expires,omitzero"`
}

// credentialsPath returns the place of the file; "" where there is no home.
func credentialsPath(env environment) string {
	if path := env.getenv("WEFT_CREDENTIALS"); path != "" {
		return path
	}
	dir := env.getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home := env.getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "weft", "credentials.json")
}

// loadCredentials reads the file. It refuses a file that other users can read or write.
func loadCredentials(env environment) (*signIns, error) {
	c := &signIns{path: credentialsPath(env), Servers: make(map[string]credential)}
	if c.path == "" {
		return c, nil
	}
	info, err := os.Stat(c.path)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %#o: want 0600, since it has sessions", c.path,
			info.Mode().Perm())
	}
	text, err := os.ReadFile(c.path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	if c.Servers == nil {
		c.Servers = make(map[string]credential)
	}
	return c, nil
}

// save writes the file, with mode 0600.
func (c *signIns) save() error {
	if c.path == "" {
		return errors.New("no place for the session: want HOME, XDG_CONFIG_HOME or WEFT_CREDENTIALS")
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	return wholefile.Put(c.path, append(text, '\n'))
}
