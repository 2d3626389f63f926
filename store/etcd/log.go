package etcd

import (
	"context"
	"log/slog"
	"sync/atomic"

	"go.uber.org/zap/zapcore"
)

// core forwards the log of the etcd server to a slog.Logger: errors until the server is closed, and
// warnings once the server has started. Earlier warnings are about intended settings: the server
// has no listener and needs no tokens. A closed server reports errors about its closed listeners.
type core struct {
	log     *slog.Logger
	started *atomic.Bool
	closed  *atomic.Bool
	removed *atomic.Bool // the others have said that this member is none of them any more
	fields  []zapcore.Field
}

// removal is a part of etcd's message to a removed member. etcd then stops without an error.
const removal = "data-dir used by this member must be removed"

func newCore(log *slog.Logger) *core {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &core{log: log.With("component", "etcd"), started: new(atomic.Bool),
		closed: new(atomic.Bool), removed: new(atomic.Bool)}
}

// newClientCore is newCore for a client, all warnings of which count.
func newClientCore(log *slog.Logger) *core {
	c := newCore(log)
	c.started.Store(true)
	return c
}

// Enabled implements zapcore.LevelEnabler.
func (c *core) Enabled(l zapcore.Level) bool {
	return !c.closed.Load() && (l > zapcore.WarnLevel || l == zapcore.WarnLevel && c.started.Load())
}

// With implements zapcore.Core.
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{log: c.log, started: c.started, closed: c.closed, removed: c.removed,
		fields: append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

// Check implements zapcore.Core.
func (c *core) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Message == removal {
		c.removed.Store(true)
	}
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c *core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	values := zapcore.NewMapObjectEncoder()
	for _, f := range append(c.fields[:len(c.fields):len(c.fields)], fields...) {
		f.AddTo(values)
	}
	level := slog.LevelWarn
	if e.Level > zapcore.WarnLevel {
		level = slog.LevelError
	}
	c.log.LogAttrs(context.Background(), level, e.Message, slog.Any("detail", values.Fields))
	return nil
}

// Sync implements zapcore.Core.
func (*core) Sync() error { return nil }
