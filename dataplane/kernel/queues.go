package kernel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/internal/sonicdb"
)

// Tables of CONFIG_DB that queues are made of.
const (
	tableClasses  = "DSCP_TO_TC_MAP"
	tableQueueOf  = "TC_TO_QUEUE_MAP"
	tableBindings = "PORT_QOS_MAP"
	tableQueues   = "QUEUE"
	queues        = 8 // of a port
)

// A queuing is what a port does with classes of traffic.
type queuing struct {
	of [64]uint8 // queue of each DSCP
	// strict queues come before all other queues, and before strict queues of a lower number.
	strict [queues]bool
	parent uint32 // where the kernel has them
}

// queuings returns the queues that CONFIG_DB asks for, by port. The error has all rows that the
// agent cannot carry out.
func queuings(config sonicdb.Database) (map[string]queuing, error) {
	out := make(map[string]queuing)
	var errs []error
	each := func(table string, do func(key string, row map[string]any) error) {
		for _, key := range slices.Sorted(maps.Keys(config[table])) {
			if err := do(key, config[table][key]); err != nil {
				errs = append(errs, fmt.Errorf("%s|%s: %w", table, key, err))
			}
		}
	}
	each(tableBindings, func(port string, row map[string]any) error {
		if config[tablePorts][port] == nil {
			return errors.New("there is no such port")
		}
		if len(row) != 2 {
			return fmt.Errorf("%v: want dscp_to_tc_map and tc_to_queue_map alone", row)
		}
		var q queuing
		classes, err := numbers(config, tableClasses, text(row, "dscp_to_tc_map"), len(q.of))
		queueOf, err2 := numbers(config, tableQueueOf, text(row, "tc_to_queue_map"), queues)
		for dscp, class := range classes {
			q.of[dscp] = queueOf[class] // 0 for a class that the map does not have
		}
		out[port] = q
		return errors.Join(err, err2)
	})
	each(tableQueues, func(key string, row map[string]any) error {
		port, number, _ := strings.Cut(key, "|")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= queues || config[tablePorts][port] == nil {
			return fmt.Errorf("want a port and a queue below %d", queues)
		}
		by := config["SCHEDULER"][text(row, "scheduler")]
		if len(row) != 1 || len(by) != 1 || text(by, "type") != "STRICT" {
			return fmt.Errorf("%v by %v: want a scheduler of type STRICT alone, and no marks", row, by)
		}
		if q, bound := out[port]; bound {
			q.strict[n] = true
			out[port] = q
		}
		return nil
	})
	return out, errors.Join(errs...)
}

// numbers returns a map of a table, of numbers below most to classes or queues.
func numbers(config sonicdb.Database, table, name string, most int) (out [64]uint8, err error) {
	row, there := config[table][name]
	if !there {
		return out, fmt.Errorf("%s has no map %q", table, name)
	}
	for field := range row {
		from, err := strconv.Atoi(field)
		to, err2 := strconv.Atoi(text(row, field))
		if err != nil || err2 != nil || min(from, to) < 0 || from >= most || to >= queues {
			return out, fmt.Errorf("%s|%s has %s for %q: want one below %d for one below %d", table,
				name, text(row, field), field, queues, most)
		}
		out[from] = uint8(to)
	}
	return out, nil
}
