package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/controller/store"
)

// Keys of the store.
const (
	groupPrefix = "groups/"
	epochPrefix = "epochs/"
	metaKey     = "controller"
)

type metaRecord struct {
	Revision uint64 `json:"revision"`
}

func (c *Core) load(r store.Record) error {
	if ok, err := c.lossless.loadLossless(r.Key, r.Value); ok {
		return err
	}
	name, isGroup := strings.CutPrefix(r.Key, groupPrefix)
	index, isEpoch := strings.CutPrefix(r.Key, epochPrefix)
	switch {
	case isEpoch:
		i, err := strconv.ParseUint(index, 10, 16)
		if err != nil {
			return err
		}
		epoch, err := strconv.ParseUint(string(r.Value), 10, 32)
		if err != nil {
			return err
		}
		c.epochs[uint16(i)] = max(c.epochs[uint16(i)], uint32(epoch))
	case r.Key == metaKey:
		var m metaRecord
		if err := json.Unmarshal(r.Value, &m); err != nil {
			return err
		}
		c.revision = max(c.revision, m.Revision)
	case isGroup:
		g, err := decodeGroup(name, r.Value)
		if err != nil {
			return err
		}
		if other := c.byIndex[g.index]; other != nil {
			return fmt.Errorf("index %d is that of %q too", g.index, other.name)
		}
		g.loaded = true
		c.groups[name], c.byIndex[g.index] = g, g
	}
	return nil
}

func (c *Core) takeSaves() []store.Op {
	var out []store.Op
	if c.meta {
		out = append(out, store.Op{Key: metaKey, Value: encode(metaRecord{c.revision})})
		c.meta = false
	}
	for _, i := range slices.Sorted(maps.Keys(c.raised)) {
		out = append(out, store.Op{Key: epochKey(i), Value: encode(c.epochs[i])})
	}
	clear(c.raised)
	for _, key := range c.gone {
		out = append(out, store.Op{Key: key})
	}
	c.gone = nil
	for _, name := range slices.Sorted(maps.Keys(c.saves)) {
		if g := c.groups[name]; g != nil {
			out = append(out, store.Op{Key: groupPrefix + name, Value: g.encode()})
		}
	}
	clear(c.saves)
	c.takeLossless(func(key string, value []byte) { out = append(out, store.Op{Key: key, Value: value}) })
	return out
}

func epochKey(index uint16) string { return epochPrefix + strconv.Itoa(int(index)) }

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("controller: record cannot be written: %v", err)) // plain structs of our own
	}
	return b
}
