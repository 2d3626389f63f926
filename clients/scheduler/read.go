package scheduler

import (
	"context"
	"errors"
	"net/http"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

// ErrNoFabric: hosts of a controller without an MRC fabric have no streams, and their ports no
// state.
var ErrNoFabric = errors.New("the controller has no MRC fabric: " +
	"it does not know which hosts can be used")

// Read reads the facts of a fabric from a controller.
func Read(ctx context.Context, c *client.Client) (*Facts, error) {
	f := &Facts{}
	fabric, err := ReadFabric(ctx, c)
	if err != nil {
		return nil, err
	}
	f.Streams = fabric != nil
	if f.Hosts, err = c.Hosts().List(ctx, nil); err != nil {
		return nil, err
	}
	if f.Nodes, err = c.Nodes().List(ctx, nil); err != nil {
		return nil, err
	}
	if fabric != nil {
		if f.Links, err = c.Links().List(ctx, nil); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// ReadFabric returns the MRC fabric of a controller; nil where it has none.
func ReadFabric(ctx context.Context, c *client.Client) (*api.Fabric, error) {
	answer, err := c.Get(ctx, client.Path("v1", "fabric"), nil)
	if client.Status(err) == http.StatusNotImplemented {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	fabric := new(api.Fabric)
	return fabric, answer.Decode(fabric)
}
