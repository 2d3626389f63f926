// Package race tells tests of the race detector.
package race

import (
	"runtime/debug"
	"slices"
	"sync"
)

// Enabled reports whether the process has the race detector, which makes code on one goroutine some
// ten to twenty times slower.
var Enabled = sync.OnceValue(func() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
})
