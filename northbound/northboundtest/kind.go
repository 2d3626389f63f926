package northboundtest

import (
	"context"

	"github.com/weft-sdn/weft/controller/resource"
)

// Kind is a [resource.Handle] made of functions. Whoever embeds a fake may replace some of them.
type Kind[S, R any] struct {
	All    func(ctx context.Context) ([]R, error)
	One    func(ctx context.Context, name string) (R, error)
	Write  func(ctx context.Context, name string, spec S, pre resource.Precondition) (r R, created bool, err error)
	Remove func(ctx context.Context, name string, pre resource.Precondition) error
}

// List implements resource.Handle.
func (k *Kind[S, R]) List(ctx context.Context) ([]R, error) { return k.All(ctx) }

// Get implements resource.Handle.
func (k *Kind[S, R]) Get(ctx context.Context, name string) (R, error) { return k.One(ctx, name) }

// Put implements resource.Handle.
func (k *Kind[S, R]) Put(ctx context.Context, name string, spec S, pre resource.Precondition) (R, bool, error) {
	return k.Write(ctx, name, spec, pre)
}

// Delete implements resource.Handle.
func (k *Kind[S, R]) Delete(ctx context.Context, name string, pre resource.Precondition) error {
	return k.Remove(ctx, name, pre)
}
