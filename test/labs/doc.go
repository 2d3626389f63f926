// Package labs runs the labs that weft lab export writes, with the tools that they are written for:
// Mininet, Docker Compose and containerlab. Where a tool is missing, its test is skipped.
//
//	go test ./test/labs                  Mininet
//	make test-compose                    Docker Compose: it starts a Docker daemon where none runs
//	WEFT_LABS=containerlab go test ./test/labs
package labs
