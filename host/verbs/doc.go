// Package verbs has what the queue pairs of a software host share with their owner, whatever the
// transport (packages rc and mrc): work requests, receive requests and their completions, memory
// regions, and errors. The names are those of IBTA volume 1, chapter 11.
package verbs
