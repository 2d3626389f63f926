// Package telemetry keeps what a fabric did in the last day: rates of counters and other values of
// ports and queues, for each second of the last 15 minutes and for each minute of the last 24
// hours.
//
// [Store.Take] makes rates of the counters that switches report. A rate is the mean between two
// samples, and there is none where counters restarted, went back, or came too far apart: a gap
// stays a gap. [Store.History], [Store.Top] and [Store.Means] read values. The memory of values is
// bounded ([Config.Memory]): beyond it the oldest go first.
//
// The package has no goroutine and no clock. Callers pass the time, and may call from several
// goroutines.
package telemetry
