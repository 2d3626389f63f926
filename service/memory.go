package service

import (
	"os"
	"runtime/debug"
)

// gcPercent is how much garbage a controller lets pile up, in percent of what it keeps, which for a thousand hosts and hundreds of switches is some 100 MB: a
// collection that falls into a lost link doubles the time to the last of them.
const gcPercent = 800

// TuneMemory has the process collect garbage as a controller should, unless the variable GOGC says otherwise.
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
