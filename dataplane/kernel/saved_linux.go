package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-sdn/weft/internal/sonicdb"
)

// metadata is the table that describes the switch; it has no settings.
const metadata = "DEVICE_METADATA"

// restore loads the saved rows into CONFIG_DB, as far as the kernel can carry them out, and
// configures the kernel from CONFIG_DB. Without a file there is nothing to restore. restore logs
// and ignores a file that does not fit, as after a change of ports: the writer of the rows writes
// them again.
func (d *daemons) restore(dbs sonicdb.Databases) {
	if d.saved == "" {
		return
	}
	before := dbs[sonicdb.ConfigDB]
	next, err := readSaved(d.saved, before)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = d.Check(nil, next)
	}
	if err != nil {
		d.log.Warn("the saved configuration is not used", "file", d.saved, "error", err)
		return
	}
	dbs[sonicdb.ConfigDB] = next
	if err := d.carryOut(dbs, before); err != nil {
		d.log.Warn("the saved configuration is not carried out whole", "file", d.saved, "error", err)
	}
}

// readSaved returns the content of a file, with the current rows about the switch itself.
func readSaved(file string, now sonicdb.Database) (sonicdb.Database, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out sonicdb.Database
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("want tables of rows of fields, as config_db.json has them: %w", err)
	}
	if out == nil {
		out = make(sonicdb.Database)
	}
	out[metadata] = now[metadata]
	for name, row := range now[tablePorts] {
		if saved := out[tablePorts][name]; saved != nil {
			saved["alias"] = row["alias"]
			continue
		}
		if out[tablePorts] == nil {
			out[tablePorts] = make(sonicdb.Table)
		}
		out[tablePorts][name] = row // it is new
	}
	return out, nil
}

// save keeps CONFIG_DB for the next start, whole or not at all.
func (d *daemons) save(config sonicdb.Database) (err error) {
	if d.saved == "" {
		return nil
	}
	text, err := json.MarshalIndent(config, "", "    ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(d.saved), filepath.Base(d.saved)+".*")
	if err != nil {
		return fmt.Errorf("saving the configuration: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("saving the configuration: %w", err)
		}
	}()
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), d.saved)
}
