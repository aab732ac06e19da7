package link

import (
	"net"
	"sync"
	"time"
)

// A network is a listener whose connections can be cut and broken.
type network struct {
	net.Listener

	mu      sync.Mutex
	cut     chan struct{} // closed when the cut is healed; nil when there is none
	refuses time.Time     // until when new connections are refused
	conns   map[*conn]struct{}
}

func newNetwork(listener net.Listener) *network {
	return &network{Listener: listener, conns: make(map[*conn]struct{})}
}

// Accept implements [net.Listener].
func (n *network) Accept() (net.Conn, error) {
	for {
		raw, err := n.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: raw, network: n, closed: make(chan struct{})}
		n.mu.Lock()
		refuse := time.Now().Before(n.refuses)
		if !refuse {
			n.conns[c] = struct{}{}
		}
		n.mu.Unlock()
		if !refuse {
			return c, nil
		}
		_ = raw.Close()
	}
}

func (n *network) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut == nil {
		n.cut = make(chan struct{})
	}
}

func (n *network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut != nil {
		close(n.cut)
		n.cut = nil
	}
}

func (n *network) Reset(outage time.Duration) {
	n.mu.Lock()
	n.refuses = time.Now().Add(outage)
	broken := n.conns
	n.conns = make(map[*conn]struct{})
	n.mu.Unlock()
	for c := range broken {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // the peer gets a reset
		}
		_ = c.Close()
	}
}

// healed returns what is closed once bytes may pass; nil when they may.
func (n *network) healed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut
}

// A conn is one whose bytes wait while its network is cut.
type conn struct {
	net.Conn
	network *network
	closed  chan struct{}
	once    sync.Once
}

func (c *conn) wait() {
	if healed := c.network.healed(); healed != nil {
		select {
		case <-healed:
		case <-c.closed:
		}
	}
}

func (c *conn) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	c.wait()
	return n, err
}

func (c *conn) Write(data []byte) (int, error) {
	c.wait()
	return c.Conn.Write(data)
}

func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.network.mu.Lock()
		delete(c.network.conns, c)
		c.network.mu.Unlock()
	})
	return c.Conn.Close()
}
