package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Until lets the network run until done, which is asked on the world's goroutine every now and
// then, reports true or fails.
func (l *Live) Until(ctx context.Context, what string, done func(w *World) (bool, error)) error {
	return l.Wait(ctx, what, func() (ok bool, err error) {
		err = l.Do(ctx, func(w *World) error {
			ok, err = done(w)
			return err
		})
		return ok, err
	})
}

// Lose makes a link, port or node fail. Switches that notice withdraw the lost links, as routers
// do.
func (l *Live) Lose(ctx context.Context, loss Loss) error {
	l.failing.Lock()
	defer l.failing.Unlock()
	if err := l.change(ctx, func(w *World) ([]string, error) { return w.Lose(loss) }); err != nil {
		return err
	}
	for _, name := range loss.Switches {
		if err := l.hangUp(name); err != nil {
			return err
		}
	}
	return nil
}

// change changes links or switches on the world's goroutine, and makes the switches returned by f
// advertise their remaining links. Callers that make parts fail or recover hold l.failing. A change
// in progress runs to the end even when ctx ends: a second request would find no difference to
// advertise.
func (l *Live) change(ctx context.Context, f func(w *World) (witnesses []string, err error)) error {
	ctx = context.WithoutCancel(ctx)
	var witnesses []string
	if err := l.Do(ctx, func(w *World) (err error) {
		witnesses, err = f(w)
		return err
	}); err != nil {
		return err
	}
	for _, name := range witnesses {
		if err := l.advertise(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// ChangeFaults changes faults of a link: see [World.ChangeFaults].
func (l *Live) ChangeFaults(ctx context.Context, r LinkRef, c FaultChange) error {
	l.failing.Lock()
	defer l.failing.Unlock()
	return l.change(ctx, func(w *World) ([]string, error) { return w.ChangeFaults(r, c) })
}

// ClearFaults ends the faults of a link: see [World.ClearFaults].
func (l *Live) ClearFaults(ctx context.Context, r LinkRef) error {
	l.failing.Lock()
	defer l.failing.Unlock()
	return l.change(ctx, func(w *World) ([]string, error) { return w.ClearFaults(&r) })
}

// ClearAll ends the faults of all links, and revives everything that is dead.
func (l *Live) ClearAll(ctx context.Context) error {
	l.failing.Lock()
	defer l.failing.Unlock()
	if err := l.change(ctx, func(w *World) ([]string,
		error) {
		return w.ClearFaults(nil)
	}); err != nil {
		return err
	}
	dead, err := l.dead(ctx)
	if err != nil {
		return err
	}
	for _, p := range dead {
		if err := l.revive(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// Links returns the state of both directions of all links.
func (l *Live) Links(ctx context.Context) (links []LinkState, err error) {
	err = l.Do(ctx, func(w *World) error {
		links = w.Links()
		return nil
	})
	return links, err
}

// Faults returns the directions of links with faults, and what is dead.
func (l *Live) Faults(ctx context.Context) (*FaultReport, error) {
	l.failing.Lock()
	defer l.failing.Unlock()
	links, err := l.Links(ctx)
	if err != nil {
		return nil, err
	}
	r := &FaultReport{Links: slices.DeleteFunc(links, func(s LinkState) bool { return !s.faulty() })}
	r.Dead, err = l.dead(ctx)
	return r, err
}

// dead returns what was killed: switches, then hosts, then BGP-LS speakers. The caller holds
// l.failing.
func (l *Live) dead(ctx context.Context) ([]Part, error) {
	parts := []Part{}
	err := l.Do(ctx, func(w *World) error {
		for _, s := range w.Network.Switches {
			if w.switches[s.Name].down {
				parts = append(parts, Part{PartSwitch, s.Name})
			}
		}
		for _, h := range w.Network.Hosts {
			if w.stopped(h.Name) {
				parts = append(parts, Part{PartHost, h.Name})
			}
		}
		return nil
	})
	for _, s := range l.World.Network.Switches {
		if l.mute[s.Name] {
			parts = append(parts, Part{PartBGP, s.Name})
		}
	}
	return parts, err
}

// stopped reports whether a host is dead.
func (w *World) stopped(host string) bool {
	if h := w.hosts[host]; h != nil {
		return h.stopped
	}
	h := w.mrc[host]
	return h != nil && h.stopped
}

// Kill kills a part: a switch loses power, a host hangs with its links up, a BGP-LS speaker ends
// its session. A dead part stays dead. An unknown part is an *api.Error.
func (l *Live) Kill(ctx context.Context, p Part) error {
	if err := p.check(&l.World.Network); err != nil {
		return err
	}
	l.failing.Lock()
	defer l.failing.Unlock()
	switch p.Kind {
	case PartSwitch:
		if err := l.change(ctx, func(w *World) ([]string, error) {
			return w.Lose(Loss{Switches: []string{p.Name}})
		}); err != nil {
			return err
		}
		return l.hangUp(p.Name)
	case PartBGP:
		l.mute[p.Name] = true
		return l.silence(p.Name)
	default:
		if l.hosts != nil {
			l.hosts.Stop(p.Name)
		}
		return l.Do(ctx, func(w *World) error {
			if h := w.mrc[p.Name]; h != nil {
				h.Stop()
			} else {
				w.hosts[p.Name].Stop()
			}
			return nil
		})
	}
}

// Revive ends what Kill has begun: a switch comes back empty, at its addresses, a host goes on
// where it hung, a BGP-LS speaker advertises its switch again. A living part stays alive.
func (l *Live) Revive(ctx context.Context, p Part) error {
	if err := p.check(&l.World.Network); err != nil {
		return err
	}
	l.failing.Lock()
	defer l.failing.Unlock()
	return l.revive(ctx, p)
}

// revive implements Revive. The caller holds l.failing. A revival in progress runs to the end, even
// when ctx ends: a second request would find the part alive.
func (l *Live) revive(ctx context.Context, p Part) error {
	ctx = context.WithoutCancel(ctx)
	switch p.Kind {
	case PartSwitch:
		return l.reviveSwitch(ctx, p.Name)
	case PartBGP:
		if !l.mute[p.Name] {
			return nil
		}
		delete(l.mute, p.Name)
		var down bool
		if err := l.Do(ctx, func(w *World) error {
			down = w.switches[p.Name].down
			return nil
		}); err != nil || down {
			return err // the speaker comes back with its switch
		}
		return l.speakAgain(ctx, p.Name)
	default:
		if err := l.Do(ctx, func(w *World) error {
			switch {
			case !w.stopped(p.Name):
			case w.mrc[p.Name] != nil:
				w.mrc[p.Name].Start()
			default:
				w.hosts[p.Name].Start()
			}
			return nil
		}); err != nil || l.hosts == nil {
			return err
		}
		return l.hosts.Start(p.Name)
	}
}

func (l *Live) reviveSwitch(ctx context.Context, name string) error {
	var revived, here bool
	var neighbors []string
	if err := l.Do(ctx, func(w *World) error {
		node := w.switches[name]
		if !node.down {
			return nil
		}
		revived, neighbors = true, w.advertisers(w.peers(name))
		here = node.away == nil || node.Switch.IsKernel()
		if err := node.Start(); err != nil {
			return err
		}
		node.Wake()
		return nil
	}); err != nil || !revived {
		return err
	}
	if here {
		if _, err := l.serve(name); err != nil {
			return fmt.Errorf("switch %s: %w", name, err)
		}
	}
	if !l.mute[name] {
		if err := l.speakAgain(ctx, name); err != nil {
			return err
		}
	}
	for _, n := range neighbors {
		if err := l.advertise(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// speakAgain restarts the BGP-LS speaker of a switch, at its former address.
func (l *Live) speakAgain(ctx context.Context, name string) error {
	i := slices.IndexFunc(l.World.Network.Switches, func(s Switch) bool { return s.Name == name })
	if _, err := l.speak(l.ctx, i, l.World.Network.Switches[i]); err != nil {
		return errors.Join(fmt.Errorf("switch %s: %w", name, err), l.silence(name))
	}
	return l.advertise(ctx, name)
}
