package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/notification"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/plain"
)

// Post is a message of a notification that is to be posted.
type Post = notification.Post

// SetCauses reports the causes of now, for notifications.
func (c *Controller) SetCauses(ctx context.Context, all []api.Cause) {
	_ = c.Do(ctx, func(core *Core) { core.SetCauses(all) }) // it fails when the controller ends
}

// SetCauses is [Controller.SetCauses].
func (c *Core) SetCauses(all []api.Cause) {
	c.told.SetCauses(all)
	c.settle()
}

// postOne posts a message of a notification. A message that is under way when ctx ends has its
// record still.
func (c *Controller) postOne(ctx context.Context, p notification.Post) {
	var err error
	if c.opts.Current != nil {
		err = c.opts.Current() // another controller may decide by now
	}
	if err == nil {
		_, err = c.opts.Webhooks.Send(ctx, &p.Message)
	}
	if ctx.Err() == nil {
		_ = c.Do(ctx, func(core *Core) { core.Posted(p.Name, p.ID, err) })
	}
}

// Posted takes the outcome of a message of a notification: why the receiver has not accepted it;
// nil: the receiver has.
func (c *Core) Posted(name, id string, failed error) {
	c.told.Posted(name, id, failed)
	c.settle()
}

// askNotification answers the question about a notification.
func askNotification(
	ctx context.Context, c *Controller, name string, question any, _ resource.Precondition,
) (any, error) {
	if _, ok := question.(api.TestNotification); !ok {
		return nil, fmt.Errorf("%T: %w", question, kind.ErrNoQuestion)
	}
	var p notification.Post
	var err error
	stopped := c.read(ctx, func(core *Core) { p, err = core.told.Test(name) })
	if err = first(stopped, err); err != nil {
		return nil, err
	}
	began := time.Now()
	answer, err := c.opts.Webhooks.Send(ctx, &p.Message)
	out := api.NotificationTest{Taken: err == nil, ID: p.ID, Status: answer.Status,
		TookMs: time.Since(began).Milliseconds()}
	if err != nil {
		out.Error = plain.Error(err)
	}
	return out, nil
}
