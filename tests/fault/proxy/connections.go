/* SPDX-License-Identifier: Apache-2.0 */

package main

import (
	"net"
	"sync"
)

// connections is a listener that knows what it accepted, so that lines can be cut or go dead.
type connections struct {
	net.Listener
	mu   sync.Mutex
	open map[*connection]bool
}

// connection carries bytes until it is frozen: then reads and writes hang until it is closed, as on a line whose far end lost power.
type connection struct {
	net.Conn
	owner  *connections
	frozen chan struct{} // closed when frozen
	closed chan struct{}
	once   sync.Once
	ice    sync.Once
}

func newConnections(inner net.Listener) *connections {
	return &connections{Listener: inner, open: map[*connection]bool{}}
}

func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	wrapped := &connection{Conn: conn, owner: c, frozen: make(chan struct{}), closed: make(chan struct{})}
	c.mu.Lock()
	c.open[wrapped] = true
	c.mu.Unlock()
	return wrapped, nil
}

func (c *connections) each(do func(*connection)) {
	c.mu.Lock()
	all := make([]*connection, 0, len(c.open))
	for conn := range c.open {
		all = append(all, conn)
	}
	c.mu.Unlock()
	for _, conn := range all {
		do(conn)
	}
}

func (c *connections) cut() { c.each(func(conn *connection) { conn.Close() }) }
func (c *connections) freeze() {
	c.each(func(conn *connection) { conn.ice.Do(func() { close(conn.frozen) }) })
}

func (c *connection) hold() error {
	select {
	case <-c.frozen:
		<-c.closed
		return net.ErrClosed
	default:
		return nil
	}
}

func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if held := c.hold(); held != nil {
		return 0, held
	}
	return n, err
}

func (c *connection) Write(p []byte) (int, error) {
	if held := c.hold(); held != nil {
		return 0, held
	}
	return c.Conn.Write(p)
}

func (c *connection) Close() error {
	var err error
	c.once.Do(func() {
		c.owner.mu.Lock()
		delete(c.owner.open, c)
		c.owner.mu.Unlock()
		close(c.closed)
		err = c.Conn.Close()
	})
	return err
}
