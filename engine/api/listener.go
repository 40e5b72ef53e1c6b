package api

import (
	"net"
	"sync"
)

// bounded accepts connections as long as fewer than its places are open; others wait in the
// system's queue, which is bounded too.
type bounded struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

func bound(l net.Listener, places int) *bounded {
	return &bounded{Listener: l, places: make(chan struct{}, places), closed: make(chan struct{})}
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.places <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &place{Conn: conn, leave: func() { <-b.places }}, nil
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// place is a connection that gives its place back once.
type place struct {
	net.Conn
	once  sync.Once
	leave func()
}

func (p *place) Close() error {
	err := p.Conn.Close()
	p.once.Do(p.leave)
	return err
}
