package dataplane

import (
	"iter"
	"strings"
	"time"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/queue"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// A program that has the table pfc_queue speaks with the traffic manager by frames of
// Config.PFCPort (p4.TargetFrame). The entries of the table say which queues are watched. For any
// other program the port is like others.

// findPFCTable returns the table pfc_queue, and the index of each parameter of its action by name;
// -1 when the program has no such table.
func findPFCTable(p *engine.Program) (table int, params map[string]int) {
	for i, t := range p.Tables() {
		if t.Hidden || t.Name != p4.TablePfcQueue && !strings.HasSuffix(t.Name, "."+p4.TablePfcQueue) ||
			len(t.Keys) != 3 {
			continue
		}
		for _, a := range t.Actions {
			info := p.Actions()[a]
			if info.Name != p4.ActionSetPfcQueue && !strings.HasSuffix(info.Name, "."+p4.ActionSetPfcQueue) {
				continue
			}
			params = map[string]int{}
			for j, q := range info.Params {
				params[q.Name] = j
			}
		}
		for _, name := range []string{"buffer", "xoff", "xon", "refresh", "upstreams", "rate", "watchdog",
			"watchdog_action"} {
			if _, ok := params[name]; !ok {
				return -1, nil
			}
		}
		return i, params
	}
	return -1, nil
}

// speaksPFC reports whether the frames of a port are for the traffic manager.
func (s *Switch) speaksPFC(port uint32) bool { return port == s.cfg.PFCPort && s.pfcTable >= 0 }

// readWatches gives the traffic manager the entries of pfc_queue when they have changed.
func (s *Switch) readWatches() {
	changes := s.ctx.TableChanges(s.pfcTable)
	if changes == s.pfcRead {
		return
	}
	s.pfcRead = changes
	var all []queue.Setting
	for e := range s.Entries(s.pfcTable) {
		args := e.Target.Action.Args
		if len(args) != len(s.pfcParams) {
			continue
		}
		arg := func(name string) uint64 { return number(args[s.pfcParams[name]]) }
		all = append(all, queue.Setting{
			Direction: p4.PfcDirection(number(e.Match[0].Value)),
			Port:      uint32(number(e.Match[1].Value)),
			Priority:  int(number(e.Match[2].Value)),
			Settings: queue.Settings{
				Buffer:    arg("buffer"),
				XOFF:      arg("xoff"),
				XON:       arg("xon"),
				Refresh:   time.Duration(arg("refresh")),
				Upstreams: int(arg("upstreams")),
				Rate:      1000 * arg("rate"),
				Watchdog:  time.Duration(arg("watchdog")) * time.Microsecond,
				Action:    p4.WatchdogAction(arg("watchdog_action")),
			},
		})
	}
	s.queues.Watch(all, s.ctx.Now())
}

func number(b []byte) uint64 { return bitfield.Word(b, 0) }

// pfcCommand carries out a frame that the program sends to the traffic manager; ok is false when
// the frame is not one of its commands.
func (s *Switch) pfcCommand(b []byte) (ok bool) {
	f, rest, err := p4.ParseTargetFrame(b)
	if err != nil {
		return false
	}
	switch f.Op {
	case p4.TargetOpPause:
		pfc, _, err := packet.ParsePFC(rest)
		if err != nil {
			return false
		}
		s.queues.Pause(uint32(f.Port), pfc.Classes, &pfc.Quanta, s.ctx.Now())
		return true
	case p4.TargetOpQuery:
		return s.queues.Query(f.Direction, uint32(f.Port), int(f.Priority))
	}
	return false
}

// tellProgram gives the program the events of its queues.
func (s *Switch) tellProgram() {
	for s.queues.Events() > 0 {
		s.pfcBuf = s.queues.AppendEvent(s.pfcBuf[:0], s.ctx.Now())
		s.Receive(s.ctx.Now(), s.cfg.PFCPort, s.pfcBuf)
	}
}

// dropStorm drops a packet that a watchdog took out of its queue.
func (s *Switch) dropStorm(c queued) {
	s.drop(c.id, drop.Storm)
	s.ctx.Release(c.p)
}

// PFCQueue is a queue that was paused or is watched, at a moment.
type PFCQueue = queue.Report

// PFCQueues yields the queues that were paused or are watched, in order of creation.
func (s *Switch) PFCQueues() iter.Seq[PFCQueue] { return s.queues.Reports(s.ctx.Now()) }
