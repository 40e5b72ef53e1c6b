package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below the range that the kernel gives to outgoing
// connections (32768 and up): one of those, even our own attempt to reach a
// server that is not there yet, could otherwise sit on a port that a stopped
// server wants back.
const lowestPort, highestPort = 15000, 32000

// freePort returns wanted if nobody listens on it, else a port that was free a
// moment ago.
func freePort(wanted int) (int, error) {
	if wanted != 0 && listenable(wanted) == nil {
		return wanted, nil
	}
	var err error
	for range 100 {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		if err = listenable(port); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port between %d and %d: %w", lowestPort, highestPort, err)
}

func listenable(port int) error {
	listener, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return err
	}
	return listener.Close()
}

// Port returns the port of the recorded address, 0 if there is none.
func (r Record) Port() int {
	_, port, _ := net.SplitHostPort(r.Address)
	number, _ := strconv.Atoi(port)
	return number
}
